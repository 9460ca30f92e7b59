//! A forged segment of many frames, opened by any number of threads with the same finding.

use std::fs;
use std::path::Path;

use bitacora_formats::limits::MAX_DATA_BYTES;
use bitacora_formats::{Data, Json};

use super::{Forger, begun};
use crate::sample::{code, command, event, shown, told, write_keyring};

/// Frames of a segment: some of a few bytes and some of these, which are opened by whichever thread has time …
const SMALL_FRAMES: u64 = 40;
const SMALL_DATA_BYTES: usize = 32 * 1024;
/// … and some of as many as an event may have, more than are held at once.
const LARGE_FRAMES: u64 = 5;

/// One segment of many frames; where `wrong` lies, in order, a stream has a gap.
fn many_frames(wrong: &[u64]) -> Forger {
    let mut forger = begun();
    let mut next = 1;
    for number in 1..=SMALL_FRAMES + LARGE_FRAMES {
        let mut event = event(&number.to_string(), "s");
        let data_bytes = if number > SMALL_FRAMES { MAX_DATA_BYTES } else { SMALL_DATA_BYTES };
        if number % 8 != 0 {
            let text = "large".repeat(data_bytes / 5 - 1);
            event.data = Data::Json(Json::check(format!("\"{text}\"").into_bytes()).unwrap());
        }
        next += u64::from(wrong.contains(&number));
        forger.honest(event, next);
        next += 1;
    }
    forger
}

/// Returns the answer of one thread. Two and four must give the same answer, but for the values of the clock.
fn told_by_any_threads(data: &Path, keyring: &Path) -> (i32, serde_json::Value) {
    let [one, two, four] = ["1", "2", "4"].map(|threads| {
        let mut command = command(&["verify", "--json", "--with-keys", "--threads", threads]);
        let output = command.arg("--data").arg(data).arg("--keyring").arg(keyring).output().unwrap();
        let mut told = told(&output);
        for measured in ["elapsedMs", "eventsPerSecond", "bytesPerSecond"] {
            told.as_object_mut().unwrap().remove(measured).unwrap();
        }
        (code(&output), told.to_string(), output.stderr, told)
    });
    assert_eq!((&one, &one), (&two, &four), "by one thread, by two and by four");
    (one.0, one.3)
}

fn first_position(told: &serde_json::Value) -> Option<u64> {
    told.pointer("/fault/firstPosition")
        .map(|position| position.as_str().unwrap())
        .map(|position| position.parse().unwrap())
}

#[test]
fn one_segment_is_told_the_same_by_any_number_of_threads() {
    for (wrong, exit, position) in [
        (vec![], 10, None),
        (vec![30, 31, SMALL_FRAMES + LARGE_FRAMES], 40, Some(31)),
        (vec![SMALL_FRAMES + LARGE_FRAMES], 40, Some(SMALL_FRAMES + LARGE_FRAMES + 1)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (data, keyring) = (folder.path().join("data"), folder.path().join("keyring"));
        let keys = many_frames(&wrong).write(&data.join("ledgers/main"));
        fs::write(data.join("FORMAT"), "bitacora-data v1\n").unwrap();
        write_keyring(&keyring, &keys);
        let (code, told) = told_by_any_threads(&data, &keyring);
        assert_eq!((code, first_position(&told)), (exit, position), "{wrong:?}: {told}");

        let path = data.join("ledgers/main").join(shown(1));
        let mut damaged = fs::read(&path).unwrap();
        let at = damaged.len() / 2;
        damaged[at] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let (code, told) = told_by_any_threads(&data, &keyring);
        let first = first_position(&told).unwrap();
        let earlier = position.filter(|position| *position <= SMALL_FRAMES);
        assert!(code == 40 && earlier.map_or(first > SMALL_FRAMES, |earlier| first == earlier), "{told}");
    }
}

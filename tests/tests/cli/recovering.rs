//! Tests of `recover`: archived events are no loss, and the rest verifies at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::archiving::{fill, filled, json, read_all};
use crate::sample::{Sample, files_below, why};

/// Flips a bit in the middle of what is written of this segment.
fn damage(sample: &Sample, number: u32) {
    let mut bytes = fs::read(sample.segment(number)).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[written / 2] ^= 1;
    fs::write(sample.segment(number), bytes).unwrap();
}

fn verified(sample: &Sample) {
    for keys in [&["verify"][..], &["verify", "--with-keys"]] {
        let verified = sample.run(&[&["--anchor", "none"], keys].concat());
        assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stdout));
    }
}

/// The lines of the events at these positions.
fn through(read: &[u8], last: usize) -> Vec<&[u8]> {
    read.split(|byte| *byte == b'\n').take(last).collect()
}

#[test]
fn what_archives_hold_is_made_again_of_them_with_the_keys_of_persons() {
    for releases in [false, true] {
        let sample = filled();
        let keeps = if releases { &[][..] } else { &["--keep-segments"] };
        assert_eq!(json(&sample, &[&["archive", "run", "--now"], keeps].concat()).0, Some(0));
        let before = read_all(&sample);
        let damaged = (1..).find(|number| *number > 2 && sample.segment(*number).exists()).unwrap();
        damage(&sample, damaged);
        assert_eq!(sample.run(&["--anchor", "none", "verify"]).status.code(), Some(40));
        if releases {
            // The restored ledger is signed by the key in use, and its first event names the one of before.
            assert!(sample.run(&["--anchor", "none", "keys", "rotate", "--signing"]).status.success());
        }

        let (code, declared) = json(&sample, &["recover", "--declare-loss"]);
        assert_eq!((code, &declared["generation"]), (Some(0), &2.into()), "{declared}");
        let events = usize::try_from(declared["restoredEvents"].as_u64().unwrap()).unwrap();
        assert!((700..=768).contains(&events), "{declared}");
        assert_eq!(declared["retained"], events.to_string(), "{declared}");
        verified(&sample);
        let after = read_all(&sample);
        assert_eq!(through(&after, events), through(&before, events), "events of persons among them");
        let kept = std::path::Path::new(declared["keptFolder"].as_str().unwrap());
        assert!(kept.join(format!("segments/{damaged:010}.seg")).exists(), "{declared}");
        let again = sample.run(&["--anchor", "none", "recover", "--declare-loss"]);
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.code() == Some(1) && said.contains("nothing is lost"), "{said}");
    }
}

#[test]
fn who_gives_up_what_archives_hold_says_so_and_is_left_what_verifies() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now", "--keep-segments"]).0, Some(0));
    damage(&sample, 3);
    let (code, declared) = json(&sample, &["recover", "--declare-loss", "--without-archives"]);
    assert_eq!((code, declared["restoredEvents"].is_null()), (Some(0), true), "{declared}");
    verified(&sample);
    let kept = fs::read_dir(sample.ledger().join("quarantine")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    assert!(kept.into_iter().any(|name| name.ends_with(".manifest.lost-g1")));
}

#[test]
fn an_archive_that_does_not_hold_is_told_before_anything_is_given_up() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now", "--keep-segments"]).0, Some(0));
    let (_, listed) = json(&sample, &["archive", "list"]);
    for archive in listed["archives"].as_array().unwrap() {
        let path = sample.data().join("archives").join(archive["name"].as_str().unwrap());
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    damage(&sample, 3);
    let damaged = fs::read(sample.segment(3)).unwrap();
    let refused = sample.run(&["--anchor", "none", "recover", "--declare-loss"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(why(&refused).contains("--without-archives"), "{}", why(&refused));
    assert_eq!(fs::read(sample.segment(3)).unwrap(), damaged);
    assert_eq!(json(&sample, &["recover", "--declare-loss", "--without-archives"]).0, Some(0));
    verified(&sample);
}

#[test]
fn archives_of_every_generation_count_and_none_of_what_was_given_up() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now", "--keep-segments"]).0, Some(0));
    damage(&sample, 3);
    let (code, declared) = json(&sample, &["recover", "--declare-loss", "--without-archives"]);
    assert_eq!((code, &declared["generation"]), (Some(0), &2.into()), "{declared}");
    let is_written = |number: &u32| fs::read(sample.segment(*number)).unwrap().iter().any(|byte| *byte != 0);
    let last = || sample.segments().into_iter().rfind(is_written).unwrap();

    // The archive reaches further than what is left, and tells of events that were given up.
    fill(&sample, 1_000);
    damage(&sample, last());
    let (code, declared) = json(&sample, &["recover", "--declare-loss"]);
    assert_eq!((code, &declared["generation"]), (Some(0), &3.into()), "{declared}");
    assert!(declared["restoredEvents"].is_null(), "{declared}");
    verified(&sample);

    // The rest ends in the first generation, and the archives are of a later one.
    fill(&sample, 2_000);
    assert_eq!(json(&sample, &["archive", "run", "--now", "--keep-segments"]).0, Some(0));
    let before = read_all(&sample);
    damage(&sample, 2);
    let (code, declared) = json(&sample, &["recover", "--declare-loss"]);
    assert_eq!((code, &declared["generation"]), (Some(0), &4.into()), "{declared}");
    let events = declared["restoredEvents"].as_u64().unwrap_or_else(|| panic!("{declared}"));
    assert!(events > 1_000, "{declared}");
    verified(&sample);
    let told = sample.run(&["--anchor", "none", "verify", "--with-keys"]).stdout;
    assert!(String::from_utf8_lossy(&told).contains(", in frames that were made again since"));
    assert_eq!(through(&read_all(&sample), 900), through(&before, 900));
}

#[test]
fn what_is_left_of_a_released_segment_is_given_up_by_nobody() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let last = (1..).take_while(|number| !sample.segment(*number).exists()).last().unwrap();
    let left = sample.segment(last).with_extension("released");
    let copy = sample.ledger().join("tree").join(left.file_name().unwrap());
    for file in [&left, &copy] {
        let length = fs::metadata(file).unwrap().len();
        fs::write(file, vec![0; usize::try_from(length).unwrap()]).unwrap();
    }
    let before = files_below(&sample.data());
    for _ in 0..2 {
        let refused = sample.run(&["--anchor", "none", "recover", "--declare-loss", "--without-archives"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains(".released"), "{said}");
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        let after = files_below(&sample.data());
        assert!(after == before, "nothing is changed before it is known what: {:?}", names(&after));
    }
    assert_eq!(json(&sample, &["recover", "--declare-loss"]).0, Some(0));
    verified(&sample);
}

#[test]
fn a_ledger_that_has_lost_nothing_is_left_as_it_is() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let before = files_below(&sample.data());
    for extra in [&[][..], &["--without-archives"]] {
        let refused = sample.run(&[&["--anchor", "none", "recover", "--declare-loss"], extra].concat());
        assert!(why(&refused).contains("nothing is lost"), "{}", why(&refused));
        assert!(files_below(&sample.data()) == before, "{extra:?}");
    }
}

#[test]
fn a_ledger_without_its_first_file_is_made_again_of_archives() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let before = read_all(&sample);
    let left = sample.segment(1).with_extension("released");
    fs::remove_file(sample.ledger().join("tree").join(left.file_name().unwrap())).unwrap();
    fs::remove_file(left).unwrap();
    let (code, declared) = json(&sample, &["recover", "--declare-loss"]);
    assert_eq!(code, Some(0), "{declared}");
    let events = usize::try_from(declared["restoredEvents"].as_u64().unwrap()).unwrap();
    assert_eq!(through(&read_all(&sample), events), through(&before, events));
    verified(&sample);
}

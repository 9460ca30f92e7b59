//! Transcripts that are cut, rewritten, or replaced by a link between two looks and during one.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

/// Looks beside a writer that changes the file all the time.
const LOOKS: usize = 3_000;
/// Lines of each version that a writer writes.
const LINES: usize = 400;

/// A version of a transcript: lines that say to which version they belong.
fn version(number: usize) -> String {
    (0..LINES)
        .map(|line| format!("version {number:06} line {line:04} {}\n", "x".repeat(number % 90)))
        .collect()
}

#[test]
fn a_link_in_the_place_of_a_followed_transcript_is_never_read() {
    let (folder, path) = scratch();
    let secret = folder.path().join("secret");
    fs::write(&secret, "one\ntwo\nsecret\n").unwrap();
    add(&path, "one\ntwo\n");
    let mut tail = TranscriptTail::default();
    assert_eq!(lines(&mut tail, &path).len(), 2);
    let kept = folder.path().join("kept");
    fs::rename(&path, &kept).unwrap();
    for target in [&secret, &kept, folder.path()] {
        symlink(target, &path).unwrap();
        assert_eq!(tail.look(&path, READ_BYTES).unwrap_err(), TranscriptFault::Link);
        fs::remove_file(&path).unwrap();
    }
    // The file itself is read on where it was left.
    fs::rename(&kept, &path).unwrap();
    add(&path, "three\n");
    assert_eq!(lines(&mut tail, &path), ["three"]);
    // Another file under the name is read from its beginning.
    fs::rename(&secret, &path).unwrap();
    assert_eq!(lines(&mut tail, &path), ["one", "two", "secret"]);
}

#[test]
fn a_rewritten_transcript_of_the_same_length_and_time_is_read_again() {
    let (_folder, path) = scratch();
    add(&path, "one\ntwo\n");
    let mut tail = TranscriptTail::default();
    lines(&mut tail, &path);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    // The clock of a file system has steps of some milliseconds.
    thread::sleep(Duration::from_millis(20));
    let file = File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"six\nten\n", 0).unwrap();
    file.set_modified(time).unwrap();
    let look = tail.look(&path, READ_BYTES).unwrap();
    assert!(look.restarted);
    assert_eq!(texts(&look), [Some("six".to_owned()), Some("ten".to_owned())]);
}

#[test]
fn a_transcript_that_is_cut_while_it_is_read_in_parts_is_read_again() {
    let (_folder, path) = scratch();
    let old = version(1);
    for cut in [0, 10, 30, 100, old.len() - 1] {
        fs::write(&path, &old).unwrap();
        let mut tail = TranscriptTail::default();
        assert!(!tail.look(&path, 80).unwrap().lines.is_empty());
        assert!(tail.has_more());
        File::options().write(true).open(&path).unwrap().set_len(cut as u64).unwrap();
        add(&path, &version(2));
        let mut found: Vec<String> = Vec::new();
        for _ in 0..4 {
            let look = tail.look(&path, READ_BYTES).unwrap();
            if look.restarted {
                found.clear();
            }
            found.extend(texts(&look).into_iter().flatten());
        }
        // Whatever is left of the old version, no line of the new one is missed.
        let missed: Vec<_> = version(2)
            .lines()
            .skip(1)
            .filter(|line| !found.contains(&(*line).to_owned()))
            .map(str::to_owned)
            .collect();
        assert!(missed.is_empty(), "cut at {cut}: {missed:?}");
    }
}

/// The way in which a writer replaces the version before.
fn put(path: &Path, way: usize, number: usize) {
    let aside = path.with_extension("aside");
    match way {
        // Cut, and written anew in small parts.
        0 => {
            let mut file = File::create(path).unwrap();
            version(number).as_bytes().chunks(700).for_each(|part| file.write_all(part).unwrap());
        }
        // Written over, without a cut before.
        1 => {
            let file = File::options().write(true).open(path).unwrap();
            let text = version(number);
            std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).unwrap();
            file.set_len(text.len() as u64).unwrap();
        }
        // Another file of the same name, behind a link for a moment.
        _ => {
            fs::write(&aside, version(number)).unwrap();
            fs::remove_file(path).unwrap();
            symlink("/etc/passwd", path).unwrap();
            fs::rename(&aside, path).unwrap();
        }
    }
}

#[test]
fn whatever_happens_during_looks_the_last_version_is_read_whole() {
    for way in 0..3 {
        let (_folder, path) = scratch();
        fs::write(&path, version(0)).unwrap();
        let is_over = AtomicBool::new(false);
        let mut tail = TranscriptTail::default();
        let mut found: Vec<String> = Vec::new();
        let mut take = |look: Result<TailNews, TranscriptFault>| match look {
            Ok(look) => {
                if look.restarted {
                    found.clear();
                }
                found.extend(texts(&look).into_iter().flatten());
            }
            Err(fault) => assert!(["link", "unreadable"].contains(&fault.code()), "{fault:?}"),
        };
        let last = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    put(&path, way, number);
                }
                number
            });
            for look in 0..LOOKS {
                take(tail.look(&path, if look % 2 == 0 { 5_000 } else { READ_BYTES }));
            }
            is_over.store(true, Ordering::Relaxed);
            writer.join().unwrap()
        });
        for _ in 0..4 {
            take(tail.look(&path, READ_BYTES));
        }
        assert!(last > 3, "{last} versions");
        assert!(found.iter().all(|line| !line.contains("root:")), "a link was followed");
        let expected = version(last);
        let of_last: Vec<_> = expected.lines().collect();
        assert!(found.len() >= LINES, "way {way}: {} lines of version {last}", found.len());
        assert_eq!(found[found.len() - LINES..], of_last, "way {way}, version {last}");
    }
}

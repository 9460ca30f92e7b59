#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a thief leaves is no file of a disk's"
)]

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;
use crate::host::disk::RealDisk;

fn key() -> Secret {
    Secret::take(&mut [3; 32])
}

/// Puts everything but a regular file under such names: what is made, and its name's end.
fn clutter(folder: &Path, middle: &str, ending: &str) {
    let path =
        |number: u32| folder.join(format!("0000000001.seg@{number}.0{middle}.{}{ending}", "a".repeat(32)));
    fs::create_dir(path(1)).unwrap();
    mknodat(CWD, path(2), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    symlink("nowhere", path(3)).unwrap();
    symlink(path(4).file_name().unwrap(), path(4)).unwrap();
    symlink(folder, path(5)).unwrap();
    symlink("/dev/null", path(6)).unwrap();
    symlink("nowhere/deeper", path(7)).unwrap();
    fs::write(path(8), "a file of somebody else").unwrap();
    symlink(path(8).join("below-a-file"), path(9)).unwrap();
    fs::File::create(path(10)).unwrap().set_len(MAX_SEGMENT_BYTES as u64 + 1).unwrap();
    // A socket's path is short: it is made under another name.
    drop(UnixListener::bind(folder.join("s")).unwrap());
    fs::rename(folder.join("s"), path(11)).unwrap();
}

#[test]
fn whatever_else_stands_under_such_names_hides_nothing_and_stops_nobody() {
    let ledger = tempfile::tempdir().unwrap();
    let folder = folder(ledger.path());
    fs::create_dir(&folder).unwrap();
    clutter(&folder, "", UNRECORDED);
    clutter(&folder, ".g1", ".unwritten");
    let listed = || RealDisk.list(&folder).unwrap();
    let before = listed();
    assert!(unrecorded(&RealDisk, ledger.path(), &key()).unwrap().is_empty());
    assert!(UnwrittenFrames::all(&RealDisk, ledger.path(), &key()).unwrap().is_empty());
    assert_eq!(listed(), before, "others' files stay");

    let (place, generation) = (("0000000002.seg", 7), bitacora_formats::Generation(1));
    keep(&RealDisk, ledger.path(), &key(), place, b"torn").unwrap();
    UnwrittenFrames::keep(&RealDisk, ledger.path(), &key(), generation, place, b"unwritten").unwrap();
    assert_eq!(unrecorded(&RealDisk, ledger.path(), &key()).unwrap().len(), 1);
    assert_eq!(UnwrittenFrames::all(&RealDisk, ledger.path(), &key()).unwrap()[0].bytes, b"unwritten");
}

#[test]
fn a_link_under_the_name_of_a_cut_keeps_nothing_from_being_cut() {
    let ledger = tempfile::tempdir().unwrap();
    let folder = folder(ledger.path());
    fs::create_dir(&folder).unwrap();
    symlink("2.seg@7.0", folder.join("2.seg@7.0")).unwrap();
    keep(&RealDisk, ledger.path(), &key(), ("2.seg", 7), b"torn").unwrap();
    assert_eq!(unrecorded(&RealDisk, ledger.path(), &key()).unwrap()[0].file, "2.seg@7.1");
}

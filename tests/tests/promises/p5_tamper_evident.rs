//! P5 for segments and leaves: `verify` finds and names any byte changed, cut, moved, doubled or added.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use bitacora_ledger::{AppendRequest, Environment, Ledger};
use bitacora_verify::{Report, TailRetries, Verdict, VerifyOptions, verify_ledger};

use crate::workload::{event, keyring, options};

/// A small ledger of several segments on a real disk, closed.
struct SmallLedger {
    _temporary: tempfile::TempDir,
    folder: PathBuf,
}

fn small() -> SmallLedger {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("main");
    let environment = Environment::real();
    Ledger::create(&environment, &folder, &"main".parse().unwrap(), &keyring(), &options()).unwrap();
    for round in 0..2 {
        let ledger = Ledger::open(&environment, &folder, keyring(), options()).unwrap();
        for number in round * 3..round * 3 + 3 {
            ledger.append(AppendRequest::of(vec![event(number)])).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    SmallLedger { _temporary: temporary, folder }
}

impl SmallLedger {
    fn segments(&self) -> Vec<PathBuf> {
        self.files_in("segments")
    }

    /// The leaves of each segment; not the level above them, which only spares the ledger some hashing.
    fn leaves(&self) -> Vec<PathBuf> {
        let mut leaves = self.files_in("tree");
        leaves.retain(|file| file.extension().is_some_and(|kind| kind == "leaves"));
        leaves
    }

    fn files_in(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join(folder)).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn verify(folder: &Path) -> Report {
    verify_by(folder, 2)
}

fn verify_by(folder: &Path, threads: usize) -> Report {
    let threads = NonZero::new(threads);
    verify_ledger(folder, &VerifyOptions { patience: TailRetries::NONE, threads, ..VerifyOptions::default() })
}

/// The fault must be in this file, at or before this byte: where the damaged thing begins.
fn assert_names(report: &Report, file: &Path, offset: usize) {
    let what = format!("{} byte {offset}", file.display());
    assert_eq!(report.verdict(), Verdict::Invalid, "{what}");
    let fault = report.fault.as_ref().unwrap();
    assert!(file.ends_with(&fault.file), "{what}: {fault:?}");
    assert!(fault.offset <= offset as u64, "{what}: {fault:?}");
}

#[test]
fn an_untouched_ledger_verifies_with_and_without_keys() {
    let small = small();
    let keyless = verify(&small.folder);
    assert_eq!((keyless.verdict(), keyless.events, keyless.segments), (Verdict::Alone, 9, 3), "{keyless:?}");
    let keyring = keyring();
    let options =
        VerifyOptions { keyring: Some(&keyring), patience: TailRetries::NONE, ..VerifyOptions::default() };
    let opened = verify_ledger(&small.folder, &options);
    assert_eq!((opened.verdict(), opened.contents.unwrap().events), (Verdict::Alone, 9), "{opened:?}");
}

#[test]
fn every_flipped_byte_of_every_segment_and_of_its_leaves_is_found_and_named() {
    let small = small();
    assert_eq!((small.segments().len(), small.leaves().len()), (3, 3));
    for file in small.segments().into_iter().chain(small.leaves()) {
        let bytes = fs::read(&file).unwrap();
        for offset in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[offset] ^= 1 << (offset % 8);
            fs::write(&file, &flipped).unwrap();
            assert_names(&verify_by(&small.folder, 1 + offset % 4), &file, offset);
        }
        fs::write(&file, &bytes).unwrap();
    }
    assert_eq!(verify(&small.folder).verdict(), Verdict::Alone);
}

#[test]
fn what_is_cut_moved_doubled_or_added_is_found() {
    let small = small();
    let segments = small.segments();
    let [first, second, third] = [0, 1, 2].map(|index: usize| fs::read(&segments[index]).unwrap());
    let restore = || {
        for (file, bytes) in segments.iter().zip([&first, &second, &third]) {
            fs::write(file, bytes).unwrap();
        }
    };
    let refused = |what: &str| {
        assert_eq!(verify(&small.folder).verdict(), Verdict::Invalid, "{what}");
        restore();
        assert_eq!(verify(&small.folder).verdict(), Verdict::Alone, "restored after: {what}");
    };
    fs::write(&segments[1], &second[..second.len() - 1]).unwrap();
    refused("a byte cut from the footer");
    fs::write(&segments[1], [second.as_slice(), b"x"].concat()).unwrap();
    refused("a byte added behind the footer");
    fs::write(&segments[1], &third).unwrap();
    refused("a segment doubled");
    fs::write(&segments[1], &third).unwrap();
    fs::write(&segments[2], &second).unwrap();
    refused("two segments swapped");
    fs::remove_file(&segments[1]).unwrap();
    refused("a segment missing in the middle");
    let other = self::small();
    fs::copy(&other.segments()[2], &segments[2]).unwrap();
    refused("a segment of another ledger");
    let leaves = small.leaves();
    let whole = [1, 2].map(|index: usize| fs::read(&leaves[index]).unwrap());
    for (what, bytes) in [
        ("leaves of another segment", whole[1].clone()),
        ("a leaf added", [&whole[0][..], &[0; 40]].concat()),
    ] {
        fs::write(&leaves[1], bytes).unwrap();
        assert_names(&verify(&small.folder), &leaves[1], whole[0].len());
        fs::write(&leaves[1], &whole[0]).unwrap();
        assert_eq!(verify(&small.folder).verdict(), Verdict::Alone, "restored after: {what}");
    }
    fs::write(segments[2].with_file_name("0000000004.seg"), &third).unwrap();
    assert_eq!(verify(&small.folder).verdict(), Verdict::Invalid, "a segment added");
}

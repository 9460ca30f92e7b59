//! Every file of small folders, changed in every place: a byte flipped, the file cut, zeros from there.
//! Nothing is known beforehand but that both verifiers say the same, and that no changed byte goes unseen.
//!
//! A run of the suite takes some of the places. Set `BITACORA_EVERY_OFFSET` to try all of them.

use std::env;

use crate::case::{Files, LEVEL, leaves, segment};
use crate::heads;
use crate::judge::{ARCHIVES, Judge, files_with_bytes};
use crate::{archives, real};

/// Set, every offset of every file is tried.
const EVERY_OFFSET: &str = "BITACORA_EVERY_OFFSET";
/// Places of each file that are tried otherwise, for each kind of change: so many from its start, and as many spread over it.
const TRIED: usize = 10;
/// The same where archives are read each time.
const TRIED_WITH_ARCHIVES: usize = 4;

/// Changes of one file's bytes at these offsets, each with its name.
fn changes(bytes: &[u8], offsets: &[usize]) -> Vec<(String, Vec<u8>)> {
    let mut changes = Vec::new();
    for &at in offsets {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        changes.push((format!("byte {at} flipped"), flipped));
        changes.push((format!("cut at {at}"), bytes[..at].to_vec()));
        let mut zeroed = bytes.to_vec();
        zeroed[at..].fill(0);
        if zeroed != bytes {
            changes.push((format!("zeros from {at}"), zeroed));
        }
    }
    changes
}

/// The offsets that are tried in a file of so many bytes, and how many kinds of changes that makes at least.
fn offsets(bytes: usize, tried: usize) -> Vec<usize> {
    if env::var_os(EVERY_OFFSET).is_some() {
        return (0..bytes).collect();
    }
    let spread = (0..tried).map(|n| n * bytes / tried + n % 3);
    let last = bytes.saturating_sub(1);
    let mut offsets: Vec<_> = (0..tried).chain(spread).chain([last]).filter(|at| *at < bytes).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Returns `true` if a change may leave a ledger that verifies. It may leave an earlier end of the log, fewer heads, leaves of the newest
/// segment that a crash explains, or a level that lags. A flipped byte leaves nothing of the kind.
fn may_pass(files: &Files, name: &str, what: &str) -> bool {
    let last = files.last_number();
    let may_be_shorter = [segment(last), leaves(last), LEVEL.to_owned()].iter().any(|newest| newest == name);
    !what.ends_with("flipped") && (may_be_shorter || name.ends_with(".heads"))
}

fn try_everywhere(files: &Files, skipped: impl Fn(&str) -> bool, tried: usize, at_least: usize) {
    let Some(mut judge) = Judge::new() else { return };
    for name in files_with_bytes(files).into_iter().filter(|name| !skipped(name)) {
        let bytes = files.bytes(&name).to_vec();
        let changes = changes(&bytes, &offsets(bytes.len(), tried));
        judge.alike(files, &name, changes.into_iter(), |what, _| may_pass(files, &name, what));
    }
    judge.end(at_least);
}

#[test]
fn a_ledger_with_heads_is_judged_alike_wherever_it_is_changed() {
    try_everywhere(&heads::whole().files(), |_| false, TRIED, 200);
}

#[test]
fn a_real_ledger_is_judged_alike_wherever_it_is_changed() {
    try_everywhere(&real::rotated_keys(), is_of_subjects, TRIED, 300);
}

#[test]
fn a_ledger_with_archives_is_judged_alike_wherever_it_is_changed() {
    // Archives have a test of their own.
    let is_archive = |name: &str| name.starts_with(ARCHIVES) || is_of_subjects(name);
    try_everywhere(&archives::whole(), is_archive, TRIED_WITH_ARCHIVES, 150);
}

/// The keys of subjects are nobody's evidence without the keyring.
fn is_of_subjects(name: &str) -> bool {
    name.starts_with("subjects/")
}

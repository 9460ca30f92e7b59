//! A ledger that has used its numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::Epoch;
use bitacora_ledger::{Environment, Ledger, OpenError, Options};

use super::begun;
use crate::sample::event;

/// The segments and what lies beside them, with their bytes.
fn log(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder.join("segments")).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn an_epoch_is_never_used_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut forger = begun().roll_in(Epoch(u32::MAX));
    forger.honest(event("1", "s"), 1);
    let keyring = Arc::new(forger.write(folder.path()));
    let before = log(folder.path());
    let opened = Ledger::open(&Environment::real(), folder.path(), keyring, Options::small());
    let refused = opened.map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::Exhausted("epochs")), "{refused}");
    assert_eq!(log(folder.path()), before, "the log is as it was");
    let told =
        "all 4294967295 epochs of this ledger are used; it can still be read, and a new ledger takes events";
    assert_eq!(refused.to_string(), told);
}

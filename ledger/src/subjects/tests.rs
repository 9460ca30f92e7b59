#![expect(clippy::disallowed_methods, reason = "these tests look at the files behind the store's back")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use bitacora_formats::{Keyring, LedgerId};
use tempfile::TempDir;

use super::*;
use crate::host::disk::{FaultyDisk, RealDisk};

fn keys() -> LedgerKeys {
    let mut draw = 0_u8;
    let keyring = Keyring::generate(&mut |bytes| {
        draw += 1;
        bytes.fill(draw);
    });
    LedgerKeys::new(&keyring, LedgerId([7; 16]))
}

fn store_on(disk: &FaultyDisk, ledger: &Path) -> Subjects {
    let environment = Environment { disk: Arc::new(disk.clone()), ..Environment::real() };
    Subjects::of_ledger(environment, ledger, &keys())
}

fn store(ledger: &Path) -> Subjects {
    Subjects::of_ledger(Environment { disk: Arc::new(RealDisk), ..Environment::real() }, ledger, &keys())
}

/// Every file below a folder and what it holds.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn file_of(ledger: &Path, index: &str) -> PathBuf {
    let mut found = files(&ledger.join("subjects").join(index)).into_keys();
    let file = found.next().unwrap();
    assert_eq!(found.next(), None);
    file
}

fn error_of<T: std::fmt::Debug>(result: io::Result<T>) -> SubjectsError {
    let error = result.unwrap_err();
    error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<SubjectsError>())
        .unwrap_or_else(|| panic!("{error}"))
        .clone()
}

#[test]
fn a_subject_keeps_its_key_and_shares_it_with_nobody() {
    let ledger = TempDir::new().unwrap();
    let subjects = store(ledger.path());
    let ada = subjects.key_for("person/ada").unwrap();
    let bob = subjects.key_for("person/bob").unwrap();
    assert!(ada.id != bob.id && ada.secret != bob.secret);
    for store in [&subjects, &store(ledger.path())] {
        assert_eq!(store.key_by_id(&ada.id).unwrap(), Some(ada.clone()));
        assert_eq!(store.key_for("person/ada").unwrap(), ada);
        assert_eq!(store.key_by_id(&[0; 16]).unwrap(), None);
    }
}

#[test]
fn nothing_on_the_disk_tells_a_name_or_a_key() {
    let ledger = TempDir::new().unwrap();
    let key = store(ledger.path()).key_for("person/ada").unwrap();
    let found = files(ledger.path());
    assert_eq!(found.len(), 2);
    for (path, bytes) in found {
        let path = path.display().to_string();
        assert!(!path.contains("ada"), "{path}");
        assert!(!bytes.windows(3).any(|window| window == b"ada"), "{path}");
        assert!(!bytes.windows(8).any(|window| window == &key.secret.expose()[..8]), "{path}");
        let id_in_clear = bytes.windows(16).any(|window| window == key.id);
        assert_eq!(id_in_clear, path.contains("by-id"), "{path}: only the key's own file knows its id");
    }
}

#[test]
fn a_key_is_durable_under_its_id_before_a_name_leads_to_it() {
    let ledger = TempDir::new().unwrap();
    let disk = FaultyDisk::below(ledger.path());
    store_on(&disk, ledger.path()).key_for("person/ada").unwrap();
    let below = |index| file_of(ledger.path(), index).strip_prefix(ledger.path()).unwrap().to_owned();
    let (id, name) = (below("by-id"), below("by-name"));
    let steps = |index: &str, file: &Path, first: &mut Vec<String>, rest: &mut Vec<String>| {
        let (drawer, file) = (file.parent().unwrap().display().to_string(), file.display().to_string());
        first.extend([
            "create folder subjects".to_owned(),
            "sync folder ".to_owned(),
            format!("create folder subjects/{index}"),
            "sync folder subjects".to_owned(),
            format!("create folder {drawer}"),
            format!("sync folder subjects/{index}"),
            format!("sync folder {drawer}"),
        ]);
        rest.extend([
            format!("create {file}.tmp"),
            format!("write {file}.tmp"),
            format!("sync {file}.tmp"),
            format!("rename to {file}"),
            format!("sync folder {drawer}"),
        ]);
    };
    let (mut expected, mut id_steps, mut name_steps) = (Vec::new(), Vec::new(), Vec::new());
    steps("by-name", &name, &mut expected, &mut name_steps);
    steps("by-id", &id, &mut expected, &mut id_steps);
    expected.extend(id_steps.into_iter().chain(name_steps));
    assert_eq!(disk.noted(), expected);
}

#[test]
fn what_an_earlier_process_left_visible_is_made_durable_before_use() {
    let ledger = TempDir::new().unwrap();
    let key = store(ledger.path()).key_for("person/ada").unwrap();
    let disk = FaultyDisk::below(ledger.path());
    let subjects = store_on(&disk, ledger.path());
    assert_eq!(subjects.key_for("person/ada").unwrap(), key);
    let drawer = file_of(ledger.path(), "by-name").parent().unwrap().to_owned();
    let synced = format!("sync folder {}", drawer.strip_prefix(ledger.path()).unwrap().display());
    assert_eq!(disk.noted().last(), Some(&synced));

    disk.fail(Some((0, false)));
    subjects.key_for("person/ada").unwrap();
    assert_eq!(disk.noted(), [""; 0], "a key that is known costs no call");
}

#[test]
fn after_any_failed_call_there_is_one_key_or_none() {
    let count = {
        let ledger = TempDir::new().unwrap();
        let disk = FaultyDisk::below(ledger.path());
        store_on(&disk, ledger.path()).key_for("person/ada").unwrap();
        disk.noted().len()
    };
    assert_eq!(count, 24);
    for failing in 0..count {
        for has_effect in [false, true] {
            let case = format!("call {failing}, with effect: {has_effect}");
            let ledger = TempDir::new().unwrap();
            let disk = FaultyDisk::below(ledger.path());
            let subjects = store_on(&disk, ledger.path());
            disk.fail(Some((failing, has_effect)));
            subjects.key_for("person/ada").unwrap_err();
            let failed = disk.noted().get(failing).unwrap().clone();

            disk.fail(None);
            let retried = subjects.key_for("person/ada");
            if failed.starts_with("sync folder") {
                assert_eq!(error_of(retried), SubjectsError::Doubtful, "{case}: {failed}");
                assert_eq!(disk.noted(), [""; 0], "{case}: {failed}");
            } else {
                let key = retried.unwrap_or_else(|error| panic!("{case}: {failed}: {error}"));
                if let Some((drawer, _)) =
                    failed.strip_prefix("rename to ").and_then(|path| path.rsplit_once('/'))
                    && drawer.contains("by-name")
                {
                    let synced = format!("sync folder {drawer}");
                    assert!(
                        disk.noted().contains(&synced),
                        "{case}: what a failed rename left is not trusted"
                    );
                }
                assert_eq!(store(ledger.path()).key_for("person/ada").unwrap(), key, "{case}: {failed}");
            }
            let key =
                store(ledger.path()).key_for("person/ada").unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(store(ledger.path()).key_by_id(&key.id).unwrap(), Some(key), "{case}: {failed}");
            let names = files(&ledger.path().join("subjects/by-name"));
            assert_eq!(names.len(), 1, "{case}: {failed}: {:?}", names.keys());
        }
    }
}

#[test]
fn a_damaged_file_is_an_error_and_stays_as_it_is() {
    let ledger = TempDir::new().unwrap();
    let key = store(ledger.path()).key_for("person/ada").unwrap();
    for index in ["by-name", "by-id"] {
        let path = file_of(ledger.path(), index);
        let whole = fs::read(&path).unwrap();
        let mut damages =
            vec![Vec::new(), whole[..whole.len() - 1].to_vec(), [&whole[..], &[0]].concat(), vec![0; 1_000]];
        damages.extend((0..whole.len()).map(|at| {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            changed
        }));
        for damage in damages {
            fs::write(&path, &damage).unwrap();
            let before = files(ledger.path());
            let error = error_of(store(ledger.path()).key_for("person/ada"));
            assert!(
                matches!(&error, SubjectsError::Damaged { file, .. } if file.starts_with(&format!("subjects/{index}/"))),
                "{error}"
            );
            if index == "by-id" {
                assert_eq!(error_of(store(ledger.path()).key_by_id(&key.id)), error);
            }
            assert_eq!(files(ledger.path()), before);
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(store(ledger.path()).key_for("person/ada").unwrap(), key);
}

#[test]
fn a_lost_key_is_never_replaced() {
    let ledger = TempDir::new().unwrap();
    let key = store(ledger.path()).key_for("person/ada").unwrap();
    let path = file_of(ledger.path(), "by-id");
    fs::remove_file(&path).unwrap();
    let before = files(ledger.path());
    let error = error_of(store(ledger.path()).key_for("person/ada"));
    assert!(matches!(&error, SubjectsError::KeyMissing { id, .. } if *id == hex::encode(key.id)), "{error}");
    assert_eq!(store(ledger.path()).key_by_id(&key.id).unwrap(), None, "readers see it as erased");
    assert_eq!(files(ledger.path()), before);
}

#[test]
fn what_a_crash_left_unfinished_is_in_nobodys_way() {
    let ledger = TempDir::new().unwrap();
    store(ledger.path()).key_for("person/ada").unwrap();
    let path = file_of(ledger.path(), "by-name");
    fs::rename(&path, path.with_extension("tmp")).unwrap();
    let subjects = store(ledger.path());
    let key = subjects.key_for("person/ada").unwrap();
    assert_eq!(subjects.key_by_id(&key.id).unwrap(), Some(key));
    assert_eq!(file_of(ledger.path(), "by-name"), path);
}

#[test]
fn callers_of_one_subject_get_one_key() {
    let ledger = TempDir::new().unwrap();
    let subjects = store(ledger.path());
    let ids: Vec<Vec<SubjectKey>> = thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (0..20).map(|number| subjects.key_for(&format!("person/{number}")).unwrap()).collect()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|keys| *keys == ids[0]));
    let different: BTreeSet<_> = ids[0].iter().map(|key| key.id).collect();
    assert_eq!((different.len(), files(ledger.path()).len()), (20, 40));
}

#[test]
fn no_random_bytes_no_key() {
    #[derive(Debug)]
    struct NoEntropy;
    impl crate::host::entropy::Entropy for NoEntropy {
        fn fill(&self, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::Other.into())
        }
    }
    let ledger = TempDir::new().unwrap();
    let environment = Environment { entropy: Arc::new(NoEntropy), ..Environment::real() };
    Subjects::of_ledger(environment, ledger.path(), &keys()).key_for("person/ada").unwrap_err();
    assert_eq!(files(ledger.path()).len(), 0);
}

#[test]
fn the_name_of_a_newer_key_outlives_the_destruction_of_an_erased_one() {
    let ledger = TempDir::new().unwrap();
    let subjects = store(ledger.path());
    let older = subjects.key_for("person/ada").unwrap();
    let erased = subjects.named_key("person/ada").unwrap().unwrap();
    subjects.bar([(older.id, None)].into());
    // As an append does that comes between the two.
    let newer = subjects.key_for("person/ada").unwrap();
    assert_ne!(newer.id, older.id);
    subjects.destroy(&erased).unwrap();
    assert_eq!(subjects.named_key("person/ada").unwrap().map(|named| named.id), Some(newer.id));
    assert_eq!(subjects.key_by_id(&older.id).unwrap(), None);
    assert_eq!(store(ledger.path()).key_for("person/ada").unwrap(), newer);
}

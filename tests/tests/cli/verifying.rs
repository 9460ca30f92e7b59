//! Tests of the answer of `verify` for a ledger that is right, and for parts it cannot check.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bitacora_formats::Keyring;
use bitacora_ledger::AppendRequest;
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_verify::{FaultKind, Gap, LeafCheck, Verdict, VerifyOptions, verify_ledger};

use crate::sample::{Sample, code, event, told, why, write_keyring};

/// Events of a sample: the creation, and of each opening itself and six more.
fn events(openings: u64) -> u64 {
    1 + 7 * openings
}

#[test]
fn a_whole_ledger_is_verified_with_and_without_keys() {
    let sample = Sample::new(2);
    let head = {
        let ledger = sample.open();
        let head = ledger.head();
        ledger.close().unwrap();
        head
    };
    for (with_keys, arguments) in [
        (false, vec!["verify", "--json"]),
        (true, vec!["verify", "--json", "--with-keys", "--every-signature"]),
    ] {
        let output = sample.run(&arguments);
        assert_eq!(code(&output), 10, "{}", String::from_utf8_lossy(&output.stderr));
        let told = told(&output);
        assert_eq!(told["events"], head.position.get());
        assert_eq!(told["head"]["hash"], head.hash.to_string());
        assert_eq!(told["head"]["treeRoot"], head.tree_root.to_string());
        assert_eq!(told["segments"], 4);
        assert!(told["fault"].is_null() && told["gaps"].as_array().unwrap().is_empty());
        assert!(!told["notProven"].as_array().unwrap().is_empty());
        assert_eq!(told["contents"].is_null(), !with_keys);
        if with_keys {
            assert_eq!(told["contents"]["events"], head.position.get());
            assert_eq!(
                (&told["contents"]["partsOpened"], &told["contents"]["partsWithoutKey"]),
                (&6.into(), &0.into())
            );
        }
    }
    assert_eq!(code(&sample.run(&["verify", "--all"])), 10);
}

#[test]
fn a_key_that_is_gone_is_a_loss_unless_the_log_records_an_erasure() {
    let sample = Sample::new(1);
    let subjects = sample.ledger().join("subjects");
    fs::remove_dir_all(&subjects).unwrap();
    let report = sample.verify_twice(true, "lost");
    assert_eq!(report.verdict(), Verdict::Incomplete, "{report:?}");
    assert_eq!(report.gaps, [Gap::SubjectKeysLost { lost: 1 }]);
    let contents = report.contents.unwrap();
    assert_eq!((contents.events, contents.parts.opened, contents.parts.without_key), (events(1), 0, 3));
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 50);
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone, "without keys nobody can tell");
}

#[test]
fn a_subjects_key_that_is_there_and_cannot_be_used_is_never_a_pass() {
    let sample = Sample::new(2);
    let path = only_file_below(&sample.ledger().join("subjects/by-id"));
    let key = fs::read(&path).unwrap();
    let mut changed = key.clone();
    *changed.last_mut().unwrap() ^= 1;
    for bytes in [&changed[..], &key[..key.len() - 1], &[&key[..], &[0]].concat()] {
        fs::write(&path, bytes).unwrap();
        let report = sample.verify_twice(true, "unusable");
        assert_eq!(report.verdict(), Verdict::Incomplete, "{report:?}");
        assert!(
            matches!(report.gaps.as_slice(), [Gap::SubjectKey { path: told, .. }] if *told == path.display().to_string())
        );
        let parts = report.contents.unwrap().parts;
        assert_eq!((parts.opened, parts.without_key), (0, 6));
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(sample.verify_twice(true, "no file").gaps.as_slice(), [Gap::SubjectKey { .. }]));
}

/// The one file in a folder of folders.
fn only_file_below(folder: &Path) -> PathBuf {
    let mut path = folder.to_owned();
    while path.is_dir() {
        let mut entries = fs::read_dir(&path).unwrap();
        let entry = entries.next().unwrap().unwrap();
        assert!(entries.next().is_none(), "one subject has a key: {}", path.display());
        path = entry.path();
    }
    path
}

#[test]
fn another_keyring_is_told_from_this_ledgers() {
    let sample = Sample::new(1);
    let other = Keyring::generate(&mut |bytes| bytes.fill(7));
    let other = Sample { folder: sample.folder, keyring: Arc::new(other) };
    let report = other.verify(true);
    assert!(matches!(*report.fault.clone().unwrap().kind, FaultKind::Signer { number: 1, .. }), "{report:?}");
    write_keyring(&other.keyring_file(), &other.keyring);
    assert_eq!(code(&other.run(&["verify", "--with-keys"])), 40);
    assert_eq!(code(&other.run(&["verify"])), 10, "a keyring that is not asked for is not looked at");
}

#[test]
fn what_cannot_be_checked_is_never_a_pass() {
    let sample = Sample::new(1);
    let output = sample.run(&["verify", "--ledger", "other"]);
    assert_eq!((code(&output), told_gap(&output)), (50, true));

    fs::remove_file(sample.ledger().join("signing-keys.note")).unwrap();
    let report = sample.verify(false);
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert!(matches!(report.gaps.as_slice(), [Gap::NoNote { .. }]), "{report:?}");
    assert_eq!((report.heads, report.cosigned), (None, None), "nobody knows who may sign them");
    assert_eq!(sample.verify(true).verdict(), Verdict::Alone, "a keyring knows the keys by itself");

    let missing = sample.folder.path().join("nothing");
    fs::rename(sample.keyring_file(), &missing).unwrap();
    let output = sample.run(&["verify", "--with-keys"]);
    assert_eq!(code(&output), 50);
    assert!(why(&output).contains("no keyring here"));
    fs::rename(&missing, sample.keyring_file()).unwrap();

    fs::set_permissions(sample.keyring_file(), fs::Permissions::from_mode(0o640)).unwrap();
    let output = sample.run(&["verify", "--with-keys"]);
    assert_eq!(code(&output), 50);
    assert!(why(&output).contains("others may read"));
}

fn told_gap(output: &std::process::Output) -> bool {
    String::from_utf8(output.stdout.clone()).unwrap().contains("incomplete")
}

#[test]
fn a_ledger_under_another_name_is_found_with_keys() {
    let sample = Sample::new(1);
    fs::rename(sample.ledger(), sample.data().join("ledgers/other")).unwrap();
    let output = sample.run(&["verify", "--with-keys", "--ledger", "other", "--json"]);
    assert_eq!(code(&output), 40);
    assert!(told(&output)["fault"]["what"].as_str().unwrap().contains("with name main, expected other"));
    assert_eq!(code(&sample.run(&["verify", "--ledger", "other"])), 10);
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let sample = Sample::new(0);
    for arguments in
        [&["verify", "--ledger", "../main"][..], &["verify", "--known"], &["nothing"], &["read", "--limit=0"]]
    {
        assert_eq!(code(&sample.run(arguments)), 2, "{arguments:?}");
    }
    assert_eq!(code(&crate::sample::command(&["verify"]).env("HOME", "/nowhere").output().unwrap()), 2);
}

#[test]
fn a_ledger_that_is_written_to_is_never_called_damaged() {
    let sample = Sample::new(1);
    let ledger = sample.open();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = RaisedAtEnd::of(&is_over);
        scope.spawn(|| {
            for number in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let events = (0..20).map(|of| event(&format!("live{number}.{of}"), "live")).collect();
                ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
            }
        });
        for round in 0..40 {
            let options =
                VerifyOptions { keyring: (round % 2 == 0).then_some(&*sample.keyring), ..Default::default() };
            let report = verify_ledger(&sample.ledger(), &options);
            assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
            // Leaves may lag the frames that were being written, and nothing else is missing.
            let leaves = report.leaves.unwrap();
            assert!(leaves.absent.len() <= 1 && leaves.absent.iter().all(|(_, last)| *last == report.events));
        }
    });
    ledger.close().unwrap();
    let report = sample.verify_by(true, 2, LeafCheck::All);
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
}

/// A row of the coverage: passed, failed, skipped.
fn row(told: &serde_json::Value, what: &str) -> [u64; 3] {
    let rows = told["coverage"].as_array().unwrap();
    let row = rows.iter().find(|row| row["what"] == what).unwrap();
    let counts = ["passed", "failed", "skipped"].map(|count| row[count].as_u64().unwrap());
    assert!(counts[2] == 0 || row["why"].is_string(), "what is skipped is skipped for a reason: {row}");
    counts
}

#[test]
fn what_was_looked_at_is_told_kind_by_kind() {
    let sample = Sample::new(2);
    let keyless = told(&sample.run(&["verify", "--json"]));
    let all = events(2);
    assert_eq!(row(&keyless, "segments"), [3, 0, 0]);
    assert_eq!((row(&keyless, "leaves"), row(&keyless, "records")), ([all, 0, 0], [0, 0, all]));
    assert_eq!(row(&keyless, "signatures"), [6, 0, keyless["frames"].as_u64().unwrap()]);
    let keyed = told(&sample.run(&["verify", "--json", "--with-keys", "--every-signature"]));
    assert_eq!((row(&keyed, "records"), row(&keyed, "sealed parts")), ([all, 0, 0], [6, 0, 0]));
    assert_eq!(row(&keyed, "signatures"), [6 + keyed["frames"].as_u64().unwrap(), 0, 0]);

    fs::remove_file(sample.leaves(3)).unwrap();
    assert_eq!(row(&told(&sample.run(&["verify", "--json"])), "leaves"), [8, 0, 7]);
    fs::write(sample.leaves(2), [0; 40]).unwrap();
    let faulty = told(&sample.run(&["verify", "--json"]));
    assert_eq!((row(&faulty, "segments"), row(&faulty, "leaves")), ([2, 0, 1], [1, 1, 7]));

    fs::remove_file(sample.leaves(2)).unwrap();
    let mut bytes = fs::read(sample.segment(2)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(sample.segment(2), bytes).unwrap();
    let faulty = told(&sample.run(&["verify", "--json"]));
    assert_eq!((row(&faulty, "segments"), row(&faulty, "leaves")), ([1, 1, 1], [1, 0, 7]));

    let shown = String::from_utf8(sample.run(&["verify", "--explain"]).stdout).unwrap();
    for text in ["coverage", "1 passed, 1 failed", "proves      leaves: positions, times and commitments"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn the_second_verifier_says_which_packages_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("blake3.py"), "raise ImportError(\"No module named 'blake3'\")").unwrap();
    let second = concat!(env!("CARGO_MANIFEST_DIR"), "/second/bitacora_verify.py");
    let python = std::env::var_os("BITACORA_PYTHON").unwrap_or_else(|| "python3".into());
    let ran =
        std::process::Command::new(python).arg(second).env("PYTHONPATH", folder.path()).arg("x").output();
    // Where there is no Python there is no second verifier.
    let Ok(ran) = ran else { return };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(code(&ran) == 2 && said.contains("nothing was verified") && said.lines().count() == 1, "{said}");
}

/// A ledger's own folder is verified as the ledger in its data folder is, wherever it was copied to; no other folder passes for one.
#[test]
fn a_ledger_s_own_folder_is_verified_too() {
    let sample = Sample::new(1);
    let events = told(&sample.run(&["verify", "--json"]))["events"].clone();
    let (copy, keyring) = (sample.folder.path().join("Copy of it"), sample.keyring_file());
    bitacora_tests::folders::copy_folder(&sample.ledger(), &copy).unwrap();
    let verify = |folder: &Path, more: &[&str]| {
        let mut command = crate::sample::command(&["verify", "--json", "--data"]);
        command.arg(folder).args(more).output().unwrap()
    };
    for (folder, more, expected) in [
        (sample.data(), &[][..], 10),
        (sample.ledger(), &[], 10),
        (sample.ledger(), &["--ledger", "main"], 10),
        (copy.clone(), &[], 10),
        (copy.clone(), &["--ledger", "main"], 10),
        (copy.clone(), &["--with-keys", "--keyring", keyring.to_str().unwrap()], 10),
        (copy.clone(), &["--ledger", "another", "--with-keys", "--keyring", keyring.to_str().unwrap()], 40),
        (copy.join("segments"), &[], 50),
        (sample.folder.path().to_owned(), &[], 50),
    ] {
        let verified = verify(&folder, more);
        assert_eq!(
            code(&verified),
            expected,
            "{folder:?} {more:?}: {}",
            String::from_utf8_lossy(&verified.stdout)
        );
        if expected == 10 {
            assert_eq!(told(&verified)["events"], events, "{folder:?}");
        }
    }
    let segment = copy.join(crate::sample::shown(1));
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(code(&verify(&copy, &[])), 40);
}

//! Tests of `keys retire` and `keys restore`: a ledger without its old keys, and with them again.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{Keyring, OfflineKeys};
use serde_json::Value;

use crate::archiving::{fill, filled, json};
use crate::sample::{Sample, code, files_below, told};

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A ledger with archives under two keys, of which no segment is under the first one.
struct RotatedLedger {
    sample: Sample,
    offline: PathBuf,
}

impl RotatedLedger {
    fn keys(&self, arguments: &[&str]) -> std::process::Output {
        self.sample.run(&[&["--anchor", "none", "keys"], arguments].concat())
    }

    fn retire(&self) -> std::process::Output {
        self.keys(&["retire", "--into", self.offline.to_str().unwrap()])
    }

    /// All events, and how the read ended.
    fn read(&self, after: &str) -> (i32, String, String) {
        let read =
            self.sample.run(&["--json", "--anchor", "none", "read", "--after", after, "--limit", "9000"]);
        (code(&read), String::from_utf8_lossy(&read.stdout).into_owned(), said(&read))
    }
}

/// Each step towards it is refused before it may be taken.
fn turned() -> RotatedLedger {
    let sample = filled();
    let offline = sample.folder.path().join("vault/offline.keys");
    let mut turned = RotatedLedger { sample, offline };
    let refused = |turned: &RotatedLedger, expected: &str| {
        let before = fs::read(turned.sample.keyring_file()).unwrap();
        let output = turned.retire();
        assert!(code(&output) == 1 && said(&output).contains(expected), "{expected}: {}", said(&output));
        assert!(!turned.offline.exists());
        assert_eq!(fs::read(turned.sample.keyring_file()).unwrap(), before);
    };
    // Events archived before the rotation are under the first key.
    assert_eq!(json(&turned.sample, &["archive", "run", "--now"]).0, Some(0));
    refused(&turned, "rotate first");
    assert_eq!(code(&turned.keys(&["rotate"])), 0);
    refused(&turned, "a segment of ledger main from position ");
    let text = fs::read_to_string(turned.sample.keyring_file()).unwrap();
    turned.sample.keyring = Arc::new(Keyring::parse(&text).unwrap());
    // Two rounds: the segments that end behind the first archives are let go with the second ones.
    for round in 1..3 {
        fill(&turned.sample, round * 1_000);
        assert_eq!(json(&turned.sample, &["archive", "run", "--now"]).0, Some(0));
    }
    turned
}

#[test]
fn retired_keys_open_the_past_no_more_and_the_ledger_goes_on() {
    let mut turned = turned();
    let (ended, before, stderr) = turned.read("0");
    assert_eq!(ended, 0, "{stderr}");
    let shown = told(&turned.keys(&["show", "--json"]));
    let old = shown["olderKeys"][0].as_str().unwrap().to_owned();
    let whole = fs::read(turned.sample.keyring_file()).unwrap();
    // Where the offline keyring cannot be written, the keys stay.
    let nowhere = turned.sample.keyring_file().join("offline.keys");
    let refused = turned.keys(&["retire", "--into", nowhere.to_str().unwrap()]);
    assert_eq!(code(&refused), 1, "{}", said(&refused));
    assert_eq!(fs::read(turned.sample.keyring_file()).unwrap(), whole);
    // Nor is a file written over: one of another keyring, a link, the place where the keyring's own replacement could lie.
    let other = turned.sample.folder.path().join("other.keys");
    fs::write(&other, "bitacora-offline-keys v1\n").unwrap();
    let link = turned.sample.folder.path().join("link.keys");
    std::os::unix::fs::symlink(turned.sample.folder.path().join("nothing"), &link).unwrap();
    for taken in [&other, &link] {
        let refused = turned.keys(&["retire", "--into", taken.to_str().unwrap()]);
        assert!(code(&refused) == 1 && said(&refused).contains("name a new file"), "{}", said(&refused));
        assert_eq!(fs::read(turned.sample.keyring_file()).unwrap(), whole);
    }
    assert!(fs::read(&other).unwrap() == b"bitacora-offline-keys v1\n" && link.is_symlink());
    let beside = PathBuf::from(format!("{}.new", turned.sample.keyring_file().display()));
    assert_eq!(code(&turned.keys(&["retire", "--into", beside.to_str().unwrap()])), 0);
    assert!(OfflineKeys::parse(&fs::read_to_string(&beside).unwrap()).is_ok());
    fs::write(turned.sample.keyring_file(), &whole).unwrap();

    let retired = turned.retire();
    assert_eq!(code(&retired), 0, "{}", said(&retired));
    let live = fs::read_to_string(turned.sample.keyring_file()).unwrap();
    let offline = fs::read_to_string(&turned.offline).unwrap();
    assert_eq!(
        OfflineKeys::parse(&offline).unwrap().ids().map(|id| id.to_string()).collect::<Vec<_>>(),
        [&*old]
    );
    assert!(
        live.contains(&format!("retired-key {old}\n")) && !live.contains(&format!("encryption-key {old}"))
    );

    // Events sealed under it are retired: neither damaged nor erased.
    let (ended, _, stderr) = turned.read("0");
    assert!(ended == 50 && stderr.contains("was retired") && stderr.contains(&old), "{ended}: {stderr}");
    // Events after it are read, appended to and decided about.
    let first_new: u64 = 1_300;
    let (ended, later, stderr) = turned.read(&first_new.to_string());
    assert!(ended == 0 && !later.is_empty() && before.ends_with(&*later), "{stderr}");
    turned.sample.keyring = Arc::new(Keyring::parse(&live).unwrap());
    fill(&turned.sample, 5_000);
    let panic = turned.sample.run(&["--anchor", "none", "panic", "--json"]);
    assert_eq!(code(&panic), 0, "{}", said(&panic));

    // The chain, its signatures and the tree need no keys; with them, what does not open is named.
    let (ended, alone) = json(&turned.sample, &["verify"]);
    assert_eq!(ended, Some(10), "{alone}");
    let (ended, verified) = json(&turned.sample, &["verify", "--with-keys"]);
    assert!(ended == Some(50) && verified.to_string().contains("was retired"), "{verified}");
    let (ended, archives) = json(&turned.sample, &["archive", "verify", "--with-keys"]);
    assert!(ended == Some(50) && archives.to_string().contains("was retired"), "{archives}");

    // A crash before the keyring was replaced leaves the key in both.
    fs::write(turned.sample.keyring_file(), &whole).unwrap();
    assert_eq!(code(&turned.retire()), 0);
    assert_eq!(fs::read_to_string(&turned.offline).unwrap(), offline);
    assert_eq!(fs::read_to_string(turned.sample.keyring_file()).unwrap(), live);

    let restored = turned.keys(&["restore", "--from", turned.offline.to_str().unwrap()]);
    assert_eq!(code(&restored), 0, "{}", said(&restored));
    assert_eq!(fs::read(turned.sample.keyring_file()).unwrap(), whole);
    let (ended, after, stderr) = turned.read("0");
    assert!(ended == 0 && after.starts_with(&before), "{stderr}");
    assert_eq!(json(&turned.sample, &["verify", "--with-keys"]).0, Some(10));
}

#[test]
fn a_key_that_is_in_use_or_of_the_newest_archive_stays() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let offline = sample.folder.path().join("offline.keys");
    let keys = |arguments: &[&str]| sample.run(&[&["--anchor", "none", "keys"], arguments].concat());
    let shown = told(&keys(&["show", "--json"]));
    let id = shown["encryptionKey"].as_str().unwrap().to_owned();
    let into = ["--into", offline.to_str().unwrap(), "--key", &id];
    let refused = keys(&[&["retire"], &into[..]].concat());
    assert!(code(&refused) == 1 && said(&refused).contains("still needed"), "{}", said(&refused));
    assert_eq!(code(&keys(&["retire", "--into", offline.to_str().unwrap(), "--key", "xyz"])), 2);
    let in_data = sample.data().join("offline.keys");
    let refused = keys(&["retire", "--into", in_data.to_str().unwrap()]);
    assert!(
        code(&refused) == 1 && said(&refused).contains("must not lie in the data folder"),
        "{}",
        said(&refused)
    );
    // The keyring itself is no offline keyring.
    let refused = keys(&["restore", "--from", sample.keyring_file().to_str().unwrap()]);
    assert!(code(&refused) == 1 && said(&refused).contains("not an offline keyring"), "{}", said(&refused));
    assert!(!offline.exists() && !in_data.exists());
    assert_eq!(told(&keys(&["show", "--json"])), Value::clone(&shown));
}

#[test]
fn a_refused_recovery_leaves_the_tables_that_retired_keys_would_be_needed_for() {
    let turned = turned();
    assert_eq!(code(&turned.retire()), 0);
    let before = files_below(&turned.sample.data());
    for extra in [&[][..], &["--without-archives"]] {
        let arguments = [&["--anchor", "none", "recover", "--declare-loss"], extra].concat();
        let refused = turned.sample.run(&arguments);
        assert_eq!(code(&refused), 1, "{}", said(&refused));
        assert!(files_below(&turned.sample.data()) == before, "{extra:?}: {}", said(&refused));
    }
    let retired = Keyring::parse(&fs::read_to_string(turned.sample.keyring_file()).unwrap()).unwrap();
    let sample = Sample { keyring: Arc::new(retired), ..turned.sample };
    fill(&sample, 9_000);
}

#[test]
fn no_key_is_retired_that_a_missing_ledger_may_need() {
    let turned = turned();
    let data = turned.sample.data();
    let retire = |extra: &[&str]| {
        let into = turned.offline.to_str().unwrap();
        turned.keys(&[&["retire", "--into", into], extra].concat())
    };
    fs::write(data.join("LEDGERS"), "bitacora-ledgers v1\nmain\nother\n").unwrap();
    let before = fs::read(turned.sample.keyring_file()).unwrap();
    let refused = retire(&[]);
    assert!(
        code(&refused) == 1 && said(&refused).contains("the ledger other was here"),
        "{}",
        said(&refused)
    );
    assert!(!turned.offline.exists());
    assert_eq!(fs::read(turned.sample.keyring_file()).unwrap(), before);
    let retired = retire(&["--without-ledger", "other"]);
    assert_eq!(code(&retired), 0, "{}", said(&retired));
}

//! `keys`, and the keyring that `serve` refuses.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use bitacora_formats::Keyring;
use bitacora_ledger::{Environment, Ledger, OpenError, Options};

use crate::sample::{Sample, code, command, told, why};

fn keys(arguments: &[&str], keyring: &Path) -> Output {
    command(&["keys"]).args(arguments).arg("--keyring").arg(keyring).output().unwrap()
}

#[test]
fn a_keyring_is_made_shown_and_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyring");
    assert_eq!(code(&keys(&["new"], &path)), 0);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = keys(&["new"], &path);
    assert_eq!(code(&again), 1);
    assert!(why(&again).contains("exists already"));

    let before = told(&keys(&["show", "--json"], &path));
    let rotated = told(&keys(&["rotate", "--json"], &path));
    assert_ne!(before["encryptionKey"], rotated["encryptionKey"]);
    assert_eq!(before["signingKeys"], rotated["signingKeys"]);
    let rotated = told(&keys(&["rotate", "--signing", "--json"], &path));
    assert_eq!(rotated["signingKeys"].as_array().unwrap().len(), 2);
    assert_eq!(told(&keys(&["show", "--json"], &path)), rotated);
}

#[test]
fn a_locked_keyring_needs_its_passphrase() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyring");
    let with = |arguments: &[&str], passphrase: &str| {
        let mut command = command(&["keys"]);
        command.args(arguments).arg("--keyring").arg(&path).env("BITACORA_PASSPHRASE", passphrase);
        command.output().unwrap()
    };
    assert_eq!(code(&keys(&["new"], &path)), 0);
    let clear = fs::read_to_string(&path).unwrap();
    assert_eq!(code(&with(&["lock"], "one")), 0);
    assert!(!String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("encryption-key"));
    let wrong = with(&["show"], "two");
    assert_eq!(code(&wrong), 1);
    assert!(why(&wrong).contains("passphrase does not open it"));
    assert_eq!(code(&with(&["unlock"], "one")), 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), clear);
}

#[test]
fn serve_refuses_a_keyring_that_is_not_safe_or_not_there() {
    let sample = Sample::new(1);
    let serve = || sample.run(&["serve", "--listen", "127.0.0.1:0", "--create", "main"]);
    let last = |output: Output| {
        assert_eq!(code(&output), 1);
        String::from_utf8(output.stderr).unwrap().lines().last().unwrap().to_owned()
    };
    let path = sample.keyring_file();
    for mode in [0o644, 0o640, 0o606] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(last(serve()).contains("chmod 600"), "{mode:o}");
    }
    fs::write(&path, "hello").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(last(serve()).contains("not a keyring"));
    fs::remove_file(&path).unwrap();
    assert!(last(serve()).contains("no keyring here"));
    assert!(!path.exists(), "no keyring is made for a ledger that has one");
}

#[test]
fn serve_begins_only_what_it_is_told_to_and_never_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let (data, keyring) = (folder.path().join("data"), folder.path().join("keyring"));
    let serve = |more: &[&str]| {
        let mut command = command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(more).arg("--data").arg(&data).arg("--keyring").arg(&keyring).output().unwrap()
    };
    assert!(why(&serve(&[])).contains("--create main"));
    assert!(!data.exists() && !keyring.exists());

    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    assert!(place.start_closed().unwrap().terminate().unwrap().success());
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(
        !log.contains("WARN") && !log.contains("not there"),
        "a first start says nothing alarming: {log}"
    );
    assert_eq!(fs::metadata(&keyring).unwrap().permissions().mode() & 0o777, 0o600);
    fs::rename(data.join("ledgers/main"), folder.path().join("aside")).unwrap();
    for more in [&["--create", "main"][..], &[]] {
        assert!(why(&serve(more)).contains("ledger main was here and is missing"));
        assert!(!data.join("ledgers/main").exists());
    }
}

#[test]
fn two_services_do_not_share_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    let mut first = place.start().unwrap();
    let mut second = place.command("serve");
    second.args(["--listen", "127.0.0.1:0", "--keyring"]).arg(place.keyring());
    let second = second.output().unwrap();
    assert_eq!(code(&second), 1);
    assert!(why(&second).contains("another service serves this data folder"));
    assert!(first.terminate().unwrap().success());
}

#[test]
fn nothing_is_made_for_a_service_that_could_not_listen() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, exit, more) in
        [(taken.as_str(), 1, &[][..]), ("0.0.0.0:0", 2, &["--open"]), ("[::]:0", 2, &["--open"])]
    {
        let (data, keyring) = (folder.path().join("data"), folder.path().join("keyring"));
        let serve = [&["serve", "--create", "main", "--listen", address], more].concat();
        let refused = command(&serve).arg("--data").arg(data).arg("--keyring").arg(keyring).output().unwrap();
        assert_eq!(code(&refused), exit, "{address}: {}", why(&refused));
        let made = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(made, 0, "{address}: something was made");
    }
}

#[test]
fn a_keyring_in_the_data_folder_is_refused_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let keyring = data.join("keyring");
    let refused = |arguments: &[&str]| {
        let mut command = command(arguments);
        let output = command.arg("--data").arg(&data).arg("--keyring").arg(&keyring).output().unwrap();
        assert_eq!(code(&output), 1, "{arguments:?}");
        let said = why(&output);
        let last = said.lines().last().unwrap_or_default();
        assert!(last.contains("keyring must not lie in the data folder"), "{arguments:?}: {said}");
        assert!(last.contains("name a place outside with --keyring") && !last.contains("anchor"), "{said}");
    };
    refused(&["serve", "--listen", "127.0.0.1:0", "--create", "main"]);
    assert!(!data.exists(), "nothing was made");
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    assert!(place.start().unwrap().terminate().unwrap().success());
    fs::copy(place.keyring(), &keyring).unwrap();
    refused(&["serve", "--listen", "127.0.0.1:0"]);
    refused(&["calls"]);
}

/// Every file and folder below this one, with what files hold.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
    found
}

/// Names what is not the same, and not the bytes.
fn assert_same(
    found: &BTreeMap<PathBuf, Option<Vec<u8>>>,
    expected: &BTreeMap<PathBuf, Option<Vec<u8>>>,
    what: &str,
) {
    let paths = found.keys().chain(expected.keys());
    let differ: Vec<_> = paths.filter(|path| found.get(*path) != expected.get(*path)).collect();
    assert!(differ.is_empty(), "{what}: {differ:?}");
}

#[test]
fn a_wrong_keyring_changes_nothing_in_the_folder() {
    let sample = Sample::with_heads(2);
    // As a service makes it.
    fs::write(sample.data().join("lock"), "").unwrap();
    // The right keyring's files lie there: tables, and a loss that is declared and not recorded.
    assert_eq!(code(&sample.run(&["read"])), 0);
    let declared = sample.ledger().join("declared-loss");
    for with_declaration in [false, true] {
        if with_declaration {
            fs::write(&declared, "whatever a crash has left").unwrap();
        }
        let before = tree(&sample.data());
        assert!(
            before.keys().any(|path| path.extension().is_some_and(|ending| ending == "tbl")),
            "{before:?}"
        );
        fs::remove_file(sample.keyring_file()).unwrap();
        assert_eq!(code(&keys(&["new"], &sample.keyring_file())), 0);
        for arguments in [&["recover", "--declare-loss"][..], &["read"], &["verify"]] {
            let said = String::from_utf8(sample.run(arguments).stderr).unwrap();
            assert_same(&tree(&sample.data()), &before, &format!("{arguments:?}: {said}"));
        }
        let wrong = Arc::new(Keyring::generate(&mut |bytes| bytes.fill(7)));
        let opened = Ledger::open(&Environment::real(), &sample.ledger(), wrong, Options::small());
        assert!(matches!(opened, Err(OpenError::Keyring { .. })), "{:?}", opened.err());
        assert_same(&tree(&sample.data()), &before, "opened for writing");
        assert_ne!(code(&sample.run(&["recover", "--declare-loss"])), 0);
    }
}

/// Returns the text of a keyring with the lines of these words from another one. Its check is the one that such a text has by the page on
/// keyrings.
fn mixed(text: &str, other: &str, words: &[&str]) -> String {
    let (kept, _) = text.split_once("check ").unwrap();
    let mut lines = String::new();
    for line in kept.lines() {
        let word = line.split(' ').next().unwrap();
        let foreign = other.lines().find(|line| line.split(' ').next() == Some(word)).unwrap();
        let line = match (words.contains(&word), word) {
            // Under its own id.
            (true, "encryption-key") => {
                let (named, digits) = (line.rsplit_once(' ').unwrap().0, foreign.rsplit_once(' ').unwrap().1);
                format!("{named} {digits}")
            }
            (true, _) => foreign.to_owned(),
            (false, _) => line.to_owned(),
        };
        lines = format!("{lines}{line}\n");
    }
    let check =
        blake3::Hasher::new_derive_key("bitacora v1 keyring check").update(lines.as_bytes()).finalize();
    format!("{lines}check {check}\n")
}

#[test]
fn a_keyring_that_is_wrong_in_one_key_alone_changes_nothing_and_is_told() {
    let sample = Sample::new(2);
    fs::write(sample.data().join("lock"), "").unwrap();
    assert_eq!(code(&sample.run(&["calls"])), 0);
    let before = tree(&sample.data());
    let text = fs::read_to_string(sample.keyring_file()).unwrap();
    let other = Keyring::generate(&mut |bytes| bytes.fill(7)).to_text();
    for (words, named) in [
        (&["encryption-key"][..], "does not open this segment"),
        (&["blinding-key"], "another blinding key"),
        (&["derived-state-key"], "another key of derived state"),
        (&["signing-key", "signing-seed"], "signing key is not its own"),
    ] {
        fs::write(sample.keyring_file(), mixed(&text, &other, words)).unwrap();
        for arguments in [&["recover", "--declare-loss"][..], &["calls"], &["read"], &["verify"]] {
            let said = String::from_utf8(sample.run(arguments).stderr).unwrap();
            assert_same(&tree(&sample.data()), &before, &format!("{words:?}, {arguments:?}: {said}"));
        }
        let wrong = Arc::new(Keyring::parse(&fs::read_to_string(sample.keyring_file()).unwrap()).unwrap());
        let opened = Ledger::open(&Environment::real(), &sample.ledger(), wrong, Options::small());
        let Err(OpenError::Keyring { what, .. }) = opened else { panic!("{words:?}: {:?}", opened.err()) };
        assert!(what.contains(named), "{words:?}: {what}");
        assert_same(&tree(&sample.data()), &before, "opened for writing");
    }
    fs::write(sample.keyring_file(), text).unwrap();
    assert_eq!(code(&sample.run(&["calls"])), 0);
}

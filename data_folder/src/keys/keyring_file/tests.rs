use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::keys::generation::generate;

const GIVEN: PassphraseSource = PassphraseSource::Given("correct horse");

struct TestKeyring {
    folder: TempDir,
}

impl TestKeyring {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a keyring's file in clear; returns its path and contents.
    fn keyring(&self) -> (PathBuf, String) {
        let path = self.path("keyring");
        let keyring = generate().unwrap();
        keyring_at(&path).create(&keyring, None).unwrap();
        (path, keyring.to_text().to_string())
    }
}

fn keyring_at(path: &Path) -> KeyringFile<'_> {
    KeyringFile { path, data: None, passphrase: GIVEN }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn loaded(path: &Path) -> Result<String, KeyringFileError> {
    keyring_at(path).load().map(|loaded| loaded.keyring.to_text().to_string())
}

/// Returns the error's message, one line that names the file.
fn message<T>(path: &Path, result: Result<T, KeyringFileError>) -> String {
    let message = result.err().unwrap().to_string();
    assert!(message.starts_with(&path.display().to_string()) && !message.contains('\n'), "{message}");
    message
}

#[test]
fn a_new_keyring_is_for_its_owner_alone_and_reads_back() {
    let test = TestKeyring::new();
    let path = test.path("a/b/keyring");
    let keyring = generate().unwrap();
    keyring_at(&path).create(&keyring, None).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(loaded(&path).unwrap(), *keyring.to_text());
}

#[test]
fn an_existing_file_is_never_written_over() {
    let test = TestKeyring::new();
    let (path, text) = test.keyring();
    let refused = keyring_at(&path).create(&generate().unwrap(), None);
    assert!(matches!(refused, Err(KeyringFileError::Exists(_))));
    assert_eq!(loaded(&path).unwrap(), text);
}

#[test]
fn a_keyring_that_is_missing_wrong_or_open_to_others_is_refused() {
    let test = TestKeyring::new();
    let (path, text) = test.keyring();

    let missing = test.path("nothing");
    assert!(message(&missing, loaded(&missing)).contains("bitacora keys new"));
    assert!(message(test.folder.path(), loaded(test.folder.path())).contains("not a file"));

    for others in [0o604, 0o640, 0o660, 0o666, 0o601, 0o620] {
        fs::set_permissions(&path, fs::Permissions::from_mode(others)).unwrap();
        assert!(message(&path, loaded(&path)).contains("chmod 600"), "{others:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(loaded(&path).unwrap(), text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    for wrong in
        ["", "hello\n", &text[..text.len() - 5], "bitacora-keyring v3\n", &"x".repeat(MAX_FILE_BYTES + 1)]
    {
        fs::write(&path, wrong).unwrap();
        let refused = loaded(&path);
        assert!(matches!(refused, Err(KeyringFileError::Keyring { .. })), "{wrong:.20}");
        message(&path, refused);
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(loaded(&path), Err(KeyringFileError::Keyring { .. })));
}

#[test]
fn a_keyring_in_the_data_folder_is_refused_under_every_name() {
    let test = TestKeyring::new();
    let (data, outside) = (test.path("data"), test.path("outside"));
    fs::create_dir_all(data.join("ledgers")).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&data, test.path("data-link")).unwrap();
    symlink(data.join("keyring"), outside.join("into")).unwrap();
    symlink(outside.join("keyring"), data.join("out-of")).unwrap();

    let in_data = |keyring: &Path, data: &Path| {
        matches!(refuse_in_data(keyring, Some(data)), Err(KeyringFileError::InData { .. }))
    };
    assert!(in_data(&data.join("keyring"), &data));
    assert!(in_data(&data.join("not/there/yet"), &data));
    assert!(in_data(&outside.join("../data/keyring"), &data));
    assert!(in_data(&test.path("data-link/keyring"), &data));
    assert!(in_data(&data.join("keyring"), &test.path("data-link")));
    assert!(in_data(&data.join("out-of"), &data), "the name lies in the data");
    fs::write(data.join("keyring"), "").unwrap();
    assert!(in_data(&outside.join("into"), &data), "the file lies in the data");

    assert!(!in_data(&outside.join("keyring"), &data));
    assert!(!in_data(&test.path("data-of-others"), &data), "a longer name is another folder");
    assert!(!in_data(&outside.join("keyring"), &test.path("not-there-yet")));
    assert!(in_data(&test.path("not-there-yet/keyring"), &test.path("not-there-yet")));

    let in_data = |path| KeyringFile { path, data: Some(&data), passphrase: GIVEN };
    let new = data.join("new");
    let refused = in_data(&new).create(&generate().unwrap(), None);
    assert!(matches!(refused, Err(KeyringFileError::InData { .. })) && !new.exists());
    assert!(matches!(in_data(&data.join("keyring")).load(), Err(KeyringFileError::InData { .. })));
}

#[test]
fn a_change_replaces_the_file_and_leaves_nothing_beside_it() {
    let test = TestKeyring::new();
    let (path, text) = test.keyring();
    fs::write(test.path("keyring.new"), "somebody's").unwrap();
    let rotated = keyring_at(&path).rotate(RotatedKey::Signing).unwrap().keyring.to_text().to_string();
    assert_ne!(rotated, text);
    assert_eq!((loaded(&path).unwrap(), mode(&path)), (rotated, 0o600));
    assert_eq!(fs::read_to_string(test.path("keyring.new")).unwrap(), "somebody's");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let test = TestKeyring::new();
    let (path, text) = test.keyring();
    let failed = keyring_at(&path).change(|loaded| {
        loaded.keyring.rotate_signing(&mut |bytes| bytes.fill(7)).unwrap();
        Err(KeyringFileError::NotLocked(path.clone()))
    });
    assert!(failed.is_err());
    assert_eq!(loaded(&path).unwrap(), text);
}

#[test]
fn two_programs_do_not_change_it_at_once() {
    let test = TestKeyring::new();
    let (path, _) = test.keyring();
    let mut inner = None;
    let outer = keyring_at(&path).change(|_| {
        inner = Some(keyring_at(&path).rotate(RotatedKey::Signing));
        Ok::<_, KeyringFileError>(())
    });
    assert!(outer.is_ok() && matches!(inner, Some(Err(KeyringFileError::Busy(_)))));
}

#[test]
fn a_link_to_the_keyring_stays_a_link() {
    let test = TestKeyring::new();
    let (path, _) = test.keyring();
    let link = test.path("link");
    symlink(&path, &link).unwrap();
    let rotated = keyring_at(&link).rotate(RotatedKey::Encryption).unwrap();
    assert_eq!(loaded(&path).unwrap(), *rotated.keyring.to_text());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_locked_keyring_opens_with_its_passphrase_alone_and_stays_locked() {
    let test = TestKeyring::new();
    let path = test.path("keyring");
    let keyring = generate().unwrap();
    keyring_at(&path).create(&keyring, Some(&GIVEN.current().unwrap())).unwrap();
    let file = fs::read(&path).unwrap();
    assert!(PassphraseHeader::is_at(&file) && mode(&path) == 0o600);
    assert_eq!(loaded(&path).unwrap(), *keyring.to_text());
    let wrong = KeyringFile { passphrase: PassphraseSource::Given("correct horsf"), ..keyring_at(&path) };
    assert!(matches!(wrong.load(), Err(KeyringFileError::WrongPassphrase(_))));

    assert!(keyring_at(&path).rotate(RotatedKey::Encryption).is_ok_and(|rotated| rotated.is_locked()));
    assert!(PassphraseHeader::is_at(&fs::read(&path).unwrap()));

    let mut changed = file.clone();
    let middle = file.len() / 2;
    changed[middle] ^= 1;
    let mut costly = file.clone();
    costly[10] = 40;
    for damaged in [&file[..file.len() - 60], &changed, &costly, &file[..20]] {
        fs::write(&path, damaged).unwrap();
        let refused = loaded(&path);
        message(&path, refused);
    }
}

#[test]
fn each_write_draws_a_new_salt_and_nonce() {
    let test = TestKeyring::new();
    let path = test.path("keyring");
    keyring_at(&path).create(&generate().unwrap(), Some(&GIVEN.current().unwrap())).unwrap();
    let first = fs::read(&path).unwrap();
    keyring_at(&path).change(|_| Ok::<_, KeyringFileError>(())).unwrap();
    let second = fs::read(&path).unwrap();
    assert_eq!(first[..14], second[..14]);
    assert!(first[14..30] != second[14..30] && first[30..42] != second[30..42]);
}

#[test]
fn a_keyring_locked_with_age_is_refused_with_what_to_do() {
    let test = TestKeyring::new();
    let path = test.path("keyring");
    let binary = b"age-encryption.org/v1\n-> scrypt bBjlhJVYZeE4aqUdmtRHfw 10\n\xff\xfe";
    for file in [&binary[..], b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n"]
    {
        fs::write(&path, file).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let said = message(&path, loaded(&path));
        assert!(said.contains("`age --decrypt`") && said.contains("`bitacora keys lock`"), "{said}");
        assert_eq!(fs::read(&path).unwrap(), file);
    }
}

#[test]
fn an_empty_passphrase_locks_nothing() {
    assert!(matches!(PassphraseSource::Given("").new_one(), Err(PassphraseError::Empty)));
}

//! Keyrings under a passphrase, opened by Python with the scrypt and AES of OpenSSL.

use std::path::Path;
use std::process::{Command, Output};

use bitacora_formats::{Keyring, PassphraseHeader, ScryptCost};

use crate::second::python;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/second/open_keyring.py");

#[test]
fn python_opens_what_is_sealed_and_nothing_else() {
    let Some(python) = python() else { return };
    let open = |file: &Path, passphrase: &str| -> Output {
        Command::new(&python).arg(PROGRAM).arg(file).arg(passphrase).output().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyring");
    let text = Keyring::generate(&mut |bytes| bytes.fill(7)).to_text();
    let random = std::array::from_fn(|index| u8::try_from(index * 7).unwrap());
    for (cost, passphrase) in [
        (ScryptCost::MIN, "one"),
        (ScryptCost::new(12, 8, 3).unwrap(), "Grüße, 世界: no normalisation"),
        (ScryptCost::DEFAULT, "a long sentence"),
    ] {
        let mut file = PassphraseHeader::new(cost, &random).seal(text.as_bytes(), passphrase).unwrap();
        std::fs::write(&path, &file).unwrap();
        let opened = open(&path, passphrase);
        assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
        assert_eq!(String::from_utf8(opened.stdout).unwrap(), *text);
        if cost == ScryptCost::DEFAULT {
            continue;
        }
        assert_eq!(open(&path, "another").status.code(), Some(1));
        for at in [0, 8, 10, 13, 14, 41, 42, file.len() - 1] {
            file[at] ^= 1;
            std::fs::write(&path, &file).unwrap();
            let (second, first) = (open(&path, passphrase), PassphraseHeader::open(&file, passphrase));
            assert!(
                second.status.code() == Some(1) && second.stdout.is_empty() && first.is_err(),
                "byte {at}"
            );
            file[at] ^= 1;
        }
    }
}

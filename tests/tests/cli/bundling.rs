//! `prove --range`: the demo hour in one file, checked by each verifier.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};

use crate::sample::command;

const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/second/bitacora_verify.py");

/// The verifier key of another ledger.
const OTHER_KEY: &str =
    "main/cf2fbdf8a5bef75ad3f39a75dd673632/g1+5072fa24+AXcf2bD1YxstXrgbhY78ZKjAuxH1cH+xuCKEp61PRN4k";

/// A Python with the second verifier's packages, if there is one.
fn python() -> Option<OsString> {
    let python = std::env::var_os("BITACORA_PYTHON").unwrap_or_else(|| "python3".into());
    let asked = Command::new(&python).args(["-c", "import cryptography, blake3"]).output();
    asked.is_ok_and(|asked| asked.status.success()).then_some(python)
}

fn prove(folder: &Path, more: &[&str]) -> Output {
    let places = ["--data", "bitacora-quickstart/data", "--keyring", "bitacora-quickstart/keyring"];
    command(&["prove"]).args(more).args(places).current_dir(folder).output().unwrap()
}

fn verified(python: &OsString, bundle: &Path) -> (Option<i32>, String) {
    let output = Command::new(python).args(["-I", SECOND, "--bundle"]).arg(bundle).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks a bundle with `bitacora verify`. Returns the exit code and stdout.
fn checked(bundle: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = command(&["verify", "--bundle"]).arg(bundle).args(more).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_demo_hour_is_bundled_from_a_folder_and_verified_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let start = ["quickstart", "--exit", "--json", "--events", "3000"];
    let output = command(&start).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bundle = folder.path().join("hour.tar");
    let output = prove(folder.path(), &["--range", "1-", "--out", "hour.tar"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("README.txt"));
    // Never over another file, and never without one.
    assert_eq!(prove(folder.path(), &["--range", "1-", "--out", "hour.tar"]).status.code(), Some(1));
    for refused in [
        &["--range", "1-"][..],
        &["--range", "9-3", "--out", "x"],
        &["7", "--run", "r", "--out", "x"],
        &["--session", "s"],
    ] {
        assert_eq!(prove(folder.path(), refused).status.code(), Some(2), "{refused:?}");
    }
    let (code, said) = checked(&bundle, &[]);
    assert!(code == Some(10) && said.contains("positions 1 to"), "{said}");
    assert!(said.contains("no position of the range is missing"), "{said}");
    let (code, said) = checked(&bundle, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(code == Some(10) && json["exitCode"] == 10 && json["proven"]["first"] == "1", "{said}");
    let (code, said) = checked(&bundle, &["--vkey", OTHER_KEY]);
    assert!(code == Some(40) && said.contains("a key of another ledger"), "{said}");
    let missing = folder.path().join("missing.tar");
    assert_eq!(checked(&missing, &[]).0, Some(50));
    assert_eq!(checked(&bundle, &["--all"]).0, Some(2));
    let python = python();
    if let Some(python) = &python {
        let (code, said) = verified(python, &bundle);
        assert!(code == Some(10) && said.contains("positions 1 to"), "{said}");
    }

    let bytes = std::fs::read(&bundle).unwrap();
    let flipped = folder.path().join("flipped.tar");
    for mark in ["\"type\":\"tool.", "\"proof\":[\"", "signing-key 1 "] {
        let at =
            bytes.windows(mark.len()).rposition(|window| window == mark.as_bytes()).unwrap() + mark.len();
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&flipped, changed).unwrap();
        let (code, said) = checked(&flipped, &[]);
        assert!(code == Some(40) && said.contains("fault"), "{mark}: {said}");
        if let Some(python) = &python {
            assert_eq!(verified(python, &flipped).0, Some(40), "{mark}");
        }
    }
}

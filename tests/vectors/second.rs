//! The second verifier as a process that judges folder after folder.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A Python that has both packages; where it is not named, `python3` is asked whether it has them.
const PYTHON: &str = "BITACORA_PYTHON";
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/second/bitacora_verify.py");

/// The Python to run it with, or a word that nothing is compared. Where one is named, it has to do.
pub(crate) fn python() -> Option<OsString> {
    let named = env::var_os(PYTHON);
    let python = named.clone().unwrap_or_else(|| "python3".into());
    let mut asked = Command::new(&python);
    asked.args(["-c", "import cryptography, blake3"]).stderr(Stdio::null());
    if asked.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(named.is_none(), "{PYTHON} names no Python with the packages cryptography and blake3");
    eprintln!(
        "NOT RUN: python3 with the packages cryptography and blake3 is not here; {PYTHON} can name one"
    );
    None
}

/// The second verifier, waiting for folders.
pub(crate) struct SecondVerifier {
    child: Child,
    folders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl SecondVerifier {
    /// Starts it with these arguments, if it can be run here.
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        let mut child = Command::new(python()?)
            .args(["-I", PROGRAM, "--each"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Some(Self { folders: child.stdin.take(), answers, child })
    }

    /// Returns its verdict on a ledger's folder, or on a file of evidence.
    pub(crate) fn judge(&mut self, folder: &Path) -> Value {
        let folders = self.folders.as_mut().unwrap();
        writeln!(folders, "{}", folder.to_str().unwrap()).unwrap();
        folders.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{}: {line:?} is no answer", folder.display()))
    }
}

impl Drop for SecondVerifier {
    fn drop(&mut self) {
        drop(self.folders.take());
        let _it_ends_by_itself = self.child.wait();
    }
}

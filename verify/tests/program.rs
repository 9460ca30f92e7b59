//! The binary `bitacora-verify`: its command line and exit codes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bitacora-verify")).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn a_command_line_without_sense_ends_with_2() {
    for arguments in [&[][..], &["--fast", "."], &["a", "b"], &["--threads", "x", "."]] {
        let output = run(arguments);
        assert_eq!((code(&output), output.stdout.len()), (2, 0), "{arguments:?}");
        assert!(output.stderr.starts_with(b"bitacora-verify: "), "{arguments:?}");
    }
    assert_eq!(code(&run(&["--help"])), 0);
}

#[test]
fn a_folder_without_a_ledger_is_incomplete_and_an_empty_proof_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for arguments in [&[path][..], &["/no/such/folder"], &["--evidence", "/no/such/file"]] {
        assert_eq!(code(&run(arguments)), 50, "{arguments:?}");
    }
    let proof = folder.path().join("proof");
    std::fs::write(&proof, "{}").unwrap();
    let output = run(&["--json", "--evidence", proof.to_str().unwrap()]);
    assert_eq!(code(&output), 40);
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"exitCode\":40"));
}

//! Receipts of one event before two verifiers: valid, invalid, and undecidable without another key.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use tempfile::TempDir;

use crate::event_evidence::{EventEvidence, ORIGIN, signature_line, verifier_key};
use crate::second::SecondVerifier;
use crate::witnesses;
use crate::writer::key;

/// The program whose verifier is the first one.
const FIRST: &str = env!("CARGO_BIN_EXE_bitacora-under-test");

/// The receipt of what evidence shows.
fn receipt(shown: &EventEvidence) -> String {
    let number = |text: &str| text.parse::<u64>().unwrap().to_be_bytes();
    let entry = [&number(&shown.position)[..], &number(&shown.time), &shown.commitment].concat();
    let index = shown.position.parse::<u64>().unwrap().wrapping_sub(1);
    let hashes: String = shown.proof.iter().map(|hash| BASE64.encode(hash) + "\n").collect();
    format!(
        "c2sp.org/tlog-proof@v1\nextra {}\nindex {index}\n{hashes}\n{}",
        BASE64.encode(entry),
        shown.head()
    )
}

/// Returns receipts that hold for an auditor who knows the key that signed.
fn true_ones() -> Vec<(String, Vec<u8>)> {
    let sizes = [1, 2, 3, 4, 5, 8, 13];
    let of_all = sizes.into_iter().flat_map(|size| (1..=size).map(move |position| (position, size)));
    let mut cases: Vec<_> = of_all
        .filter(|(position, size)| position % 3 == 1 || position == size)
        .map(|(position, size)| {
            (format!("{position}-of-{size}"), receipt(&EventEvidence::of(position, size)).into_bytes())
        })
        .collect();
    let beside = EventEvidence::of(2, 3).with(|shown| {
        shown.mend_note = |note| note + &signature_line("w\u{202e}\u{7f}1", &key(50), "something");
    });
    cases.push(("with-a-signature-under-a-name-that-steers".to_owned(), receipt(&beside).into_bytes()));
    cases
}

/// Returns receipts that hold for nobody, whatever keys are known.
fn false_ones() -> Vec<(String, Vec<u8>)> {
    /// A change of a receipt.
    type EvidenceChange = fn(&mut EventEvidence);
    let forgeries: [(&str, EvidenceChange); 13] = [
        ("proof-empty", |shown| shown.proof.clear()),
        ("proof-too-short", |shown| drop(shown.proof.pop())),
        ("proof-too-long", |shown| shown.proof.push(vec![0; 32])),
        ("proof-of-65-hashes", |shown| shown.proof = vec![vec![0; 32]; 65]),
        ("proof-with-a-short-hash", |shown| shown.proof[1].truncate(31)),
        ("proof-in-another-order", |shown| shown.proof.reverse()),
        ("another-position", |shown| shown.position = "4".into()),
        ("position-0", |shown| shown.position = "0".into()),
        ("position-behind-the-tree", |shown| shown.position = "8".into()),
        ("another-time", |shown| shown.time += "0"),
        ("another-commitment", |shown| shown.commitment[0] ^= 1),
        ("another-root", |shown| shown.root[0] ^= 1),
        ("tree-of-another-size", |shown| shown.size = "9".into()),
    ];
    let whole = receipt(&EventEvidence::of(3, 7));
    let forms: [(&str, String); 16] = [
        ("of-another-version", whole.replacen("@v1", "@v2", 1)),
        ("of-another-kind", whole.replacen("tlog-proof", "tlog-prove", 1)),
        (
            "without-extra",
            whole
                .lines()
                .filter(|line| !line.starts_with("extra"))
                .fold(String::new(), |all, line| all + line + "\n"),
        ),
        ("extra-of-another-length", whole.replacen("extra AAAA", "extra ", 1)),
        ("extra-behind-two-spaces", whole.replacen("extra A", "extra  A", 1)),
        ("index-of-another-position", whole.replacen("index 2", "index 3", 1)),
        ("index-with-a-zero-before", whole.replacen("index 2", "index 02", 1)),
        ("index-with-a-sign", whole.replacen("index 2", "index +2", 1)),
        ("without-an-empty-line", whole.replacen("\n\n", "\n", 1)),
        ("with-two-empty-lines", whole.replacen("\n\n", "\n\n\n", 1)),
        ("with-carriage-returns", whole.replace('\n', "\r\n")),
        ("without-a-head", whole.split_once("\n\n").unwrap().0.to_owned() + "\n\n"),
        ("the-first-line-alone", "c2sp.org/tlog-proof@v1\n".to_owned()),
        ("unended", whole.trim_end().to_owned()),
        ("with-a-line-behind", whole.clone() + "more\n"),
        ("too-long", whole.replacen("extra ", &format!("extra {}", "A".repeat(132 * 1024)), 1)),
    ];
    let mut cases: Vec<_> = forgeries
        .map(|(name, forge)| (name.to_owned(), receipt(&EventEvidence::of(3, 7).with(forge)).into_bytes()))
        .into_iter()
        .chain(forms.map(|(name, text)| (name.to_owned(), text.into_bytes())))
        .collect();
    let strange = whole.clone() + &signature_line("w\u{e9}1", &key(50), "something");
    let broken = strange.into_bytes().into_iter().filter(|byte| *byte != 0xc3).collect();
    cases.push(("no-utf-8-in-the-name-of-a-stranger".to_owned(), broken));
    cases
}

/// The first verifier, as its reader starts it, without anything from the environment.
fn first(arguments: &[&str]) -> Command {
    let mut first = Command::new(FIRST);
    for name in ["DATA", "KEYRING", "URL", "LEDGER", "ANCHOR"] {
        first.env_remove(format!("BITACORA_{name}"));
    }
    first.args(["verify", "--json"]).args(arguments);
    first
}

/// Checks the answer of both verifiers to each case, for an auditor with these keys and, if there is one, this policy.
fn judge(keys: &[String], policy: Option<&str>, cases: &[(String, Vec<u8>)], expected: &str) {
    let folder = TempDir::new().unwrap();
    let (file, policy_file) = (folder.path().join("receipt"), folder.path().join("policy"));
    let mut arguments: Vec<&str> = keys.iter().flat_map(|key| ["--vkey", key]).collect();
    if let Some(policy) = policy {
        std::fs::write(&policy_file, policy).unwrap();
        arguments.extend(["--witnesses", policy_file.to_str().unwrap()]);
    }
    let Some(mut second) = SecondVerifier::start(&[&["--evidence"], &arguments[..]].concat()) else { return };
    let mut problems = Vec::new();
    for (name, bytes) in cases {
        std::fs::write(&file, bytes).unwrap();
        let said = second.judge(&file);
        let first = first(&arguments).arg("--evidence").arg(&file).output().unwrap();
        let told: Value = serde_json::from_slice(&first.stdout).unwrap();
        let first_said = match told["exitCode"].as_u64() {
            Some(0) => "verified",
            Some(40) => "invalid",
            Some(50) => "incomplete",
            _ => "something else",
        };
        assert_eq!(first.status.code().map(u64::try_from), told["exitCode"].as_u64().map(Ok), "{name}");
        if first_said != expected || said["verdict"] != expected {
            problems.push(format!("{name}: {expected} expected; the first: {told}; the second: {said}"));
        }
    }
    assert!(problems.is_empty(), "{} of {} cases:\n{}", problems.len(), cases.len(), problems.join("\n"));
}

#[test]
fn receipts_that_hold_are_verified_by_both() {
    let signer = verifier_key(ORIGIN, &key(2));
    judge(std::slice::from_ref(&signer), None, &true_ones(), "verified");
    judge(&[verifier_key(ORIGIN, &key(1)), signer], None, &true_ones(), "verified");
}

#[test]
fn receipts_that_hold_for_nobody_are_refused_by_both() {
    judge(&[verifier_key(ORIGIN, &key(2))], None, &false_ones(), "invalid");
    judge(&[verifier_key(ORIGIN, &key(1))], None, &false_ones(), "invalid");
    judge(&[], None, &false_ones(), "invalid");
}

#[test]
fn every_flipped_byte_of_a_receipt_is_found_by_both() {
    let whole = receipt(&EventEvidence::of(2, 3)).into_bytes();
    let Some(mut second) = SecondVerifier::start(&["--evidence", "--vkey", &verifier_key(ORIGIN, &key(2))])
    else {
        return;
    };
    let file = TempDir::new().unwrap();
    let path = file.path().join("receipt");
    let known = [verifier_key(ORIGIN, &key(2)).parse().unwrap()];
    for (what, bytes, _) in crate::judge::flips(&whole) {
        std::fs::write(&path, &bytes).unwrap();
        let said = second.judge(&path);
        assert!(said["verdict"] == "invalid" || said["verdict"] == "incomplete", "{what}: {said}");
        let text = std::str::from_utf8(&bytes).ok();
        let first = text.and_then(|text| bitacora_formats::UnverifiedReceipt::parse(text).ok());
        assert!(first.is_none_or(|first| first.verify(&known).is_err()), "{what}");
    }
}

#[test]
fn a_receipt_brings_no_keys_and_whose_it_is_another_key_cannot_tell() {
    let by_the_second = [("by-the-second-key".to_owned(), receipt(&EventEvidence::of(3, 7)).into_bytes())];
    judge(&[], None, &by_the_second, "incomplete");
    judge(&[verifier_key(ORIGIN, &key(1))], None, &by_the_second, "incomplete");
    judge(&[verifier_key(&ORIGIN.replace("g1", "g2"), &key(2))], None, &by_the_second, "incomplete");
    judge(&[verifier_key(&ORIGIN.replace("5e", "5f"), &key(2))], None, &by_the_second, "invalid");
    judge(&[verifier_key(&ORIGIN.replace("main", "other"), &key(2))], None, &by_the_second, "invalid");
    judge(&[verifier_key("sum.example", &key(2))], None, &by_the_second, "invalid");
    // Signed, but by nobody who speaks for the ledger.
    let of_another = EventEvidence::of(3, 7).with(|shown| {
        shown.mend_note = |note| {
            let text = note.split("\n\n").next().unwrap().to_owned() + "\n";
            format!("{text}\n{}", signature_line("sum.example", &key(7), &text))
        };
    });
    let of_another = [("by-another-name".to_owned(), receipt(&of_another).into_bytes())];
    judge(&[verifier_key("sum.example", &key(7))], None, &of_another, "invalid");
}

#[test]
fn receipts_are_held_against_a_policy_of_witnesses_by_both() {
    /// A change of the note.
    type Mend = fn(String) -> String;
    let cases: [(&str, Mend, &str); 4] = [
        ("by-two", |note| note.clone() + &witnesses::by(&note, 1) + &witnesses::by(&note, 3), "verified"),
        ("by-one", |note| note.clone() + &witnesses::by(&note, 1), "incomplete"),
        ("by-none", |note| note, "incomplete"),
        (
            "by-one-falsely",
            |note| note.clone() + &witnesses::by("another\n\n", 1) + &witnesses::by(&note, 3),
            "invalid",
        ),
    ];
    let signer = verifier_key(ORIGIN, &key(2));
    let with_log = format!("log {signer}\n{}", witnesses::policy());
    for (name, mend_note, expected) in cases {
        let shown = EventEvidence::of(3, 7).with(|shown| shown.mend_note = mend_note);
        let case = [(name.to_owned(), receipt(&shown).into_bytes())];
        judge(std::slice::from_ref(&signer), Some(&witnesses::policy()), &case, expected);
        judge(&[], Some(&with_log), &case, expected);
        judge(&[], Some(&witnesses::policy()), &case, "incomplete");
    }
}

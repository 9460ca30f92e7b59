//! Evidence of one event before two verifiers: valid, and with one thing wrong.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{UnverifiedEvidence, VerifierKey, WitnessPolicy};
use ed25519_dalek::Signer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::event_evidence::{
    EventEvidence, EvidenceForgery, ORIGIN, key_id, record, signature_line, verifier_key,
};
use crate::second::SecondVerifier;
use crate::witnesses;
use crate::writer::{BEGAN, key};

/// Returns evidence that holds, whatever the sizes.
fn true_ones() -> Vec<(String, Vec<u8>)> {
    let sizes = [1, 2, 3, 4, 5, 7, 8, 13, 64, 65];
    let of_all = sizes.into_iter().flat_map(|size| (1..=size).map(move |position| (position, size)));
    let mut cases: Vec<_> = of_all
        .map(|(position, size)| (format!("{position}-of-{size}"), EventEvidence::of(position, size).json()))
        .collect();
    let named: [(&str, EventEvidence); 6] = [
        ("signed-with-the-first-key", EventEvidence::of(2, 3).with(|shown| shown.signer = 0)),
        (
            "with-the-signature-of-a-witness",
            EventEvidence::of(2, 3).with(|shown| {
                shown.mend_note = |note| note + &signature_line("witness.example/w", &key(50), "something");
            }),
        ),
        (
            "with-another-key-of-the-same-name",
            EventEvidence::of(2, 3)
                .with(|shown| shown.mend_note = |note| note + &signature_line(ORIGIN, &key(50), "something")),
        ),
        (
            "with-a-signature-under-a-name-that-steers",
            EventEvidence::of(2, 3).with(|shown| {
                shown.mend_note =
                    |note| note + &signature_line("w\u{202e}\u{7f}\u{9b}1", &key(50), "something");
            }),
        ),
        (
            "with-a-signature-under-the-longest-name",
            EventEvidence::of(2, 3).with(|shown| {
                shown.mend_note = |note| note + &signature_line(&"n".repeat(256), &key(50), "something");
            }),
        ),
        (
            "with-nothing-disclosed",
            EventEvidence::of(2, 3).with(|shown| {
                shown.mend = |value| ["blind", "record"].iter().for_each(|name| remove(value, name));
            }),
        ),
    ];
    cases.extend(named.map(|(name, shown)| (name.to_owned(), shown.json())));
    cases
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().remove(name).unwrap();
}

/// Returns evidence that does not hold: each has one thing wrong.
fn false_ones() -> Vec<(String, Vec<u8>)> {
    let forgeries: [EvidenceForgery<EventEvidence>; 44] = [
        ("proof-empty", |shown| shown.proof.clear()),
        ("proof-too-short", |shown| drop(shown.proof.pop())),
        ("proof-without-its-first-hash", |shown| drop(shown.proof.remove(0))),
        ("proof-too-long", |shown| shown.proof.push(vec![0; 32])),
        ("proof-longer-at-the-front", |shown| shown.proof.insert(0, vec![0; 32])),
        ("proof-of-65-hashes", |shown| shown.proof = vec![vec![0; 32]; 65]),
        ("proof-with-an-empty-hash", |shown| shown.proof[1].clear()),
        ("proof-with-a-short-hash", |shown| shown.proof[1].truncate(31)),
        ("proof-with-a-long-hash", |shown| shown.proof[1].push(0)),
        ("proof-in-another-order", |shown| shown.proof.reverse()),
        ("proof-for-another-event", |shown| shown.proof = EventEvidence::of(4, 7).proof),
        ("another-position", |shown| shown.position = "4".into()),
        ("position-0", |shown| shown.position = "0".into()),
        ("position-behind-the-tree", |shown| shown.position = "8".into()),
        ("position-with-a-zero-before", |shown| shown.position = "03".into()),
        ("position-with-a-sign", |shown| shown.position = "+3".into()),
        ("position-past-64-bits", |shown| shown.position = "18446744073709551619".into()),
        ("another-time", |shown| shown.time = (BEGAN + 1).to_string()),
        ("time-with-a-zero-before", |shown| shown.time.insert(0, '0')),
        ("time-past-64-bits", |shown| shown.time = "18446744073709551616".into()),
        ("another-commitment", |shown| shown.commitment[0] ^= 1),
        ("another-blind", |shown| shown.blind[0] ^= 1),
        ("another-record", |shown| shown.record[2] ^= 1),
        ("tree-of-size-0", |shown| shown.size = "0".into()),
        ("tree-of-size-1", |shown| shown.size = "1".into()),
        ("tree-of-another-size", |shown| shown.size = "9".into()),
        ("size-with-a-zero-before", |shown| shown.size = "07".into()),
        ("another-root", |shown| shown.root[0] ^= 1),
        ("origin-without-a-generation", |shown| {
            shown.origin = "main/5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e".into();
        }),
        ("origin-of-generation-0", |shown| shown.origin = ORIGIN.replace("g1", "g0")),
        ("origin-in-capitals", |shown| shown.origin = ORIGIN.replace("5e", "5E")),
        ("signature-by-another-key-under-the-same-id", |shown| {
            shown.mend_note = |note| {
                let text = note.split("\n\n").next().unwrap().to_owned() + "\n";
                let signature = key(50).sign(text.as_bytes()).to_bytes();
                let id = key_id(ORIGIN, &key(2));
                let line = BASE64.encode([&id[..], &signature].concat());
                format!("{text}\n\u{2014} {ORIGIN} {line}\n")
            };
        }),
        ("one-signature-right-and-one-wrong", |shown| {
            shown.mend_note = |note| note + &signature_line(ORIGIN, &key(1), "something else");
        }),
        ("signature-by-an-unknown-key", |shown| {
            shown.mend_note = |note| {
                let text = note.split("\n\n").next().unwrap().to_owned() + "\n";
                format!("{text}\n{}", signature_line(ORIGIN, &key(50), &text))
            }
        }),
        ("signature-under-another-name", |shown| {
            shown.mend_note = |note| {
                let text = note.split("\n\n").next().unwrap().to_owned() + "\n";
                format!("{text}\n{}", signature_line("main/other", &key(2), &text))
            }
        }),
        ("signature-under-a-name-too-long", |shown| {
            shown.mend_note = |note| note + &signature_line(&"n".repeat(257), &key(50), "something");
        }),
        ("signature-under-a-name-with-a-wide-space", |shown| {
            shown.mend_note = |note| note + &signature_line("w\u{2003}1", &key(50), "something");
        }),
        ("head-without-signatures", |shown| {
            shown.mend_note = |note| note.split("\n\n").next().unwrap().to_owned() + "\n\n";
        }),
        ("head-without-the-last-newline", |shown| shown.mend_note = |note| note.trim_end().to_owned()),
        ("head-with-carriage-returns", |shown| shown.mend_note = |note| note.replace('\n', "\r\n")),
        ("head-with-another-line", |shown| shown.mend_note = |note| note.replacen("\n\n", "\nmore\n\n", 1)),
        ("key-not-endorsed", |shown| {
            shown.mend = |value| {
                let text = value["signingKeys"].as_str().unwrap().to_owned();
                let (known, last) = text.split_at(text.len() - 3);
                let last =
                    if last.starts_with('0') { last.replace('0', "1") } else { "0".to_owned() + &last[1..] };
                value["signingKeys"] = json!(known.to_owned() + &last);
            }
        }),
        ("record-without-its-blind", |shown| shown.mend = |value| remove(value, "blind")),
        ("blind-without-its-record", |shown| shown.mend = |value| remove(value, "record")),
    ];
    let forms: [EvidenceForgery<Value>; 12] = [
        ("part-without-a-seal", |value| {
            value["part"] = json!(BASE64.encode([1, 1, b'p', 0]));
            value["partBlind"] = json!("00".repeat(32));
        }),
        ("part-without-its-blind", |value| value["part"] = json!("")),
        ("member-too-many", |value| value["more"] = json!("")),
        ("member-missing", |value| remove(value, "time")),
        ("format-of-another-version", |value| value["format"] = json!("bitacora-evidence v2")),
        ("position-as-a-number", |value| value["position"] = json!(3)),
        ("proof-as-a-text", |value| value["proof"] = json!("")),
        ("proof-of-numbers", |value| value["proof"] = json!([1, 2])),
        ("commitment-in-capitals", |value| {
            let text = value["commitment"].as_str().unwrap().to_uppercase();
            value["commitment"] = json!(text);
        }),
        ("record-in-base64-without-padding", |value| {
            let text = value["record"].as_str().unwrap().trim_end_matches('=').to_owned();
            assert_ne!(text, value["record"], "a record that needs padding");
            value["record"] = json!(text);
        }),
        ("record-with-a-byte-behind", |value| {
            let longer = [&record()[..], &[0]].concat();
            value["record"] = json!(BASE64.encode(longer));
        }),
        ("record-empty", |value| value["record"] = json!("")),
    ];
    let forged = forgeries.map(|(name, forge)| (name.to_owned(), EventEvidence::of(3, 7).with(forge).json()));
    let formed = forms.map(|(name, mend)| {
        (name.to_owned(), EventEvidence::of(3, 7).with(|shown| shown.mend = mend).json())
    });
    let whole = String::from_utf8(EventEvidence::of(3, 7).json()).unwrap();
    let texts = [
        ("nothing", Vec::new()),
        ("no-json", b"evidence".to_vec()),
        ("no-object", b"[]".to_vec()),
        ("nested-deeply", b"[".repeat(100_000)),
        (
            "no-utf-8",
            whole.replace("v1", "\u{ff}1").into_bytes().into_iter().filter(|byte| *byte != 0xc3).collect(),
        ),
        ("member-twice", whole.replacen('{', "{\"position\":\"3\",", 1).into_bytes()),
        ("something-behind", whole.clone().into_bytes().into_iter().chain(*b"{}").collect()),
    ];
    forged.into_iter().chain(formed).chain(texts.map(|(name, bytes)| (name.to_owned(), bytes))).collect()
}

/// Both verifiers, who trust the same keys.
fn judge(trusted: &[String], cases: &[(String, Vec<u8>)], expected: &str) {
    let mut arguments = vec!["--evidence"];
    trusted.iter().for_each(|key| arguments.extend(["--vkey", key]));
    let Some(mut second) = SecondVerifier::start(&arguments) else { return };
    let (folder, mut problems) = (TempDir::new().unwrap(), Vec::new());
    let keys: Vec<VerifierKey> = trusted.iter().map(|key| key.parse().unwrap()).collect();
    for (name, bytes) in cases {
        let path = folder.path().join("evidence.json");
        std::fs::write(&path, bytes).unwrap();
        let said = second.judge(&path);
        let first = UnverifiedEvidence::parse(bytes).and_then(|evidence| evidence.verify(&keys));
        let first_said = match &first {
            Ok(proven) if proven.is_trusted() => "verified",
            Ok(_) => "alone",
            Err(_) => "invalid",
        };
        if first_said != expected || said["verdict"] != expected {
            let why = first.err().map(|error| error.to_string());
            problems.push(format!(
                "{name}: {expected} expected; the first: {first_said} {why:?}; the second: {said}"
            ));
        }
    }
    assert!(problems.is_empty(), "{} of {} cases:\n{}", problems.len(), cases.len(), problems.join("\n"));
}

#[test]
fn evidence_that_holds_is_verified_by_both() {
    judge(&[], &true_ones(), "alone");
    // One of them is by the first key, all others by the second.
    let [first, second] = [1, 2].map(|number| verifier_key(ORIGIN, &key(number)));
    judge(&[first, second.clone()], &true_ones(), "verified");
    judge(&[second], &by_the_second(), "verified");
}

fn by_the_second() -> Vec<(String, Vec<u8>)> {
    true_ones().into_iter().filter(|(name, _)| name != "signed-with-the-first-key").collect()
}

#[test]
fn a_successor_is_trusted_by_neither_for_its_endorsement_alone() {
    judge(&[verifier_key(ORIGIN, &key(1))], &by_the_second(), "alone");
    // The ledger's second key is another one: the first one endorsed two.
    let published = [1, 9].map(|number| verifier_key(ORIGIN, &key(number)));
    judge(&published, &by_the_second(), "invalid");
}

#[test]
fn evidence_that_does_not_hold_is_refused_by_both() {
    judge(&[], &false_ones(), "invalid");
    judge(&[verifier_key(ORIGIN, &key(1))], &false_ones(), "invalid");
}

#[test]
fn evidence_is_held_against_a_policy_of_witnesses_by_both() {
    let (folder, key_of_the_ledger) = (TempDir::new().unwrap(), verifier_key(ORIGIN, &key(1)));
    let path = folder.path().join("policy");
    std::fs::write(&path, witnesses::policy()).unwrap();
    let arguments = ["--evidence", "--vkey", &key_of_the_ledger, "--witnesses", path.to_str().unwrap()];
    let Some(mut second) = SecondVerifier::start(&arguments) else { return };
    let policy = WitnessPolicy::parse(witnesses::policy().as_bytes()).unwrap();
    /// A change of the note.
    type Mend = fn(String) -> String;
    let cases: [(Mend, &str); 4] = [
        (|note| note.clone() + &witnesses::by(&note, 1) + &witnesses::by(&note, 3), "verified"),
        (|note| note.clone() + &witnesses::by(&note, 1), "incomplete"),
        (|note| note, "incomplete"),
        (|note| note.clone() + &witnesses::by("another\n\n", 1) + &witnesses::by(&note, 3), "invalid"),
    ];
    for (mend_note, expected) in cases {
        let bytes = EventEvidence::of(3, 7).with(|shown| shown.mend_note = mend_note).json();
        let file = folder.path().join("evidence.json");
        std::fs::write(&file, &bytes).unwrap();
        let proven = UnverifiedEvidence::parse(&bytes).unwrap().verify(&[key_of_the_ledger.parse().unwrap()]);
        let first = match proven.unwrap().head().note().cosigned_by(&policy.witness_keys()) {
            Ok(by) if policy.is_met(by.iter().map(|one| &one.key)) => "verified",
            Ok(_) => "incomplete",
            Err(_) => "invalid",
        };
        let said = second.judge(&file);
        assert_eq!((first, &said["verdict"]), (expected, &expected.into()), "{said}");
    }
}

#[test]
fn every_flipped_byte_of_evidence_is_found_by_both() {
    let whole = EventEvidence::of(3, 7).json();
    let flips = crate::judge::flips(&whole).map(|(what, bytes, _)| (what, bytes));
    judge(&[], &flips.collect::<Vec<_>>(), "invalid");
}

#[test]
fn keys_of_others_and_later_ones_vouch_for_nobody() {
    let by_the_first =
        [("by-the-first".to_owned(), EventEvidence::of(3, 7).with(|shown| shown.signer = 0).json())];
    let by_the_second = [("by-the-second".to_owned(), EventEvidence::of(3, 7).json())];
    let [first, second] = [1, 2].map(|number| verifier_key(ORIGIN, &key(number)));
    judge(std::slice::from_ref(&first), &by_the_second, "alone");
    judge(std::slice::from_ref(&second), &by_the_second, "verified");
    judge(&[first.clone(), second.clone()], &by_the_first, "verified");
    judge(std::slice::from_ref(&second), &by_the_first, "invalid");
    judge(&[verifier_key(ORIGIN, &key(9))], &by_the_second, "invalid");
    judge(&[first, verifier_key(ORIGIN, &key(9))], &by_the_second, "invalid");
    let another_ledger = verifier_key(&ORIGIN.replace("5e", "5f"), &key(1));
    judge(&[another_ledger], &by_the_second, "invalid");
    judge(&[verifier_key(&ORIGIN.replace("main", "other"), &key(1))], &by_the_second, "invalid");
    judge(&[verifier_key("main", &key(1))], &by_the_second, "invalid");
}

#[test]
fn a_key_vouches_in_whatever_generation_it_is_known() {
    let later = ORIGIN.replace("g1", "g2");
    let in_the_second = EventEvidence::of(3, 7).with(|shown| shown.origin.clone_from(&later)).json();
    let in_the_second = [("in-the-second-generation".to_owned(), in_the_second)];
    let in_the_first = [("in-the-first-generation".to_owned(), EventEvidence::of(3, 7).json())];
    judge(&[verifier_key(ORIGIN, &key(2))], &in_the_second, "verified");
    judge(&[verifier_key(&later, &key(2))], &in_the_second, "verified");
    judge(&[verifier_key(&later, &key(2))], &in_the_first, "verified");
    judge(&[verifier_key(&later, &key(1))], &in_the_first, "alone");
    judge(&[verifier_key(&later, &key(9))], &in_the_second, "invalid");
}

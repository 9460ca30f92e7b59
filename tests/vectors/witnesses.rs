//! Cosigned heads before two verifiers who know the same witnesses: enough, too few, and forged.

use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{Frontier, VerifierKey, WitnessPolicy};
use bitacora_verify::{TailRetries, VerifyOptions, verify_ledger};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::case::{Files, NOTE, verdict_name};
use crate::event_evidence::{ORIGIN, signature_line, verifier_key};
use crate::heads::note;
use crate::second::{PROGRAM, SecondVerifier, python};
use crate::writer::{LedgerWriter, hex, key};

/// The time of the witnesses' cosignatures.
const THEN: u64 = 1_800_000_000;
/// The keys of the three witnesses `w1`, `w2` and `w3`.
const WITNESSES: [u8; 3] = [201, 202, 203];

fn cosigned(segment: u32) -> String {
    format!("tree/{segment:010}.cosigned")
}

fn name(number: usize) -> String {
    format!("witness.example/w{number}")
}

fn witness(number: usize) -> SigningKey {
    key(WITNESSES[number - 1])
}

fn id(name: &str, key: &SigningKey) -> Vec<u8> {
    let public = key.verifying_key().to_bytes();
    Sha256::digest([name.as_bytes(), b"\n\x04", &public].concat())[..4].to_vec()
}

fn vkey(name: &str, key: &SigningKey) -> String {
    let typed = [&[4][..], key.verifying_key().as_bytes()].concat();
    format!("{name}+{}+{}", hex(&id(name, key)), BASE64.encode(typed))
}

/// The text of a note, which is what is signed.
fn text_of(note: &str) -> String {
    note.rsplit_once("\n\n").unwrap().0.to_owned() + "\n"
}

fn line(name: &str, id: &[u8], blob: &[u8]) -> String {
    format!("\u{2014} {name} {}\n", BASE64.encode([id, blob].concat()))
}

/// Returns the time and a key's signature of a note at that time.
fn blob(note: &str, key: &SigningKey, seconds: u64) -> Vec<u8> {
    let message = format!("cosignature/v1\ntime {seconds}\n{}", text_of(note));
    [&seconds.to_be_bytes()[..], &key.sign(message.as_bytes()).to_bytes()].concat()
}

/// The line of the witness with this number.
pub(crate) fn by(note: &str, number: usize) -> String {
    let (name, key) = (name(number), witness(number));
    line(&name, &id(&name, &key), &blob(note, &key, THEN))
}

/// Witness 2's line with something else under its name and id.
fn under_w2(blob: &[u8]) -> String {
    line(&name(2), &id(&name(2), &witness(2)), blob)
}

fn three() -> String {
    (1..=3).map(|number| format!("witness w{number} {}\n", vkey(&name(number), &witness(number)))).collect()
}

/// Two of the three.
pub(crate) fn policy() -> String {
    three() + "group g 2 w1 w2 w3\nquorum g\n"
}

fn first() -> LedgerWriter {
    LedgerWriter::begun().frame(2, |_| {})
}

/// Frames that end at 1 and 3 in segment 1, at 4 and 6 in segment 2.
fn whole() -> LedgerWriter {
    first().end(|_| {}).begin(|_| {}).frame(1, |_| {}).frame(2, |_| {})
}

fn head(writer: &LedgerWriter) -> String {
    note(ORIGIN, writer.tree.size(), &writer.tree.root().0, &key(1))
}

/// The ledger with this beside the segment.
fn with(writer: &LedgerWriter, segment: u32, cosigned_head: impl Into<Vec<u8>>) -> Files {
    let mut files = writer.clone().files();
    files.set(&cosigned(segment), cosigned_head.into());
    files
}

/// The ledger with its last head cosigned by these lines.
fn with_lines(lines: impl Fn(&str) -> String) -> Files {
    let note = head(&whole());
    with(&whole(), 2, format!("{note}{}", lines(&note)))
}

/// Returns the answer of both verifiers to an auditor who brought these keys and this policy.
fn said(files: &Files, keys: &[String], policy: Option<&str>) -> String {
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("ledger");
    files.write(&ledger);
    let mut arguments: Vec<String> = keys.iter().flat_map(|key| ["--vkey".into(), key.clone()]).collect();
    if let Some(policy) = policy {
        let path = folder.path().join("policy");
        std::fs::write(&path, policy).unwrap();
        arguments.extend(["--witnesses".into(), path.to_str().unwrap().to_owned()]);
    }
    let mut second =
        SecondVerifier::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let said = second.judge(&ledger);
    let trusted: Vec<VerifierKey> = keys.iter().map(|key| key.parse().unwrap()).collect();
    let policy = policy.map(|policy| WitnessPolicy::parse(policy.as_bytes()).unwrap());
    let options = VerifyOptions {
        trusted: &trusted,
        witnesses: policy.as_ref(),
        patience: TailRetries::NONE,
        ..Default::default()
    };
    let first = verify_ledger(&ledger, &options);
    let verdict = verdict_name(first.verdict());
    assert_eq!(said["verdict"], verdict, "{:?}, {:?}; the second: {said}", first.fault, first.gaps);
    let witnessed = first.assurance.witnessed.as_ref().map_or(0, |head| head.size);
    if ["verified", "alone", "incomplete"].contains(&verdict) {
        assert_eq!(said["witnessed"], witnessed, "{first:?}; the second: {said}");
    }
    format!("{verdict} {witnessed}")
}

/// A case: its name, its files, and the answers to an auditor who knows the ledger's key and the witnesses, and to one who knows nothing.
type WitnessCase = (&'static str, Files, &'static str, &'static str);

fn cosignatures() -> Vec<WitnessCase> {
    let (w1, w2) = (|note: &str| by(note, 1), |note: &str| by(note, 2));
    let beside_w1 = |more: fn(&str) -> String| with_lines(move |note| by(note, 1) + &more(note));
    vec![
        ("by-two", with_lines(|note| w1(note) + &w2(note)), "verified 6", "alone 0"),
        ("by-all", with_lines(|note| w1(note) + &w2(note) + &by(note, 3)), "verified 6", "alone 0"),
        ("by-one-too-few", with_lines(w1), "incomplete 0", "alone 0"),
        ("by-nobody", with_lines(|_| String::new()), "incomplete 0", "alone 0"),
        ("by-one-twice", beside_w1(|note| by(note, 1)), "incomplete 0", "alone 0"),
        (
            "by-one-twice-at-two-times",
            beside_w1(|note| line(&name(1), &id(&name(1), &witness(1)), &blob(note, &witness(1), THEN + 1))),
            "incomplete 0",
            "alone 0",
        ),
        (
            "by-a-key-with-the-same-id",
            beside_w1(|note| {
                line("other.example", &id(&name(2), &witness(2)), &blob(note, &witness(2), THEN))
            }),
            "incomplete 0",
            "alone 0",
        ),
        (
            "by-a-key-with-the-same-name",
            beside_w1(|note| line(&name(2), &id(&name(2), &key(50)), &blob(note, &key(50), THEN))),
            "incomplete 0",
            "alone 0",
        ),
        (
            "of-a-kind-that-is-not-known",
            beside_w1(|_| line(&name(2), &[1, 2, 3, 4], &[7; 2_428])),
            "incomplete 0",
            "alone 0",
        ),
        (
            "with-lines-of-others",
            with_lines(|note| line("pq.example", &[6; 4], &[7; 2_428]) + &by(note, 3) + &by(note, 2)),
            "verified 6",
            "alone 0",
        ),
        (
            "at-the-latest-time",
            beside_w1(|note| under_w2(&blob(note, &witness(2), (1 << 63) - 1))),
            "verified 6",
            "alone 0",
        ),
        (
            "at-a-time-beyond-2-63",
            beside_w1(|note| under_w2(&blob(note, &witness(2), 1 << 63))),
            "invalid 0",
            "alone 0",
        ),
        (
            "at-a-time-that-was-changed",
            beside_w1(|note| {
                under_w2(&[&(THEN + 1).to_be_bytes()[..], &blob(note, &witness(2), THEN)[8..]].concat())
            }),
            "invalid 0",
            "alone 0",
        ),
        (
            "by-another-witness-under-its-name",
            beside_w1(|note| under_w2(&blob(note, &witness(3), THEN))),
            "invalid 0",
            "alone 0",
        ),
        (
            "of-another-note",
            beside_w1(|_| under_w2(&blob(&head(&first()), &witness(2), THEN))),
            "invalid 0",
            "alone 0",
        ),
        (
            "by-a-plain-signature",
            beside_w1(|note| under_w2(&witness(2).sign(text_of(note).as_bytes()).to_bytes())),
            "invalid 0",
            "alone 0",
        ),
        (
            "a-byte-too-short",
            beside_w1(|note| under_w2(&blob(note, &witness(2), THEN)[..71])),
            "invalid 0",
            "alone 0",
        ),
        (
            "a-byte-too-long",
            beside_w1(|note| under_w2(&[&blob(note, &witness(2), THEN)[..], &[0]].concat())),
            "invalid 0",
            "alone 0",
        ),
        (
            "one-wrong-beside-enough",
            with_lines(|note| by(note, 1) + &by(note, 2) + &under_w2(&[0; 72])),
            "invalid 0",
            "alone 0",
        ),
    ]
}

/// Heads that do not stand where they should: with two of the witnesses' cosignatures, or one; with the answer to an auditor who knows
/// them.
fn misplaced() -> Vec<(&'static str, Files, &'static str, &'static str)> {
    let by_two = |note: &str| format!("{note}{}{}", by(note, 1), by(note, 2));
    let cases = [
        ("above-the-end", first(), 1, head(&whole())),
        ("in-the-middle-of-a-frame", whole(), 2, note(ORIGIN, 5, &whole().tree.root().0, &key(1))),
        ("with-another-root", whole(), 2, note(ORIGIN, 6, &[9; 32], &key(1))),
        (
            "of-a-later-generation",
            whole(),
            2,
            note(&ORIGIN.replace("g1", "g2"), 6, &whole().tree.root().0, &key(1)),
        ),
    ];
    let mut all: Vec<_> = cases
        .iter()
        .map(|(name, writer, segment, note)| {
            (*name, with(writer, *segment, by_two(note)), "another 0", "invalid 0")
        })
        .collect();
    let by_one = |note: &str| format!("{note}{}", by(note, 1));
    all.extend(cases.iter().map(|(name, writer, segment, note)| {
        (*name, with(writer, *segment, by_one(note)), "invalid 0", "invalid 0")
    }));
    let root = whole().tree.root().0;
    let whole_note = by_two(&head(&whole()));
    let no_heads: [(&str, u32, Vec<u8>); 11] = [
        ("of-the-segment-before", 2, by_two(&head(&first())).into()),
        ("of-the-segment-after", 1, whole_note.clone().into()),
        ("of-another-ledger", 2, by_two(&note(&ORIGIN.replace("5e", "5f"), 6, &root, &key(1))).into()),
        ("by-another-key", 2, by_two(&note(ORIGIN, 6, &root, &key(50))).into()),
        ("not-signed-by-the-ledger", 2, {
            let text = text_of(&whole_note);
            format!("{text}\n{}{}", by(&whole_note, 1), by(&whole_note, 2)).into()
        }),
        ("of-nothing", 2, by_two(&note(ORIGIN, 0, &Frontier::new().root().0, &key(1))).into()),
        ("with-more-lines", 2, by_two(&signed_lines(&root, "more\n")).into()),
        ("empty", 2, Vec::new()),
        ("cut", 2, whole_note.trim_end().into()),
        ("no-text", 2, [whole_note.as_bytes(), &[0xff]].concat()),
        ("too-long", 2, vec![b'a'; 128 * 1024 + 1]),
    ];
    all.extend(
        no_heads
            .map(|(name, segment, bytes)| (name, with(&whole(), segment, bytes), "invalid 0", "invalid 0")),
    );
    all
}

/// A head with lines behind the root, all signed.
fn signed_lines(root: &[u8; 32], more: &str) -> String {
    let text = format!("{ORIGIN}\n6\n{}\n{more}", BASE64.encode(root));
    format!("{text}\n{}", signature_line(ORIGIN, &key(1), &text))
}

fn judge(cases: Vec<WitnessCase>) {
    if SecondVerifier::start(&[]).is_none() {
        return;
    }
    let vkey = [verifier_key(ORIGIN, &key(1))];
    for (name, files, to_who_knows, to_others) in cases {
        assert_eq!(said(&files, &vkey, Some(&policy())), to_who_knows, "{name}");
        assert_eq!(said(&files, &[], None), to_others, "{name}, with nothing brought");
    }
}

#[test]
fn cosignatures_are_judged_alike() {
    judge(cosignatures());
}

#[test]
fn cosigned_heads_of_another_history_or_place_are_found_by_both() {
    judge(misplaced());
}

#[test]
fn the_largest_head_that_enough_witnesses_cosigned_counts() {
    if SecondVerifier::start(&[]).is_none() {
        return;
    }
    let vkey = [verifier_key(ORIGIN, &key(1))];
    let (early, late) = (head(&first()), head(&whole()));
    let early_by_two = format!("{early}{}{}", by(&early, 1), by(&early, 3));
    let mut both = with(&whole(), 1, early_by_two.clone());
    both.set(&cosigned(2), format!("{late}{}", by(&late, 1)).into());
    assert_eq!(said(&both, &vkey, Some(&policy())), "verified 3");
    both.set(&cosigned(2), format!("{late}{}{}", by(&late, 1), by(&late, 2)).into());
    assert_eq!(said(&both, &vkey, Some(&policy())), "verified 6");
    assert_eq!(said(&both, &[], Some(&policy())), "alone 6", "no key is known");
    assert_eq!(said(&whole().files(), &vkey, Some(&policy())), "incomplete 0", "no cosigned head is there");
    // One whole file does not make up for another history in the next one.
    let mut torn_apart = with(&whole(), 1, early_by_two);
    let other = note(ORIGIN, 6, &[9; 32], &key(1));
    torn_apart.set(&cosigned(2), format!("{other}{}{}", by(&other, 1), by(&other, 2)).into());
    assert_eq!(said(&torn_apart, &vkey, Some(&policy())), "another 3");
    torn_apart.remove(NOTE);
    assert_eq!(said(&torn_apart, &[], Some(&policy())), "incomplete 0", "nobody knows who may sign");
}

#[test]
fn the_logs_of_a_policy_are_keys_that_are_known() {
    if SecondVerifier::start(&[]).is_none() {
        return;
    }
    let files = with_lines(|note| by(note, 1) + &by(note, 2));
    let with_log = |name: &str, key: &SigningKey| format!("log {}\n{}", verifier_key(name, key), policy());
    assert_eq!(said(&files, &[], Some(&with_log(ORIGIN, &key(1)))), "verified 6");
    let other = ORIGIN.replace("5e", "5f");
    assert_eq!(said(&files, &[], Some(&with_log(&other, &key(1)))), "alone 6", "of another ledger");
    assert_eq!(said(&files, &[], Some(&with_log("sum.example", &key(7)))), "alone 6", "of no ledger of ours");
    assert_eq!(
        said(&files, &[], Some(&with_log(ORIGIN, &key(7)))),
        "invalid 0",
        "another key as this ledger's"
    );
}

/// Texts that are no policies, and some that are.
fn policies() -> Vec<(&'static str, Vec<u8>, bool)> {
    let log = verifier_key(ORIGIN, &key(1));
    let w4 = vkey("w4", &key(204));
    let after = |lines: &str| (three() + lines).into_bytes();
    let many: String = (0..=64).map(|n| format!("witness v{n} {}\n", vkey("v", &key(100 + n)))).collect();
    let groups: String = (0..=64)
        .map(|n| format!("group g{n} any {}\n", if n == 0 { "w1".into() } else { format!("g{}", n - 1) }))
        .collect();
    let mut cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("whole", policy().into(), true),
        ("with-spaces", after("\n \t# none\n\tquorum \t w1 \n"), true),
        ("with-a-log", after(&format!("log {log} https://a/\nquorum w1\n")), true),
        ("nested", after("group g any w1 w2\ngroup h all g w3\nquorum h\n"), true),
        ("of-bytes", after(&format!("witness \u{e9} {w4} u\nquorum \u{e9}\n")), true),
        (
            "sixty-four-witnesses",
            (many.lines().take(64).fold(String::new(), |all, line| all + line + "\n") + "quorum v9\n").into(),
            true,
        ),
        ("none", after("quorum none\n"), false),
        ("empty", Vec::new(), false),
        ("without-a-quorum", three().into(), false),
        ("without-a-newline", after("quorum w1"), false),
        ("with-a-carriage-return", after("quorum w1\r\n"), false),
        ("with-a-delete", after("# \u{7f}\nquorum w1\n"), false),
        ("with-a-zero", after("# \0\nquorum w1\n"), false),
        ("two-quorums", after("quorum w1\nquorum w1\n"), false),
        ("quorum-of-none-and-one", after("quorum none\nquorum w1\n"), false),
        ("quorum-of-two", after("quorum w1 w2\n"), false),
        ("quorum-of-nobody", after("quorum\n"), false),
        ("quorum-unknown", after("quorum w4\n"), false),
        ("quorum-before-its-line", (format!("quorum w1\n{}", three())).into(), false),
        ("another-word", after("quora w1\nquorum w1\n"), false),
        ("capitals", after("Quorum w1\n"), false),
        ("log-without-a-key", after("log\nquorum w1\n"), false),
        ("log-with-more", after(&format!("log {log} u v\nquorum w1\n")), false),
        ("log-with-a-witness's-key", after(&format!("log {w4}\nquorum w1\n")), false),
        ("log-twice", after(&format!("log {log}\nlog {}\nquorum w1\n", verifier_key("b", &key(1)))), false),
        ("witness-without-a-key", after("witness w4\nquorum w1\n"), false),
        ("witness-with-more", after(&format!("witness w4 {w4} u v\nquorum w1\n")), false),
        ("witness-with-a-log's-key", after(&format!("witness w4 {log}\nquorum w1\n")), false),
        (
            "witness-with-another-id",
            after(&format!("witness w4 {}\nquorum w1\n", w4.replacen("w4", "w5", 1))),
            false,
        ),
        (
            "witness-with-one-key",
            after(&format!("witness w4 {}\nquorum w1\n", vkey("x", &witness(1)))),
            false,
        ),
        (
            "witness-whose-name-steers",
            after(&format!("witness w4 {}\nquorum w1\n", vkey("w\u{202e}4", &key(204)))),
            false,
        ),
        (
            "log-whose-name-steers",
            after(&format!("log {}\nquorum w1\n", verifier_key("l\u{9b}g", &key(1)))),
            false,
        ),
        ("witness-named-twice", after(&format!("witness w1 {w4}\nquorum w1\n")), false),
        ("witness-named-none", after(&format!("witness none {w4}\nquorum w1\n")), false),
        ("group-without-members", after("group g any\nquorum w1\n"), false),
        ("group-named-twice", after("group w1 any w2\nquorum w1\n"), false),
        ("group-named-none", after("group none any w2\nquorum w1\n"), false),
        ("group-of-none", after("group g any none\nquorum g\n"), false),
        ("group-of-itself", after("group g any g\nquorum g\n"), false),
        ("group-of-one-twice", after("group g 2 w1 w1\nquorum g\n"), false),
        ("member-of-two-groups", after("group g any w1\ngroup h any w1 w2\nquorum h\n"), false),
        ("sixty-five-witnesses", (many + "quorum v9\n").into(), false),
        ("sixty-five-groups", after(&(groups + "quorum g64\n")), false),
        ("too-long", after(&("#".repeat(256 * 1024) + "\nquorum w1\n")), false),
    ];
    for threshold in ["0", "3", "02", "+1", "-1", "1.0", "ALL", "99999999999999999999"] {
        cases.push((threshold, after(&format!("group g {threshold} w1 w2\nquorum g\n")), false));
    }
    cases
}

#[test]
fn a_policy_is_taken_or_refused_by_both() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let (ledger, path) = (folder.path().join("ledger"), folder.path().join("policy"));
    with_lines(|note| by(note, 1) + &by(note, 2)).write(&ledger);
    for (name, bytes, is_one) in policies() {
        std::fs::write(&path, &bytes).unwrap();
        let first = WitnessPolicy::parse(&bytes);
        let takes = first.as_ref().is_ok_and(WitnessPolicy::asks_for_witnesses);
        assert_eq!(takes, is_one, "{name}: {first:?}");
        let code = second_ends(&python, &path, &ledger);
        assert_eq!(code != 2, is_one, "{name}: the second ends with {code}");
    }
}

/// Returns the exit code of the second verifier with this policy.
fn second_ends(python: &std::ffi::OsStr, policy: &Path, ledger: &Path) -> i32 {
    let mut second = Command::new(python);
    second.args(["-I", PROGRAM, "--witnesses"]).args([policy, ledger]);
    second.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code().unwrap()
}

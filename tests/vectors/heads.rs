//! Tree heads beside segments, and ones that were kept elsewhere, before two verifiers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{UnverifiedTreeHead, VerifierKey};
use bitacora_verify::{KnownHead, TailRetries, VerifyOptions, verify_ledger};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::case::{Case, CaseEntry, ExpectedFinding, Files, NOTE, segment, verdict_name};
use crate::event_evidence::{EvidenceForgery, ORIGIN, key_id, signature_line, verifier_key};
use crate::judge::Judge;
use crate::second::SecondVerifier;
use crate::writer::{LEDGER, LedgerWriter, hex, key, with_checksum};

/// A head and its event, field by field.
struct Head {
    position: u64,
    blind: [u8; 32],
    /// The size that the event names.
    named: u64,
    named_hash: [u8; 32],
    kind: &'static str,
    origin: String,
    size: u64,
    root: [u8; 32],
    signer: SigningKey,
    /// Changes the note once it is signed.
    mend_note: fn(String) -> String,
    ledger: [u8; 16],
}

fn heads(number: u32) -> String {
    format!("tree/{number:010}.heads")
}

pub(crate) fn note(origin: &str, size: u64, root: &[u8; 32], signer: &SigningKey) -> String {
    let text = format!("{origin}\n{size}\n{}\n", BASE64.encode(root));
    format!("{text}\n{}", signature_line(origin, signer, &text))
}

/// A record of the ledger's own, as short as it can be.
fn record(head: &Head) -> Vec<u8> {
    let mut record = vec![1];
    let source = format!("urn:bitacora:ledger:{}", hex(&head.ledger));
    for text in ["h", source.as_str(), head.kind, "ledger"] {
        record.push(u8::try_from(text.len()).unwrap());
        record.extend(text.as_bytes());
    }
    // No optional attribute, tags, extensions; then JSON.
    record.extend([0; 11 + 3]);
    let last = record.len() - 1;
    record[last] = 1;
    let data = format!(r#"{{"size":"{}","hash":"{}"}}"#, head.named, hex(&head.named_hash));
    record.push(u8::try_from(data.len()).unwrap());
    record.extend(data.as_bytes());
    record.push(0);
    record
}

/// A frame with the event of a head, and the head beside the segment. `forge` may change what the event says, and `forge_later`
/// what is said of it.
fn headed(
    writer: LedgerWriter,
    forge: impl FnOnce(&mut Head),
    forge_later: impl FnOnce(&mut Head),
) -> LedgerWriter {
    let before = writer.tree.size();
    let mut head = Head {
        position: before + 1,
        blind: [9; 32],
        named: before,
        named_hash: writer.last_frame,
        kind: "ledger.headed",
        origin: ORIGIN.to_owned(),
        size: before + 1,
        root: [0; 32],
        signer: writer.keys.last().unwrap().clone(),
        mend_note: |note| note,
        ledger: LEDGER,
    };
    forge(&mut head);
    let record = record(&head);
    let mut writer = writer.frame_of(&[*blake3::keyed_hash(&head.blind, &record).as_bytes()], |_| {});
    head.root = writer.tree.root().0;
    forge_later(&mut head);
    let note = (head.mend_note)(note(&head.origin, head.size, &head.root, &head.signer));
    let mut entry = head.position.to_le_bytes().to_vec();
    entry.extend(head.blind);
    for bytes in [&record, note.as_bytes()] {
        entry.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
        entry.extend(bytes);
    }
    let length = u32::try_from(entry.len() + 4).unwrap();
    let entry = with_checksum([&length.to_le_bytes()[..], &entry].concat());
    let name = heads(writer.segment);
    if !writer.files.0.contains_key(&name) {
        let header = [&b"BITACHDS\x01\0\0\0"[..], &writer.segment.to_le_bytes(), &head.ledger];
        writer.files.set(&name, header.concat());
    }
    writer.files.change(&name, |bytes| bytes.extend(entry));
    writer
}

fn honest(writer: LedgerWriter) -> LedgerWriter {
    headed(writer, |_| {}, |_| {})
}

/// Two heads in segment 1, and two in segment 2, the first of which names a frame of segment 1.
pub(crate) fn whole() -> LedgerWriter {
    let mut first = honest(honest(LedgerWriter::begun()).frame(2, |_| {})).end(|_| {});
    first.epoch += 1;
    honest(honest(first.begin(|_| {})).frame(1, |_| {}))
}

/// Returns files with a forgery in the last head of segment 1, with others before it and behind it.
fn with_forgery(forge: fn(&mut Head), forge_later: fn(&mut Head)) -> Files {
    let writer = headed(honest(LedgerWriter::begun()).frame(2, |_| {}), forge, forge_later);
    honest(writer).end(|_| {}).begin(|_| {}).frame(1, |_| {}).files()
}

fn false_heads() -> Vec<(&'static str, Files)> {
    let in_events: [EvidenceForgery<Head>; 5] = [
        ("names-a-size-where-no-frame-ends", |head| head.named -= 1),
        ("names-its-own-frame", |head| head.named += 1),
        ("names-another-hash", |head| head.named_hash[0] ^= 1),
        ("event-of-another-type", |head| head.kind = "ledger.opened"),
        ("event-of-another-ledger", |head| head.ledger = [0x5f; 16]),
    ];
    let in_heads: [EvidenceForgery<Head>; 12] = [
        ("another-root", |head| head.root[0] ^= 1),
        ("does-not-cover-its-event", |head| head.size -= 1),
        ("covers-half-a-frame", |head| (head.size, head.position) = (3, 3)),
        ("shrinks", |head| (head.size, head.position) = (1, 1)),
        ("more-events-than-there-are", |head| head.size = 1_000),
        ("another-blind", |head| head.blind[0] ^= 1),
        ("another-event", |head| head.position -= 1),
        ("of-another-ledger", |head| head.origin = ORIGIN.replace("5e", "5f")),
        ("of-another-generation", |head| head.origin = ORIGIN.replace("g1", "g2")),
        ("by-an-unknown-key", |head| head.signer = key(50)),
        ("by-another-key-under-the-same-id", |head| {
            head.mend_note = |note| {
                let text = note.split("\n\n").next().unwrap().to_owned() + "\n";
                let signature = key(50).sign(text.as_bytes()).to_bytes();
                let line = BASE64.encode([&key_id(ORIGIN, &key(1))[..], &signature].concat());
                format!("{text}\n\u{2014} {ORIGIN} {line}\n")
            };
        }),
        ("unsigned", |head| head.mend_note = |note| note.split("\n\n").next().unwrap().to_owned() + "\n\n"),
    ];
    let mut cases: Vec<_> = in_events.map(|(name, forge)| (name, with_forgery(forge, |_| {}))).into();
    cases.extend(in_heads.map(|(name, forge)| (name, with_forgery(|_| {}, forge))));
    let whole = whole().files();
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = whole.clone();
        change(&mut files);
        files
    };
    let (first, second) = (whole.bytes(&heads(1)).to_vec(), whole.bytes(&heads(2)).to_vec());
    cases.extend([
        ("heads-of-another-segment", with(&|files| files.set(&heads(1), second.clone()))),
        (
            "heads-swapped",
            with(&|files| {
                files.set(&heads(1), second.clone());
                files.set(&heads(2), first.clone());
            }),
        ),
        (
            "a-head-half-written",
            with(&|files| files.change(&heads(1), |bytes| bytes.truncate(bytes.len() - 7))),
        ),
        ("a-header-half-written", with(&|files| files.change(&heads(1), |bytes| bytes.truncate(31)))),
        ("heads-emptied", with(&|files| files.set(&heads(1), Vec::new()))),
        ("heads-of-zeros", with(&|files| files.change(&heads(1), |bytes| bytes.fill(0)))),
        ("entries-doubled", with(&|files| files.change(&heads(1), |bytes| bytes.extend(&first[32..])))),
    ]);
    cases
}

#[test]
fn a_ledger_with_heads_is_judged_alike() {
    let Some(mut judge) = Judge::new() else { return };
    judge.case(&Case::new("with-heads", whole().files(), ExpectedFinding::alone()));
    let mut begun = whole().files();
    begun.change(&heads(2), |bytes| bytes.truncate(32));
    judge.case(&Case::new("with-heads-of-which-none-was-written", begun, ExpectedFinding::alone()));
    judge.end(2);
}

#[test]
fn heads_that_are_wrong_are_found_by_both() {
    let Some(mut judge) = Judge::new() else { return };
    for (name, files) in false_heads() {
        let expected = ExpectedFinding { file: Some(heads(1)), ..ExpectedFinding::found_in(NOTE) };
        judge.case(&Case::new(name, files, expected));
    }
    judge.end(20);
}

/// The last segment gone, in each way, and its heads left: with the file of these.
fn ends_lost() -> Vec<(&'static str, Files, String)> {
    let gone = |entry: Option<CaseEntry>| {
        let mut files = whole().files();
        files.remove(&segment(2));
        if let Some(entry) = entry {
            files.put(&segment(2), entry);
        }
        files
    };
    let mut later = whole().end(|_| {});
    later.generation = 2;
    let mut lost = later.begin(|_| {});
    lost = headed(lost, |_| {}, |head| head.origin = ORIGIN.replace("g1", "g2"));
    let mut lost = lost.files();
    lost.remove(&segment(3));
    vec![
        ("last-segment-removed", gone(None), heads(2)),
        ("last-segment-of-zeros", gone(Some(CaseEntry::Zeros(4_096))), heads(2)),
        ("last-segment-empty", gone(Some(CaseEntry::Zeros(0))), heads(2)),
        ("last-segment-of-a-later-generation-removed", lost, heads(3)),
    ]
}

#[test]
fn events_that_are_gone_are_found_by_the_heads_they_left() {
    let Some(mut judge) = Judge::new() else { return };
    for (name, files, file) in ends_lost() {
        let expected = ExpectedFinding { file: Some(file), ..ExpectedFinding::found_in(NOTE) };
        judge.case(&Case::new(name, files, expected));
    }
    // A head given up with an earlier generation, one that says nothing, and one that is reached.
    let gone = whole().files();
    // The same heads under the name of segment 3, which is not there.
    let under_3 = |number: u32| {
        let mut bytes = gone.bytes(&heads(number)).to_vec();
        bytes[12] = 3;
        bytes
    };
    let mut later = honest(LedgerWriter::begun()).frame(2, |_| {}).end(|_| {});
    later.generation = 2;
    let mut declared = later.begin(|_| {}).frame(1, |_| {}).files();
    declared.set(&heads(3), under_3(2));
    judge.case(&Case::new("heads-of-a-loss-that-was-declared", declared, ExpectedFinding::alone()));
    let mut garbage = whole().files();
    garbage.set(&heads(3), vec![7; 300]);
    judge.case(&Case::new("no-heads-behind-the-end", garbage, ExpectedFinding::alone()));
    let mut reached = whole().files();
    reached.set(&heads(3), under_3(1));
    judge.case(&Case::new("heads-behind-the-end-that-are-reached", reached, ExpectedFinding::alone()));
    let mut pipe = whole().files();
    pipe.put(&heads(3), CaseEntry::Pipe);
    judge.case(&Case::new("a-pipe-behind-the-end", pipe, ExpectedFinding::incomplete()));
    judge.end(8);
}

/// Returns the answer of both verifiers to an auditor who brought these heads and keys.
fn said(files: &Files, brought: &[String], keys: &[String]) -> String {
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("ledger");
    files.write(&ledger);
    let mut arguments: Vec<String> = keys.iter().flat_map(|key| ["--vkey".into(), key.clone()]).collect();
    for (number, note) in brought.iter().enumerate() {
        let path = folder.path().join(format!("{number}.head"));
        std::fs::write(&path, note).unwrap();
        arguments.extend(["--known-head".into(), path.to_str().unwrap().to_owned()]);
    }
    let mut second =
        SecondVerifier::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let said = second.judge(&ledger);
    let trusted: Vec<VerifierKey> = keys.iter().map(|key| key.parse().unwrap()).collect();
    let known = brought
        .iter()
        .map(|note| Some(KnownHead { file: "kept".into(), head: UnverifiedTreeHead::parse(note).ok()? }));
    // Bytes that are no head at all are refused before the ledger is looked at.
    if let Some(known) = known.collect::<Option<Vec<_>>>() {
        let options = VerifyOptions {
            trusted: &trusted,
            known_heads: &known,
            patience: TailRetries::NONE,
            ..Default::default()
        };
        let first = verify_ledger(&ledger, &options);
        assert_eq!(said["verdict"], verdict_name(first.verdict()), "{first:?}; the second: {said}");
    }
    said["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_head_that_was_kept_tells_a_rollback_and_another_history() {
    if SecondVerifier::start(&[]).is_none() {
        return;
    }
    let earlier = LedgerWriter::begun().frame(2, |_| {});
    let later = earlier.clone().frame(3, |_| {});
    let other = earlier.clone().at(crate::writer::BEGAN + 1).frame(3, |_| {});
    let head = |writer: &LedgerWriter| note(ORIGIN, writer.tree.size(), &writer.tree.root().0, &key(1));
    let vkey = vec![verifier_key(ORIGIN, &key(1))];
    let empty = note(ORIGIN, 0, &Sha256::digest([]).into(), &key(1));
    let (known, files) = (head(&later), later.clone().files());
    let both = [head(&earlier), known.clone()];
    assert_eq!(said(&files, &both, &vkey), "verified");
    assert_eq!(said(&files, &both, &[]), "alone", "who signed it is not known");
    assert_eq!(said(&files, &[], &vkey), "alone", "nothing tells that the end is there");
    assert_eq!(said(&files, &[empty], &vkey), "alone", "a head of nothing remembers nothing");
    assert_eq!(said(&earlier.clone().files(), std::slice::from_ref(&known), &vkey), "another", "rolled back");
    assert_eq!(
        said(&other.clone().files(), std::slice::from_ref(&known), &vkey),
        "another",
        "diverged at equal size"
    );
    let in_a_frame = note(ORIGIN, 4, &later.tree.root().0, &key(1));
    assert_eq!(said(&files, &[in_a_frame], &vkey), "another", "no frame ends there");
    let of_another = note(&ORIGIN.replace("5e", "5f"), 3, &earlier.tree.root().0, &key(1));
    assert_eq!(said(&files, &[of_another], &[]), "another", "a head of another ledger");
    let by_another = note(ORIGIN, 3, &earlier.tree.root().0, &key(50));
    assert_eq!(said(&files, &[by_another], &[]), "another", "a head by another key");
    assert_eq!(said(&files, std::slice::from_ref(&known), &[verifier_key(ORIGIN, &key(9))]), "invalid");
    assert_eq!(said(&files, &[known.replace(ORIGIN, "main")], &vkey), "incomplete", "a head that is none");
    let mut damaged = files;
    damaged.change(&segment(1), |bytes| bytes[500] ^= 1);
    assert_eq!(said(&damaged, &[known], &vkey), "invalid");
}

#[test]
fn a_head_that_was_kept_stands_behind_nothing_that_could_not_be_read() {
    if SecondVerifier::start(&[]).is_none() {
        return;
    }
    let read = LedgerWriter::begun().frame(2, |_| {}).end(|_| {});
    let all = read.clone().begin(|_| {}).frame(3, |_| {}).end(|_| {}).begin(|_| {}).frame(1, |_| {});
    let head = |writer: &LedgerWriter| note(ORIGIN, writer.tree.size(), &writer.tree.root().0, &key(1));
    let (early, late) = (head(&read), head(&all));
    let other = note(ORIGIN, read.tree.size(), &[9; 32], &key(1));
    let vkey = [verifier_key(ORIGIN, &key(1))];
    // The first segment names the ledger; its end is not known without the last one.
    let ways = [
        (1, CaseEntry::Pipe, false),
        (2, CaseEntry::Folder, true),
        (3, CaseEntry::Link("0000000001.seg".into()), false),
    ];
    for (number, way, can_compare) in ways {
        let mut files = all.clone().files();
        files.remove(&segment(number));
        files.put(&segment(number), way);
        let expected = |otherwise| if can_compare { otherwise } else { "incomplete" };
        for keys in [&vkey[..], &[]] {
            let say = |brought: &[&String]| {
                said(&files, &brought.iter().map(|note| (*note).clone()).collect::<Vec<_>>(), keys)
            };
            assert_eq!(say(&[]), "incomplete", "segment {number}: no head");
            assert_eq!(say(&[&late]), "incomplete", "segment {number}: the last head");
            assert_eq!(say(&[&early]), "incomplete", "segment {number}: an early head");
            assert_eq!(say(&[&other]), expected("another"), "segment {number}: another history");
            assert_eq!(say(&[&late, &other]), expected("another"), "segment {number}: one of two");
        }
        let stranger = [verifier_key(ORIGIN, &key(9))];
        assert_eq!(said(&files, &[], &stranger), expected("invalid"), "segment {number}: another key");
    }
}

//! Tests of cosigned heads: `verify --witnesses` names witnesses and times, and asks for a quorum.
//! It takes a proof by their word, and `prove` gives a proof that they cosigned.

use std::fs;
use std::path::PathBuf;

use bitacora_formats::limits::MAX_NOTE_BYTES;
use bitacora_formats::{
    HeadStep, HeadsWalk, LedgerOrigin, NoteSignature, UnverifiedTreeHead, VerifierKey, WitnessKey, cosign,
};
use bitacora_verify::Verdict;
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};

use crate::sample::{Sample, code, command, told, why};

/// The time of the cosignatures, in seconds since 1970 and as it is shown.
const THEN: (u64, &str) = (1_800_000_000, "2027-01-15T08:00:00Z");

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn name(number: u8) -> String {
    format!("witness.example/w{number}")
}

fn line(text: &str, number: u8) -> NoteSignature {
    cosign(text, &name(number), &key(number), THEN.0).unwrap()
}

/// The notes of the heads of a segment.
fn notes(sample: &Sample, segment: u32) -> Vec<String> {
    let bytes = fs::read(sample.heads(segment)).unwrap();
    let mut walk = HeadsWalk::new(&bytes);
    let mut notes = Vec::new();
    while let HeadStep::Entry(entry) = walk.step() {
        notes.push(entry.note);
    }
    notes
}

/// Writes a segment's last head, cosigned by these witnesses, as a service keeps it beside the segment.
fn cosign_last(sample: &Sample, segment: u32, numbers: &[u8]) -> (String, PathBuf) {
    let note = notes(sample, segment).pop().unwrap();
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let lines: String = numbers.iter().map(|number| format!("{}\n", line(&text, *number))).collect();
    let path = sample.ledger().join(format!("tree/{segment:010}.cosigned"));
    fs::write(&path, format!("{note}{lines}")).unwrap();
    (format!("{note}{lines}"), path)
}

fn origin(sample: &Sample) -> LedgerOrigin {
    UnverifiedTreeHead::parse(notes(sample, 2).first().unwrap()).unwrap().origin().clone()
}

fn vkey(sample: &Sample) -> VerifierKey {
    origin(sample).keys(sample.keyring.signing_chain()).remove(0)
}

/// Two of three, in a file; `more` are lines before the quorum.
fn policy(sample: &Sample, more: &str) -> String {
    let witness = |number| WitnessKey::new(&name(number), key(number).verifying_key()).unwrap();
    let lines: String = (1..=3).map(|number| format!("witness w{number} {}\n", witness(number))).collect();
    let path = sample.folder.path().join("witnesses.policy");
    fs::write(&path, format!("{lines}{more}group g 2 w1 w2 w3\nquorum g\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_ledger_is_verified_by_a_key_and_the_word_of_witnesses() {
    let sample = Sample::with_heads(2);
    cosign_last(&sample, 2, &[1, 3]);
    let (key, policy) = (vkey(&sample).to_string(), policy(&sample, ""));
    let output = sample.run(&["verify", "--json", "--vkey", &key, "--witnesses", &policy]);
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stdout));
    let told = told(&output);
    let witnessed = &told["assurance"]["witnessed"];
    let cosignatures = witnessed["cosignatures"].as_array().unwrap();
    let by: Vec<_> = cosignatures.iter().map(|one| (&one["witness"], &one["time"])).collect();
    assert_eq!(by, [(&name(1).into(), &THEN.1.into()), (&name(3).into(), &THEN.1.into())]);
    let size: u64 = witnessed["size"].as_str().unwrap().parse().unwrap();
    let after: u64 = witnessed["eventsAfter"].as_str().unwrap().parse().unwrap();
    assert_eq!(size + after, told["events"].as_u64().unwrap());
    assert!(after > 0, "{told}");
    let row = told["coverage"].as_array().unwrap().iter().find(|row| row["what"] == "cosignatures").unwrap();
    assert_eq!((&row["passed"], &row["failed"], &row["skipped"]), (&2.into(), &0.into(), &0.into()));

    let output = sample.run(&["verify", "--explain", "--vkey", &key, "--witnesses", &policy]);
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "cosignatures  2 passed".to_owned(),
        "proves      cosignatures: at the time it gives".to_owned(),
        format!("tree/0000000002.cosigned: the tree head of size {size} is cosigned by enough witnesses"),
        format!("{} cosigned it at {}", name(3), THEN.1),
        format!("{after} events behind it are not witnessed"),
    ] {
        assert!(text.contains(&expected), "{expected:?} in\n{text}");
    }
    assert_eq!(code(&sample.run(&["verify", "--witnesses", &policy])), 10, "no key is known");
}

#[test]
fn without_a_policy_cosignatures_are_left_out_and_that_is_told() {
    let sample = Sample::with_heads(2);
    let (note, path) = cosign_last(&sample, 2, &[1, 3]);
    let output = sample.run(&["verify", "--json"]);
    assert_eq!(code(&output), 10);
    let told_of = told(&output);
    let row =
        told_of["coverage"].as_array().unwrap().iter().find(|row| row["what"] == "cosignatures").unwrap();
    assert_eq!((&row["passed"], &row["skipped"]), (&0.into(), &2.into()), "{row}");
    assert!(row["why"].as_str().unwrap().contains("--witnesses"), "{row}");
    assert_eq!(told_of["otherFiles"], 0, "a cosigned head belongs there");
    // The ledger's own signature on it, and what it is of, are looked at.
    fs::write(&path, note.replace("\n— main", "\n— main2")).unwrap();
    let output = sample.run(&["verify", "--json"]);
    assert_eq!(code(&output), 40);
    let told_of = told(&output);
    assert_eq!(told_of["fault"]["file"], "tree/0000000002.cosigned");
    let row =
        told_of["coverage"].as_array().unwrap().iter().find(|row| row["what"] == "cosignatures").unwrap();
    assert_eq!(row["failed"], 1, "{row}");
}

#[test]
fn too_few_witnesses_leave_it_incomplete_and_a_false_one_makes_it_invalid() {
    let sample = Sample::with_heads(2);
    let (key, policy) = (vkey(&sample).to_string(), policy(&sample, ""));
    let verify = || sample.run(&["verify", "--json", "--vkey", &key, "--witnesses", &policy]);
    assert_eq!(code(&verify()), 50, "no cosigned head is there");
    let (note, path) = cosign_last(&sample, 3, &[2]);
    let output = verify();
    assert_eq!(code(&output), 50);
    assert!(told(&output)["gaps"][0].as_str().unwrap().contains("more than 1 of their"), "{}", told(&output));
    let false_one = cosign("another text\n", &name(1), &self::key(1), THEN.0).unwrap();
    fs::write(&path, format!("{note}{false_one}\n")).unwrap();
    assert_eq!(code(&verify()), 40);
}

/// Returns the report's counts of cosigned heads: how many, by whom who was named, by others, and whether any were.
fn cosigned(sample: &Sample, policy: &[&str]) -> [Value; 4] {
    let output = sample.run(&[&["verify", "--json"], policy].concat());
    let told = told(&output);
    let of = told.get("cosignedHeads").unwrap();
    ["heads", "cosignatures", "others", "asked"].map(|count| of.get(count).unwrap().clone())
}

#[test]
fn lines_of_others_are_counted_apart_from_those_of_the_witnesses_that_were_named() {
    let sample = Sample::with_heads(2);
    let policy = policy(&sample, "");
    let (note, path) = cosign_last(&sample, 3, &[1, 2]);
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let same_name = cosign(&text, &name(1), &key(4), THEN.0).unwrap();
    let same_id = line(&text, 1).to_string().replace(&name(1), "other.example");
    fs::write(path, format!("{note}{}\n{same_name}\n{same_id}\n", line(&text, 4))).unwrap();
    let named = ["--witnesses", &policy];
    assert_eq!(cosigned(&sample, &named), [json!(1), json!(2), json!(3), json!(true)]);
    assert_eq!(cosigned(&sample, &[]), [json!(1), json!(0), json!(5), json!(false)]);
    cosign_last(&sample, 2, &[3]);
    assert_eq!(cosigned(&sample, &named), [json!(2), json!(3), json!(3), json!(true)]);
}

#[test]
fn a_cosigned_head_that_cannot_be_read_leaves_it_incomplete() {
    let sample = Sample::with_heads(2);
    let (_, path) = cosign_last(&sample, 3, &[1, 2]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let gaps = |sample: &Sample| match sample.verify_twice(false, "unreadable").gaps {
        gaps if gaps.is_empty() => panic!("no gap"),
        gaps => gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
    };
    let told = gaps(&sample);
    assert!(told.len() == 1 && told[0].starts_with("tree/0000000003.cosigned: no regular file"), "{told:?}");
    // Nor may the folder be anything else: which heads, and cosigned ones, lie behind the last segment is not known then.
    let tree = sample.ledger().join("tree");
    fs::remove_dir_all(&tree).unwrap();
    fs::write(&tree, "no folder").unwrap();
    let told = gaps(&sample);
    assert_eq!(told.iter().filter(|gap| gap.starts_with("tree: ")).count(), 2, "{told:?}");
}

#[test]
fn a_cosigned_head_is_one_note_of_the_largest_size_and_not_a_byte_more() {
    let sample = Sample::with_heads(1);
    let (note, path) = cosign_last(&sample, 2, &[]);
    // A line of somebody's that fills it, but for what base64 cannot.
    let room = MAX_NOTE_BYTES - note.len() - "— x \n".len();
    let (name, digits) = ("x".repeat(1 + room % 4), "A".repeat(room / 4 * 4));
    let largest = format!("{note}— {name} {digits}\n");
    assert_eq!(largest.len(), MAX_NOTE_BYTES);
    fs::write(&path, &largest).unwrap();
    let report = sample.verify_twice(false, "of the largest size");
    assert_eq!((report.verdict(), report.cosigned.unwrap().others), (Verdict::Alone, 1), "{report:?}");
    fs::write(&path, largest + "\n").unwrap();
    let report = sample.verify_twice(false, "one byte more");
    assert_eq!(report.verdict(), Verdict::Invalid, "{report:?}");
    assert!(report.fault.unwrap().to_string().contains("at most"), "it is told why");
}

#[test]
fn an_older_copy_beside_a_cosigned_head_is_found_out() {
    let sample = Sample::with_heads(1);
    let older: Vec<_> = [sample.segment(2), sample.leaves(2), sample.heads(2)]
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .into();
    // The ledger goes on in another segment, whose head witnesses cosign; then all but their word of it is gone.
    let options = Sample::options_with_heads();
    let ledger = sample.open_with(&options);
    ledger.close().unwrap();
    cosign_last(&sample, 3, &[1, 2]);
    let (key, policy) = (vkey(&sample).to_string(), policy(&sample, ""));
    let verify = || sample.run(&["verify", "--json", "--vkey", &key, "--witnesses", &policy]);
    assert_eq!(code(&verify()), 0);
    let cosigned = fs::read(sample.ledger().join("tree/0000000003.cosigned")).unwrap();
    for path in [sample.segment(3), sample.leaves(3), sample.heads(3)] {
        fs::remove_file(path).unwrap();
    }
    fs::remove_file(sample.ledger().join("tree/0000000003.cosigned")).unwrap();
    older.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    fs::write(sample.ledger().join("tree/0000000002.cosigned"), cosigned).unwrap();
    let output = verify();
    assert_eq!(code(&output), 30, "{}", String::from_utf8_lossy(&output.stdout));
    assert!(told(&output)["assurance"]["divergences"][0].as_str().unwrap().contains("it was rolled back"));
}

#[test]
fn a_log_of_the_policy_is_a_key_that_is_known() {
    let sample = Sample::with_heads(2);
    cosign_last(&sample, 3, &[1, 2]);
    let with_log = policy(&sample, &format!("log {}\n", vkey(&sample)));
    assert_eq!(code(&sample.run(&["verify", "--witnesses", &with_log])), 0);
    let strange = VerifierKey::new(&origin(&sample).to_string(), key(9).verifying_key()).unwrap();
    let with_strange = policy(&sample, &format!("log {strange}\n"));
    assert_eq!(code(&sample.run(&["verify", "--witnesses", &with_strange])), 40);
}

#[test]
fn a_policy_that_is_none_or_asks_for_nobody_is_a_mistake_of_the_caller() {
    let sample = Sample::with_heads(1);
    let path = sample.folder.path().join("policy");
    for (text, expected) in [
        ("quorum w1\n", "line 1 of the policy: no line before it names 'w1'"),
        ("quorum none\n", "asks for no witness"),
        ("", "no line 'quorum"),
    ] {
        fs::write(&path, text).unwrap();
        let output = sample.run(&["verify", "--witnesses", path.to_str().unwrap()]);
        assert_eq!(code(&output), 2, "{text:?}");
        assert!(why(&output).contains(expected), "{text:?}: {}", why(&output));
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(code(&sample.run(&["verify", "--witnesses", path.to_str().unwrap()])), 50);
}

#[test]
fn a_proof_is_of_the_cosigned_head_and_asks_for_its_witnesses() {
    let sample = Sample::with_heads(2);
    let prove = |arguments: &[&str]| sample.run(&[&["prove"], arguments].concat()).stdout;
    let (file, policy) = (sample.folder.path().join("proof"), policy(&sample, ""));
    let key = vkey(&sample).to_string();
    let check = |proof: &[u8], more: &[&str]| {
        fs::write(&file, proof).unwrap();
        let mut verify = command(&["verify", "--json", "--evidence"]);
        let output = verify.arg(&file).args(["--witnesses", &policy]).args(more).output().unwrap();
        (code(&output), told(&output))
    };
    let plain = [prove(&["3"]), prove(&["3", "--receipt"])];
    for proof in &plain {
        assert_eq!(check(proof, &["--vkey", &key]).0, 50, "nobody cosigned its head");
    }
    let (cosigned, path) = cosign_last(&sample, 2, &[1, 2]);
    for proof in [prove(&["3"]), prove(&["3", "--receipt"])] {
        let (code, told) = check(&proof, &["--vkey", &key]);
        assert_eq!(code, 0, "{told}");
        assert_eq!(told["proven"]["treeHead"]["note"], cosigned.as_str());
        assert_eq!(told["proven"]["cosignatures"].as_array().unwrap().len(), 2, "{told}");
    }
    assert_eq!(check(&prove(&["3"]), &[]).0, 10, "by keys that came with it");
    // Events that it does not cover are proven by the last head, as ever.
    let last = notes(&sample, 3).pop().unwrap();
    let size = last.lines().nth(1).unwrap().to_owned();
    assert_eq!(check(&prove(&[&size]), &["--vkey", &key]).0, 50);
    // One that is no head of this ledger is passed over.
    fs::write(&path, "no note").unwrap();
    assert_eq!(prove(&["3"]), plain[0]);
    let false_one = cosign("another text\n", &name(1), &self::key(1), THEN.0).unwrap();
    let spoiled = String::from_utf8(plain[1].clone()).unwrap() + &format!("{false_one}\n");
    assert_eq!(check(spoiled.as_bytes(), &["--vkey", &key]).0, 40);
}

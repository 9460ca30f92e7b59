//! Tests of signed tree heads: those beside the segments, and those that the verifier kept.
//! The former hold or are found. The latter tell an older copy, and another history, from the ledger that was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bitacora_formats::limits::MAX_HEADS_BYTES;
use bitacora_formats::{
    FOOTER_BYTES, Generation, HEADS_HEADER_BYTES, HeadEntry, HeadStep, HeadsHeader, HeadsWalk, Keyring,
    LedgerOrigin, SegmentNumber, TreeHash, TreeHead, UnverifiedTreeHead, VerifierKey, sign_note,
};
use bitacora_verify::{Fault, FaultKind, HeadFault, HeadsChecked, Verdict};

use crate::sample::{Sample, code, shown_heads, told, why};

/// The heads in a file.
fn entries(file: &Path) -> Vec<HeadEntry> {
    let bytes = fs::read(file).unwrap();
    let mut walk = HeadsWalk::new(&bytes);
    let mut entries = Vec::new();
    while let HeadStep::Entry(entry) = walk.step() {
        entries.push(entry);
    }
    entries
}

/// The last head of a sample: its note, and what it says.
fn last_head(sample: &Sample) -> (String, TreeHead) {
    let last = *sample.segments().last().unwrap();
    let note = entries(&sample.heads(last)).pop().unwrap().note;
    let signed = UnverifiedTreeHead::parse(&note).unwrap();
    let head = signed.verify_with_chain(sample.keyring.signing_chain()).unwrap().head().clone();
    (note, head)
}

/// Writes a file of heads of a segment with these entries.
fn write_heads(sample: &Sample, number: u32, entries: &[HeadEntry]) {
    let (_, head) = last_head_of(sample, number);
    let header = HeadsHeader { ledger: head.origin.ledger, segment: SegmentNumber(number) };
    let mut bytes = header.encode().to_vec();
    entries.iter().for_each(|entry| entry.encode(&mut bytes).unwrap());
    fs::write(sample.heads(number), bytes).unwrap();
}

fn last_head_of(sample: &Sample, number: u32) -> (HeadEntry, TreeHead) {
    let entry = entries(&sample.heads(number)).pop().unwrap();
    let signed = UnverifiedTreeHead::parse(&entry.note).unwrap();
    let head = signed.verify_with_chain(sample.keyring.signing_chain()).unwrap().head().clone();
    (entry, head)
}

/// Verifies without keys and with them: both must find a fault in the heads of this segment.
fn fault(sample: &Sample, number: u32, what: &str) -> HeadFault {
    let [keyless, keyed] = [false, true].map(|with_keys| {
        let report = sample.verify_twice(with_keys, what);
        assert_eq!(report.verdict(), Verdict::Invalid, "{what}: {report:?}");
        let fault: Fault = report.fault.unwrap();
        assert_eq!(fault.file, shown_heads(number), "{what}: {fault}");
        match *fault.kind {
            FaultKind::Head(kind) => kind,
            other => panic!("{what}: {other}"),
        }
    });
    assert_eq!(keyless, keyed, "{what}");
    keyless
}

fn heads_of(sample: &Sample, with_keys: bool) -> HeadsChecked {
    let report = sample.verify_twice(with_keys, "heads");
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    report.heads.unwrap()
}

#[test]
fn the_heads_of_a_whole_ledger_hold_and_are_tied_to_its_bytes() {
    let sample = Sample::with_heads(2);
    let (_, head) = last_head(&sample);
    for with_keys in [false, true] {
        let heads = heads_of(&sample, with_keys);
        assert_eq!((heads.heads, heads.events), (2, 2));
        assert_eq!((heads.last_size, heads.segments_without), (head.size, 1));
    }
    let output = sample.run(&["verify", "--json"]);
    assert_eq!(code(&output), 10);
    let told = told(&output);
    assert_eq!(told["treeHeads"]["heads"], 2);
    assert_eq!(told["assurance"]["given"], false);
    assert!(!told["notProven"].to_string().contains("by a signed tree head"), "{told}");
}

#[test]
fn heads_without_leaves_are_of_the_roots_but_not_tied() {
    let sample = Sample::with_heads(2);
    fs::remove_file(sample.leaves(3)).unwrap();
    let heads = heads_of(&sample, false);
    assert_eq!((heads.heads, heads.events), (2, 1));
    assert_eq!(heads_of(&sample, true).events, 2, "the records tell too");
}

#[test]
fn heads_that_are_not_there_are_told() {
    let sample = Sample::with_heads(2);
    fs::remove_file(sample.heads(3)).unwrap();
    let heads = heads_of(&sample, false);
    assert_eq!((heads.heads, heads.segments_without), (1, 2));
    let output = sample.run(&["verify", "--json"]);
    assert!(told(&output)["notProven"].to_string().contains("events by a signed tree head"));
    fs::remove_file(sample.heads(2)).unwrap();
    let output = sample.run(&["verify", "--json"]);
    assert_eq!(code(&output), 10);
    assert!(told(&output)["notProven"].to_string().contains("by signed tree heads: none is there"));
}

#[test]
fn every_flipped_byte_of_a_head_is_found_where_it_is_and_so_is_a_cut() {
    let sample = Sample::with_heads(2);
    let whole = fs::read(sample.heads(3)).unwrap();
    let judge = |changed: &[u8], what: &str| {
        fs::write(sample.heads(3), changed).unwrap();
        let report = sample.verify(false);
        let fault = report.fault.clone().unwrap_or_else(|| panic!("{what}: {report:?}"));
        assert_eq!((report.verdict(), &*fault.file), (Verdict::Invalid, &*shown_heads(3)), "{what}: {fault}");
        fault
    };
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x40;
        let fault = judge(&changed, &format!("byte {at}"));
        let begins = if at < HEADS_HEADER_BYTES { 0 } else { HEADS_HEADER_BYTES as u64 };
        assert_eq!(fault.offset, begins, "byte {at}: {fault}");
        if at == HEADS_HEADER_BYTES {
            // At the start of an entry there is none: fewer heads are no damage.
            continue;
        }
        let cut = judge(&whole[..at], &format!("cut at {at}"));
        assert!(cut.torn, "cut at {at}: an opening sets it aside");
    }
    // Where another one follows, no opening sets it aside.
    let entry = &whole[HEADS_HEADER_BYTES..];
    let mut changed = [&whole[..], entry].concat();
    changed[HEADS_HEADER_BYTES + 60] ^= 1;
    assert!(!judge(&changed, "rot").torn);
}

#[test]
fn an_opening_sets_a_torn_head_aside_and_says_so() {
    let sample = Sample::with_heads(2);
    let whole = fs::read(sample.heads(3)).unwrap();
    for (cut, kept) in [(whole.len() - 7, HEADS_HEADER_BYTES), (HEADS_HEADER_BYTES - 3, 0)] {
        let last = *sample.segments().last().unwrap();
        fs::write(sample.heads(last), &whole[..cut]).unwrap();
        assert!(sample.verify(false).fault.unwrap().torn);
        sample.open().close().unwrap();
        assert_eq!(fs::read(sample.heads(last)).map_or(0, |left| left.len()), kept);
        // The name without its ending says that the log records the cut.
        let aside = sample.ledger().join(format!("quarantine/{last:010}.heads@{kept}.0"));
        assert_eq!(fs::read(aside).unwrap(), whole[kept..cut]);
        assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
    }
    // Files of heads that cannot be read keep no ledger from opening.
    fs::remove_file(sample.heads(2)).unwrap();
    fs::create_dir(sample.heads(2)).unwrap();
    sample.open().close().unwrap();
}

#[test]
fn a_file_of_heads_is_read_up_to_its_largest_size_and_no_further() {
    let sample = Sample::with_heads(2);
    let file = fs::OpenOptions::new().write(true).open(sample.heads(3)).unwrap();
    file.set_len(MAX_HEADS_BYTES as u64).unwrap();
    assert_eq!(heads_of(&sample, false).heads, 2, "zeros behind them, as far as it can go");
    file.set_len(MAX_HEADS_BYTES as u64 + 1).unwrap();
    let report = sample.verify_twice(false, "longer");
    assert_eq!(report.verdict(), Verdict::Incomplete, "{report:?}");
    let gaps: Vec<_> = report.gaps.iter().map(ToString::to_string).collect();
    assert!(gaps.len() == 1 && gaps[0].contains(&format!("more than {MAX_HEADS_BYTES} bytes")), "{gaps:?}");
}

#[test]
fn a_head_that_does_not_follow_from_its_frames_is_found() {
    let sample = Sample::with_heads(2);
    let (entry, head) = last_head_of(&sample, 3);
    let other_root = TreeHead { root: TreeHash([7; 32]), ..head.clone() };
    let shorter = TreeHead { size: head.size - 1, ..head.clone() };
    let longer = TreeHead { size: head.size + 1, ..head.clone() };
    let renamed = LedgerOrigin { name: "other".parse().unwrap(), ..head.origin.clone() };
    let regenerated = LedgerOrigin { generation: Generation(2), ..head.origin.clone() };
    let find = |head: &TreeHead, what: &str| {
        let note = head.sign(&sample.keyring);
        write_heads(&sample, 2, &entries(&sample.heads(2)));
        let bytes = fs::read(sample.heads(3)).unwrap();
        write_heads(&sample, 3, &[HeadEntry { note, ..entry.clone() }]);
        let found = fault(&sample, 3, what);
        fs::write(sample.heads(3), bytes).unwrap();
        found
    };
    assert!(matches!(find(&other_root, "another root"), HeadFault::Root { .. }));
    assert!(matches!(find(&shorter, "a size before its event"), HeadFault::Order { .. }));
    assert!(matches!(find(&longer, "a size past the end"), HeadFault::Size { .. }));
    let renamed = TreeHead { origin: renamed, ..head.clone() };
    assert!(matches!(find(&renamed, "another name"), HeadFault::Origin { .. }));
    let regenerated = TreeHead { origin: regenerated, ..head.clone() };
    assert!(matches!(find(&regenerated, "another generation"), HeadFault::Origin { .. }));
    assert_eq!(heads_of(&sample, false).heads, 2);
}

#[test]
fn a_head_that_the_ledger_did_not_sign_is_found() {
    let sample = Sample::with_heads(2);
    let (entry, head) = last_head_of(&sample, 3);
    let thief = Keyring::generate(&mut |bytes| bytes.fill(3));
    let note = head.sign(&thief);
    write_heads(&sample, 3, &[HeadEntry { note, ..entry }]);
    assert!(matches!(fault(&sample, 3, "of a thief"), HeadFault::Note(_)));
}

#[test]
fn a_head_twice_or_of_another_segment_is_found() {
    let sample = Sample::with_heads(2);
    let (entry, _) = last_head_of(&sample, 3);
    write_heads(&sample, 3, &[entry.clone(), entry]);
    assert!(matches!(fault(&sample, 3, "twice"), HeadFault::Order { .. }));
    fs::copy(sample.heads(2), sample.heads(3)).unwrap();
    assert!(matches!(fault(&sample, 3, "of segment 2"), HeadFault::Of { what: "segment", .. }));
    let (entry, _) = last_head_of(&sample, 2);
    write_heads(&sample, 3, &[entry]);
    assert!(matches!(fault(&sample, 3, "of segment 2 under a header of 3"), HeadFault::Order { .. }));
}

#[test]
fn a_head_whose_event_is_another_one_is_found() {
    let sample = Sample::with_heads(2);
    let (mut entry, _) = last_head_of(&sample, 3);
    let (earlier, _) = last_head_of(&sample, 2);
    (entry.blind, entry.record) = (earlier.blind, earlier.record);
    write_heads(&sample, 3, &[entry.clone()]);
    assert!(matches!(fault(&sample, 3, "the event of segment 2"), HeadFault::Commitment { .. }));
    entry.record = b"no record".to_vec();
    write_heads(&sample, 3, &[entry]);
    assert!(matches!(fault(&sample, 3, "no record"), HeadFault::Event(_)));
}

#[test]
fn an_end_cut_off_at_a_frame_is_found_by_the_heads_that_are_left() {
    let sample = Sample::with_heads(2);
    let whole = fs::read(sample.segment(3)).unwrap();
    let leaves = fs::read(sample.leaves(3)).unwrap();
    // The footer and the frame of the head's event, and its leaf.
    let last_frame = frames(&whole).pop().unwrap();
    fs::write(sample.segment(3), &whole[..last_frame]).unwrap();
    fs::write(sample.leaves(3), &leaves[..leaves.len() - 40]).unwrap();
    assert!(matches!(fault(&sample, 3, "cut"), HeadFault::Size { .. }));
    assert_eq!(code(&sample.run(&["verify"])), 40);
}

/// Returns the offsets of a segment's frames.
fn frames(segment: &[u8]) -> Vec<usize> {
    let (mut walk, _) = bitacora_formats::SegmentWalk::start(segment, None).unwrap();
    let mut frames = Vec::new();
    while let bitacora_formats::Step::Frame(frame) = walk.next_step() {
        frames.push(usize::try_from(frame.offset).unwrap());
    }
    assert!(frames.len() > 1 && segment.len() > FOOTER_BYTES);
    frames
}

/// A sample, its last head in a file elsewhere, and its keys as verifier keys.
fn known_head() -> (Sample, PathBuf, Vec<String>) {
    let sample = Sample::with_heads(2);
    let (note, head) = last_head(&sample);
    let file = sample.folder.path().join("kept.head");
    fs::write(&file, note).unwrap();
    let keys = head.origin.keys(sample.keyring.signing_chain()).iter().map(VerifierKey::to_string).collect();
    (sample, file, keys)
}

fn verify(sample: &Sample, more: &[&str]) -> (i32, serde_json::Value) {
    let output = sample.run(&[&["verify", "--json"], more].concat());
    (code(&output), told(&output))
}

#[test]
fn a_known_key_and_a_known_head_together_end_with_0_and_each_alone_with_10() {
    let (sample, head, keys) = known_head();
    let head = head.to_str().unwrap();
    let (code, told) = verify(&sample, &["--vkey", &keys[0], "--known-head", head]);
    assert_eq!((code, &told["assurance"]["given"]), (0, &true.into()), "{told}");
    assert_eq!(verify(&sample, &["--vkey", &keys[0], "--known-head", head, "--with-keys"]).0, 0);
    for alone in [["--vkey", &keys[0]], ["--known-head", head]] {
        let (code, told) = verify(&sample, &alone);
        assert_eq!((code, &told["assurance"]["given"]), (10, &false.into()), "{told}");
    }
}

#[test]
fn roots_that_are_only_stated_do_not_end_with_0() {
    let (sample, head, keys) = known_head();
    let both = ["--vkey", &*keys[0], "--known-head", head.to_str().unwrap()];
    assert_eq!(verify(&sample, &[&both[..], &["--chain-only"]].concat()).0, 10);
    fs::remove_file(sample.leaves(2)).unwrap();
    assert_eq!(verify(&sample, &both).0, 10);
    assert_eq!(
        verify(&sample, &[&both[..], &["--with-keys"]].concat()).0,
        0,
        "the records make the tree too"
    );
    assert_eq!(verify(&sample, &[&both[..], &["--require-leaves"]].concat()).0, 50);
}

#[test]
fn a_key_that_is_not_the_ledgers_ends_with_40() {
    let (sample, head, keys) = known_head();
    let thief = Keyring::generate(&mut |bytes| bytes.fill(3));
    let (_, of) = last_head(&sample);
    let stranger = of.origin.keys(thief.signing_chain())[0].to_string();
    let other = LedgerOrigin { name: "other".parse().unwrap(), ..of.origin };
    let misnamed = other.keys(sample.keyring.signing_chain())[0].to_string();
    for wrong in [&stranger, &misnamed] {
        let (code, told) =
            verify(&sample, &["--vkey", &keys[0], "--vkey", wrong, "--known-head", head.to_str().unwrap()]);
        assert_eq!((code, &told["fault"]["file"]), (40, &"signing-keys.note".into()), "{told}");
    }
    assert_eq!(code(&sample.run(&["verify", "--vkey", "main+00000000+AAAA"])), 2);
}

#[test]
fn a_key_vouches_for_nothing_that_one_before_it_signed() {
    let (sample, head, _) = known_head();
    // The note calls a true key the successor of the one that signed everything: anybody can write that.
    let mut keyring = Keyring::parse(&sample.keyring.to_text()).unwrap();
    keyring.rotate_signing(&mut |bytes| bytes.fill(9)).unwrap();
    fs::write(sample.ledger().join("signing-keys.note"), keyring.signing_chain_note()).unwrap();
    let (_, of) = last_head(&sample);
    let keys = of.origin.keys(keyring.signing_chain());
    let known = ["--known-head", head.to_str().unwrap()];
    let (code, told) = verify(&sample, &[&["--vkey", &*keys[1].to_string()], &known[..]].concat());
    assert_eq!((code, &told["assurance"]["keyVouches"]), (10, &false.into()), "{told}");
    assert_eq!(verify(&sample, &[&["--vkey", &*keys[0].to_string()], &known[..]].concat()).0, 0);
}

#[test]
fn a_successor_that_a_leaked_seed_endorses_is_not_taken_for_the_ledgers() {
    let (mut sample, kept, keys) = known_head();
    let first = keys[0].to_string();
    let brought = ["--vkey", &*first, "--known-head", kept.to_str().unwrap()];
    assert_eq!(verify(&sample, &brought).0, 0);
    // A thief with the seed of key 1 goes on under a second key, from a head that is really the ledger's.
    let mut keyring = Keyring::parse(&sample.keyring.to_text()).unwrap();
    keyring.rotate_signing(&mut |bytes| bytes.fill(9)).unwrap();
    sample.keyring = std::sync::Arc::new(keyring);
    sample.open_with(&Sample::options_with_heads()).close().unwrap();
    let (code, told) = verify(&sample, &brought);
    assert_eq!((code, &told["assurance"]["keyVouches"]), (10, &false.into()), "{told}");
    // Where the auditor has something by the second key, be it the key or a head, it is the ledger's.
    let (note, of) = last_head(&sample);
    let newer = sample.folder.path().join("newer");
    fs::write(&newer, note).unwrap();
    assert_eq!(verify(&sample, &[&brought[..], &["--known-head", newer.to_str().unwrap()]].concat()).0, 0);
    let second = of.origin.keys(sample.keyring.signing_chain())[1].to_string();
    assert_eq!(verify(&sample, &[&brought[..], &["--vkey", &*second]].concat()).0, 0);
    // And where that was another one, this ledger is not it.
    let mut other = Keyring::parse(&sample.keyring.to_text()).unwrap();
    other.rotate_signing(&mut |bytes| bytes.fill(7)).unwrap();
    // A thief's key between two that are known endorses the later one, and is not known for that.
    let note = sample.ledger().join("signing-keys.note");
    let own = fs::read(&note).unwrap();
    fs::write(&note, other.signing_chain_note()).unwrap();
    let third = of.origin.keys(other.signing_chain())[2].to_string();
    assert_eq!(verify(&sample, &[&brought[..], &["--vkey", &*third]].concat()).0, 10);
    fs::write(&note, own).unwrap();
    // A key that is known and is not among them is named.
    let published = VerifierKey::new(
        &of.origin.to_string(),
        ed25519_dalek::SigningKey::from_bytes(&[5; 32]).verifying_key(),
    );
    let published = published.unwrap().to_string();
    let (code, told) = verify(&sample, &[&brought[..], &["--vkey", &*published]].concat());
    assert!(code == 40 && told.to_string().contains("endorsed another successor"), "{told}");
    let published = sample.folder.path().join("published");
    let head = TreeHead { origin: of.origin.clone(), size: of.size, root: of.root };
    fs::write(&published, head.sign(&other)).unwrap();
    assert_eq!(
        verify(&sample, &[&brought[..], &["--known-head", published.to_str().unwrap()]].concat()).0,
        30
    );
}

#[test]
fn an_older_copy_ends_with_30() {
    let sample = Sample::with_heads(1);
    let copy = sample.folder.path().join("copy");
    assert!(Command::new("cp").arg("-r").arg(sample.ledger()).arg(&copy).status().unwrap().success());
    let older = last_head(&sample).0;
    let ledger = sample.open_with(&Sample::options_with_heads());
    ledger
        .append(bitacora_ledger::AppendRequest::of(vec![crate::sample::event("more", "s")]))
        .unwrap()
        .wait()
        .unwrap();
    ledger.close().unwrap();
    let (newer, of) = last_head(&sample);
    let [older_file, newer_file] = [("older", older), ("newer", newer)].map(|(name, note)| {
        let file = sample.folder.path().join(name);
        fs::write(&file, note).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let key = of.origin.keys(sample.keyring.signing_chain())[0].to_string();
    let both = ["--vkey", &*key, "--known-head", &*older_file, "--known-head", &*newer_file];
    assert_eq!(verify(&sample, &both).0, 0);

    fs::remove_dir_all(sample.ledger()).unwrap();
    fs::rename(&copy, sample.ledger()).unwrap();
    let (code, told) = verify(&sample, &both);
    assert_eq!(code, 30, "{told}");
    assert!(told["assurance"]["divergences"].to_string().contains("it was rolled back"), "{told}");
    assert_eq!(verify(&sample, &["--vkey", &key, "--known-head", &older_file]).0, 0);
    assert_eq!(verify(&sample, &[]).0, 10, "nobody remembers");
}

#[test]
fn another_history_or_ledger_ends_with_30() {
    let (sample, file, keys) = known_head();
    let (_, head) = last_head(&sample);
    let find = |head: &TreeHead, keyring: &Keyring| {
        fs::write(&file, head.sign(keyring)).unwrap();
        let (code, told) = verify(&sample, &["--vkey", &keys[0], "--known-head", file.to_str().unwrap()]);
        assert_eq!((code, &told["assurance"]["given"]), (30, &false.into()), "{told}");
        told["assurance"]["divergences"].to_string()
    };
    let keyring = &sample.keyring;
    let other = TreeHead { root: TreeHash([7; 32]), ..head.clone() };
    assert!(find(&other, keyring).contains("the history is another one"));
    let between = TreeHead { size: head.size - 2, ..head.clone() };
    assert!(find(&between, keyring).contains("no frame that ends there"));
    let beyond = TreeHead { size: head.size + 1, ..head.clone() };
    assert!(find(&beyond, keyring).contains("it was rolled back"));
    let later = LedgerOrigin { generation: Generation(2), ..head.origin.clone() };
    assert!(find(&TreeHead { origin: later, ..head.clone() }, keyring).contains("of generation 2"));
    let (_, theirs) = last_head(&Sample::with_heads(1));
    assert!(find(&theirs, keyring).contains("another ledger stands in its place"));
    let thief = Keyring::generate(&mut |bytes| bytes.fill(3));
    assert!(find(&head, &thief).contains("none of this ledger's keys signed"));
}

#[test]
fn a_reader_that_is_gone_turns_no_finding_into_a_pass() {
    let sample = Sample::with_heads(1);
    // More than any buffer keeps back: each of these is no ledger.
    for number in 0..100 {
        fs::create_dir_all(sample.data().join(format!("ledgers/x{number}/segments"))).unwrap();
    }
    let mut verify = crate::sample::command(&["verify", "--all", "--data"]);
    let mut child = verify.arg(sample.data()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(40));
}

#[test]
fn a_head_of_nothing_remembers_nothing() {
    let (sample, file, keys) = known_head();
    let (_, head) = last_head(&sample);
    let empty = bitacora_formats::Frontier::new().root();
    let nothing = TreeHead { size: 0, root: empty, ..head };
    fs::write(&file, nothing.sign(&sample.keyring)).unwrap();
    assert_eq!(verify(&sample, &["--vkey", &keys[0], "--known-head", file.to_str().unwrap()]).0, 10);
}

#[test]
fn a_known_head_that_cannot_be_used_never_ends_with_0() {
    let (sample, file, keys) = known_head();
    let (note, head) = last_head(&sample);
    let both = ["verify", "--vkey", &*keys[0], "--known-head", file.to_str().unwrap()];
    fs::write(&file, note.replacen("g1 ", "g1 A", 1)).unwrap();
    assert_eq!(code(&sample.run(&both)), 50);
    // A text that was changed under the signature.
    let signed = sign_note(&head.text(), &head.origin.to_string(), sample.keyring.signing().key).unwrap();
    let size = format!("\n{}\n", head.size);
    fs::write(&file, signed.replacen(&size, "\n3\n", 1)).unwrap();
    let output = sample.run(&both);
    assert_eq!(code(&output), 50);
    fs::write(&file, [0xff; 40]).unwrap();
    let output = sample.run(&both);
    assert_eq!(code(&output), 50);
    assert!(why(&output).contains("nothing was verified"));
    fs::remove_file(&file).unwrap();
    assert_eq!(code(&sample.run(&both)), 50);
    assert_eq!(code(&sample.run(&[&both[..], &["--all"]].concat())), 2);
}

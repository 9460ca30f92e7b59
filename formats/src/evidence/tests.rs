use ed25519_dalek::Signer;

use super::*;
use crate::headed_example::{ExampleEvent, TIME, events, head, keyring, origin};
use crate::ids::{Generation, LedgerId};
use crate::limits::MAX_RECORD_BYTES;
use crate::note::{NoteError, sign_note};
use crate::tree::Frontier;
use crate::tree_head::{KeyProblem, LedgerOrigin, TreeHead};
use crate::{
    EventDraft, Json, Keyring, Record, RecordData, Seal, encode_part, encode_record, part_blind, seal_part,
};
use bitacora_testkit::text_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/evidence.md");

/// The evidence of the example's first event.
pub(crate) fn evidence() -> Evidence {
    let [ExampleEvent { position, blind, record, commitment }, heading] = events();
    Evidence {
        position,
        time: TIME,
        commitment,
        content: Some(EvidenceContent { blind, record, part: None }),
        proof: vec![heading.leaf()],
        tree_head: head().sign(&keyring()),
        signing_keys: keyring().signing_chain_note(),
    }
}

/// The evidence of an event that is alone in its tree, with this record.
fn alone(record: Vec<u8>, part: Option<RevealedPart>) -> Evidence {
    let blind = Secret::take(&mut [9; 32]);
    let commitment = commitment(&blind, &record);
    let mut frontier = Frontier::new();
    frontier.push(leaf_hash(Position::FIRST, TIME, &commitment));
    let head = TreeHead { origin: origin(), size: 1, root: frontier.root() };
    Evidence {
        position: Position::FIRST,
        commitment,
        content: Some(EvidenceContent { blind, record, part }),
        proof: Vec::new(),
        tree_head: head.sign(&keyring()),
        ..evidence()
    }
}

fn verify(evidence: &Evidence) -> Result<ProvenEvent, EvidenceError> {
    verify_with(evidence, &[])
}

fn verify_with(evidence: &Evidence, trusted: &[VerifierKey]) -> Result<ProvenEvent, EvidenceError> {
    UnverifiedEvidence::parse(evidence.to_json().as_bytes())?.verify(trusted)
}

fn keys() -> Vec<VerifierKey> {
    origin().keys(keyring().signing_chain())
}

fn content(evidence: &mut Evidence) -> &mut EvidenceContent {
    evidence.content.as_mut().unwrap()
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let shown = text_block(DOCUMENT, 0);
    assert_eq!(evidence().to_json(), shown);
    let parsed = UnverifiedEvidence::parse(shown.as_bytes()).unwrap();
    assert_eq!(parsed, UnverifiedEvidence(evidence()));
    let proven = parsed.verify(&keys()[1..]).unwrap();
    assert!(proven.is_trusted() && !proven.is_sealed());
    assert_eq!((proven.evidence(), proven.head().head()), (&evidence(), &head()));
    let event = proven.event().unwrap();
    assert_eq!((&*event.id, &*event.kind), ("e-1", "tool.completed"));
}

#[test]
fn without_a_key_that_is_known_nobody_outside_vouches() {
    assert!(!verify(&evidence()).unwrap().is_trusted());
}

#[test]
fn the_key_that_signed_is_trusted_and_a_successor_by_its_endorsement_alone_is_not() {
    let [first, second] = keys().try_into().unwrap();
    for trusted in [vec![second.clone()], vec![first.clone(), second]] {
        assert!(verify_with(&evidence(), &trusted).unwrap().is_trusted());
    }
    let proven = verify_with(&evidence(), &[first]).unwrap();
    assert!(!proven.is_trusted() && proven.is_endorsed());
    assert!(!verify(&evidence()).unwrap().is_endorsed());
}

/// A note of signing keys and a head by the last of them. The second key is a thief's; it is endorsed as `docs/formats/keyring.md` says,
/// with the seed of the first one.
fn forged(thirds: &[[u8; 32]]) -> Evidence {
    // The seed of key 1 of the keyring that the document's example was made with: its bytes go on from 0x68.
    let seed: [u8; 32] = std::array::from_fn(|at| 0x68 + u8::try_from(at).unwrap());
    let mut keys = vec![ed25519_dalek::SigningKey::from_bytes(&seed)];
    assert_eq!(keys[0].verifying_key(), *keyring().signing_chain().key(1).unwrap());
    let mut note = format!(
        "bitacora-signing-keys v1\nsigning-key 1 {}\n",
        hex::encode(keys[0].verifying_key().as_bytes())
    );
    let thief = ed25519_dalek::SigningKey::from_bytes(&[0x66; 32]).verifying_key().to_bytes();
    for (number, public) in (2_u32..).zip([thief].iter().chain(thirds)) {
        let before = keys.last().unwrap();
        let message = [&number.to_le_bytes()[..], before.verifying_key().as_bytes(), &public[..]].concat();
        let hash = blake3::derive_key("bitacora v1 signing key endorsement", &message);
        let endorsement = before.sign(&hash).to_bytes();
        note += &format!("signing-key {number} {} {}\n", hex::encode(public), hex::encode(endorsement));
        keys.push(ed25519_dalek::SigningKey::from_bytes(&[0x66; 32]));
    }
    let head = sign_note(&head().text(), &origin().to_string(), &keys[1]).unwrap();
    Evidence { tree_head: head, signing_keys: note, ..evidence() }
}

#[test]
fn a_successor_that_a_leaked_seed_endorsed_is_trusted_by_nobody() {
    let [first, second] = keys().try_into().unwrap();
    let alone = verify_with(&forged(&[]), std::slice::from_ref(&first)).unwrap();
    assert!(!alone.is_trusted() && alone.is_endorsed());
    // Once the newer key is known, the other one is refused, and it is said why.
    for trusted in [[first.clone(), second.clone()], [second.clone(), first.clone()]] {
        let refused = verify_with(&forged(&[]), &trusted).unwrap_err();
        let is_named = matches!(
            &refused,
            EvidenceError::Key { key, problem: KeyProblem::OtherSuccessor } if *key == second.to_string()
        );
        assert!(is_named, "{refused}");
    }
    // The thief's key endorses the true one in its turn: that makes it no key between two that are known.
    let between = forged(&[*second.public().as_bytes()]);
    assert!(!verify_with(&between, &[first, second]).unwrap().is_trusted());
}

#[test]
fn a_known_key_that_is_not_the_ledgers_refuses_the_evidence_also_beside_one_that_is() {
    let stranger = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
    let other = LedgerOrigin { ledger: LedgerId([0; 16]), ..origin() };
    for (key, expected) in [
        (VerifierKey::new(&origin().to_string(), stranger).unwrap(), KeyProblem::NotInChain),
        (VerifierKey::new(&other.to_string(), *keys()[1].public()).unwrap(), KeyProblem::OtherLedger),
        (VerifierKey::new("main", *keys()[1].public()).unwrap(), KeyProblem::OtherLedger),
    ] {
        let beside = if expected == KeyProblem::NotInChain { KeyProblem::OtherSuccessor } else { expected };
        for (trusted, expected) in [(vec![key.clone()], expected), (vec![keys()[0].clone(), key], beside)] {
            let refused = verify_with(&evidence(), &trusted);
            assert!(matches!(&refused, Err(EvidenceError::Key { problem, .. }) if *problem == expected));
        }
    }
}

#[test]
fn a_key_vouches_in_every_generation() {
    let later = LedgerOrigin { generation: Generation(7), ..origin() };
    let key = VerifierKey::new(&later.to_string(), *keys()[1].public()).unwrap();
    assert!(verify_with(&evidence(), &[key]).unwrap().is_trusted());
}

#[test]
fn a_known_key_vouches_for_nothing_that_one_before_it_signed() {
    // A thief's key that calls the true one its successor, and signs itself.
    let mut thief = Keyring::generate(&mut |bytes| bytes.fill(3));
    let note = sign_note(&head().text(), &origin().to_string(), thief.signing().key).unwrap();
    thief.rotate_signing(&mut |bytes| bytes.fill(4)).unwrap();
    let evidence = Evidence { tree_head: note, signing_keys: thief.signing_chain_note(), ..evidence() };
    assert!(!verify(&evidence).unwrap().is_trusted());
    let [first, second] = origin().keys(thief.signing_chain()).try_into().unwrap();
    let refused = verify_with(&evidence, std::slice::from_ref(&second));
    assert!(matches!(refused, Err(EvidenceError::Key { problem: KeyProblem::Later, .. })), "{refused:?}");
    assert!(verify_with(&evidence, &[second, first]).unwrap().is_trusted());
}

#[test]
fn the_record_of_another_event_is_refused_although_the_proof_holds() {
    let mut other = evidence();
    content(&mut other).record = events()[1].record.clone();
    assert!(matches!(verify(&other), Err(EvidenceError::Commitment { .. })));
    let mut other = evidence();
    let [_, heading] = events();
    other.content = Some(EvidenceContent { blind: heading.blind, record: heading.record, part: None });
    assert!(matches!(verify(&other), Err(EvidenceError::Commitment { .. })));
    // Its own commitment, which the tree does not hold there.
    other.commitment = heading.commitment;
    assert!(matches!(verify(&other), Err(EvidenceError::Proof { .. })));
}

#[test]
fn another_position_time_or_head_is_refused() {
    let mut moved = evidence();
    moved.position = Position::new(2).unwrap();
    assert!(matches!(verify(&moved), Err(EvidenceError::Proof { .. })));
    moved.position = Position::new(3).unwrap();
    let beyond =
        EvidenceError::Proof { position: moved.position, source: ProofError::Index { index: 2, size: 2 } };
    assert_eq!(verify(&moved), Err(beyond));
    let later = Evidence { time: Micros(TIME.0 + 1), ..evidence() };
    assert!(matches!(verify(&later), Err(EvidenceError::Proof { .. })));
    for size in [0, 1, 3] {
        let root = if size == 0 { Frontier::new().root() } else { head().root };
        let other = TreeHead { size, root, ..head() };
        let other = Evidence { tree_head: other.sign(&keyring()), ..evidence() };
        assert!(matches!(verify(&other), Err(EvidenceError::Proof { .. })), "size {size}");
    }
}

#[test]
fn a_proof_with_too_many_too_few_or_other_hashes_is_refused() {
    let sibling = events()[1].leaf();
    for proof in [vec![], vec![sibling; 2], vec![events()[0].leaf()], vec![TreeHash([0; 32])]] {
        let other = Evidence { proof, ..evidence() };
        assert!(matches!(verify(&other), Err(EvidenceError::Proof { .. })));
    }
    let most = Evidence { proof: vec![sibling; 64], ..evidence() };
    assert!(matches!(verify(&most), Err(EvidenceError::Proof { .. })));
    let hostile = Evidence { proof: vec![sibling; 65], ..evidence() };
    let refused = verify(&hostile).unwrap_err().to_string();
    assert!(refused.contains("invalid length 65, expected at most 64 hashes"), "{refused}");
}

#[test]
fn the_only_event_of_a_tree_needs_no_hashes() {
    let only = alone(events()[0].record.clone(), None);
    assert_eq!(&*verify(&only).unwrap().event().unwrap().id, "e-1");
}

#[test]
fn evidence_without_content_proves_position_time_and_commitment() {
    let bare = Evidence { content: None, ..evidence() };
    let proven = verify(&bare).unwrap();
    assert!(proven.event().is_none() && !proven.is_sealed());
    assert_eq!(proven.evidence().commitment, events()[0].commitment);
}

#[test]
fn a_head_that_other_keys_signed_is_refused() {
    let stranger = Keyring::generate(&mut |bytes| bytes.fill(3));
    let other = Evidence { signing_keys: stranger.signing_chain_note(), ..evidence() };
    let expected = TreeHeadError::from(NoteError::NoKnownSignature);
    assert_eq!(verify(&other), Err(expected.into()));
    let broken = Evidence { signing_keys: "signing keys".to_owned(), ..evidence() };
    assert!(matches!(verify(&broken), Err(EvidenceError::SigningKeys(_))));
}

/// Evidence of an event about `person/9`, with its part if that is disclosed.
fn sealed(disclosed: bool) -> Evidence {
    let subject_key = Secret::take(&mut [0x5a; 32]);
    let mut event = Event::new("e-3", "desk", "ticket.opened", "tickets");
    event.datasubject = Some("person/9".into());
    event.data = Data::Json(Json::check(br#"{"phone":"555-0100"}"#.to_vec()).unwrap());
    let EventDraft::Sensitive { record, part } = Record::draft(event, 0) else { panic!("it names somebody") };
    let part = encode_part(&part).unwrap();
    let (seal, _) = seal_part(&subject_key, origin().ledger, &part).unwrap();
    let record = encode_record(&record.seal(Seal { subject_key: [1; 16], seal })).unwrap();
    let blind = part_blind(&subject_key, origin().ledger);
    alone(record, disclosed.then(|| RevealedPart { blind, part: part.into() }))
}

#[test]
fn a_sealed_part_is_shown_where_it_is_disclosed_and_missed_where_not() {
    let proven = verify(&sealed(true)).unwrap();
    assert!(!proven.is_sealed());
    assert_eq!(proven.event().unwrap().datasubject.as_deref(), Some("person/9"));
    let proven = verify(&sealed(false)).unwrap();
    assert!(proven.is_sealed());
    assert_eq!(proven.event().unwrap().datasubject, None);
}

#[test]
fn a_part_that_the_record_was_not_sealed_with_is_refused() {
    let mut other = sealed(true);
    let part = content(&mut other).part.as_mut().unwrap();
    *part.part.last_mut().unwrap() ^= 1;
    assert_eq!(verify(&other), Err(PartError::SealMismatch.into()));
    let mut other = sealed(true);
    content(&mut other).part.as_mut().unwrap().blind = Secret::take(&mut [1; 32]);
    assert_eq!(verify(&other), Err(PartError::SealMismatch.into()));
    let mut other = evidence();
    content(&mut other).part = content(&mut sealed(true)).part.clone();
    assert_eq!(verify(&other), Err(EvidenceError::UnsealedPart));
}

#[test]
fn what_a_lying_ledger_committed_to_is_not_shown_as_an_event() {
    let unreadable = verify(&alone(b"no record".to_vec(), None));
    assert!(matches!(unreadable, Err(EvidenceError::Record { what: "the record", .. })), "{unreadable:?}");
    let draft = |event| match Record::draft(event, 0) {
        EventDraft::Clear(record) => record,
        EventDraft::Sensitive { .. } => panic!("it names nobody"),
    };
    let nameless = draft(Event::new("", "desk", "x", "s"));
    let refused = verify(&alone(encode_record(&nameless).unwrap(), None));
    assert!(matches!(refused, Err(EvidenceError::Event(_))), "{refused:?}");
    let mut record = draft(Event::new("e", "desk", "x", "s"));
    record.data = RecordData::Json(Json::stored(b"{\"a\":\x1b[2J}".as_slice().into()));
    let refused = verify(&alone(encode_record(&record).unwrap(), None));
    assert!(matches!(refused, Err(EvidenceError::Json(_))), "{refused:?}");
}

#[test]
fn json_of_another_form_is_refused() {
    let text = evidence().to_json();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        UnverifiedEvidence::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err()
    };
    assert_eq!(refused("evidence v1", "evidence v2"), EvidenceError::Format);
    for (from, to) in [
        ("{", "["),
        ("\"proof\"", "\"prof\""),
        ("\"format\"", "\"more\": 1,\n  \"format\""),
        ("\"position\": \"1\"", "\"position\": 1"),
        ("\"position\": \"1\"", "\"position\": \"1\", \"position\": \"1\""),
        ("\"time\": \"1800000000000000\",", ""),
    ] {
        let error = refused(from, to);
        assert!(matches!(error, EvidenceError::Form { .. }), "{to}: {error:?}");
    }
    for (from, to, member) in [
        ("\"position\": \"1\"", "\"position\": \"0\"", "position"),
        ("\"position\": \"1\"", "\"position\": \"+1\"", "position"),
        ("\"time\": \"1", "\"time\": \"-1", "time"),
        ("\"commitment\": \"", "\"commitment\": \"A", "commitment"),
        ("\"blind\": \"", "\"blind\": \"0", "blind"),
        ("\"record\": \"", "\"record\": \"!", "record"),
        ("\"blind\"", "\"partBlind\"", "part"),
    ] {
        let error = refused(from, to);
        assert!(matches!(error, EvidenceError::Member { member: found, .. } if found == member), "{error:?}");
    }
}

#[test]
fn the_longest_evidence_and_the_longest_record_are_read() {
    let mut text = evidence().to_json().into_bytes();
    text.resize(MAX_EVIDENCE_BYTES, b' ');
    assert_eq!(UnverifiedEvidence::parse(&text), Ok(UnverifiedEvidence(evidence())));
    text.push(b' ');
    let refused = EvidenceError::TooLong { bytes: MAX_EVIDENCE_BYTES + 1 };
    assert_eq!(UnverifiedEvidence::parse(&text), Err(refused));
    let mut long = evidence();
    content(&mut long).record = vec![0; MAX_RECORD_BYTES];
    assert_eq!(UnverifiedEvidence::parse(long.to_json().as_bytes()), Ok(UnverifiedEvidence(long.clone())));
    content(&mut long).record.push(0);
    let refused = UnverifiedEvidence::parse(long.to_json().as_bytes());
    assert!(matches!(refused, Err(EvidenceError::Member { member: "record", .. })), "{refused:?}");
}

#[test]
fn a_part_without_its_record_is_refused() {
    let json = sealed(true).to_json();
    let is_shown = |line: &&str| !line.contains("\"blind\"") && !line.contains("\"record\"");
    let part_alone: String = json.lines().filter(is_shown).collect();
    assert!(part_alone.contains("\"partBlind\"") && part_alone.contains("\"part\""));
    let refused = UnverifiedEvidence::parse(part_alone.as_bytes());
    assert!(matches!(refused, Err(EvidenceError::Member { member: "record", .. })), "{refused:?}");
}

//! Forged tree heads: signed and in the tree, whose event names stored bytes that are not there.

use std::fs;
use std::num::NonZero;

use bitacora_formats::{
    BodyWriter, ChainHash, ChainHead, Codec, Data, Event, Generation, HEADED_KIND, HEADED_STREAM, HeadEntry,
    HeadsHeader, Json, LedgerKeys, LedgerOrigin, Position, SegmentNumber, StreamVersion, TreeHead,
    service_source,
};
use bitacora_verify::{
    FaultKind, HeadFault, HeadsChecked, TailRetries, Verdict, VerifyOptions, verify_ledger,
};

use super::{Forger, begun, record_of};
use crate::sample::{event, shown_heads};

impl Forger {
    /// The chain hash after the last frame.
    fn hash(&self) -> ChainHash {
        self.sealer.tip().hash
    }

    /// Appends the event that names these stored bytes, and gives the head over it.
    fn head(&mut self, size: u64, hash: ChainHash, version: u64) -> HeadEntry {
        let headed = ChainHead { size: Position::new(size).unwrap(), hash };
        let position = Position::new(self.frontier.size() + 1).unwrap();
        let source = service_source(self.ledger);
        let id = format!("{HEADED_KIND}:{position}");
        let mut event = Event::new(id.clone(), source.clone(), HEADED_KIND, HEADED_STREAM);
        event.data = Data::Json(Json::check(headed.to_json().into_bytes()).unwrap());
        let record = record_of(event.clone());
        self.honest(event, version);
        let origin = LedgerOrigin {
            name: "main".parse().unwrap(),
            ledger: self.ledger,
            generation: Generation::FIRST,
        };
        let head = TreeHead { origin, size: self.frontier.size(), root: self.frontier.root() };
        let blind = LedgerKeys::new(&self.keyring, self.ledger).blind(&source, &id);
        HeadEntry { position, blind, record, note: head.sign(&self.keyring) }
    }

    /// Verifies it with keys, with this head beside its last segment: by any number of threads alike.
    fn verify_with(self, head: &HeadEntry) -> Result<HeadsChecked, HeadFault> {
        let folder = tempfile::tempdir().unwrap();
        let number = u32::try_from(self.ended.len()).unwrap() + 1;
        let mut heads = HeadsHeader { ledger: self.ledger, segment: SegmentNumber(number) }.encode().to_vec();
        head.encode(&mut heads).unwrap();
        let keyring = self.write(folder.path());
        fs::create_dir(folder.path().join("tree")).unwrap();
        fs::write(folder.path().join(shown_heads(number)), heads).unwrap();
        let [one, four] = [1, 4].map(|threads| {
            let (keyring, threads) = (Some(&keyring), NonZero::new(threads));
            let options =
                VerifyOptions { keyring, threads, patience: TailRetries::NONE, ..Default::default() };
            verify_ledger(folder.path(), &options)
        });
        assert_eq!(one.fault, four.fault, "by one thread and by four");
        match one.fault.map(|fault| (fault.file, *fault.kind)) {
            None => {
                assert_eq!(one.contents.map(|contents| contents.events), Some(one.events));
                Ok(one.heads.unwrap())
            }
            Some((file, FaultKind::Head(kind))) if file == shown_heads(number) => Err(kind),
            Some((file, other)) => panic!("{file}: {other}"),
        }
    }
}

/// Two segments; gives the chain hashes after each of their frames. The second one has one frame yet.
fn two_segments() -> (Forger, Vec<ChainHash>) {
    let mut forger = begun();
    let mut hashes = vec![forger.hash()];
    for version in 1..=3 {
        forger.honest(event(&version.to_string(), "s"), version);
        hashes.push(forger.hash());
    }
    let mut forger = forger.roll();
    forger.honest(event("4", "s"), 4);
    hashes.push(forger.hash());
    (forger, hashes)
}

#[test]
fn stored_bytes_that_a_head_names_are_found_in_its_segment_and_in_those_before() {
    for size in 1..=5 {
        let (mut forger, hashes) = two_segments();
        let head = forger.head(size, hashes[usize::try_from(size).unwrap() - 1], 2);
        let heads = forger.verify_with(&head).unwrap();
        assert_eq!((heads.heads, heads.events), (1, 1), "of position {size}");
    }
}

#[test]
fn stored_bytes_that_are_not_those_a_head_names_are_found() {
    for size in 1..=5 {
        let (mut forger, _) = two_segments();
        let head = forger.head(size, ChainHash([7; 32]), 2);
        let found = forger.verify_with(&head).unwrap_err();
        assert!(matches!(found, HeadFault::Hash { size: named, .. } if named == size), "{found}");
    }
}

#[test]
fn a_position_within_a_frame_names_no_stored_bytes() {
    let records = ["1", "2"].map(|id| record_of(event(id, "s")));
    let mut body = BodyWriter::new();
    body.begin_request(2).unwrap();
    for (version, record) in (1..).zip(&records) {
        body.entry(StreamVersion::new(version).unwrap(), record, None).unwrap();
    }
    body.end_request().unwrap();
    let body = body.finish().unwrap();
    for rolled in [false, true] {
        let mut forger = begun();
        let [_, root] = [&records[0], &records[1]].map(|record| forger.grow(record));
        forger.seal(&body, Codec::Stored, body.len(), 2, root);
        let hash = forger.hash();
        let mut forger = if rolled { forger.roll() } else { forger };
        let head = forger.head(2, hash, 2);
        assert!(matches!(forger.verify_with(&head), Err(HeadFault::Hash { size: 2, .. })), "{rolled}");
    }
}

#[test]
fn without_keys_and_leaves_nothing_is_said_of_what_a_head_names() {
    let (mut forger, _) = two_segments();
    let head = forger.head(1, ChainHash([7; 32]), 2);
    let folder = tempfile::tempdir().unwrap();
    let mut heads = HeadsHeader { ledger: forger.ledger, segment: SegmentNumber(2) }.encode().to_vec();
    head.encode(&mut heads).unwrap();
    forger.write(folder.path());
    fs::create_dir(folder.path().join("tree")).unwrap();
    fs::write(folder.path().join(shown_heads(2)), heads).unwrap();
    let report = verify_ledger(folder.path(), &VerifyOptions::default());
    let heads = report.heads.unwrap();
    assert_eq!((report.verdict(), heads.heads, heads.events), (Verdict::Alone, 1, 0));
    assert!(!report.assurance.is_given());
}

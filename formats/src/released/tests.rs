//! Files of released segments: read, written, and refused.

use super::*;
use crate::ids::{ChainHash, SegmentNumber};
use crate::keyring::Keyring;
use crate::sample_ledger::{SampleLedger, counting_from};
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/released.md");

fn worked() -> Vec<u8> {
    hex_block(DOCUMENT, 0)
}

/// The keyring of the worked examples.
fn worked_keyring() -> Keyring {
    Keyring::generate(&mut counting_from(0))
}

/// The worked file with a change, its checksum made right again.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> ReleasedError {
    let mut bytes = worked();
    change(&mut bytes);
    ReleasedSegment::parse(&summed(bytes)).unwrap_err()
}

/// The bytes with the checksum that they have.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = bytes.len() - CRC_BYTES;
    let crc = crc32fast::hash(&bytes[..at]);
    bytes[at..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Two segments of one ledger, the first released, and the header of the second.
fn pair(with_footer: bool) -> (ReleasedSegment, SegmentHeader) {
    let mut ledger = SampleLedger::new(7);
    let first = ledger.segment(&[40, 60, 9], with_footer);
    let second = ledger.segment(&[5], true);
    let header = SegmentHeader::parse(&first.bytes).unwrap();
    let footer =
        with_footer.then(|| SegmentFooter::parse(&first.bytes[first.bytes.len() - FOOTER_BYTES..]).unwrap());
    let next = SegmentHeader::parse(&second.bytes).unwrap();
    let last_position = Position::new(next.first_position.get() - 1).unwrap();
    let last_time = Micros(ledger.time.0 - 1_000);
    let first_time = Micros(last_time.0 - 2_000);
    (ReleasedSegment { header, last_position, first_time, last_time, footer, signed: None }, next)
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let released = ReleasedSegment::parse(&worked()).unwrap();
    assert_eq!(released.encode(), worked());
    let segment = hex_block(include_str!("../../../docs/formats/segment.md"), 0);
    let footer = hex_block(include_str!("../../../docs/formats/footer.md"), 0);
    assert_eq!(released.header, SegmentHeader::parse(&segment).unwrap());
    assert_eq!(released.footer, Some(SegmentFooter::parse(&footer).unwrap()));
    let keyring = worked_keyring();
    released.check_signature(keyring.signing_chain()).unwrap();
    assert_eq!(released.clone().sign(keyring.signing()), released);
    let mut unsigned = worked();
    unsigned.truncate(unsigned.len() - SIGNED_BYTES - CRC_BYTES);
    unsigned[8] = 1;
    unsigned.extend_from_slice(&hex_block(DOCUMENT, 1));
    let old = ReleasedSegment { signed: None, ..released };
    assert_eq!((old.encode(), ReleasedSegment::parse(&unsigned)), (unsigned, Ok(old)));
}

#[test]
fn no_byte_changes_unseen_where_a_thief_makes_the_checksum_right_again() {
    let chain_of = |ledger: &SampleLedger| ledger.keyring.signing_chain().clone();
    let ledger = SampleLedger::new(7);
    for with_footer in [true, false] {
        let (released, next) = pair(with_footer);
        let whole = released.clone().sign(ledger.keyring.signing());
        let bytes = whole.encode();
        let is_believed = |bytes: Vec<u8>| {
            let found = ReleasedSegment::parse(&summed(bytes)).ok()?;
            found.check_signature(&chain_of(&ledger)).ok()?;
            (found.header.verify_certificate().is_ok() && found.end_before(&next).is_ok()).then_some(found)
        };
        assert_eq!(is_believed(bytes.clone()), Some(whole));
        for at in 0..bytes.len() - CRC_BYTES {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert_eq!(is_believed(changed), None, "footer {with_footer}, byte {at}");
        }
        let other = released.sign(SampleLedger::new(8).keyring.signing());
        assert_eq!(
            other.check_signature(&chain_of(&ledger)),
            Err(ReleasedError::Signature { key: 1 }),
            "the key of another ledger"
        );
    }
}

#[test]
fn times_that_only_a_checksum_covers_are_believed_for_nothing() {
    let (mut released, next) = pair(false);
    let signed_times = (released.header.created, next.created);
    (released.first_time, released.last_time) = (Micros(1), Micros(2));
    let read = ReleasedSegment::parse(&released.encode()).unwrap();
    assert!(!read.is_covered());
    assert_eq!((read.first_time(), read.end_before(&next).unwrap().time), signed_times);
    let covered = read.with_covered_times(&next);
    assert_eq!((covered.first_time, covered.last_time), signed_times);
    let (mut footed, next) = pair(true);
    let signed_times = (footed.header.created, next.created);
    let footer = footed.footer.as_mut().unwrap();
    (footer.first_time, footer.last_time) = (Micros(1), Micros(2));
    (footed.first_time, footed.last_time) = (Micros(1), Micros(2));
    let read = ReleasedSegment::parse(&footed.encode()).unwrap();
    assert!(!read.is_covered(), "a footer's hash cannot be made again without the last frame");
    assert_eq!((read.first_time(), read.end_before(&next).unwrap().time), signed_times);
    let covered = read.with_covered_times(&next);
    assert_eq!(
        (covered.first_time, covered.last_time, covered.footer),
        (signed_times.0, signed_times.1, None)
    );
    let signed = pair(true).0.sign(SampleLedger::new(7).keyring.signing());
    assert_eq!(signed.clone().with_covered_times(&next), signed);
}

#[test]
fn a_key_that_is_unknown_or_older_than_the_segment_signs_nothing() {
    let ledger = SampleLedger::new(7);
    let (released, _) = pair(true);
    let mut keyring = ledger.keyring;
    let old = keyring.signing_chain().clone();
    keyring.rotate_signing(&mut counting_from(99)).unwrap();
    let newer = released.clone().sign(keyring.signing());
    newer.check_signature(keyring.signing_chain()).unwrap();
    assert_eq!(newer.check_signature(&old), Err(ReleasedError::UnknownKey { known: 1, found: 2 }));
    let mut later = released;
    later.header.signing_key_index = 2;
    let older = later.sign(SampleLedger::new(7).keyring.signing()).encode();
    assert!(
        matches!(ReleasedSegment::parse(&older), Err(ReleasedError::Contradiction { field, .. }) if field == "signing key")
    );
}

#[test]
fn what_a_segment_leaves_tells_how_it_ended() {
    for with_footer in [true, false] {
        let (released, next) = pair(with_footer);
        let read = ReleasedSegment::parse(&released.encode()).unwrap();
        assert_eq!(read, released);
        let end = released.end_before(&next).unwrap();
        assert_eq!(end.next_position, next.first_position);
        assert_eq!((end.tip, end.tree_root), (next.previous, next.frontier.root()));
    }
}

#[test]
fn a_header_that_does_not_go_on_is_refused() {
    let (released, next) = pair(true);
    let with = |change: &dyn Fn(&mut SegmentHeader)| {
        let mut other = next.clone();
        change(&mut other);
        released.end_before(&other).unwrap_err()
    };
    assert!(matches!(with(&|next| next.number = SegmentNumber(9)), DamageKind::SegmentNumber { .. }));
    assert!(matches!(with(&|next| next.previous.hash = ChainHash([1; 32])), DamageKind::Signature { .. }));
    assert_eq!(with(&|next| next.previous.signature.0[3] ^= 1), DamageKind::PreviousSignature);
    let (released, next) = pair(false);
    let mut other = next;
    other.previous.signature.0[3] ^= 1;
    assert!(matches!(released.end_before(&other), Err(DamageKind::Signature { .. })));
}

#[test]
fn a_file_that_contradicts_itself_is_refused() {
    assert_eq!(refused(|bytes| bytes[7] = b'l'), ReleasedError::Magic { found: *b"BITACREl" });
    assert_eq!(refused(|bytes| bytes[8] = 3), ReleasedError::Format { found: 3 });
    assert_eq!(refused(|bytes| bytes[10] = 2), ReleasedError::Flags { found: 2 });
    assert!(matches!(refused(|bytes| bytes[12] ^= 1), ReleasedError::Length { .. }));
    assert!(matches!(refused(|bytes| bytes[10] = 0), ReleasedError::Length { .. }));
    let contradicts = |at: usize| match refused(|bytes| bytes[at] ^= 1) {
        ReleasedError::Contradiction { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(
        [contradicts(16), contradicts(24), contradicts(32)],
        ["last position", "first time", "last time"]
    );
    assert!(matches!(refused(|bytes| bytes[48] ^= 1), ReleasedError::Header(_)));
    assert!(matches!(
        refused(|bytes| {
            let at = bytes.len() - CRC_BYTES - SIGNED_BYTES - FOOTER_BYTES;
            bytes[at] ^= 1;
        }),
        ReleasedError::Footer(_)
    ));
}

#[test]
fn a_file_with_a_changed_or_missing_byte_is_refused() {
    let bytes = worked();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(ReleasedSegment::parse(&changed).is_err(), "byte {at}");
        assert!(ReleasedSegment::parse(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(ReleasedSegment::parse(&[bytes, vec![0]].concat()).is_err());
}

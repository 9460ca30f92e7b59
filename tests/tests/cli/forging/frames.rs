//! Frames that are changed, with a right checksum, or missing: the chain tells without keys.

use std::fs;

use bitacora_formats::{DamageKind, FRAME_HEADER_BYTES, FrameHeader, SegmentHeader};
use bitacora_verify::{FaultKind, Report, TailRetries, Verdict, VerifyOptions, verify_ledger};

use super::{Forger, begun};
use crate::sample::{Sample, event, shown};

#[test]
fn a_changed_frame_with_its_checksum_mended_is_found() {
    let sample = Sample::new(2);
    for number in [1, 2, 3] {
        let path = sample.segment(number);
        let whole = fs::read(&path).unwrap();
        let mut offset = SegmentHeader::parse(&whole).unwrap().stored_bytes();
        while let Ok(header) = FrameHeader::parse(&whole[offset..]) {
            let end = offset + header.stored_bytes();
            for at in [offset + FRAME_HEADER_BYTES - 1, offset + FRAME_HEADER_BYTES, end - 5 - 64, end - 5] {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                let crc = crc32(&changed[offset..end - 4]);
                changed[end - 4..end].copy_from_slice(&crc.to_le_bytes());
                fs::write(&path, &changed).unwrap();
                let report = sample.verify(false);
                let what = format!("segment {number}, frame at {offset}, byte {at}: {report:?}");
                assert_eq!(report.verdict(), Verdict::Invalid, "{what}");
                assert_eq!(report.fault.as_ref().unwrap().file, shown(number), "{what}");
            }
            offset = end;
        }
        fs::write(&path, &whole).unwrap();
    }
}

/// Verifies, with keys and without, a ledger whose last segment is not ended.
fn found_unended(forger: Forger) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let keyring = forger.write_unended(folder.path());
    let [keyless, keyed] = [None, Some(&keyring)].map(|keyring| {
        let options = VerifyOptions { keyring, patience: TailRetries::NONE, ..Default::default() };
        verify_ledger(folder.path(), &options)
    });
    assert_eq!(keyless.fault, keyed.fault);
    assert_eq!((keyless.frames, keyless.events), (keyed.frames, keyed.events));
    keyless
}

#[test]
fn a_header_that_no_frame_follows_is_a_write_that_was_cut_short() {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    let forger = forger.roll();
    let header_bytes = forger.segment.len() as u64;
    let report = found_unended(forger);
    let fault = report.fault.as_ref().unwrap_or_else(|| panic!("nothing is found: {report:?}"));
    assert_eq!((fault.file.as_str(), fault.offset), (&*shown(2), header_bytes));
    assert_eq!((&*fault.kind, fault.first_position, fault.torn), (&FaultKind::NoFrame, 3, true));
}

#[test]
fn a_last_frame_whose_own_signature_is_false_counts_for_nothing() {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    let offset = forger.segment.len();
    forger.honest(event("2", "s"), 2);
    // The last byte of the signature; the checksum is made right again.
    let end = forger.segment.len();
    forger.segment[end - 5] ^= 1;
    let crc = crc32(&forger.segment[offset..end - 4]);
    forger.segment[end - 4..].copy_from_slice(&crc.to_le_bytes());
    let report = found_unended(forger);
    let fault = report.fault.as_ref().unwrap_or_else(|| panic!("nothing is found: {report:?}"));
    assert!(matches!(&*fault.kind, FaultKind::Damage(DamageKind::Signature { .. })), "{fault}");
    assert_eq!((fault.offset, fault.first_position), (offset as u64, 3));
    assert_eq!((report.frames, report.events, report.head.unwrap().position), (2, 2, 2));
}

/// CRC-32/IEEE, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

//! Frames changed with their checksum made right again, which the chain tells without keys.

use std::fs;

use bitacora_cli::verify::Verdict;
use bitacora_formats::{FRAME_HEADER_BYTES, FrameHeader, SegmentHeader};

use crate::sample::{Sample, shown};

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

/// CRC-32/IEEE, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

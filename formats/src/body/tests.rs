use super::*;
use bitacora_testkit::hex_block;
use bitacora_testkit::{SeededRng, damaged};

const PAGE: &str = include_str!("../../../docs/formats/body.md");

fn version(number: u64) -> StreamVersion {
    StreamVersion::new(number).unwrap()
}

/// The worked example, written.
fn example() -> BodyWriter {
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    body.entry(version(17), b"first!", None).unwrap();
    body.entry(version(1), b"derived", None).unwrap();
    body.end_request().unwrap();
    body.begin_request(2).unwrap();
    body.entry(version(18), b"third", Some(b"sealed")).unwrap();
    body.entry(version(19), b"last", None).unwrap();
    body.end_request().unwrap();
    body
}

#[test]
fn the_worked_example() {
    let golden = hex_block(PAGE, 0);
    let body = example();
    assert_eq!(hex::encode(body.as_bytes()), hex::encode(&golden));
    assert_eq!((body.len(), body.entries()), (golden.len(), 4));
    let entry = |number, record, part| BodyEntry { stream_version: version(number), record, part };
    let expected = FrameBody {
        requests: vec![
            RequestEntries {
                submitted: 1,
                entries: vec![entry(17, b"first!", None), entry(1, b"derived", None)],
            },
            RequestEntries {
                submitted: 2,
                entries: vec![entry(18, b"third", Some(b"sealed")), entry(19, b"last", None)],
            },
        ],
    };
    let decoded = decode_body(&golden, 4).unwrap();
    assert_eq!(decoded, expected);
    assert_eq!(
        decoded.entries().map(|entry| entry.stream_version.get()).collect::<Vec<_>>(),
        [17, 1, 18, 19]
    );
    assert_eq!(body.finish().unwrap(), golden);
}

#[test]
fn a_body_without_requests_is_empty() {
    assert_eq!(decode_body(&[], 0), Ok(FrameBody { requests: Vec::new() }));
    assert!(BodyWriter::new().is_empty());
}

#[test]
fn a_refused_request_leaves_nothing() {
    let mut body = example();
    let before = body.as_bytes().to_vec();
    let mark = body.mark();
    body.begin_request(1).unwrap();
    body.entry(version(1), b"refused", Some(b"part")).unwrap();
    assert_eq!(body.mark(), mark, "a mark lies between requests");
    body.truncate_to(mark);
    assert_eq!((body.as_bytes(), body.entries()), (&before[..], 4));

    body.begin_request(1).unwrap();
    body.entry(version(20), b"next", None).unwrap();
    body.end_request().unwrap();
    assert_eq!(decode_body(body.as_bytes(), 5).unwrap().requests.len(), 3);
    body.truncate_to(mark);
    assert_eq!(body.as_bytes(), before, "an ended request can be dropped as well");
    let longer = mark;
    body.clear();
    assert_eq!((body.len(), body.entries()), (0, 0));
    body.truncate_to(longer);
    assert_eq!((body.len(), body.entries()), (0, 0), "a mark of what is gone brings nothing back");
}

#[test]
fn out_of_turn() {
    let mut body = BodyWriter::new();
    assert_eq!(body.entry(version(1), b"r", None), Err(BodyError::OutOfTurn));
    assert_eq!(body.end_request(), Err(BodyError::OutOfTurn));
    body.begin_request(0).unwrap();
    assert_eq!(body.begin_request(0), Err(BodyError::OutOfTurn));
    assert_eq!(body.finish(), Err(BodyError::OutOfTurn));
}

#[test]
fn more_submitted_than_there_are() {
    let mut body = BodyWriter::new();
    body.begin_request(2).unwrap();
    assert_eq!(body.end_request(), Err(BodyError::Submitted { submitted: 2, entries: 0 }));
    body.entry(version(1), b"r", None).unwrap();
    assert_eq!(body.end_request(), Err(BodyError::Submitted { submitted: 2, entries: 1 }));
    let mut bytes = hex_block(PAGE, 0);
    bytes[0] = 3;
    assert_eq!(decode_body(&bytes, 4), Err(BodyError::Submitted { submitted: 3, entries: 2 }));
}

#[test]
fn a_request_without_entries() {
    let mut body = BodyWriter::new();
    body.begin_request(0).unwrap();
    assert_eq!(body.end_request(), Err(BodyError::Submitted { submitted: 0, entries: 0 }));
    assert_eq!(decode_body(&[0; 8], 0), Err(BodyError::Submitted { submitted: 0, entries: 0 }));
}

#[test]
fn empty_records_and_parts() {
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    assert_eq!(body.entry(version(1), b"", None), Err(BodyError::RecordSize { bytes: 0 }));
    assert_eq!(body.entry(version(1), b"r", Some(b"")), Err(BodyError::PartSize { bytes: 0 }));
    assert_eq!((body.len(), body.entries()), (REQUEST_HEADER_BYTES, 0));
    let mut bytes = hex_block(PAGE, 0);
    bytes[16..20].fill(0);
    assert_eq!(decode_body(&bytes, 4), Err(BodyError::RecordSize { bytes: 0 }));
}

#[test]
fn over_long_records_and_parts() {
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    let record = vec![1; MAX_RECORD_BYTES + 1];
    let error = BodyError::RecordSize { bytes: MAX_RECORD_BYTES + 1 };
    assert_eq!(body.entry(version(1), &record, None), Err(error));
    let mut bytes = [&[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8], &record].concat();
    bytes[16..20].copy_from_slice(&u32::try_from(record.len()).unwrap().to_le_bytes());
    assert_eq!(decode_body(&bytes, 1), Err(error));
    let part = vec![1; MAX_PART_BYTES + 1];
    let error = BodyError::PartSize { bytes: MAX_PART_BYTES + 1 };
    assert_eq!(body.entry(version(1), b"r", Some(&part)), Err(error));
}

#[test]
fn stream_version_0() {
    let mut bytes = hex_block(PAGE, 0);
    bytes[8] = 0;
    assert_eq!(decode_body(&bytes, 4), Err(BodyError::StreamVersion { offset: 8 }));
}

#[test]
fn counts_that_lie() {
    let bytes = hex_block(PAGE, 0);
    for expected in [0, 3, 5, u32::MAX] {
        assert_eq!(decode_body(&bytes, expected), Err(BodyError::Entries { expected, found: 4 }));
    }
    let with_count = |count: u32| {
        let mut bytes = bytes.clone();
        bytes[4..8].copy_from_slice(&count.to_le_bytes());
        decode_body(&bytes, 4).map(drop)
    };
    assert_eq!(with_count(u32::MAX), Err(BodyError::TooManyEntries { entries: u64::from(u32::MAX) }));
    assert!(with_count(4_096).is_err());
    assert!(with_count(3).is_err());
    let mut bytes = bytes.clone();
    bytes[16..20].fill(0xFF);
    assert_eq!(decode_body(&bytes, 4), Err(BodyError::Truncated { offset: 24 }));
}

#[test]
fn bytes_cut_short() {
    let bytes = hex_block(PAGE, 0);
    let second_request = 8 + 16 + 6 + 16 + 7;
    for end in 0..bytes.len() {
        let error = decode_body(&bytes[..end], 4).unwrap_err();
        match end {
            0 => assert_eq!(error, BodyError::Entries { expected: 4, found: 0 }),
            end if end == second_request => assert_eq!(error, BodyError::Entries { expected: 4, found: 2 }),
            _ => assert!(matches!(error, BodyError::Truncated { .. }), "{end}: {error}"),
        }
    }
}

#[test]
fn a_4_097th_entry_of_a_request() {
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    for _ in 0..MAX_REQUEST_ENTRIES {
        body.entry(version(1), b"r", None).unwrap();
    }
    let error = BodyError::TooManyEntries { entries: MAX_REQUEST_ENTRIES as u64 + 1 };
    assert_eq!(body.entry(version(1), b"r", None), Err(error));
    body.end_request().unwrap();
    assert_eq!(decode_body(body.as_bytes(), 4_096).unwrap().requests[0].entries.len(), MAX_REQUEST_ENTRIES);
}

#[test]
fn a_65_537th_entry_of_a_frame() {
    let mut body = BodyWriter::new();
    for _ in 0..MAX_FRAME_ENTRIES / MAX_REQUEST_ENTRIES {
        body.begin_request(0).unwrap();
        for _ in 0..MAX_REQUEST_ENTRIES {
            body.entry(version(1), b"r", None).unwrap();
        }
        body.end_request().unwrap();
    }
    assert_eq!(decode_body(body.as_bytes(), 65_536).unwrap().entries().count(), MAX_FRAME_ENTRIES);
    body.begin_request(0).unwrap();
    let error = BodyError::TooManyEntries { entries: MAX_FRAME_ENTRIES as u64 + 1 };
    assert_eq!(body.entry(version(1), b"r", None), Err(error));
    let one_more = [body.as_bytes(), &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    let one_more = [&one_more[..one_more.len() - 16], &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
    assert_eq!(decode_body(&one_more, 65_537), Err(error));
}

#[test]
fn past_their_bytes() {
    let record = vec![1; MAX_RECORD_BYTES];
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    body.entry(version(1), &record, None).unwrap();
    body.entry(version(2), &record, None).unwrap();
    let error = body.entry(version(3), &record, None).unwrap_err();
    assert!(matches!(error, BodyError::RequestTooLarge { .. }), "{error}");
    body.end_request().unwrap();
    body.begin_request(1).unwrap();
    body.entry(version(1), &record, None).unwrap();
    body.end_request().unwrap();
    body.begin_request(1).unwrap();
    let error = body.entry(version(1), &record, None).unwrap_err();
    assert!(matches!(error, BodyError::BodyTooLarge { .. }), "{error}");
    let entry = [&body.as_bytes()[REQUEST_HEADER_BYTES..][..ENTRY_HEADER_BYTES], &record].concat();
    let three = [&[0, 0, 0, 0, 3, 0, 0, 0], &entry[..], &entry, &entry].concat();
    assert_eq!(decode_body(&three, 3), Err(BodyError::RequestTooLarge { bytes: three.len() }));
    let bytes = vec![0; MAX_FRAME_BODY_BYTES + 1];
    assert_eq!(decode_body(&bytes, 0), Err(BodyError::BodyTooLarge { bytes: bytes.len() }));
}

#[test]
fn what_is_written_is_read() {
    let mut seeded = SeededRng::new(5);
    let mut body = BodyWriter::new();
    for _ in 0..200 {
        body.clear();
        let mut entries = Vec::new();
        for _ in 0..seeded.below(5) {
            let count = 1 + seeded.below(5);
            body.begin_request(u32::try_from(seeded.below(count + 1)).unwrap()).unwrap();
            for _ in 0..count {
                let record = [vec![1], seeded.bytes(300)].concat();
                let part = (seeded.below(2) == 0).then(|| [vec![1], seeded.bytes(50)].concat());
                let version = version(seeded.number().max(1));
                body.entry(version, &record, part.as_deref()).unwrap();
                entries.push((version, record, part));
            }
            body.end_request().unwrap();
        }
        let decoded = decode_body(body.as_bytes(), body.entries()).unwrap();
        let read: Vec<_> = decoded
            .entries()
            .map(|entry| (entry.stream_version, entry.record.to_vec(), entry.part.map(<[u8]>::to_vec)))
            .collect();
        assert_eq!(read, entries);
    }
}

#[test]
fn no_damage_to_a_body_makes_the_reader_panic() {
    let golden = hex_block(PAGE, 0);
    for bytes in damaged(&golden) {
        if let Ok(body) = decode_body(&bytes, 4) {
            assert_eq!(written(&body), bytes, "a body that is read is the one that would be written");
        }
    }
    let mut seeded = SeededRng::new(6);
    for _ in 0..50_000 {
        let mut bytes = seeded.bytes(100);
        // Small counts and lengths get further than random ones.
        bytes.iter_mut().filter(|byte| **byte > 60).for_each(|byte| *byte = 0);
        let expected = u32::try_from(seeded.below(3)).unwrap();
        if let Ok(body) = decode_body(&bytes, expected) {
            assert_eq!(written(&body), bytes);
        }
    }
}

fn written(body: &FrameBody<'_>) -> Vec<u8> {
    let mut writer = BodyWriter::new();
    for request in &body.requests {
        writer.begin_request(request.submitted).unwrap();
        for entry in &request.entries {
            writer.entry(entry.stream_version, entry.record, entry.part).unwrap();
        }
        writer.end_request().unwrap();
    }
    writer.finish().unwrap()
}

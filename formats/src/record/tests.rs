use super::*;
use bitacora_testkit::hex_block;
use bitacora_testkit::{SeededRng, damaged};

const PAGE: &str = include_str!("../../../docs/formats/record.md");

fn json(text: &'static str) -> Json<'static> {
    Json::check(text.as_bytes()).unwrap()
}

fn clear(event: Event<'_>, redactions: u32) -> Record<'_> {
    match Record::draft(event, redactions) {
        EventDraft::Clear(record) => record,
        EventDraft::Sensitive { .. } => panic!("no data subject, nothing to seal"),
    }
}

/// The event whose record is the first worked example.
fn event_in_clear() -> Event<'static> {
    Event {
        time: Some("2026-11-20T13:00:00Z".into()),
        datacontenttype: Some("application/json".into()),
        agent: Some("coder".into()),
        run: Some("r-7".into()),
        call: Some("c-42".into()),
        tags: vec!["billing".into(), "eu".into()],
        extensions: vec![
            ("attempt".into(), ExtensionValue::Integer(-2)),
            ("dryrun".into(), ExtensionValue::Boolean(true)),
            ("region".into(), ExtensionValue::Text("eu-1".into())),
        ],
        data: Data::Json(json(r#"{"cost": 1.50}"#)),
        ..Event::new("e-1", "harness/coder", "tool.completed", "run-7")
    }
}

/// The event whose record and part are the second and third worked examples.
fn event_of_a_data_subject() -> Event<'static> {
    Event {
        datasubject: Some("customer-9".into()),
        data: Data::Binary(Cow::Borrowed(&[0, 255])),
        ..Event::new("e-2", "desk", "ticket.opened", "tickets")
    }
}

const SEAL: Seal =
    Seal { subject_key: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], seal: [0x5e; 32] };

#[test]
fn the_worked_example_in_clear() {
    let record = clear(event_in_clear(), 300);
    let golden = hex_block(PAGE, 0);
    assert_eq!(hex::encode(encode_record(&record).unwrap()), hex::encode(&golden));
    assert_eq!(decode_record(&golden).unwrap(), record);
    assert_eq!(record.seal(), None);
    assert_eq!(record.into_event(None), event_in_clear());
}

#[test]
fn the_type_alone_is_what_the_whole_record_says() {
    let golden = hex_block(PAGE, 0);
    assert_eq!(record_kind(&golden), Ok("tool.completed"));
    // A type that is read from a damaged record is that of the whole record, if that can be read.
    for bytes in damaged(&golden) {
        if let (Ok(kind), Ok(record)) = (record_kind(&bytes), decode_record(&bytes)) {
            assert_eq!(kind, record.kind);
        }
    }
    assert_eq!(record_kind(&[]), Err(RecordError::Truncated));
    assert_eq!(record_kind(&[9]), Err(RecordError::Format { found: 9 }));
    let end = golden.windows(14).position(|window| window == b"tool.completed").unwrap() + 14;
    for length in 1..end {
        assert_eq!(record_kind(&golden[..length]), Err(RecordError::Truncated), "{length} bytes");
    }
}

#[test]
fn the_worked_example_of_a_data_subject() {
    let EventDraft::Sensitive { record, part } = Record::draft(event_of_a_data_subject(), 0) else {
        panic!("a data subject is named");
    };
    let record = record.seal(SEAL);
    let (golden_record, golden_part) = (hex_block(PAGE, 1), hex_block(PAGE, 2));
    assert_eq!(hex::encode(encode_record(&record).unwrap()), hex::encode(&golden_record));
    assert_eq!(hex::encode(encode_part(&part).unwrap()), hex::encode(&golden_part));
    let (record, part) = (decode_record(&golden_record).unwrap(), decode_part(&golden_part).unwrap());
    assert_eq!(record.seal(), Some(&SEAL));

    let forgotten = Event { datasubject: None, data: Data::None, ..event_of_a_data_subject() };
    assert_eq!(record.clone().into_event(None), forgotten);
    assert_eq!(record.into_event(Some(part)), event_of_a_data_subject());
}

#[test]
fn the_worked_example_that_expired() {
    let whole = hex_block(PAGE, 0);
    let expired = Expired { policy: Position::new(4_660).unwrap(), commitment: Commitment([0xc0; 32]) };
    let record = decode_record(&whole).unwrap().expire(expired);
    let golden = hex_block(PAGE, 3);
    assert_eq!(hex::encode(encode_record(&record).unwrap()), hex::encode(&golden));
    let read = decode_record(&golden).unwrap();
    assert_eq!((read.expired(), read.seal()), (Some(&expired), None));
    assert_eq!(record_kind(&golden), Ok("tool.completed"));
    let left = Event::new("e-1", "harness/coder", "tool.completed", "run-7");
    assert_eq!(read.into_event(None), left);
    for end in 0..golden.len() {
        assert_eq!(decode_record(&golden[..end]), Err(RecordError::Truncated), "{end} of {}", golden.len());
    }
    // There is no position 0.
    let policy = golden.windows(3).position(|window| window == [0xfb, 0x34, 0x12]).unwrap();
    let unset = [&golden[..policy], &[0], &golden[policy + 3..]].concat();
    assert_eq!(decode_record(&unset), Err(RecordError::Malformed));
}

#[test]
fn the_record_of_a_data_subject_names_nobody() {
    let EventDraft::Sensitive { record, part } = Record::draft(event_of_a_data_subject(), 0) else {
        panic!("a data subject is named");
    };
    let bytes = encode_record(&record.seal(SEAL)).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"customer-9"));
    assert!(encode_part(&part).unwrap().windows(10).any(|window| window == b"customer-9"));
}

#[test]
fn texts_are_borrowed_from_the_bytes() {
    let bytes = hex_block(PAGE, 0);
    let record = decode_record(&bytes).unwrap();
    assert!(matches!(record.id, Cow::Borrowed("e-1")) && matches!(record.tags[1], Cow::Borrowed("eu")));
}

#[test]
fn bytes_cut_short() {
    for (number, is_record) in [(0, true), (1, true), (2, false)] {
        let whole = hex_block(PAGE, number);
        for end in 0..whole.len() {
            let error = if is_record {
                decode_record(&whole[..end]).unwrap_err()
            } else {
                decode_part(&whole[..end]).unwrap_err()
            };
            assert_eq!(error, RecordError::Truncated, "{end} of {}", whole.len());
        }
    }
}

#[test]
fn bytes_after_the_end() {
    for (number, extra) in [(0, &[0][..]), (1, &[1, 2])] {
        let bytes = [&hex_block(PAGE, number), extra].concat();
        assert_eq!(decode_record(&bytes), Err(RecordError::Trailing { bytes: extra.len() }));
    }
    let part = [hex_block(PAGE, 2), vec![0]].concat();
    assert_eq!(decode_part(&part), Err(RecordError::Trailing { bytes: 1 }));
}

#[test]
fn another_format() {
    for format in [0, 2, 255] {
        let mut bytes = hex_block(PAGE, 0);
        bytes[0] = format;
        assert_eq!(decode_record(&bytes), Err(RecordError::Format { found: format }));
        assert_eq!(decode_part(&bytes), Err(RecordError::Format { found: format }));
    }
}

/// The start of a record up to where its tags are counted.
fn up_to_tags() -> Vec<u8> {
    let mut bytes = vec![RECORD_FORMAT, 1, b'i', 1, b's', 1, b't', 1, b'x'];
    bytes.extend([0; 11]);
    bytes
}

#[test]
fn counts_and_lengths_that_lie() {
    let plain = [up_to_tags(), vec![0, 0, 0, 0]].concat();
    assert_eq!(decode_record(&plain).unwrap(), clear(Event::new("i", "s", "t", "x"), 0));
    let huge = [0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    for (name, bytes, expected) in [
        ("a huge count of tags", [up_to_tags(), huge.to_vec()].concat(), RecordError::Malformed),
        ("one tag too many", [up_to_tags(), vec![17]].concat(), RecordError::Malformed),
        ("one extension too many", [up_to_tags(), vec![0, 33]].concat(), RecordError::Malformed),
        ("a huge text", [vec![RECORD_FORMAT], huge.to_vec()].concat(), RecordError::Malformed),
        ("huge data", [up_to_tags(), vec![0, 0, 1], huge.to_vec()].concat(), RecordError::Malformed),
        ("data past the end", [up_to_tags(), vec![0, 0, 1, 9, b'1']].concat(), RecordError::Truncated),
        ("an unknown tag of data", [up_to_tags(), vec![0, 0, 5, 0]].concat(), RecordError::Malformed),
        (
            "an unknown tag of a value",
            [up_to_tags(), vec![0, 1, 1, b'a', 3]].concat(),
            RecordError::Malformed,
        ),
        (
            "a boolean that is neither",
            [up_to_tags(), vec![0, 1, 1, b'a', 2, 2]].concat(),
            RecordError::Malformed,
        ),
        (
            "an integer past 32 bits",
            [up_to_tags(), vec![0, 1, 1, b'a', 1], huge.to_vec()].concat(),
            RecordError::Malformed,
        ),
        ("text that is not utf-8", vec![RECORD_FORMAT, 1, 0xFF], RecordError::Text),
    ] {
        assert_eq!(decode_record(&bytes), Err(expected), "{name}");
    }
    let sealed = vec![PART_FORMAT, 1, b'c', 3];
    assert_eq!(decode_part(&sealed), Err(RecordError::Malformed), "a part is not sealed again");
}

#[test]
fn past_their_limits() {
    let large = |bytes: usize| Data::Binary(vec![7; bytes].into());
    let event = |bytes| Event { data: large(bytes), ..Event::new("i", "s", "t", "x") };
    assert!(encode_record(&clear(event(crate::limits::MAX_DATA_BYTES), 0)).is_ok());
    let error = encode_record(&clear(event(MAX_RECORD_BYTES), 0)).unwrap_err();
    assert!(matches!(error, RecordError::TooLarge { max: MAX_RECORD_BYTES, .. }), "{error}");
    let part = SensitivePart { datasubject: "c".into(), data: large(MAX_PART_BYTES) };
    assert!(matches!(encode_part(&part), Err(RecordError::TooLarge { max: MAX_PART_BYTES, .. })));
    let bytes = vec![RECORD_FORMAT; MAX_RECORD_BYTES + 1];
    let refused = RecordError::TooLarge { bytes: MAX_RECORD_BYTES + 1, max: MAX_RECORD_BYTES };
    assert_eq!(decode_record(&bytes), Err(refused));
}

#[test]
fn the_widest_event_fits_its_record() {
    use crate::limits::*;
    let text = |bytes| Some(Cow::Owned("x".repeat(bytes)));
    let wide = || text(MAX_ATTRIBUTE_BYTES);
    let event = Event {
        datacontenttype: wide(),
        dataschema: wide(),
        actor: wide(),
        agent: wide(),
        session: wide(),
        run: wide(),
        call: wide(),
        correlationid: wide(),
        causationid: wide(),
        traceparent: wide(),
        time: text(0).map(|_| format!("2026-11-20T13:00:00.{}Z", "0".repeat(MAX_TIME_BYTES - 21)).into()),
        tags: (10..10 + MAX_TAGS).map(|n| format!("{n}{}", "x".repeat(MAX_TAG_BYTES - 2)).into()).collect(),
        extensions: (10..10 + MAX_EXTENSIONS)
            .map(|n| {
                let name = format!("{}{n}", "x".repeat(MAX_EXTENSION_NAME_BYTES - 2));
                (name.into(), ExtensionValue::Text("x".repeat(MAX_ATTRIBUTE_BYTES).into()))
            })
            .collect(),
        data: Data::Binary(vec![7; MAX_DATA_BYTES].into()),
        ..Event::new(
            "x".repeat(MAX_ID_BYTES),
            "x".repeat(MAX_SOURCE_BYTES),
            "x".repeat(MAX_TYPE_BYTES),
            "x".repeat(MAX_STREAM_BYTES),
        )
    };
    assert_eq!(event.validate(), Ok(()));
    let sensitive = Event { datasubject: wide(), ..event.clone() };
    assert_eq!(sensitive.validate(), Ok(()));
    assert!(encode_record(&clear(event, u32::MAX)).is_ok());
    let EventDraft::Sensitive { part, .. } = Record::draft(sensitive, 0) else {
        panic!("a data subject is named")
    };
    assert!(encode_part(&part).unwrap().len() + 16 <= MAX_PART_BYTES, "its tag included");
}

#[test]
fn no_damage_to_a_record_makes_the_reader_panic() {
    for number in 0..3 {
        for bytes in damaged(&hex_block(PAGE, number)) {
            // Bytes that are still a record can be written again.
            if let Ok(record) = decode_record(&bytes) {
                assert_eq!(decode_record(&encode_record(&record).unwrap()), Ok(record));
            }
            if let Ok(part) = decode_part(&bytes) {
                assert_eq!(decode_part(&encode_part(&part).unwrap()), Ok(part));
            }
        }
    }
    let mut seeded = SeededRng::new(4);
    for _ in 0..50_000 {
        let mut bytes = seeded.bytes(80);
        if let Some(format) = bytes.first_mut() {
            *format = RECORD_FORMAT;
        }
        let _ = (decode_record(&bytes), decode_part(&bytes));
    }
}

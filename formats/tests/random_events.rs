//! Events from a seed, written and read back: as records and as CloudEvents.

use bitacora_formats::{
    BodyForm, EventDraft, Record, Seal, decode_part, decode_record, encode_part, encode_record, parse_events,
    write_event, write_event_line,
};
use bitacora_testkit::{SeededRng, random_event};

#[test]
fn every_event_comes_back_from_its_record() {
    let mut rng = SeededRng::new(3);
    for redactions in 0..500 {
        let event = random_event(&mut rng);
        let (record, part) = match Record::draft(event.clone(), redactions) {
            EventDraft::Clear(record) => (record, None),
            EventDraft::Sensitive { record, part } => {
                let sealed = record.seal(Seal { subject_key: [7; 16], seal: [9; 32] });
                (sealed, Some(encode_part(&part).unwrap()))
            }
        };
        let bytes = encode_record(&record).unwrap();
        let decoded = decode_record(&bytes).unwrap();
        assert_eq!(decoded, record);
        let part = part.as_deref().map(|bytes| decode_part(bytes).unwrap());
        assert_eq!(decoded.into_event(part), event);
    }
}

#[test]
fn events_read_back_as_they_were_written() {
    let mut rng = SeededRng::new(1);
    for _ in 0..500 {
        let mut event = random_event(&mut rng);
        event.source = "urn:seeded".into();
        event.dataschema = event.dataschema.map(|_| "https://example.org/schema".into());
        event.datacontenttype = event.datacontenttype.map(|_| "application/json".into());
        event.validate().unwrap();
        let (mut one, mut line) = (Vec::new(), Vec::new());
        write_event(&event, &mut one);
        let read = parse_events(&one, BodyForm::Structured, None).unwrap();
        assert_eq!(read, [event.clone()], "{}", String::from_utf8_lossy(&one));
        write_event_line(&event, &mut line);
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        let lines = parse_events(&line, BodyForm::Ndjson, None).unwrap();
        let mut again = Vec::new();
        write_event(&lines[0], &mut again);
        assert_eq!(
            String::from_utf8(again).unwrap(),
            String::from_utf8(one).unwrap().replace(['\n', '\r'], " ")
        );
    }
}

//! Any body is a list of events or a typed error, in every form, with or without a request's stream.
//!
//! JSON has many spellings, so the bytes written back may differ from the bytes read. They hold the same events, and
//! they are written back unchanged. Every accepted event has a record.
#![no_main]

use bitacora_formats::{
    BodyForm, Data, Event, EventDraft, Json, Record, decode_part, decode_record, encode_part, encode_record,
    parse_events, write_event, write_event_line,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

const FORMS: [BodyForm; 4] = [BodyForm::Structured, BodyForm::Batch, BodyForm::Ndjson, BodyForm::Json];

fuzz_target!(|body: &[u8]| {
    for default_stream in [None, Some("stream")] {
        let [structured, batch, _, json] = FORMS.map(|form| {
            let parsed = parse_events(body, form, default_stream);
            match &parsed {
                Err(error) => assert_one_line(error),
                Ok(events) => check_events(events),
            }
            parsed.ok()
        });
        assert_eq!(json, structured.or(batch), "plain JSON is one event or an array of them");
    }
});

fn check_events(events: &[Event<'_>]) {
    assert!(!events.is_empty());
    let mut lines = Vec::new();
    for event in events {
        assert_eq!(event.validate(), Ok(()));
        check_written(event);
        check_recorded(event);
        write_event_line(event, &mut lines);
    }
    let on_lines: Vec<_> = events.iter().map(on_one_line).collect();
    assert_eq!(parse_events(&lines, BodyForm::Ndjson, None), Ok(on_lines));
}

fn check_written(event: &Event<'_>) {
    let (mut written, mut again) = (Vec::new(), Vec::new());
    write_event(event, &mut written);
    let parsed = parse_events(&written, BodyForm::Structured, None).unwrap();
    assert_eq!(parsed, std::slice::from_ref(event));
    parsed.iter().for_each(|event| write_event(event, &mut again));
    assert_eq!(again, written);
}

/// The event with the line breaks of its data made spaces, which leaves it the same JSON value.
fn on_one_line<'a>(event: &Event<'a>) -> Event<'a> {
    let mut event = event.clone();
    if let Data::Json(json) = &event.data {
        let one_line = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
        let bytes: Vec<u8> = json.iter().map(one_line).collect();
        event.data = Data::Json(Json::check(bytes).unwrap());
    }
    event
}

fn check_recorded(event: &Event<'_>) {
    match Record::draft(event.clone(), 0) {
        EventDraft::Clear(record) => {
            let bytes = encode_record(&record).unwrap();
            assert_eq!(decode_record(&bytes).unwrap().into_event(None), *event);
        }
        EventDraft::Sensitive { record, part } => {
            let seal = bitacora_formats::Seal { subject_key: [0; 16], seal: [0; 32] };
            let (bytes, part) = (encode_record(&record.seal(seal)).unwrap(), encode_part(&part).unwrap());
            let part = decode_part(&part).unwrap();
            assert_eq!(decode_record(&bytes).unwrap().into_event(Some(part)), *event);
        }
    }
}

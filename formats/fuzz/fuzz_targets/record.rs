//! Any bytes are a record or a typed error.
//!
//! A record has one encoding, except for integers that are written longer than they need to be
//! (`docs/formats/record.md`). Those are read, and written back shorter.
#![no_main]

use bitacora_formats::{
    Event, EventDraft, Record, RecordData, RecordError, decode_record, encode_record, write_event,
    write_event_line,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let record = match decode_record(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(record) => record,
    };
    let encoded = encode_record(&record).unwrap();
    if encoded != bytes {
        assert!(encoded.len() < bytes.len());
        assert_eq!(decode_record(&encoded).as_ref(), Ok(&record));
    }
    // A longer integer is the only excuse for other bytes: what is left over is not.
    let longer = [bytes, &[0]].concat();
    assert_eq!(decode_record(&longer), Err(RecordError::Trailing { bytes: 1 }));
    check_event(record);
});

/// The event of any record can be written, and gives the same record again.
fn check_event(record: Record<'_>) {
    let event = record.clone().into_event(None);
    write_both_ways(&event);
    let has_substitute = matches!(record.data, RecordData::Sealed(_) | RecordData::Expired(_));
    match Record::draft(event, record.redactions) {
        EventDraft::Clear(again) if has_substitute => {
            assert_eq!(again, Record { data: RecordData::None, ..record })
        }
        EventDraft::Clear(again) => assert_eq!(again, record),
        EventDraft::Sensitive { .. } => panic!("a record holds no datasubject"),
    }
}

/// Neither way fails, though nothing has checked the event: a record is trusted for having been authenticated.
fn write_both_ways(event: &Event<'_>) {
    let mut out = Vec::new();
    write_event(event, &mut out);
    out.clear();
    write_event_line(event, &mut out);
    assert_eq!(out.iter().position(|byte| *byte == b'\n'), Some(out.len() - 1));
}

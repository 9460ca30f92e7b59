//! Events shaped like tool calls, and the bodies of frames made of them.

use bitacora_formats::{
    BodyWriter, Data, Event, EventDraft, Json, Keyring, LedgerId, Record, StreamVersion, encode_record,
};

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];
/// Bytes of data, about.
const DATA_BYTES: usize = 512;

pub(crate) fn ledger() -> LedgerId {
    LedgerId([7; 16])
}

/// The same at every run.
pub(crate) fn keyring() -> Keyring {
    let mut next = 0_u8;
    Keyring::generate(&mut |bytes| {
        for byte in bytes {
            next = next.wrapping_add(1);
            *byte = next;
        }
    })
}

pub(crate) fn event(number: u64) -> Event<'static> {
    let mut event = Event::new(
        format!("7-{number}"),
        "urn:bitacora:bench",
        "tool.requested",
        format!("session/{}", number % 9),
    );
    event.agent = Some("agent-7".into());
    event.call = Some(format!("toolu_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into());
    let mut text = format!(r#"{{"tool":"Bash","cwd":"/home/dev/project-{}","command":""#, number % 17);
    let mut word = (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    while text.len() < DATA_BYTES {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        text.extend(WORDS.get(usize::from(word.to_le_bytes()[0]) % WORDS.len()).copied());
        text.push(' ');
    }
    text.push_str("\"}");
    event.data = Data::Json(Json::check(text.into_bytes()).unwrap());
    event
}

/// A frame's body with one request of these many events.
pub(crate) fn body_of(events: u64) -> Vec<u8> {
    let mut body = BodyWriter::new();
    body.begin_request(u32::try_from(events).unwrap()).unwrap();
    for number in 0..events {
        let EventDraft::Clear(record) = Record::draft(event(number), 0) else {
            unreachable!("no event here is about a data subject")
        };
        let version = StreamVersion::new(number / 9 + 1).unwrap();
        body.entry(version, &encode_record(&record).unwrap(), None).unwrap();
    }
    body.end_request().unwrap();
    body.finish().unwrap()
}

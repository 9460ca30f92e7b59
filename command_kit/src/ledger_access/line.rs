//! A stored event as one line: the service's NDJSON, or text for people.

use bitacora_formats::{format_time, shortened, write_event_line};
use bitacora_ledger::StoredEvent;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::terminal::output::printable;
use crate::terminal::stored_line::{DataLine, EventLine, StoredLine, erased, expired};

/// The most characters of data on a line for people.
const SHOWN_DATA_CHARACTERS: usize = 200;

/// A line of the service's answer.
pub enum AnswerLine {
    /// A stored event.
    Event {
        /// The event's position, in decimal digits.
        position: String,
        /// Set for an event whose data is erased.
        is_erased: bool,
        /// Set for an event whose content expired under a retention policy.
        is_expired: bool,
        /// Set for an event whose data cannot be decrypted, because its key is damaged.
        is_unreadable: bool,
    },
    /// The last line, with the head that the answer rests on.
    End {
        /// The position of that head, in decimal digits.
        position: Option<String>,
    },
    /// The last line of an answer that fails on the way.
    Error {
        /// The reason, in the service's words.
        what: String,
        /// The code of the problem; empty where the service names none.
        code: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerJson {
    position: Option<String>,
    #[serde(default)]
    erased: bool,
    expired_by: Option<IgnoredAny>,
    #[serde(default)]
    unreadable: bool,
    end: Option<End>,
    error: Option<ErrorDetail>,
}

#[derive(Deserialize)]
struct End {
    head: Option<HeadPosition>,
}

#[derive(Deserialize)]
struct HeadPosition {
    position: String,
}

#[derive(Deserialize)]
struct ErrorDetail {
    detail: String,
    #[serde(default)]
    code: String,
}

/// The beginning of the last member of a stored event's line: the service writes what it says about the event before it.
const EVENT_MEMBER: &[u8] = br#","event":"#;
/// The end of a stored event's line.
const EVENT_LINE_END: &[u8] = b"}}\n";

/// Parses a line of the service's answer; `None` for anything that it does not send. The event itself is not looked into.
pub fn read_line(line: &[u8]) -> Option<AnswerLine> {
    let envelope = memmem::find(line, EVENT_MEMBER).filter(|_| line.ends_with(EVENT_LINE_END));
    let envelope = envelope.and_then(|end| {
        let mut envelope = line.get(..end)?.to_vec();
        envelope.push(b'}');
        serde_json::from_slice(&envelope).ok()
    });
    match envelope.or_else(|| serde_json::from_slice(line).ok())? {
        AnswerJson { error: Some(error), .. } => {
            Some(AnswerLine::Error { what: error.detail, code: error.code })
        }
        AnswerJson { end: Some(end), .. } => {
            Some(AnswerLine::End { position: end.head.map(|head| head.position) })
        }
        AnswerJson { position, erased: is_erased, expired_by, unreadable: is_unreadable, .. } => {
            let is_expired = expired_by.is_some();
            Some(AnswerLine::Event { position: position?, is_erased, is_expired, is_unreadable })
        }
    }
}

/// Returns an event as the service would answer it: its data as the client wrote it, on one line.
pub fn event_line(stored: &StoredEvent<'_>) -> Vec<u8> {
    let mut line = Vec::new();
    push_event_line(stored, &mut line);
    line
}

/// Appends an event as [`event_line`] returns it.
pub fn push_event_line(stored: &StoredEvent<'_>, line: &mut Vec<u8>) {
    let envelope = format!(
        r#"{{"position":"{}","streamVersion":"{}","recordedAt":"{}","commitment":"{}","#,
        stored.position,
        stored.stream_version,
        format_time(stored.time),
        stored.commitment,
    );
    line.extend_from_slice(envelope.as_bytes());
    if stored.derived {
        line.extend_from_slice(br#""derived":true,"#);
    }
    if stored.erased {
        line.extend_from_slice(br#""erased":true,"#);
    }
    if let Some(position) = stored.erased_by {
        line.extend_from_slice(format!(r#""erasedBy":"{position}","#).as_bytes());
    }
    if let Some(position) = stored.expired_by {
        line.extend_from_slice(format!(r#""expiredBy":"{position}","#).as_bytes());
    }
    if stored.unreadable {
        line.extend_from_slice(br#""unreadable":true,"#);
    }
    if stored.redactions > 0 {
        line.extend_from_slice(format!(r#""redactions":{},"#, stored.redactions).as_bytes());
    }
    line.extend_from_slice(br#""event":"#);
    write_event_line(&stored.event, line);
    line.pop();
    line.extend_from_slice(b"}\n");
}

/// Formats an event for people: position, time, type, stream, id and the beginning of the data.
pub fn for_people(line: &[u8]) -> String {
    let Ok(stored) = StoredLine::parse(line) else {
        return printable(String::from_utf8_lossy(line).trim_end());
    };
    let data = match stored.data() {
        DataLine::Erased(position) => erased(position),
        DataLine::Expired(policy) => expired(policy),
        DataLine::Unreadable => "(unreadable: the data subject's key is damaged)".to_owned(),
        DataLine::Json(json) => shortened(json, SHOWN_DATA_CHARACTERS),
        DataLine::Base64(base64) => format!("base64 {}", shortened(base64, SHOWN_DATA_CHARACTERS)),
        DataLine::Nothing => String::new(),
    };
    let StoredLine { position, recorded_at, event: EventLine { id, r#type, subject, .. }, .. } = &stored;
    let text = format!("{position:>10}  {recorded_at}  {type:<20}  {subject}  {id}  {data}");
    printable(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_people_is_one_line_and_steers_no_terminal() {
        let stored = |data: &str| {
            format!(
                r#"{{"position":"7","recordedAt":"T","event":{{"id":"i","type":"x.y","subject":"s","data":{data}}}}}"#
            )
        };
        assert!(for_people(stored("{\"a\":1}\n").as_bytes()).ends_with(r#"s  i  {"a":1}"#));
        let steering = for_people(stored("\"\u{9b}2J\"").as_bytes());
        assert!(steering.ends_with(r#""\u{9b}2J""#), "{steering}");
        let long = for_people(stored(&format!("\"{}\"", "ß".repeat(1_000))).as_bytes());
        assert!(long.ends_with('…') && long.chars().count() < 300);
    }

    #[test]
    fn an_answer_tells_its_end_and_its_failure_from_events() {
        let is = |line: &str| read_line(line.as_bytes());
        assert!(
            matches!(is(r#"{"position":"7","event":{}}"#), Some(AnswerLine::Event { position, .. }) if position == "7")
        );
        assert!(matches!(is(r#"{"end":{"count":1}}"#), Some(AnswerLine::End { .. })));
        assert!(matches!(is(r#"{"error":{"detail":"why","code":"corrupt"}}"#),
                Some(AnswerLine::Error { what, code }) if what == "why" && code == "corrupt"));
        let erased = is(concat!(r#"{"position":"8","erased":true,"event":{"data":{"erased":false}}}"#, "\n"));
        assert!(matches!(erased, Some(AnswerLine::Event { is_erased: true, is_expired: false, .. })));
        // Written by nobody, but its members may stand in any order.
        let expired =
            is(concat!(r#"{"event":{"a":[{},{}]},"position":"9","expiredBy":"3","x":{"y":{}}}"#, "\n"));
        assert!(matches!(expired, Some(AnswerLine::Event { is_expired: true, .. })));
        let nested = is(concat!(r#"{"end":{"head":{"position":"4","event":{}}}}"#, "\n"));
        assert!(matches!(nested, Some(AnswerLine::End { position: Some(position) }) if position == "4"));
        assert!(is("{}").is_none() && is("<html>").is_none() && is("").is_none());
    }
}

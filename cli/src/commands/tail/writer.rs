//! The output of `tail`: lines of NDJSON, or lines for people.

use std::borrow::Cow;
use std::fmt;

use bitacora_formats::shortened;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::stored_line::{DataLine, StoredLine, erased, expired};

/// The most characters of a line's gist.
const GIST_CHARACTERS: usize = 160;
/// The most characters of one value in the gist.
const VALUE_CHARACTERS: usize = 48;

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const CYAN: &str = "\u{1b}[36m";
const YELLOW: &str = "\u{1b}[33m";
const MAGENTA: &str = "\u{1b}[35m";
const PLAIN: &str = "\u{1b}[0m";

/// The writer of events.
pub(super) struct TailWriter<'a> {
    pub(super) output: &'a mut Output,
    pub(super) as_json: bool,
    pub(super) coloured: bool,
}

impl TailWriter<'_> {
    /// Writes a stored event, given as the service's NDJSON line.
    pub(super) fn event(&mut self, line: &[u8]) -> Result<(), OutputError> {
        if self.as_json { self.output.bytes(line) } else { self.output.line(for_people(line, self.coloured)) }
    }
}

/// Formats an event for people: time, position, type, stream, agent, and the gist of the data.
fn for_people(line: &[u8], coloured: bool) -> String {
    let Ok(stored) = StoredLine::parse(line) else {
        return printable(String::from_utf8_lossy(line).trim_end());
    };
    let gist = match stored.data() {
        DataLine::Erased(position) => erased(position),
        DataLine::Expired(policy) => expired(policy),
        DataLine::Unreadable => "(unreadable: the data subject's key is damaged)".to_owned(),
        DataLine::Json(json) => gist(json),
        DataLine::Base64(base64) => format!("base64 {}", shortened(base64, VALUE_CHARACTERS)),
        DataLine::Nothing => String::new(),
    };
    let StoredLine { position, recorded_at, event, .. } = stored;
    // Milliseconds are enough for people: `2026-11-20T13:00:00.123456Z`.
    let time = recorded_at.get(..23).unwrap_or(&recorded_at).replace('T', " ");
    let agent = event.agent.unwrap_or_default();
    let columns = [
        (DIM, time),
        (BOLD, format!("{position:>8}")),
        (CYAN, format!("{:<18}", event.r#type)),
        (YELLOW, event.subject),
        (MAGENTA, agent),
        ("", gist),
    ];
    let mut shown = String::new();
    for (colour, text) in columns.into_iter().filter(|(_, text)| !text.is_empty()) {
        let text = printable(&text);
        if !shown.is_empty() {
            shown.push_str("  ");
        }
        if coloured && !colour.is_empty() {
            shown.extend([colour, &text, PLAIN]);
        } else {
            shown.push_str(&text);
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// Formats the members of an object as `name=value`, anything else unchanged, as far as it fits a line.
fn gist(json: &str) -> String {
    let Ok(EventMembers(members)) = serde_json::from_str(json) else {
        return shortened(json, GIST_CHARACTERS);
    };
    let mut gist = String::new();
    for (name, value) in members {
        let text = serde_json::from_str::<Cow<'_, str>>(value.get());
        let value = match &text {
            Ok(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text,
            _ => value.get(),
        };
        if !gist.is_empty() {
            gist.push(' ');
        }
        gist.extend([&name, "=", &shortened(value, VALUE_CHARACTERS)]);
        if gist.chars().count() > GIST_CHARACTERS {
            break;
        }
    }
    shortened(&gist, GIST_CHARACTERS)
}

/// The members of a JSON object, in their order.
struct EventMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for EventMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = EventMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(EventMembers(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(data: &str) -> String {
        format!(
            r#"{{"position":"7","recordedAt":"2026-11-20T13:00:00.123456Z","event":{{"id":"i","type":"tool.completed","subject":"session/1","agent":"a1","data":{data}}}}}"#
        )
    }

    #[test]
    fn a_line_for_people_says_what_matters() {
        let line =
            stored(r#"{"tool":"fs.write","path":"src/a.rs","exit":0,"why":"two words","more":{"a":[1]}}"#);
        assert_eq!(
            for_people(line.as_bytes(), false),
            "2026-11-20 13:00:00.123         7  tool.completed      session/1  a1  \
             tool=fs.write path=src/a.rs exit=0 why=\"two words\" more={\"a\":[1]}"
        );
        let coloured = for_people(line.as_bytes(), true);
        assert!(
            coloured.contains("\u{1b}[36mtool.completed") && coloured.contains("\u{1b}[0m"),
            "{coloured}"
        );
        assert!(for_people(stored("[1, 2]").as_bytes(), false).ends_with("a1  [1, 2]"));
        assert!(for_people(br#"{"nothing":"known"}"#, false).contains("nothing"));
    }

    #[test]
    fn a_line_for_people_is_one_line_and_steers_no_terminal() {
        for data in ["{\"a\":\"\u{9b}2J\"}", "{\"\u{9b}2J\":1}", "\"\u{9b}2J\"", "{\"a\":\"\\u001b[2J\"}"] {
            let shown = for_people(stored(data).as_bytes(), false);
            assert!(!shown.contains(char::is_control), "{shown:?}");
        }
        let long = for_people(
            stored(&format!("{{\"a\":\"{0}\",\"b\":\"{0}\"}}", "ß".repeat(1_000))).as_bytes(),
            false,
        );
        assert!(long.contains("…") && long.chars().count() < 300, "{long}");
    }
}

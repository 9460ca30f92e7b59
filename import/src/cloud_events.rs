//! CloudEvents, one a line, imported unchanged.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_text::JsonObject;
use super::mapped_events::MappingRefusal;

/// The mapping of CloudEvents: the same events, with a stream where they lack one.
#[derive(Default)]
pub(crate) struct CloudEvents {
    /// The stream of events without a `subject`.
    pub stream: Option<String>,
}

#[derive(Deserialize)]
struct Subject<'a> {
    #[serde(borrow)]
    subject: Option<&'a RawValue>,
}

impl CloudEvents {
    /// Returns the event in its own bytes. The ledger's parser checks it.
    pub(crate) fn map(&self, line: &[u8]) -> Result<Vec<u8>, MappingRefusal> {
        let text = line.trim_ascii();
        let Some(stream) = &self.stream else { return Ok(text.to_vec()) };
        let event: Subject<'_> = serde_json::from_slice(text).map_err(MappingRefusal::json)?;
        if event.subject.is_some() {
            return Ok(text.to_vec());
        }
        let rest = text.strip_prefix(b"{").unwrap_or(text).trim_ascii_start();
        let mut with = JsonObject::new().text("subject", stream).end().into_bytes();
        with.pop();
        if rest != b"}" {
            with.push(b',');
        }
        with.extend_from_slice(rest);
        Ok(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(stream: Option<&str>, line: &str) -> String {
        let events = CloudEvents { stream: stream.map(str::to_owned) };
        String::from_utf8(events.map(line.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_stream_is_given_only_to_events_without_one() {
        let with = r#"{"id":"1", "subject":"s"}"#;
        assert_eq!(mapped(None, with), with);
        assert_eq!(mapped(Some("t"), with), with);
        assert_eq!(mapped(Some("t"), "{ \"id\":\"1\"}\r"), r#"{"subject":"t","id":"1"}"#);
        assert_eq!(mapped(Some("t"), "{ }"), r#"{"subject":"t"}"#);
    }
}

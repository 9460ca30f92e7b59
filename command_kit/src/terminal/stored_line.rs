//! A stored event, parsed from the service's NDJSON line, to be shown to people.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::terminal::output::printable;

/// The members of a stored event that people are shown.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredLine<'a> {
    /// The event's position, in decimal digits.
    pub position: String,
    /// The time of recording, in RFC 3339.
    pub recorded_at: String,
    #[serde(default)]
    erased: bool,
    erased_by: Option<String>,
    #[serde(default)]
    unreadable: bool,
    /// The event itself.
    #[serde(borrow)]
    pub event: EventLine<'a>,
}

/// The event in it.
#[derive(Deserialize)]
pub struct EventLine<'a> {
    /// The event's id.
    pub id: String,
    /// The event's type.
    pub r#type: String,
    /// The event's stream.
    pub subject: String,
    /// The agent that sent it.
    pub agent: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    data_base64: Option<String>,
}

/// The data of an event, or the reason for its absence.
#[derive(Debug, PartialEq, Eq)]
pub enum DataLine<'a> {
    /// Erased with its data subject, by the event at this position where it is known.
    Erased(Option<&'a str>),
    /// The file of its data subject's key is damaged.
    Unreadable,
    /// The data as the client wrote them.
    Json(&'a str),
    /// Bytes that are no text, in base64.
    Base64(&'a str),
    /// No data.
    Nothing,
}

impl StoredLine<'_> {
    /// Parses a line of the service's NDJSON.
    pub fn parse(line: &[u8]) -> Result<StoredLine<'_>, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Returns the data, or the reason why there is none.
    pub fn data(&self) -> DataLine<'_> {
        if self.unreadable {
            return DataLine::Unreadable;
        }
        match (self.erased, self.event.data, &self.event.data_base64) {
            (true, ..) => DataLine::Erased(self.erased_by.as_deref()),
            (false, Some(json), _) => DataLine::Json(json.get()),
            (false, None, Some(base64)) => DataLine::Base64(base64),
            (false, None, None) => DataLine::Nothing,
        }
    }
}

/// The text in the place of data that are erased.
pub fn erased(by: Option<&str>) -> String {
    by.map_or_else(|| "(erased)".to_owned(), |position| format!("(erased by event {})", printable(position)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_told_from_bytes_from_nothing_and_from_what_was_erased() {
        let line = |more: &str, data: &str| {
            format!(
                r#"{{"position":"7","recordedAt":"T",{more}"event":{{"id":"i","type":"x.y","subject":"s"{data}}}}}"#
            )
        };
        let is = |line: &str, data: DataLine<'_>| {
            assert_eq!(StoredLine::parse(line.as_bytes()).unwrap().data(), data, "{line}");
        };
        is(&line("", r#","data":{"a": 1}"#), DataLine::Json(r#"{"a": 1}"#));
        is(&line("", r#","data_base64":"AA==""#), DataLine::Base64("AA=="));
        is(&line("", ""), DataLine::Nothing);
        is(&line(r#""erased":true,"#, r#","data":1"#), DataLine::Erased(None));
        is(&line(r#""erased":true,"erasedBy":"7","#, ""), DataLine::Erased(Some("7")));
        assert!(StoredLine::parse(br#"{"position":"7"}"#).is_err());
    }
}

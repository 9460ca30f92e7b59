//! CloudEvents, one a line, imported unchanged but for what an export of a ledger adds to them.
//!
//! Of an export, events without their data are passed over, and those of the service.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::format::MappedRecord;
use super::json_text::JsonObject;
use super::mapped_events::{MappedEvents, MappingRefusal};
use super::stored_events::{EventKind, is_made_by_the_service};

/// The attribute in which an export writes an event's position.
const POSITION_ATTRIBUTE: &str = "ledgerposition";

/// The mapping of CloudEvents: the same events, with a stream where they lack one.
#[derive(Default)]
pub(crate) struct CloudEvents {
    /// The stream of events without a `subject`.
    pub stream: Option<String>,
}

#[derive(Deserialize)]
struct Attributes<'a> {
    #[serde(borrow)]
    subject: Option<&'a RawValue>,
    #[serde(borrow)]
    ledgerposition: Option<&'a RawValue>,
    #[serde(borrow)]
    ledgererased: Option<&'a RawValue>,
    #[serde(borrow)]
    ledgerexpired: Option<&'a RawValue>,
    #[serde(borrow)]
    ledgerunreadable: Option<&'a RawValue>,
}

/// The members of an object in their order, each value in its own bytes.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl CloudEvents {
    /// Returns the event in its own bytes, without its position in another ledger; or the reason why it is passed over. The ledger's parser
    /// checks it.
    pub(crate) fn map(&self, line: &[u8]) -> Result<MappedRecord, MappingRefusal> {
        let text = line.trim_ascii();
        let attributes: Attributes<'_> = serde_json::from_slice(text).map_err(MappingRefusal::json)?;
        let has_stream = attributes.subject.is_some();
        if !attributes.is_exported() {
            return Ok(MappedRecord::Event(self.with_stream(text.to_vec(), has_stream)));
        }
        if let Some(why) = attributes.without_data() {
            return Ok(MappedRecord::Drafts(MappedEvents::passed_over(why)));
        }
        let EventKind { r#type: kind } = serde_json::from_slice(text).map_err(MappingRefusal::json)?;
        if is_made_by_the_service(&kind) {
            return Ok(MappedRecord::Drafts(MappedEvents::passed_over("event of the service")));
        }
        let RawMembers(members) = serde_json::from_slice(text).map_err(MappingRefusal::json)?;
        let members = members.into_iter().filter(|(name, _)| name != POSITION_ATTRIBUTE);
        let without = members.fold(JsonObject::new(), |event, (name, value)| event.raw(&name, value.get()));
        Ok(MappedRecord::Event(self.with_stream(without.end().into_bytes(), has_stream)))
    }

    fn with_stream(&self, text: Vec<u8>, has_stream: bool) -> Vec<u8> {
        let Some(stream) = self.stream.as_deref().filter(|_| !has_stream) else { return text };
        let rest = text.strip_prefix(b"{").unwrap_or(&text).trim_ascii_start();
        let mut with = JsonObject::new().text("subject", stream).end().into_bytes();
        with.pop();
        if rest != b"}" {
            with.push(b',');
        }
        with.extend_from_slice(rest);
        with
    }
}

impl Attributes<'_> {
    /// Returns `true` if the event has a position as exports write it. Attributes of other producers are their own.
    fn is_exported(&self) -> bool {
        let digits =
            self.ledgerposition.and_then(|position| position.get().strip_prefix('"')?.strip_suffix('"'));
        digits.is_some_and(|digits| {
            digits.parse::<u64>().is_ok_and(|number| number > 0 && number.to_string() == digits)
        })
    }

    /// Returns the reason for which an export wrote the event without its data. Its id would be taken for ever by an event without them.
    fn without_data(&self) -> Option<&'static str> {
        let marks = [
            (self.ledgererased, "erased event"),
            (self.ledgerexpired, "expired event"),
            (self.ledgerunreadable, "unreadable event"),
        ];
        let is_set = |mark: Option<&RawValue>| mark.is_some_and(|value| value.get() == "true");
        marks.into_iter().find(|(mark, _)| is_set(*mark)).map(|(_, why)| why)
    }
}

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MemberVisitor)
    }
}

struct MemberVisitor;

impl<'de> Visitor<'de> for MemberVisitor {
    type Value = RawMembers<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(RawMembers(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(stream: Option<&str>, line: &str) -> String {
        let events = CloudEvents { stream: stream.map(str::to_owned) };
        match events.map(line.as_bytes()).unwrap() {
            MappedRecord::Event(event) => String::from_utf8(event).unwrap(),
            MappedRecord::Drafts(mapped) => mapped.passed_over.unwrap().into_owned(),
        }
    }

    #[test]
    fn a_stream_is_given_only_to_events_without_one() {
        let with = r#"{"id":"1", "subject":"s"}"#;
        assert_eq!(mapped(None, with), with);
        assert_eq!(mapped(Some("t"), with), with);
        assert_eq!(mapped(Some("t"), "{ \"id\":\"1\"}\r"), r#"{"subject":"t","id":"1"}"#);
        assert_eq!(mapped(Some("t"), "{ }"), r#"{"subject":"t"}"#);
    }

    #[test]
    fn a_position_in_another_ledger_is_left_out_and_nothing_else() {
        let exported = r#"{"specversion":"1.0","id":"1","source":"s","type":"x.a","n\n":1.0,"data":{"b": [1.0]},"ledgerposition":"7"}"#;
        let without =
            r#"{"specversion":"1.0","id":"1","source":"s","type":"x.a","n\n":1.0,"data":{"b": [1.0]}}"#;
        assert_eq!(mapped(None, exported), without);
        assert_eq!(mapped(Some("t"), exported), without.replacen('{', r#"{"subject":"t","#, 1));
    }

    #[test]
    fn exported_events_without_data_or_of_the_service_are_passed_over() {
        let of = |kind: &str, mark: &str| {
            mapped(None, &format!(r#"{{"id":"1","type":"{kind}","ledgerposition":"7"{mark}}}"#))
        };
        assert_eq!(of("x.note", r#","ledgererased":true"#), "erased event");
        assert_eq!(of("x.note", r#","ledgerexpired":true"#), "expired event");
        assert_eq!(of("x.note", r#","ledgerunreadable":true"#), "unreadable event");
        assert_eq!(of("ledger.opened", ""), "event of the service");
        assert!(of("principal.created", "").starts_with('{'));
        assert!(of("x.note", r#","ledgerexpired":false"#).contains("ledgerexpired"));
        assert_eq!(mapped(None, r#"{"type":"ledger.opened"}"#), r#"{"type":"ledger.opened"}"#, "no export");
    }

    #[test]
    fn attributes_of_other_producers_are_their_own() {
        for line in [
            r#"{"id":"1","type":"x.note","ledgererased":true,"data":{"a":1}}"#,
            r#"{"id":"1","type":"key.rotated","ledgerposition":7}"#,
            r#"{"id":"1","type":"key.rotated","ledgerposition":"A-12","ledgerexpired":true}"#,
            r#"{"id":"1","type":"hold.placed","ledgerposition":"07"}"#,
            r#"{"id":"1","type":"hold.placed","ledgerposition":{}}"#,
        ] {
            assert_eq!(mapped(None, line), line);
        }
    }
}

//! The mapping of any JSON to events by options: templates with places, and places alone.

use std::str::FromStr;

use bitacora_formats::{Micros, check_time, format_time};
use serde_json::Value;

use super::event_draft::EventDraft;
use super::mapped_events::{MappedEvents, MappingRefusal};

/// A place in a JSON value: `/a/0/b` in RFC 6901, or `a.0.b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    steps: Vec<String>,
}

/// The error for a text that names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The text is no place in a record.
    #[error("not a place in a value: name a member, a path `a.b`, or a JSON pointer `/a/b`")]
    Pointer,
    /// The text is no template.
    #[error("a `{{` without its `}}`, or a place that is none; write `text/{{member}}`")]
    Template,
}

impl FromStr for Pointer {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        let steps: Vec<String> = match text.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => text.split('.').map(str::to_owned).collect(),
        };
        if text.is_empty() || (!text.starts_with('/') && steps.iter().any(String::is_empty)) {
            return Err(MappingError::Pointer);
        }
        Ok(Self { text: text.to_owned(), steps })
    }
}

impl Pointer {
    fn find<'a>(&self, value: &'a Value) -> Result<&'a Value, MappingRefusal> {
        let step = |value: &'a Value, step: &String| match value {
            Value::Object(members) => members.get(step),
            Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
            _ => None,
        };
        self.steps.iter().try_fold(value, step).ok_or_else(|| self.fault("is not there"))
    }

    /// Returns the value there as text: a string, a number or a boolean.
    fn text(&self, value: &Value) -> Result<String, MappingRefusal> {
        match self.find(value)? {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(boolean) => Ok(boolean.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                Err(self.fault("is not a text, a number or a boolean"))
            }
        }
    }

    fn fault(&self, what: &str) -> MappingRefusal {
        MappingRefusal::new(format!("{} {what}", self.text))
    }
}

/// A text in which `{place}` stands for the value there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    At(Pointer),
}

impl FromStr for Template {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, after) = after.split_once('}').ok_or(MappingError::Template)?;
            if !before.is_empty() {
                pieces.push(TemplatePiece::Text(before.to_owned()));
            }
            pieces.push(TemplatePiece::At(place.parse().map_err(|_| MappingError::Template)?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(TemplatePiece::Text(rest.to_owned()));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }
}

impl Template {
    fn fill(&self, value: &Value) -> Result<String, MappingRefusal> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(piece) => text.push_str(piece),
                TemplatePiece::At(pointer) => text.push_str(&pointer.text(value)?),
            }
        }
        Ok(text)
    }
}

/// The sources of an event's attributes. Those that are not set are left out, or derived from the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMapping {
    /// The events' type.
    pub kind: Option<Template>,
    /// The events' stream.
    pub stream: Option<Template>,
    /// The events' source.
    pub source: Option<Template>,
    /// The places of the id, joined by `:`; if empty, the file's name and the line's number.
    pub id: Vec<Pointer>,
    /// The place of the time.
    pub time: Option<Pointer>,
    /// The place of the actor.
    pub actor: Option<Pointer>,
    /// The place of the agent's name.
    pub agent: Option<Pointer>,
    /// The place of the session.
    pub session: Option<Pointer>,
    /// The place of the run.
    pub run: Option<Pointer>,
    /// The place of the tool call.
    pub call: Option<Pointer>,
}

impl LineMapping {
    /// Returns the mapping as options, to distinguish it from another.
    pub fn flags(&self) -> String {
        let Self { kind, stream, source, id, time, actor, agent, session, run, call } = self;
        let templates = [("type", kind), ("stream", stream), ("source", source)];
        let templates =
            templates.into_iter().filter_map(|(flag, text)| Some((flag, text.as_ref()?.text.as_str())));
        let places = [
            ("time", time),
            ("actor", actor),
            ("agent", agent),
            ("session", session),
            ("run", run),
            ("call", call),
        ];
        let places = places.into_iter().filter_map(|(flag, at)| Some((flag, at.as_ref()?.text.as_str())));
        let ids = id.iter().map(|at| ("id", at.text.as_str()));
        templates.chain(ids).chain(places).map(|(flag, text)| format!(" {flag}={text}")).collect()
    }
}

/// The mapping of one file.
pub(crate) struct LineMapper {
    mapping: LineMapping,
    file: String,
}

/// The default type of events.
const DEFAULT_KIND: &str = "x.imported";

impl LineMapper {
    pub(crate) fn new(mapping: LineMapping, file: &str) -> Self {
        Self { mapping, file: file.to_owned() }
    }

    pub(crate) fn map(&self, record: &[u8], number: u64) -> Result<MappedEvents, MappingRefusal> {
        // Only looked at: the data stays the bytes that were read.
        let value: Value = serde_json::from_slice(record).map_err(MappingRefusal::json)?;
        let data = std::str::from_utf8(record).map_err(|_| MappingRefusal::new("not UTF-8"))?;
        let text = |pointer: &Option<Pointer>| pointer.as_ref().map(|at| at.text(&value)).transpose();
        let fill = |template: &Option<Template>| template.as_ref().map(|text| text.fill(&value)).transpose();
        let LineMapping { kind, stream, source, id, time, actor, agent, session, run, call } = &self.mapping;
        let id = match id.as_slice() {
            [] => format!("{}#{number}", self.file),
            places => places.iter().map(|at| at.text(&value)).collect::<Result<Vec<_>, _>>()?.join(":"),
        };
        let event = EventDraft {
            id,
            source: fill(source)?.unwrap_or_else(|| format!("import/{}", self.file)),
            kind: fill(kind)?.map_or(DEFAULT_KIND.into(), Into::into),
            stream: fill(stream)?.unwrap_or_else(|| format!("import/{}", self.file)),
            time: time.as_ref().map(|at| time_at(at, &value)).transpose()?,
            actor: text(actor)?,
            agent: text(agent)?,
            session: text(session)?,
            run: text(run)?,
            call: text(call)?,
            data: data.trim().to_owned(),
        };
        Ok(MappedEvents { events: vec![event], ..MappedEvents::default() })
    }
}

/// Parses a time: RFC 3339, or a number since 1970 in seconds, milliseconds, microseconds or nanoseconds, recognized by its size.
fn time_at(pointer: &Pointer, value: &Value) -> Result<String, MappingRefusal> {
    let text = pointer.text(value)?;
    if check_time(&text).is_ok() {
        return Ok(text);
    }
    epoch_micros(&text)
        .map(|micros| format_time(Micros(micros)))
        .ok_or_else(|| pointer.fault("is no time: neither RFC 3339 nor a number since 1970"))
}

/// Parses a time since 1970 exactly: the digits are moved, not rounded through a float.
fn epoch_micros(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number: u64 = whole.parse().ok()?;
    let is_digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let micros_per_unit = match number {
        0..100_000_000_000 => 1_000_000,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1,
        // Nanoseconds: what is below a microsecond is not kept.
        _ => return is_digits.then_some(number / 1_000),
    };
    let mut digits: String = fraction.chars().take(6).collect();
    digits.extend(std::iter::repeat_n('0', 6 - digits.len()));
    let part: u64 = digits.parse().ok().filter(|_| is_digits)?;
    number.checked_mul(micros_per_unit)?.checked_add(part * micros_per_unit / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping() -> LineMapping {
        LineMapping {
            kind: Some("x.{kind}".parse().unwrap()),
            stream: Some("at/{/where/0}/{n}".parse().unwrap()),
            id: vec!["n".parse().unwrap(), "kind".parse().unwrap()],
            time: Some("t".parse().unwrap()),
            agent: Some("who.name".parse().unwrap()),
            ..LineMapping::default()
        }
    }

    #[test]
    fn attributes_come_from_places_and_the_data_stays_as_it_was() {
        let line = r#" {"n" : 7,"kind":"note","where":["a"],"t":1770000000043,"who":{"name":"x"}} "#;
        let mapped = LineMapper::new(mapping(), "f").map(line.as_bytes(), 3).unwrap();
        let event = &mapped.events[0];
        assert_eq!((event.id.as_str(), &*event.kind, event.stream.as_str()), ("7:note", "x.note", "at/a/7"));
        assert_eq!(event.time.as_deref(), Some("2026-02-02T02:40:00.043000Z"));
        assert_eq!((event.agent.as_deref(), event.source.as_str()), (Some("x"), "import/f"));
        assert_eq!(event.data, line.trim());
        let bare = LineMapper::new(LineMapping::default(), "f").map(b"[1]", 3).unwrap();
        assert_eq!((bare.events[0].id.as_str(), &*bare.events[0].kind), ("f#3", "x.imported"));
    }

    #[test]
    fn what_is_missing_or_of_another_kind_is_told() {
        let mapper = LineMapper::new(mapping(), "f");
        let reason = |line: &str| mapper.map(line.as_bytes(), 1).unwrap_err().reason;
        assert!(reason("{}").contains("is not there"));
        assert!(reason("not json").contains("byte"));
        let whole = r#"{"n":7,"kind":"note","where":["a"],"t":1,"who":{"name":"x"}}"#;
        assert!(reason(&whole.replace("\"note\"", "[1]")).contains("not a text"));
        assert!(reason(&whole.replace("\"t\":1", "\"t\":\"yesterday\"")).contains("no time"));
        assert!(reason(&whole.replace("\"t\":1", "\"t\":-5")).contains("no time"));
        assert!(reason(&whole.replace("[\"a\"]", "[]")).contains("/where/0"));
    }

    #[test]
    fn a_time_is_told_by_its_size() {
        for (text, micros) in [
            ("1770000000", 1_770_000_000_000_000),
            ("1770000000.0439999", 1_770_000_000_043_999),
            ("1770000000043", 1_770_000_000_043_000),
            ("1770000000043.25", 1_770_000_000_043_250),
            ("1770000000043999", 1_770_000_000_043_999),
            ("1770000000043999123", 1_770_000_000_043_999),
            ("0", 0),
        ] {
            assert_eq!(epoch_micros(text), Some(micros), "{text}");
        }
        for text in ["", "-1", "1e9", "1.x", "99999999999999999999", "x"] {
            assert_eq!(epoch_micros(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        for text in ["", "a..b", ".", "a."] {
            assert!(text.parse::<Pointer>().is_err(), "{text}");
        }
        for text in ["{", "a{b", "{}", "{a..b}"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
        assert_eq!("/a~1b/~0".parse::<Pointer>().unwrap().steps, ["a/b", "~"]);
    }
}

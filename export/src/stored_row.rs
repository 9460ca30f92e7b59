//! A stored event, parsed from its line without copies.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most attributes of an event that are kept apart as extensions; the ledger takes fewer.
const MAX_EXTENSIONS: usize = 1_024;

/// A line of a read: the envelope of the ledger, and the event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredRow<'a> {
    #[serde(borrow)]
    pub(crate) position: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) stream_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) recorded_at: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) commitment: Cow<'a, str>,
    #[serde(default)]
    pub(crate) derived: bool,
    #[serde(default)]
    pub(crate) erased: bool,
    #[serde(borrow, default)]
    expired_by: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) unreadable: bool,
    #[serde(default)]
    pub(crate) redactions: u32,
    #[serde(borrow)]
    pub(crate) event: EventFields<'a>,
}

/// The event's own members.
#[derive(Debug, Default)]
pub(crate) struct EventFields<'a> {
    texts: [Option<Cow<'a, str>>; TEXT_FIELDS.len()],
    pub(crate) extensions: Vec<(Cow<'a, str>, &'a RawValue)>,
    pub(crate) data: Option<&'a RawValue>,
}

/// A member of an event whose value is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextField {
    Id,
    Source,
    Type,
    Subject,
    Time,
    DataContentType,
    DataSchema,
    Actor,
    Agent,
    Session,
    Run,
    Call,
    CorrelationId,
    CausationId,
    TraceParent,
    DataSubject,
    Tags,
    DataBase64,
}

/// Their names, in the order of [`TextField`].
const TEXT_FIELDS: [&str; 18] = [
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
    "actor",
    "agent",
    "session",
    "run",
    "call",
    "correlationid",
    "causationid",
    "traceparent",
    "datasubject",
    "tags",
    "data_base64",
];

impl<'a> StoredRow<'a> {
    /// Parses a line.
    ///
    /// # Errors
    /// Not the line of a stored event.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Returns `true` if its content expired under a retention policy.
    pub(crate) fn is_expired(&self) -> bool {
        self.expired_by.is_some()
    }
}

impl EventFields<'_> {
    /// Returns the value of a text.
    pub(crate) fn text(&self, field: TextField) -> Option<&str> {
        self.texts.get(field as usize)?.as_deref()
    }

    /// Returns the texts that are there, with their names.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        TEXT_FIELDS.into_iter().zip(&self.texts).filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Returns the event's type.
    pub(crate) fn kind(&self) -> &str {
        self.text(TextField::Type).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for EventFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

/// A text that is borrowed where it holds no escape.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for EventVisitor {
    type Value = EventFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<EventFields<'de>, A::Error> {
        let mut event = EventFields::default();
        while let Some(Text(name)) = members.next_key()? {
            if let Some(field) = TEXT_FIELDS.iter().position(|known| *known == name) {
                let Text(value) = members.next_value()?;
                if let Some(text) = event.texts.get_mut(field) {
                    *text = Some(value);
                }
                continue;
            }
            match &*name {
                "data" => event.data = Some(members.next_value()?),
                "specversion" => drop(members.next_value::<&RawValue>()?),
                _ if event.extensions.len() >= MAX_EXTENSIONS => {
                    return Err(A::Error::custom("more attributes than an event can have"));
                }
                _ => event.extensions.push((name, members.next_value()?)),
            }
        }
        Ok(event)
    }
}

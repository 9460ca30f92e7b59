//! The catalogue of event types: the writers, the form of the data, and an example of each.

mod members;
mod strict;
mod table;

#[cfg(test)]
mod tests;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Deserialize;
use serde_json::Value;

use self::members::UnknownMember;
use self::strict::{FaultPointer, ReadOptions, StrictReader};
use super::{Assurance, EventData};
use bitacora_formats::limits::MAX_JSON_NUMBER;

pub use self::table::EVENT_TYPES;

/// Types that begin so are nobody's concern but the writer's: their data may be anything.
pub const FREE_PREFIX: &str = "x.";
/// Types that begin so are the service's own, those to come as well.
pub const SERVICE_PREFIX: &str = "ledger.";
/// Prefixes of types for the service's own acts, present and future: nobody registers a type of their own among them.
pub const SERVICE_FAMILIES: [&str; 9] =
    ["archive.", "export.", "hold.", "key.", SERVICE_PREFIX, "principal.", "retention.", "subject.", "warm."];

/// The type of events that hold a piece of a checkpoint's contents: bytes, no JSON. Its name is its digest; the
/// service writes it.
pub const CHECKPOINT_BLOB: &str = "checkpoint.blob";
/// The source of those events, and of the service's other records of checkpoints for its callers.
pub const CHECKPOINT_SOURCE: &str = "urn:bitacora:checkpoint";

/// Returns `true` if events of this type hold bytes, which no schema describes.
#[must_use]
pub fn is_binary_kind(kind: &str) -> bool {
    kind == CHECKPOINT_BLOB
}

/// Returns `true` if a type is of a family of the service's own. Other writers of such a type are in the catalogue.
#[must_use]
pub fn is_service_kind(kind: &str) -> bool {
    SERVICE_FAMILIES.iter().any(|family| kind.starts_with(family))
}

/// Bytes of a problem with data, in words.
const MAX_PROBLEM_BYTES: usize = 300;

/// A type of event.
#[derive(Debug, Clone, Copy)]
pub struct EventType {
    /// Its name.
    pub kind: &'static str,
    /// The version of its data.
    pub version: u32,
    /// The meaning of such an event.
    pub description: &'static str,
    /// The writer of such events.
    pub writer: EventWriter,
    /// Data of one, as JSON.
    pub example: &'static str,
    /// `true` if it sets, requests or ends decisions. An append of such an event refuses unknown members. Other
    /// events, such as those of models, runs and checkpoints, are evidence and may have more members.
    pub governs: bool,
    check: fn(&[u8]) -> Result<(), EventDataError>,
    check_members: fn(&[u8]) -> Result<(), EventDataError>,
    schema: fn(SchemaSettings) -> Schema,
}

/// The writer of a type of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventWriter {
    /// Any caller that may append.
    Anyone,
    /// Operators and admins.
    Operators,
    /// Admins.
    Admins,
    /// The reactor alone, which derives events from events.
    Reactor,
    /// The service, alone.
    Service,
}

/// The agreement of data with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMatch {
    /// It fits the vocabulary.
    Listed,
    /// It fits a registered schema.
    Registered,
    /// The type asks for nothing.
    Free,
    /// The vocabulary does not have the type. The caller must look up whether one is registered.
    Unlisted,
}

/// Data that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("data{pointer}: {problem}")]
pub struct EventDataError {
    /// The value at fault within the data, as a JSON pointer; of a missing member, the object that lacks it.
    pub pointer: String,
    /// The problem with the value.
    pub problem: String,
}

/// The type of this name, if the vocabulary has it.
#[must_use]
pub fn event_type(kind: &str) -> Option<&'static EventType> {
    let index = EVENT_TYPES.binary_search_by(|listed| listed.kind.cmp(kind)).ok()?;
    EVENT_TYPES.get(index)
}

/// Checks that the data of an event fits its type. `None` is data that is no JSON, or none at all; JSON must have been checked.
///
/// # Errors
/// [`EventDataError`] if the vocabulary has the type and the data does not fit it.
pub fn check_data(kind: &str, data: Option<&[u8]>) -> Result<SchemaMatch, EventDataError> {
    if kind.starts_with(FREE_PREFIX) {
        return Ok(SchemaMatch::Free);
    }
    if is_binary_kind(kind) {
        return match data {
            None => Ok(SchemaMatch::Free),
            Some(_) => Err(misfit("has to be binary data for this type")),
        };
    }
    let Some(listed) = event_type(kind) else { return Ok(SchemaMatch::Unlisted) };
    let Some(data) = data else {
        return Err(misfit("has to be a JSON object for this type"));
    };
    listed.check(data).map(|()| SchemaMatch::Listed)
}

/// Checks that the data of a type that governs has no unknown member, at any depth. Such a member would be ignored in
/// silence. Data that was recorded elsewhere is evidence, and may have more members.
///
/// # Errors
/// The first such member, and the known one that is most like it.
pub fn check_members(kind: &str, data: &[u8]) -> Result<(), EventDataError> {
    let Some(listed) = event_type(kind).filter(|listed| listed.governs) else { return Ok(()) };
    let may_be_brought = matches!(listed.writer, EventWriter::Anyone | EventWriter::Reactor);
    if may_be_brought && is_marked(data) {
        return Ok(());
    }
    (listed.check_members)(data)
}

/// Returns `true` if data claims that it was recorded elsewhere. The right to claim so is checked where events are taken.
fn is_marked(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct AssuranceMember {
        #[serde(default)]
        assurance: Option<Assurance>,
    }
    serde_json::from_slice::<AssuranceMember>(data).is_ok_and(|marked| marked.assurance.is_some())
}

fn misfit(problem: &str) -> EventDataError {
    EventDataError { pointer: String::new(), problem: problem.to_owned() }
}

impl EventType {
    const fn of<T: EventData>(writer: EventWriter, description: &'static str, example: &'static str) -> Self {
        Self {
            kind: T::KIND,
            version: T::VERSION,
            description,
            writer,
            example,
            governs: false,
            check: check_as::<T>,
            check_members: check_members_as::<T>,
            schema: schema_of::<T>,
        }
    }

    /// A type of events that govern.
    const fn governing<T: EventData>(
        writer: EventWriter,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self { governs: true, ..Self::of::<T>(writer, description, example) }
    }

    /// Checks that this JSON is valid data of such an event.
    ///
    /// # Errors
    /// [`EventDataError`] with the place and the problem.
    pub fn check(&self, data: &[u8]) -> Result<(), EventDataError> {
        (self.check)(data)
    }

    /// The name of its schema.
    #[must_use]
    pub fn schema_id(&self) -> String {
        format!("urn:bitacora:schema:{}:{}", self.kind, self.version)
    }

    /// Returns the JSON Schema of its data, of draft 2020-12.
    #[must_use]
    pub fn schema(&self) -> Value {
        let settings = SchemaSettings::draft2020_12()
            .with_transform(RecursiveTransform(bound_numbers as fn(&mut Schema)));
        let mut schema = (self.schema)(settings);
        schema.insert("$id".to_owned(), self.schema_id().into());
        schema.insert("title".to_owned(), self.kind.into());
        schema.insert("description".to_owned(), self.description.into());
        schema.to_value()
    }
}

impl EventWriter {
    /// As the published list writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Operators => "operators",
            Self::Admins => "admins",
            Self::Reactor => "reactor",
            Self::Service => "service",
        }
    }
}

fn schema_of<T: EventData>(settings: SchemaSettings) -> Schema {
    settings.into_generator().into_root_schema_for::<T>()
}

fn check_as<T: EventData>(data: &[u8]) -> Result<(), EventDataError> {
    // Hardly any data is wrong: only of what is wrong is it asked where.
    if read::<T>(data, ReadOptions::default()).is_ok() {
        return Ok(());
    }
    let fault = FaultPointer::default();
    let options = ReadOptions { fault: Some(&fault), unknown: None };
    let Err(error) = read::<T>(data, options) else { return Ok(()) };
    Err(EventDataError { pointer: fault.into_pointer(), problem: shortened(error_text(&error)) })
}

/// Checks for unknown members only; data with any other problem passes here.
fn check_members_as<T: EventData>(data: &[u8]) -> Result<(), EventDataError> {
    let unknown = UnknownMember::default();
    let options = ReadOptions { fault: None, unknown: Some(&unknown) };
    if read::<T>(data, options).is_ok() || unknown.problem().is_none() {
        return Ok(());
    }
    let fault = FaultPointer::default();
    let _ = read::<T>(data, ReadOptions { fault: Some(&fault), ..options });
    let problem = unknown.problem().unwrap_or_default();
    Err(EventDataError { pointer: fault.into_pointer(), problem: shortened(problem) })
}

fn read<T: EventData>(data: &[u8], options: ReadOptions<'_>) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(data);
    T::deserialize(StrictReader::new(&mut reader, options))?;
    reader.end()
}

/// The error's own words without line and column, which say nothing where a pointer does.
fn error_text(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(end) = text.rfind(" at line ") {
        text.truncate(end);
    }
    text
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_PROBLEM_BYTES {
        let end = (0..=MAX_PROBLEM_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

/// States the bounds of an integer's width as numbers, because a validator passes over the width in words.
fn bound_numbers(schema: &mut Schema) {
    // No event's JSON has a number of greater magnitude than the last of these.
    let (least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("uint64" | "uint") => (0, MAX_JSON_NUMBER.cast_signed()),
        Some("int64") => (-MAX_JSON_NUMBER.cast_signed(), MAX_JSON_NUMBER.cast_signed()),
        _ => return,
    };
    schema.remove("format");
    for (name, bound) in [("minimum", least), ("maximum", most)] {
        if schema.get(name).is_none() {
            schema.insert(name.to_owned(), bound.into());
        }
    }
}

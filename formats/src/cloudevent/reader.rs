//! The reader of one event, or of an array of them, straight into [`Event`].

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::attribute::{Member, Name, Value};
use super::grammar::{is_media_type, is_uri, is_uri_reference};
use super::{ParseError, ParseErrorKind, SPEC_VERSION};
use crate::event::{AttributeProblem, Data, Event, EventError, ExtensionValue, is_extension_name};
use crate::json::{Json, JsonErrorKind, check_json_text, grammar_problem};
use crate::limits::{MAX_EXTENSIONS, MAX_REQUEST_EVENTS, MAX_TAGS};

const TEXT: AttributeProblem = AttributeProblem::WrongType { expected: "a string" };
const SCALAR: AttributeProblem =
    AttributeProblem::WrongType { expected: "a string, a boolean or an integer of 32 bits" };

/// Checks the attributes whose grammar CloudEvents takes from elsewhere. Only incoming events are held to it: stored
/// ones stay readable.
fn check_grammars(event: &Event<'_>) -> Result<(), EventError> {
    let of = |name, is_one: bool, expected| match is_one {
        true => Ok(()),
        false => Err(EventError::new(name, AttributeProblem::Grammar { expected })),
    };
    of(
        "source",
        is_uri_reference(&event.source),
        "a URI-reference (RFC 3986); percent-encode other characters",
    )?;
    if let Some(schema) = &event.dataschema {
        of("dataschema", is_uri(schema), "a URI with its scheme (RFC 3986)")?;
    }
    match &event.datacontenttype {
        Some(kind) => {
            of("datacontenttype", is_media_type(kind), "a media type such as application/json (RFC 2045)")
        }
        None => Ok(()),
    }
}

/// Reads one event, the whole of `text`.
pub(super) fn read_event<'a>(
    text: &'a str,
    default_stream: Option<&'a str>,
) -> Result<Event<'a>, ParseError> {
    let mut context = ReadContext::new(default_stream, ParseErrorKind::NotAnEvent);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = EventSeed(&mut context).deserialize(&mut deserializer);
    let whole = read.and_then(|event| deserializer.end().map(|()| event));
    whole.map_err(|error| context.explain(&error, text))
}

/// Reads an array of events, the whole of `text`.
pub(super) fn read_batch<'a>(
    text: &'a str,
    default_stream: Option<&'a str>,
) -> Result<Vec<Event<'a>>, ParseError> {
    let mut context = ReadContext::new(default_stream, ParseErrorKind::NotABatch);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = EventArray(&mut context).deserialize(&mut deserializer);
    let whole = read.and_then(|events| deserializer.end().map(|()| events));
    whole.map_err(|error| context.explain(&error, text))
}

/// The place of the reading, and the problem it met: the deserializer's own errors cannot carry it.
struct ReadContext<'a> {
    default_stream: Option<&'a str>,
    /// The error for a value of another JSON type than expected at this place.
    unexpected: ParseErrorKind,
    /// The event in its array.
    index: Option<usize>,
    /// The pointer within the event, once something is wrong.
    pointer: String,
    problem: Option<ParseErrorKind>,
}

impl<'a> ReadContext<'a> {
    fn new(default_stream: Option<&'a str>, unexpected: ParseErrorKind) -> Self {
        Self { default_stream, unexpected, index: None, pointer: String::new(), problem: None }
    }

    /// Remembers a problem of the reader's own; the returned error only ends the reading.
    fn refuse<E: Error>(&mut self, kind: impl Into<ParseErrorKind>, pointer: String) -> E {
        self.problem = Some(kind.into());
        self.pointer = pointer;
        E::custom("refused")
    }

    fn refuse_attribute<E: Error>(&mut self, error: EventError) -> E {
        // `extensions` is no member of its own: the event is at fault.
        let pointer =
            if error.attribute == "extensions" { String::new() } else { format!("/{}", error.attribute) };
        self.refuse(error, pointer)
    }

    /// Notes that the deserializer's own next error lies in this member, and its kind if only the type is wrong.
    fn in_member<E>(&mut self, name: &str, problem: AttributeProblem, error: E) -> E {
        self.pointer = format!("/{name}");
        self.unexpected = EventError { attribute: Cow::Owned(name.to_owned()), problem }.into();
        error
    }

    fn explain(self, error: &serde_json::Error, text: &str) -> ParseError {
        let broken = self.problem.is_none() && !error.is_data();
        let kind = match self.problem {
            Some(problem) => problem,
            None if error.is_data() => self.unexpected,
            None => grammar_problem(error, text.as_bytes()).into(),
        };
        let pointer = match self.index {
            Some(index) => format!("/{index}{}", self.pointer),
            None => self.pointer,
        };
        ParseError {
            line: broken.then(|| error.line()),
            column: broken.then(|| error.column()),
            pointer,
            kind,
        }
    }
}

/// An array of events.
struct EventArray<'p, 'a>(&'p mut ReadContext<'a>);

impl<'de> DeserializeSeed<'de> for EventArray<'_, 'de> {
    type Value = Vec<Event<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventArray<'_, 'de> {
    type Value = Vec<Event<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let context = self.0;
        let mut events = Vec::new();
        context.unexpected = ParseErrorKind::NotAnEvent;
        context.index = Some(0);
        while let Some(event) = items.next_element_seed(EventSeed(&mut *context))? {
            events.push(event);
            context.index = Some(events.len());
        }
        context.index = None;
        if events.is_empty() {
            return Err(context.refuse(ParseErrorKind::EmptyBatch, String::new()));
        }
        Ok(events)
    }
}

/// One event, alone or at the place's index.
struct EventSeed<'p, 'a>(&'p mut ReadContext<'a>);

impl<'de> DeserializeSeed<'de> for EventSeed<'_, 'de> {
    type Value = Event<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.index >= Some(MAX_REQUEST_EVENTS) {
            self.0.index = None;
            return Err(self.0.refuse(ParseErrorKind::TooManyEvents, String::new()));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventSeed<'_, 'de> {
    type Value = Event<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event, which is an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let context = self.0;
        let mut parts = EventParts::new();
        while let Some(Name(name)) = members.next_key()? {
            match Member::named(&name) {
                Some(Member::Data) => parts.take_data(context, &mut members)?,
                Some(member) => parts.take_member(context, member, &name, &mut members)?,
                None => parts.take_extension(context, name, &mut members)?,
            }
        }
        parts.into_event(context)
    }
}

/// The parts of an event that have been read.
struct EventParts<'a> {
    /// A bit for each member seen, `null` or not.
    seen: u32,
    has_spec_version: bool,
    id: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    stream: Option<Cow<'a, str>>,
    data_base64: Option<Cow<'a, str>>,
    /// Those that are `null` too, so that they are not taken twice.
    extensions: Vec<(Cow<'a, str>, Option<ExtensionValue<'a>>)>,
    /// Everything else, in place.
    event: Event<'a>,
}

impl<'a> EventParts<'a> {
    fn new() -> Self {
        Self {
            seen: 0,
            has_spec_version: false,
            id: None,
            source: None,
            kind: None,
            stream: None,
            data_base64: None,
            extensions: Vec::new(),
            event: Event::new("", "", "", ""),
        }
    }

    fn see<E: Error>(&mut self, context: &mut ReadContext<'a>, member: Member, name: &str) -> Result<(), E> {
        if self.seen & member.bit() != 0 {
            return Err(context.refuse(JsonErrorKind::DuplicateKey, format!("/{name}")));
        }
        self.seen |= member.bit();
        Ok(())
    }

    fn take_data<A: MapAccess<'a>>(
        &mut self,
        context: &mut ReadContext<'a>,
        members: &mut A,
    ) -> Result<(), A::Error> {
        self.see(context, Member::Data, "data")?;
        let raw: &'a RawValue =
            members.next_value().map_err(|error| context.in_member("data", SCALAR, error))?;
        if let Err(error) = check_json_text(raw.get()) {
            return Err(context.refuse(error.kind, format!("/data{}", error.pointer)));
        }
        self.event.data = Data::Json(Json::stored(Cow::Borrowed(raw.get().as_bytes())));
        Ok(())
    }

    fn take_member<A: MapAccess<'a>>(
        &mut self,
        context: &mut ReadContext<'a>,
        member: Member,
        name: &str,
        members: &mut A,
    ) -> Result<(), A::Error> {
        self.see(context, member, name)?;
        let text = match read_value(context, name, TEXT, members)? {
            Value::Null => return Ok(()),
            Value::Text(text) => text,
            _ => return Err(context.refuse(wrong_type(name, TEXT), format!("/{name}"))),
        };
        match member {
            Member::SpecVersion if text == SPEC_VERSION => self.has_spec_version = true,
            Member::SpecVersion => {
                return Err(context.refuse(ParseErrorKind::SpecVersion, "/specversion".to_owned()));
            }
            Member::Id => self.id = Some(text),
            Member::Source => self.source = Some(text),
            Member::Kind => self.kind = Some(text),
            Member::Stream => self.stream = Some(text),
            Member::Tags => self.event.tags = tags(text),
            Member::DataBase64 => self.data_base64 = Some(text),
            optional => {
                if let Some(field) = optional.optional_text(&mut self.event) {
                    *field = Some(text);
                }
            }
        }
        Ok(())
    }

    fn take_extension<A: MapAccess<'a>>(
        &mut self,
        context: &mut ReadContext<'a>,
        name: Cow<'a, str>,
        members: &mut A,
    ) -> Result<(), A::Error> {
        if !is_extension_name(&name) {
            return Err(context.refuse_attribute(EventError::new("extensions", AttributeProblem::Name)));
        }
        if self.extensions.len() == MAX_EXTENSIONS {
            let problem = AttributeProblem::TooMany { max: MAX_EXTENSIONS };
            return Err(context.refuse_attribute(EventError::new("extensions", problem)));
        }
        let value = match read_value(context, &name, SCALAR, members)? {
            Value::Null => None,
            Value::Text(text) => Some(ExtensionValue::Text(text)),
            Value::Integer(number) => Some(ExtensionValue::Integer(number)),
            Value::Boolean(value) => Some(ExtensionValue::Boolean(value)),
            Value::OtherNumber => {
                return Err(context.refuse(wrong_type(&name, SCALAR), format!("/{name}")));
            }
        };
        self.extensions.push((name, value));
        Ok(())
    }

    fn into_event<E: Error>(mut self, context: &mut ReadContext<'a>) -> Result<Event<'a>, E> {
        self.sort_extensions(context)?;
        self.settle_data(context)?;
        let missing = |name| EventError::new(name, AttributeProblem::Missing);
        if !self.has_spec_version {
            return Err(context.refuse_attribute(missing("specversion")));
        }
        let mut event = self.event;
        event.id = self.id.ok_or_else(|| context.refuse_attribute(missing("id")))?;
        event.source = self.source.ok_or_else(|| context.refuse_attribute(missing("source")))?;
        event.kind = self.kind.ok_or_else(|| context.refuse_attribute(missing("type")))?;
        event.stream = match (self.stream, context.default_stream) {
            (Some(stream), Some(default)) if stream != default => {
                return Err(context.refuse(ParseErrorKind::StreamMismatch, "/subject".to_owned()));
            }
            (Some(stream), _) => stream,
            (None, Some(default)) => Cow::Borrowed(default),
            (None, None) => return Err(context.refuse_attribute(missing("subject"))),
        };
        event.extensions =
            self.extensions.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        event.validate().map_err(|error| context.refuse_attribute(error))?;
        check_grammars(&event).map_err(|error| context.refuse_attribute(error))?;
        Ok(event)
    }

    fn sort_extensions<E: Error>(&mut self, context: &mut ReadContext<'a>) -> Result<(), E> {
        self.extensions.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let twice = self.extensions.windows(2).find_map(|pair| match pair {
            [(one, _), (other, _)] if one == other => Some(one),
            _ => None,
        });
        match twice {
            Some(name) => Err(context.refuse(JsonErrorKind::DuplicateKey, format!("/{name}"))),
            None => Ok(()),
        }
    }

    fn settle_data<E: Error>(&mut self, context: &mut ReadContext<'a>) -> Result<(), E> {
        let Some(text) = &self.data_base64 else { return Ok(()) };
        if self.seen & Member::Data.bit() != 0 {
            return Err(context.refuse(ParseErrorKind::DataTwice, "/data_base64".to_owned()));
        }
        let bytes = STANDARD.decode(text.as_bytes()).map_err(|_| {
            context.refuse_attribute(EventError::new("data_base64", AttributeProblem::NotBase64))
        })?;
        self.event.data = Data::Binary(Cow::Owned(bytes));
        Ok(())
    }
}

/// The next value, which may not be an object or array, nor a text with U+0000 in it.
fn read_value<'a, A: MapAccess<'a>>(
    context: &mut ReadContext<'a>,
    name: &str,
    expected: AttributeProblem,
    members: &mut A,
) -> Result<Value<'a>, A::Error> {
    let value = members.next_value().map_err(|error| context.in_member(name, expected, error))?;
    match &value {
        Value::Text(text) if text.as_bytes().contains(&0) => {
            Err(context.refuse(JsonErrorKind::Nul, format!("/{name}")))
        }
        _ => Ok(value),
    }
}

fn wrong_type(name: &str, problem: AttributeProblem) -> EventError {
    EventError { attribute: Cow::Owned(name.to_owned()), problem }
}

/// The tags of the extension's text. One more than are taken is enough to be refused; the rest stays unparted.
fn tags(text: Cow<'_, str>) -> Vec<Cow<'_, str>> {
    match text {
        Cow::Borrowed(text) => text.splitn(MAX_TAGS + 1, ' ').map(Cow::Borrowed).collect(),
        Cow::Owned(text) => text.splitn(MAX_TAGS + 1, ' ').map(|tag| Cow::Owned(tag.to_owned())).collect(),
    }
}

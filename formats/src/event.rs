//! An event as its attributes and data: a CloudEvent as values, apart from any encoding.

use std::borrow::Cow;

use crate::json::Json;
use crate::limits::{
    MAX_ATTRIBUTE_BYTES, MAX_DATA_BYTES, MAX_EXTENSION_NAME_BYTES, MAX_EXTENSIONS, MAX_ID_BYTES,
    MAX_SOURCE_BYTES, MAX_STREAM_BYTES, MAX_TAG_BYTES, MAX_TAGS, MAX_TYPE_BYTES,
};
use crate::rfc3339::check_time;

/// A client's statement of what happened: a CloudEvents 1.0 event, with the extensions that Bitacora knows as fields.
///
/// It borrows from the body it was parsed from, or from the record it was decoded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// `id`: with `source` the identity of the event.
    pub id: Cow<'a, str>,
    /// `source`: the origin of the statement.
    pub source: Cow<'a, str>,
    /// `type`: the kind of occurrence.
    pub kind: Cow<'a, str>,
    /// `subject`: the stream the event belongs to.
    pub stream: Cow<'a, str>,
    /// `time`: RFC 3339, as the client wrote it. The ledger's own time stands in the frame.
    pub time: Option<Cow<'a, str>>,
    /// `datacontenttype`.
    pub datacontenttype: Option<Cow<'a, str>>,
    /// `dataschema`.
    pub dataschema: Option<Cow<'a, str>>,
    /// Extension `actor`: the person or service behind the event.
    pub actor: Option<Cow<'a, str>>,
    /// Extension `agent`.
    pub agent: Option<Cow<'a, str>>,
    /// Extension `session`.
    pub session: Option<Cow<'a, str>>,
    /// Extension `run`.
    pub run: Option<Cow<'a, str>>,
    /// Extension `call`: the tool call.
    pub call: Option<Cow<'a, str>>,
    /// Extension `correlationid`.
    pub correlationid: Option<Cow<'a, str>>,
    /// Extension `causationid`.
    pub causationid: Option<Cow<'a, str>>,
    /// Extension `traceparent`, of W3C Trace Context.
    pub traceparent: Option<Cow<'a, str>>,
    /// Extension `datasubject`: whose data this is. Its presence has the data sealed under the subject's key.
    pub datasubject: Option<Cow<'a, str>>,
    /// Extension `tags`: one string, its tags parted by single spaces. No tag twice.
    pub tags: Vec<Cow<'a, str>>,
    /// Extensions that Bitacora does not know, sorted by name.
    pub extensions: Vec<(Cow<'a, str>, ExtensionValue<'a>)>,
    /// `data` or `data_base64`.
    pub data: Data<'a>,
}

/// The value of an extension that Bitacora keeps without knowing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtensionValue<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A CloudEvents integer: 32 bits, signed.
    Integer(i32),
    /// A boolean.
    Boolean(bool),
}

/// The data of an event, besides its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data<'a> {
    /// Nothing.
    None,
    /// A JSON value, as the bytes the client wrote; `null` is a value.
    Json(Json<'a>),
    /// Bytes, sent as base64.
    Binary(Cow<'a, [u8]>),
}

/// An attribute of an event that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attribute {attribute}: {problem}")]
pub struct EventError {
    /// The attribute's name in CloudEvents; `extensions` where an extension's name is itself the problem.
    pub attribute: Cow<'static, str>,
    /// The problem with it.
    pub problem: AttributeProblem,
}

/// A problem with an attribute, or with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttributeProblem {
    /// A required attribute is not there.
    #[error("missing; every event needs it")]
    Missing,
    /// There, but without a character.
    #[error("empty; leave it out or give it a value")]
    Empty,
    /// Longer than its limit.
    #[error("longer than {max} bytes")]
    TooLong {
        /// The limit, in bytes of UTF-8.
        max: usize,
    },
    /// A control character or a noncharacter, which CloudEvents forbids in strings.
    #[error("holds a control character or a noncharacter")]
    Character,
    /// A value of another JSON type.
    #[error("not {expected}")]
    WrongType {
        /// The type or form that it should have.
        expected: &'static str,
    },
    /// Not an RFC 3339 time.
    #[error("not an RFC 3339 time like 2026-11-20T13:00:00Z")]
    NotATime,
    /// Not of the grammar that CloudEvents names for it.
    #[error("not {expected}")]
    Grammar {
        /// The form that it should have.
        expected: &'static str,
    },
    /// Not base64 with padding.
    #[error("not base64 (RFC 4648, with padding)")]
    NotBase64,
    /// More tags or extensions than are taken.
    #[error("more than {max}")]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// The same tag or extension twice.
    #[error("the same one twice")]
    Repeated,
    /// An extension's name is not 1 to 20 characters of `a-z` and `0-9`, or is one that CloudEvents defines.
    #[error("a name that is not 1 to {MAX_EXTENSION_NAME_BYTES} characters of a-z and 0-9, or is taken")]
    Name,
    /// Extensions out of the order of their names.
    #[error("not sorted by name")]
    NotSorted,
}

impl EventError {
    /// The problem of the attribute of this name.
    #[must_use]
    pub const fn new(attribute: &'static str, problem: AttributeProblem) -> Self {
        Self { attribute: Cow::Borrowed(attribute), problem }
    }

    /// The stable name of the problem in answers over HTTP.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.problem {
            AttributeProblem::Missing => "missing-attribute",
            AttributeProblem::Empty => "empty-attribute",
            AttributeProblem::TooLong { .. } if self.attribute == "data" => "data-too-large",
            AttributeProblem::TooLong { .. } => "attribute-too-long",
            AttributeProblem::TooMany { .. } => "too-many-attributes",
            AttributeProblem::Name => "bad-extension-name",
            AttributeProblem::Character
            | AttributeProblem::WrongType { .. }
            | AttributeProblem::NotATime
            | AttributeProblem::Grammar { .. }
            | AttributeProblem::NotBase64
            | AttributeProblem::Repeated
            | AttributeProblem::NotSorted => "bad-attribute",
        }
    }
}

impl<'a> Event<'a> {
    /// An event with the four required attributes and nothing else.
    #[must_use]
    pub fn new(
        id: impl Into<Cow<'a, str>>,
        source: impl Into<Cow<'a, str>>,
        kind: impl Into<Cow<'a, str>>,
        stream: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            id: id.into(),
            source: source.into(),
            kind: kind.into(),
            stream: stream.into(),
            time: None,
            datacontenttype: None,
            dataschema: None,
            actor: None,
            agent: None,
            session: None,
            run: None,
            call: None,
            correlationid: None,
            causationid: None,
            traceparent: None,
            datasubject: None,
            tags: Vec::new(),
            extensions: Vec::new(),
            data: Data::None,
        }
    }

    /// The same event with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        Event {
            id: owned(self.id),
            source: owned(self.source),
            kind: owned(self.kind),
            stream: owned(self.stream),
            time: self.time.map(owned),
            datacontenttype: self.datacontenttype.map(owned),
            dataschema: self.dataschema.map(owned),
            actor: self.actor.map(owned),
            agent: self.agent.map(owned),
            session: self.session.map(owned),
            run: self.run.map(owned),
            call: self.call.map(owned),
            correlationid: self.correlationid.map(owned),
            causationid: self.causationid.map(owned),
            traceparent: self.traceparent.map(owned),
            datasubject: self.datasubject.map(owned),
            tags: self.tags.into_iter().map(owned).collect(),
            extensions: self
                .extensions
                .into_iter()
                .map(|(name, value)| (owned(name), value.into_owned()))
                .collect(),
            data: self.data.into_owned(),
        }
    }

    /// The optional attributes that are single texts, in the order in which they are written everywhere.
    pub(crate) fn optional_texts(&self) -> [(&'static str, Option<&str>); 12] {
        [
            ("time", self.time.as_deref()),
            ("datacontenttype", self.datacontenttype.as_deref()),
            ("dataschema", self.dataschema.as_deref()),
            ("actor", self.actor.as_deref()),
            ("agent", self.agent.as_deref()),
            ("session", self.session.as_deref()),
            ("run", self.run.as_deref()),
            ("call", self.call.as_deref()),
            ("correlationid", self.correlationid.as_deref()),
            ("causationid", self.causationid.as_deref()),
            ("traceparent", self.traceparent.as_deref()),
            ("datasubject", self.datasubject.as_deref()),
        ]
    }

    /// Checks every limit on attributes and the size of the data; a caller that takes in an event calls it once.
    ///
    /// # Errors
    ///
    /// The first attribute that cannot be taken, in the order in which they are written.
    pub fn validate(&self) -> Result<(), EventError> {
        check_text("id", &self.id, MAX_ID_BYTES)?;
        check_text("source", &self.source, MAX_SOURCE_BYTES)?;
        check_text("type", &self.kind, MAX_TYPE_BYTES)?;
        check_text("subject", &self.stream, MAX_STREAM_BYTES)?;
        if let Some(time) = &self.time {
            check_time(time).map_err(|_| EventError::new("time", AttributeProblem::NotATime))?;
        }
        for (name, text) in self.optional_texts() {
            if let Some(text) = text {
                check_text(name, text, MAX_ATTRIBUTE_BYTES)?;
            }
        }
        check_tags(&self.tags)?;
        check_extensions(&self.extensions)?;
        if self.data.len() > MAX_DATA_BYTES {
            return Err(EventError::new("data", AttributeProblem::TooLong { max: MAX_DATA_BYTES }));
        }
        Ok(())
    }
}

impl ExtensionValue<'_> {
    fn into_owned(self) -> ExtensionValue<'static> {
        match self {
            Self::Text(text) => ExtensionValue::Text(owned(text)),
            Self::Integer(number) => ExtensionValue::Integer(number),
            Self::Boolean(value) => ExtensionValue::Boolean(value),
        }
    }
}

impl Data<'_> {
    /// Bytes of the JSON text or of the binary data.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Json(json) => json.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Returns `true` if there is not a byte of data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn into_owned(self) -> Data<'static> {
        match self {
            Self::None => Data::None,
            Self::Json(json) => Data::Json(json.into_owned()),
            Self::Binary(bytes) => Data::Binary(Cow::Owned(bytes.into_owned())),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn check_text(name: &'static str, text: &str, max: usize) -> Result<(), EventError> {
    match text_problem(text, max) {
        None => Ok(()),
        Some(problem) => Err(EventError::new(name, problem)),
    }
}

/// Returns the first problem of a text of 1 to `max` bytes, if it has one.
#[must_use]
pub fn text_problem(text: &str, max: usize) -> Option<AttributeProblem> {
    if text.is_empty() {
        Some(AttributeProblem::Empty)
    } else if text.len() > max {
        Some(AttributeProblem::TooLong { max })
    } else if has_forbidden_character(text) {
        Some(AttributeProblem::Character)
    } else {
        None
    }
}

/// Returns `true` if a text holds what a CloudEvents string may not: U+0000–U+001F, U+007F–U+009F, or a noncharacter.
fn has_forbidden_character(text: &str) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~');
    let forbidden = |character: char| {
        let code = u32::from(character);
        character.is_control() || (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE
    };
    !text.bytes().all(plain) && text.chars().any(forbidden)
}

fn check_tags(tags: &[Cow<'_, str>]) -> Result<(), EventError> {
    let refuse = |problem| Err(EventError::new("tags", problem));
    if tags.len() > MAX_TAGS {
        return refuse(AttributeProblem::TooMany { max: MAX_TAGS });
    }
    for (at, tag) in tags.iter().enumerate() {
        if let Some(problem) = text_problem(tag, MAX_TAG_BYTES) {
            return refuse(problem);
        }
        if tag.contains(' ') {
            return refuse(AttributeProblem::Character);
        }
        if tags.iter().take(at).any(|before| before == tag) {
            return refuse(AttributeProblem::Repeated);
        }
    }
    Ok(())
}

fn check_extensions(extensions: &[(Cow<'_, str>, ExtensionValue<'_>)]) -> Result<(), EventError> {
    let refuse = |problem| Err(EventError::new("extensions", problem));
    if extensions.len() > MAX_EXTENSIONS {
        return refuse(AttributeProblem::TooMany { max: MAX_EXTENSIONS });
    }
    let mut before: Option<&str> = None;
    for (name, value) in extensions {
        if !is_extension_name(name) {
            return refuse(AttributeProblem::Name);
        }
        match before.map(|before| before.cmp(name)) {
            None | Some(std::cmp::Ordering::Less) => before = Some(name),
            Some(std::cmp::Ordering::Equal) => return refuse(AttributeProblem::Repeated),
            Some(std::cmp::Ordering::Greater) => return refuse(AttributeProblem::NotSorted),
        }
        if let ExtensionValue::Text(text) = value {
            let problem = text_problem(text, MAX_ATTRIBUTE_BYTES).filter(|_| !text.is_empty());
            if let Some(problem) = problem {
                return Err(EventError { attribute: Cow::Owned(name.as_ref().to_owned()), problem });
            }
        }
    }
    Ok(())
}

/// Returns `true` if an unknown extension may have this name: of CloudEvents' alphabet, and not an attribute with a field.
pub(crate) fn is_extension_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=MAX_EXTENSION_NAME_BYTES).contains(&name.len()) && name.bytes().all(allowed) && !has_field(name)
}

/// Returns `true` if CloudEvents or Bitacora gives this name a meaning of its own.
fn has_field(name: &str) -> bool {
    matches!(
        name,
        "specversion"
            | "id"
            | "source"
            | "type"
            | "subject"
            | "time"
            | "datacontenttype"
            | "dataschema"
            | "data"
            | "actor"
            | "agent"
            | "session"
            | "run"
            | "call"
            | "correlationid"
            | "causationid"
            | "traceparent"
            | "datasubject"
            | "tags"
    )
}

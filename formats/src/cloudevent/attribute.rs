//! The members of an event by name, and the possible values of attributes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::event::Event;

/// A member of a CloudEvent in JSON that has a meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    SpecVersion,
    Id,
    Source,
    Kind,
    Stream,
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
    Data,
    DataBase64,
}

impl Member {
    /// The member of this name; any other name is an extension's.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "specversion" => Self::SpecVersion,
            "id" => Self::Id,
            "source" => Self::Source,
            "type" => Self::Kind,
            "subject" => Self::Stream,
            "time" => Self::Time,
            "datacontenttype" => Self::DataContentType,
            "dataschema" => Self::DataSchema,
            "actor" => Self::Actor,
            "agent" => Self::Agent,
            "session" => Self::Session,
            "run" => Self::Run,
            "call" => Self::Call,
            "correlationid" => Self::CorrelationId,
            "causationid" => Self::CausationId,
            "traceparent" => Self::TraceParent,
            "datasubject" => Self::DataSubject,
            "tags" => Self::Tags,
            "data" => Self::Data,
            "data_base64" => Self::DataBase64,
            _ => return None,
        })
    }

    /// The bit that says this member has been seen.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The field of the event that an optional attribute goes to.
    pub(super) fn optional_text<'e, 'a>(
        self,
        event: &'e mut Event<'a>,
    ) -> Option<&'e mut Option<Cow<'a, str>>> {
        Some(match self {
            Self::Time => &mut event.time,
            Self::DataContentType => &mut event.datacontenttype,
            Self::DataSchema => &mut event.dataschema,
            Self::Actor => &mut event.actor,
            Self::Agent => &mut event.agent,
            Self::Session => &mut event.session,
            Self::Run => &mut event.run,
            Self::Call => &mut event.call,
            Self::CorrelationId => &mut event.correlationid,
            Self::CausationId => &mut event.causationid,
            Self::TraceParent => &mut event.traceparent,
            Self::DataSubject => &mut event.datasubject,
            Self::SpecVersion
            | Self::Id
            | Self::Source
            | Self::Kind
            | Self::Stream
            | Self::Tags
            | Self::Data
            | Self::DataBase64 => return None,
        })
    }
}

/// A member's name; borrowed where it is written without escapes.
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(ValueVisitor)? {
            Value::Text(name) => Ok(Self(name)),
            _ => Err(D::Error::custom("a member's name is a string")),
        }
    }
}

/// The value of an attribute. An object or an array is no value here: the deserializer refuses it by its type.
pub(super) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Integer(i32),
    Boolean(bool),
    /// A number that is not an integer of 32 bits.
    OtherNumber,
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, number, boolean or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(i32::try_from(value).map_or(Value::OtherNumber, Value::Integer))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(i32::try_from(value).map_or(Value::OtherNumber, Value::Integer))
    }

    fn visit_f64<E: Error>(self, _value: f64) -> Result<Self::Value, E> {
        Ok(Value::OtherNumber)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }
}

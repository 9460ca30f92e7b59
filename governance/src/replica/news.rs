//! The messages to a replica.

use bitacora_formats::{Micros, Position, format_time, parse_time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::patch::StatePatch;
use crate::calls::executor::Executor;

/// One message. Messages up to one without `more` belong together: only then the replica stands at its position.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaNews {
    /// Everything before is void: all of it follows, from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<ReplicaBegin>,
    /// The last event that the state rests on.
    #[serde(with = "position")]
    pub position: Position,
    /// The service's clock before the state was looked at: no event that was durable then is missing.
    #[serde(with = "time")]
    pub time: Micros,
    /// The changes, as a [`StatePatch`]: to be read only where the rules and the form are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Box<RawValue>>,
    /// `true` if more belongs to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
}

/// The first part of a message that begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaBegin {
    /// The ledger's id.
    pub ledger: String,
    /// The version of the rules by which the service decides.
    pub rules: u32,
    /// The form of the patches that follow.
    pub form: u32,
    /// The executor of the part.
    pub executor: Executor,
    /// `true` if the caller speaks for that agent alone, also where a call names none.
    pub is_bound: bool,
}

impl ReplicaNews {
    /// Returns a message without changes: the state at this position, by this time.
    #[must_use]
    pub fn at(position: Position, time: Micros) -> Self {
        Self { begin: None, position, time, patch: None, more: false }
    }

    /// Returns the same message with changes.
    ///
    /// # Errors
    /// A text in it cannot be written; no recorded event leads there.
    pub fn with(self, patch: &StatePatch) -> Result<Self, serde_json::Error> {
        let patch = RawValue::from_string(serde_json::to_string(patch)?)?;
        Ok(Self { patch: Some(patch), ..self })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A position, as a text.
mod position {
    use super::*;

    pub(super) fn serialize<S: Serializer>(position: &Position, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(position)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A time, as RFC 3339 writes it.
mod time {
    use super::*;

    pub(super) fn serialize<S: Serializer>(time: &Micros, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_time(*time))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Micros, D::Error> {
        parse_time(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

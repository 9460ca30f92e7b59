//! The service's acts on keys and old data: rotation, archives, retention, erasure and holds.
//!
//! Only the service writes these. No secret and no subject's name stands in them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Count, EventData, EventPosition, FreeText, Name, PathText, Sha256Text, StreamName};

/// `key.rotated`: another key is used from here on; the old one stays, for reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyRotated {
    /// The purpose of the key.
    pub purpose: KeyPurpose,
    /// The id of the new one: of a signing key its public half, in hex.
    pub key: Name,
    /// The id of the one before.
    pub previous: Name,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPurpose {
    /// Wrapping the data keys of segments.
    Encryption,
    /// Signing tree heads and segments.
    Signing,
}

/// `archive.sealed`: a range of events lies in an archive, which was read back and found whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveSealed {
    /// The archive's name.
    pub archive: Name,
    /// The first event in it.
    pub first: EventPosition,
    /// The last one.
    pub last: EventPosition,
    /// Bytes of it.
    pub bytes: Count,
    /// SHA-256 of its signed manifest, which has the digests of everything else in it.
    pub manifest_sha256: Sha256Text,
    /// The store that holds it, in the words of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<PathText>,
}

/// `retention.applied`: a segment whose events lie in archives is let go here. It is recorded before the segment goes, of each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetentionApplied {
    /// The first event in it.
    pub first: EventPosition,
    /// The last one.
    pub last: EventPosition,
    /// Segments.
    pub segments: Count,
    /// Bytes of them.
    pub bytes: Count,
    /// The archive that still has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Name>,
    /// The rule by which it was let go.
    pub reason: FreeText,
}

/// `subject.erased`: the key of a data subject is destroyed, and everything sealed under it becomes unreadable everywhere. It is recorded
/// before the key is destroyed, once for each key. No name of the subject stands in it, so nothing leads from a record to its subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectErased {
    /// The id of the key, as records name it.
    pub key: SubjectKeyId,
    /// The authority for the erasure: a ticket, a request, a court's order.
    pub authority: FreeText,
    /// The person who asked for it, on whose behalf it was done. The event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// The id of a data subject's key: 16 random bytes, in lower-case hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubjectKeyId([u8; 16]);

impl SubjectKeyId {
    /// The id with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, as a record has them.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl std::fmt::Display for SubjectKeyId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl Serialize for SubjectKeyId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SubjectKeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 16];
        let is_hex = hex::decode_to_slice(&text, &mut bytes).is_ok();
        if !is_hex || text.bytes().any(|digit| digit.is_ascii_uppercase()) {
            return Err(D::Error::custom("the id of a subject's key is 32 lower-case hex digits"));
        }
        Ok(Self(bytes))
    }
}

impl JsonSchema for SubjectKeyId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SubjectKeyId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{32}$" })
    }
}

/// `hold.placed`: the data in its scope is neither removed nor erased while it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldPlaced {
    /// The hold's id.
    pub hold: Name,
    /// The data that it covers.
    pub scope: HoldScope,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// The scope of a hold: all that agrees with every part that is named; everything, if none is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldScope {
    /// The data subject, by the id of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<SubjectKeyId>,
    /// From this event on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<EventPosition>,
    /// Up to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<EventPosition>,
    /// The stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamName>,
}

/// `hold.released`: it holds no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldReleased {
    /// The hold's id.
    pub hold: Name,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

macro_rules! kinds {
    ($($data:ident => $kind:literal,)*) => {
        $(
            impl EventData for $data {
                const KIND: &'static str = $kind;
                const VERSION: u32 = 1;
            }
        )*
    };
}

kinds! {
    KeyRotated => "key.rotated",
    ArchiveSealed => "archive.sealed",
    RetentionApplied => "retention.applied",
    SubjectErased => "subject.erased",
    HoldPlaced => "hold.placed",
    HoldReleased => "hold.released",
}

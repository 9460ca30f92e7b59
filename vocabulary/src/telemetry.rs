//! Telemetry that agents and their tools report about themselves over OpenTelemetry. Nothing follows from it.

use std::borrow::Cow;
use std::fmt::{self, Formatter};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    AgentName, BoundedText, CallArguments, EventData, MAX_OBJECT_MEMBERS, MapOverflow, MicroUsd,
    Milliseconds, Name, TokenCounts,
};

/// The prefix of the types of telemetry.
pub const TELEMETRY_PREFIX: &str = "telemetry.";

/// The name of a span or of a log event.
pub type TelemetryName = BoundedText<1024>;
/// A time in RFC 3339, as the sender's clock gave it.
pub type ReportedTime = BoundedText<64>;

/// The certainty of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfReported {
    /// The sender says so; nobody decided about it or checked it.
    SelfReported,
}

/// The signal of OpenTelemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TelemetrySignal {
    /// A span of a trace.
    Span,
    /// A log record.
    Log,
}

/// The reported end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TelemetryStatus {
    /// Without an error.
    Ok,
    /// With an error.
    Error,
}

/// Attributes as an object, as the JSON they were written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryAttributes(String);

impl TelemetryAttributes {
    /// The JSON of the object.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl Serialize for TelemetryAttributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TelemetryAttributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        let MemberCount(members) = serde_json::from_str(value.get()).map_err(D::Error::custom)?;
        if members > MAX_OBJECT_MEMBERS {
            return Err(D::Error::custom(MapOverflow { max: MAX_OBJECT_MEMBERS }));
        }
        Ok(Self(String::from(Box::<str>::from(value))))
    }
}

impl JsonSchema for TelemetryAttributes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Attributes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "maxProperties": MAX_OBJECT_MEMBERS })
    }
}

/// The number of an object's members, whatever they are.
struct MemberCount(usize);

impl<'de> Deserialize<'de> for MemberCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MemberCounter)
    }
}

/// Counter of an object's members.
struct MemberCounter;

impl<'de> Visitor<'de> for MemberCounter {
    type Value = MemberCount;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MemberCount, A::Error> {
        let mut members = 0;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            members += 1;
        }
        Ok(MemberCount(members))
    }
}

macro_rules! telemetry {
    ($(#[$doc:meta])* $name:ident, $kind:literal { $($(#[$member_doc:meta])* $member:ident: $of:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            /// The certainty.
            pub assurance: SelfReported,
            /// The signal.
            pub signal: TelemetrySignal,
            /// The name of the span or log event.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub name: Option<TelemetryName>,
            $(
                $(#[$member_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $member: Option<$of>,
            )*
            /// The end, where the sender tells it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub status: Option<TelemetryStatus>,
            /// The error, in one word.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub error_type: Option<Name>,
            /// The duration.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub duration_ms: Option<Milliseconds>,
            /// The end of a span. The event's `time` is its begin.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ended: Option<ReportedTime>,
            /// The service, as its resource names it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub service: Option<Name>,
            /// The instrumentation that made the record.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub scope: Option<Name>,
            /// The id of the span above.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub parent: Option<Name>,
            /// The body of a log record, where it is not just the name, or the message of a span's status.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub body: Option<CallArguments>,
            /// Attributes that no other member holds.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub attributes: Option<TelemetryAttributes>,
        }

        impl EventData for $name {
            const KIND: &'static str = $kind;
            const VERSION: u32 = 1;
        }
    };
}

telemetry! {
    /// `telemetry.agent`: an agent or a workflow was made or called.
    TelemetryAgent, "telemetry.agent" {
        /// The operation, as GenAI conventions name it.
        operation: Name,
        /// The agent's name.
        agent: AgentName,
        /// The agent's id.
        agent_id: AgentName,
        /// The model.
        model: Name,
        /// The provider that runs it.
        provider: Name,
        /// The tokens of the whole call.
        tokens: TokenCounts,
    }
}
telemetry! {
    /// `telemetry.decision`: a coding agent's own rules or user decided about a call. The ledger did not.
    TelemetryDecision, "telemetry.decision" {
        /// The tool.
        tool: Name,
        /// The call's id.
        call: Name,
        /// The decision, in the sender's word.
        decision: Name,
        /// The source of the decision, in the sender's word.
        by: Name,
    }
}
telemetry! {
    /// `telemetry.event`: another record of an agent.
    TelemetryEvent, "telemetry.event" {
        /// The operation, as GenAI conventions name it.
        operation: Name,
    }
}
telemetry! {
    /// `telemetry.model`: a model was called.
    TelemetryModel, "telemetry.model" {
        /// The operation, as GenAI conventions name it.
        operation: Name,
        /// The model.
        model: Name,
        /// The provider that runs it.
        provider: Name,
        /// The tokens that it read and wrote.
        tokens: TokenCounts,
        /// The cost of the tokens.
        cost_micro_usd: MicroUsd,
    }
}
telemetry! {
    /// `telemetry.tool`: a tool ran.
    TelemetryTool, "telemetry.tool" {
        /// The tool.
        tool: Name,
        /// The call's id.
        call: Name,
    }
}

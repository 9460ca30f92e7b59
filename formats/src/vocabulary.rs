//! The types of events that governance reads and writes, and what their data must hold.
//!
//! Each is a struct that is read from an event's `data`: members it does not know are kept with the event and ignored here;
//! an enum's unknown or missing value is refused, never defaulted. The JSON Schemas that are published are made from the same
//! structs.

mod amounts;
mod approval;
mod breaker;
mod decision;
mod dimension;
mod list;
mod number;
mod policy;
mod rate;
mod risk;
mod rule;
mod score;
mod text;
mod tool;
mod trust;
mod trust_rules;
mod verdict;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use amounts::{AmountError, Count, MicroUsd, Milliseconds, Tokens};
pub use approval::{
    ApprovalConsumed, ApprovalRequested, ApprovalResolved, GrantGiven, GrantRevoked, GrantScope, Note,
    Resolution,
};
pub use breaker::{
    BreakerClosed, BreakerConfigured, BreakerHalfOpened, BreakerOpened, BreakerSettings,
    MAX_BREAKER_REASON_BYTES, MAX_BREAKER_WINDOW, MAX_COOLDOWN_S, MAX_RECOVERY_PROBES,
};
pub use decision::{
    BreakerCondition, DecisionInputs, DecisionMade, LadderStep, Obligations, ReasonCode, ReasonText, Step,
};
pub use dimension::{Dimension, DimensionError, DimensionPart, MAX_DIMENSION_PART_BYTES};
pub use list::{BoundedList, ListError};
pub use number::{BoundedNumber, NumberError};
pub use policy::{
    ModeConfigured, ModeScope, PolicyActivated, PolicyDocument, PolicyPublished, PolicyRetired,
};
pub use rate::{MAX_RATE_CALLS, MAX_RATE_PERIOD_MS, RateBy, RateConfigured, RateLimit, RateScope};
pub use risk::Risk;
pub use rule::{
    ArgumentCondition, Glob, MAX_EQUAL_TEXT_BYTES, MAX_GLOB_BYTES, MAX_RULE_ALTERNATIVES, MAX_RULE_ARGUMENTS,
    MAX_RULES, OneOrMany, PointerText, Rule, RuleMatch, Scalar, TimeOfDay, TimeOfDayError, TimeWindow,
    TrustUse, Weekday,
};
pub use score::{Score, ScoreError};
pub use text::{BoundedText, Name, TextError};
pub use tool::{
    Arguments, ArtifactText, BlastRadius, BlockedStatus, CompletedStatus, ContentDigest, ContextFrom,
    DescriptionText, DestinationKind, DestinationRule, ExitCode, FailedStatus, Idempotency,
    MAX_ALLOWED_ROLES, MAX_ARTIFACTS, MAX_BINDING_FIELDS, MAX_DESTINATION_GLOBS, MAX_DESTINATIONS,
    MAX_RETRIES, MAX_SCHEMA_BYTES, MAX_SUMMARY_BYTES, Normaliser, Retry, SchemaError, SchemaText, Sha256Text,
    SummaryText, TokenCounts, ToolBlocked, ToolChanged, ToolCompleted, ToolDocument, ToolFailed,
    ToolRegistered, ToolRequested, ToolRevoked,
};
pub use trust::{Assurance, MAX_TRUST_REASON_BYTES, TrustCounts, TrustObserved, TrustOutcome, TrustSet};
pub use trust_rules::{FailuresCounted, MAX_HALF_LIFE_S, MAX_RULE_COUNT, TrustRules};
pub use verdict::{Mode, Verdict};

/// The data of one type of event.
pub trait EventData: Serialize + DeserializeOwned + schemars::JsonSchema {
    /// The event's `type`.
    const KIND: &'static str;
    /// Counts up when what is required of the data changes. Older versions stay readable.
    const VERSION: u32;
}

//! The shapes of answers, for clients to read and for the OpenAPI document.
//!
//! The service itself writes them by hand; tests read what it writes back into these.

mod acts;
mod annotations;
mod approvals;
mod breakers;
mod budgets;
mod calls;
mod checkpoints;
mod clock;
mod contract_history;
mod contracts;
mod costs;
mod decisions;
mod gaps;
mod grants;
mod imports;
mod ingests;
mod modes;
mod outcomes;
mod policies;
mod policy_cache;
mod rates;
mod resolutions;
mod runs;
mod sessions;
mod starter;
mod state;
mod stops;
mod suggestions;
mod tool_usage;
mod tools;
mod trust;
mod trust_history;
mod trust_months;
mod what_if;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

pub use acts::{ActAnswer, NoteRequest};
pub use annotations::{AnnotationAnswer, AnnotationList, AnnotationRequest, TagAnswer};
pub use approvals::{ApprovalAnswer, ApprovalList, ConsumedAnswer, ResolutionAnswer, ResolutionRequest};
pub use breakers::{
    BreakerAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest, BreakerStateAnswer,
};
pub use budgets::{BudgetAnswer, BudgetList, BudgetRequest, BudgetScopeAnswer, BudgetSetAnswer, SpendAnswer};
pub use calls::{
    CallAnswer, CallApprovalAnswer, CallArtifactAnswer, CallDecisionAnswer, CallList, CallOutcomeAnswer,
    OutsideAnswer,
};
pub use checkpoints::{
    CheckpointActAnswer, CheckpointAnswer, CheckpointCopyRequest, CheckpointForkRequest, CheckpointList,
    CheckpointSaveRequest, CheckpointTaskRequest, CheckpointWriteAnswer, CheckpointWriteRequest,
    CheckpointWritesRequest, ContentStoredAnswer, ContentValue, SavedCheckpoint,
};
pub use clock::{ClockAnswer, ClockJumpAnswer};
pub use contract_history::{
    ContractCheckAnswer, ContractCheckList, ContractDefinitionAnswer, ContractShown, RollbackAnswered,
    RollbackExecution, RollbackList, RollbackWord,
};
pub use contracts::{ContractAnswer, ContractList};
pub use costs::{CostAnswer, CostList, SpendingAnswer, TokensAnswer};
pub use decisions::{
    ApprovalReference, DecideBatchAnswer, DecideBatchRequest, DecideRequest, DecisionAnswer,
    ObligationsAnswer, RetryAnswer,
};
pub use gaps::{GapAnswer, GapList};
pub use grants::{GrantAnswer, GrantGivenAnswer, GrantList, GrantRequest, GrantScopeAnswer};
pub use imports::{
    ImportAnswer, ImportCountsAnswer, ImportList, ImportListed, ImportedAnswer, StandingsAnswer,
};
pub use ingests::{IngestAcknowledgement, IngestEnd, IngestLine};
pub use modes::{ModeAnswer, ModeRequest, ModeScopeAnswer, ScopedMode};
pub use outcomes::{
    ContentRequest, ObservedAnswer, OutcomeAnswer, OutcomeRequest, TokensRequest, TransitionAnswer,
};
pub use policies::{
    PolicyAnswer, PolicyDiffAnswer, PolicyDifferences, PolicyDocumentAnswer, PolicyPublishedAnswer,
    PolicyRequest, PolicyVersionAnswer, VersionAnswer,
};
pub use policy_cache::{ExecutorAnswer, PolicyCacheAnswer};
pub use rates::{RateBucketAnswer, RateLimitAnswer, RateList, RateRequest, RateScopeAnswer};
pub use resolutions::{AnsweredAnswer, AnsweredList, AnswererAnswer, AnswererList};
pub use runs::{RunAnswer, RunList, RunStepAnswer, RunStepList, StepContentAnswer};
pub use sessions::{
    SessionAnswer, SessionApprovalsAnswer, SessionCallsAnswer, SessionEndAnswer, SessionList,
    SessionRunAnswer, SessionShown, SessionTotalsAnswer,
};
pub use starter::{StarterAnswer, StarterToolAnswer, StarterToolUpgrade, StarterUpgradeAnswer};
pub use state::StateAnswer;
pub use stops::{StopRequest, StopsAnswer, SuspendedAgent};
pub use suggestions::{
    SuggestionAccepted, SuggestionAnswer, SuggestionAnswerRequest, SuggestionAnswered, SuggestionList,
    SuggestionsMade,
};
pub use tool_usage::{ToolCountsAnswer, ToolUsageAnswer, ToolUsageList};
pub use tools::{ToolAnswer, ToolList, UnregisteredToolAnswer, UnregisteredToolList};
pub use trust::{
    DimensionAnswer, TrustAnswer, TrustCountsRequest, TrustDimension, TrustList, TrustProbeRequest,
    TrustRecordAnswer, TrustRecordOrSum, TrustSetRequest, TrustSumAnswer,
};
pub use trust_history::{OutcomeRecord, TrustHistory};
pub use trust_months::{TrustMonthAnswer, TrustMonthList};
pub use what_if::{ChangedCall, ChangedVerdict, StepsAnswer, WhatIfAnswer};

/// The answer to an append.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct AppendAnswer {
    /// The lowest position among the request's own events.
    #[schema(example = "17")]
    pub first: String,
    /// The highest position among the request's own events.
    #[schema(example = "18")]
    pub last: String,
    /// One for each event, in the request's order.
    pub results: Vec<AppendReceipt>,
    /// The events that the reactor added in the same atomic step.
    pub derived: Vec<DerivedReceipt>,
    /// A durable head that covers all of it.
    pub head: HeadReference,
}

/// The receipt of one event of an append.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Receipt)]
pub struct AppendReceipt {
    /// The event's `id`.
    pub id: String,
    /// Its position in the ledger.
    #[schema(example = "17")]
    pub position: String,
    /// Its version in its stream.
    #[schema(example = "3")]
    pub stream_version: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
    /// The effect of this append on the event.
    pub status: ReceiptState,
}

/// The effect of an append on one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptState {
    /// It did.
    Created,
    /// An earlier append had added it; the receipt is the original one.
    Duplicate,
}

/// The receipt of an event that the reactor added.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DerivedReceipt {
    /// Its `id`.
    pub id: String,
    /// Its `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its stream (`subject`).
    pub stream: String,
    /// Its position in the ledger.
    pub position: String,
    /// Its version in its stream.
    pub stream_version: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
}

/// The durable head that an answer rests on.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct HeadReference {
    /// The last durable position.
    #[schema(example = "18")]
    pub position: String,
    /// The chain hash up to it, hexadecimal.
    pub hash: String,
}

/// The durable head of a ledger, with the hashes that commit to all of it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadAnswer {
    /// The last durable position, and the size of the tree.
    #[schema(example = "18")]
    pub position: String,
    /// The chain hash up to it, hexadecimal.
    pub hash: String,
    /// The time of the last frame.
    #[schema(example = "2026-11-20T13:00:00.000000Z")]
    pub time: String,
    /// The RFC 6962 root over all events, hexadecimal.
    pub tree_root: String,
}

/// A page of stored events. As NDJSON: each of `events` on a line, then `{"end":{"count":…,"next":…,"head":…}}`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Page)]
pub struct StoredEventPage {
    /// In the order asked for.
    pub events: Vec<StoredEvent>,
    /// The start of the next page: the value of `after`, or of `until` when reading backward. Absent at the end.
    #[schema(example = "100")]
    pub next: Option<String>,
    /// The durable head the page rests on.
    pub head: HeadReference,
}

/// An event as the ledger keeps it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvent {
    /// Its position in the ledger.
    #[schema(example = "17")]
    pub position: String,
    /// Its version in its stream.
    #[schema(example = "3")]
    pub stream_version: String,
    /// The time at which the ledger recorded it.
    #[schema(example = "2026-11-20T13:00:00.000000Z")]
    pub recorded_at: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
    /// `true` if the reactor added it. Absent means `false`.
    #[serde(default)]
    pub derived: bool,
    /// `true` if its contents were erased with its data subject. Absent means `false`.
    #[serde(default)]
    pub erased: bool,
    /// `true` if its contents cannot be opened because the file of its data subject's key is damaged. Absent means `false`.
    #[serde(default)]
    pub unreadable: bool,
    /// Secrets that were replaced in it before it was appended. Absent means none.
    #[serde(default)]
    pub redactions: u32,
    /// The CloudEvent; its `data` is as the client wrote it, byte for byte.
    #[schema(value_type = Object)]
    pub event: Box<RawValue>,
}

/// The last line of an NDJSON answer; an answer without it was cut.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct EndLine {
    /// The sums of the lines before it.
    pub end: End,
}

/// The end of an NDJSON answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct End {
    /// Events in the answer.
    pub count: u64,
    /// The start of the next answer, if the limit ended this one.
    pub next: Option<String>,
    /// The durable head the answer rests on.
    pub head: HeadReference,
}

/// The ledgers of a service, by name.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct LedgerList {
    /// Sorted by name.
    pub ledgers: Vec<LedgerAnswer>,
    /// The value of `after` for the next page. Absent at the end.
    pub next: Option<String>,
}

/// That an event is in the tree of the first `size` events.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InclusionAnswer {
    /// The event's position; its leaf is the one before, counted from 0.
    #[schema(example = "17")]
    pub position: String,
    /// The size of the tree.
    #[schema(example = "918275")]
    pub size: String,
    /// The 48 bytes that the leaf is made from, hexadecimal: position, frame time, commitment.
    pub entry: String,
    /// SHA-256 of 0x00 and the entry, hexadecimal.
    pub leaf_hash: String,
    /// The root of that tree, hexadecimal.
    pub root: String,
    /// The proof, hexadecimal, the lowest first.
    pub hashes: Vec<String>,
}

/// That the tree of the first `to` events begins with that of the first `from`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsistencyAnswer {
    /// The size of the earlier tree.
    #[schema(example = "17")]
    pub from: String,
    /// The size of the later tree.
    #[schema(example = "918275")]
    pub to: String,
    /// The root of the earlier tree, hexadecimal.
    pub old_root: String,
    /// The root of the later tree, hexadecimal.
    pub new_root: String,
    /// The proof, hexadecimal.
    pub hashes: Vec<String>,
}

/// The vocabulary of events.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SchemaList {
    /// Sorted by type.
    pub schemas: Vec<SchemaAnswer>,
}

/// A type of event that has a meaning here.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchemaAnswer {
    /// The type.
    #[serde(rename = "type")]
    #[schema(example = "tool.completed")]
    pub kind: String,
    /// Counts up when what is required of the data changes.
    #[schema(example = 1)]
    pub version: u32,
    /// `anyone` who may append, `operators` and admins, `admins` alone, the `reactor` or the `service`.
    #[schema(example = "anyone")]
    pub written_by: String,
    /// The meaning of such an event.
    pub description: String,
    /// The `$id` of its schema, which `/v1/schemas/<type>` answers.
    #[schema(example = "urn:bitacora:schema:tool.completed:1")]
    pub schema: String,
}

/// The projections of a service, by ledger.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ProjectionList {
    /// Sorted by ledger and name.
    pub projections: Vec<ProjectionAnswer>,
    /// The value of `after` for the next page. Absent at the end.
    pub next: Option<String>,
}

/// A read model that is folded again.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct RebuildAnswer {
    /// Its name.
    #[schema(example = "calls")]
    pub projection: String,
}

/// The progress of one projection. Events that it has not folded yet are read from the log, so a lag costs time only.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionAnswer {
    /// The ledger it is made from.
    #[schema(example = "main")]
    pub ledger: String,
    /// Its name.
    #[schema(example = "index")]
    pub name: String,
    /// The version of its rules and its layout.
    #[schema(example = 1)]
    pub version: u32,
    /// `ok`, `rebuilding`, `degraded` or `stopped`.
    #[schema(example = "ok")]
    pub state: String,
    /// The fault, where it is degraded.
    pub why: Option<String>,
    /// The last position up to which it knows every event; `0` before the first.
    #[schema(example = "918275")]
    pub position: String,
    /// Durable events past that position.
    #[schema(example = 0)]
    pub lag: u64,
    /// The number of rows of a read model, as of the digest's position.
    pub rows: Option<u64>,
    /// The digest, hexadecimal: the same events give the same, however often it was made again. Absent at the beginning.
    pub digest: Option<String>,
    /// The last position that the digest covers.
    pub digest_position: Option<String>,
}

/// The state of one ledger.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerAnswer {
    /// Its name.
    #[schema(example = "main")]
    pub name: String,
    /// `ready`, `read-only`, `stopped`, `closing`, `closed`, `failed` where it did not open, or `waiting` where its anchor has to answer first.
    #[schema(example = "ready")]
    pub state: String,
    /// The reason for which it takes no appends, where it takes none.
    pub why: Option<String>,
    /// Its identity, hexadecimal; absent where it did not open, like all that follows.
    pub id: Option<String>,
    /// Its durable head.
    pub head: Option<HeadReference>,
    /// The key that its signed tree heads are verified with, as c2sp.org/signed-note writes it.
    pub verifier_key: Option<String>,
    /// Segment files that hold events.
    pub segments: Option<u64>,
    /// Requests waiting to be sequenced.
    pub queue_requests: Option<u64>,
    /// Bytes waiting to be sequenced.
    pub queue_bytes: Option<u64>,
}

/// An error: RFC 9457, `application/problem+json`. Some carry more members, such as `position`, `actual` or `tip`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemAnswer {
    /// `urn:bitacora:problem:` and the code.
    pub r#type: String,
    /// The same for every occurrence of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The cause in this case.
    pub detail: String,
    /// A stable name for programs.
    #[schema(example = "condition-failed")]
    pub code: String,
    /// `true` if the same request may succeed later.
    pub retryable: bool,
    /// The effect that the request may have had: `none`, `unknown` or `committed`.
    #[schema(example = "none")]
    pub side_effects: String,
    /// The position of the event that refuses the request, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The single faults, by their place.
    #[serde(default)]
    pub errors: Vec<FaultAnswer>,
}

/// One fault and its place.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FaultAnswer {
    /// The fault.
    pub detail: String,
    /// The value in the body, as a JSON pointer; in NDJSON within its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The line of the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The query or path parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
}

/// The body that makes a ledger.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LedgerCreation {
    /// 1 to 64 characters of `a-z`, `0-9` and `-`, beginning with a letter or digit.
    #[schema(example = "main")]
    pub name: String,
}

/// The body that ends a ledger's live segment.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SealRequest {
    /// The ledger's name.
    #[schema(example = "main")]
    pub ledger: String,
}

/// The body that stops a ledger from taking appends, or lets it take them again.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadOnlyRequest {
    /// The ledger's name.
    #[schema(example = "main")]
    pub ledger: String,
    /// `true` if it refuses appends from now on.
    pub read_only: bool,
}

//! The types of events that governance reads and writes, and the rules for their data.
//!
//! Each type is a struct that is read from an event's `data`. Unknown members are kept with the event and ignored
//! here, but refused at the append of a type that governs. An enum's unknown or missing value is refused, never
//! defaulted. The published JSON Schemas are made from the same structs.

mod amounts;
mod annotation;
mod approval;
mod breaker;
mod budget;
mod call_bounds;
mod call_times;
mod catalogue;
mod checkpoint;
mod checkpoint_blob;
mod clock;
mod contract;
mod custody;
mod decision;
mod dimension;
mod export;
mod file_guard;
mod import;
mod json_object;
mod list;
mod local_time;
mod map;
mod model;
mod number;
mod policy;
mod policy_settings;
mod position;
mod principal;
mod rate;
mod retention;
mod risk;
mod rule;
mod run;
mod schema;
mod score;
mod service;
mod session;
mod stop;
mod suggestion;
mod telemetry;
mod text;
mod tool;
mod trust;
mod trust_record;
mod trust_rules;
mod verdict;
mod warm;
mod watch;
mod workspaces;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use amounts::{AmountError, Count, MicroUsd, Milliseconds, Tokens};
pub use annotation::{AnnotationAdded, AnnotationTarget, MAX_ANNOTATION_TAGS};
pub use approval::{
    ApprovalAbout, ApprovalConsumed, ApprovalRequested, ApprovalResolved, GrantGiven, GrantRevoked,
    GrantScope, MAX_APPROVAL_DESTINATIONS, MAX_APPROVAL_REASONS, MAX_COMMAND_PARTS,
    MAX_EDITED_ARGUMENTS_BYTES, Note, Resolution,
};
pub use breaker::{
    BreakerClosed, BreakerConfigured, BreakerHalfOpened, BreakerOpened, BreakerSettings,
    MAX_BREAKER_REASON_BYTES, MAX_BREAKER_WINDOW, MAX_COOLDOWN_S, MAX_RECOVERY_PROBES,
};
pub use budget::{
    BudgetCharged, BudgetConfigured, BudgetCount, BudgetExceeded, BudgetPeriod, BudgetScope, Charge,
    OnExceed, SpendLimits,
};
pub use call_bounds::{
    CallBounds, MAX_CYCLE_CALLS, MAX_CYCLE_REPEATS, MAX_DELEGATION_DEPTH, MAX_IDENTICAL_CALLS,
    MAX_POLL_CALLS, MAX_POLL_GLOBS, MAX_STEPS_OF_RUN,
};
pub use call_times::{
    ApprovalEnd, ApprovalSeconds, MAX_ALONE_S, MAX_APPROVAL_S, MAX_BLOCKED_S, MAX_CALL_S, MAX_RUN_S,
    MAX_START_S, PolicyTimes, StartSeconds, ToolTimes,
};
pub use catalogue::{
    CHECKPOINT_BLOB, CHECKPOINT_SOURCE, EVENT_TYPES, EventDataError, EventType, EventWriter, FREE_PREFIX,
    SERVICE_FAMILIES, SERVICE_PREFIX, SchemaMatch, check_data, check_members, event_type, is_binary_kind,
    is_service_kind,
};
pub use checkpoint::{
    CheckpointCopied, CheckpointDeleted, CheckpointSaved, CheckpointSource, CheckpointStep,
    CheckpointTaskWrites, CheckpointWrites, MAX_CHECKPOINT_BLOBS, MAX_CHECKPOINT_CHANNELS,
    MAX_CHECKPOINT_TASKS, MAX_NAMESPACE_BYTES, Namespace, StepError,
};
pub use checkpoint_blob::{
    ChannelVersion, CheckpointBlob, InlineContent, InlineError, MAX_BLOB_PIECES, MAX_INLINE_BYTES,
    WriteIndex, WriteIndexError,
};
pub use clock::{ClockAccepted, ClockCorrected, ClockOffset, ClockTime, JumpDirection, LedgerClockJumped};
pub use contract::{
    CheckResult, ContractChecked, ContractDefined, ContractPart, ContractPhase, MAX_CONTRACT_PARTS,
    RollbackExecuted, RollbackStatus,
};
pub use custody::{
    ArchiveSealed, HoldPlaced, HoldReleased, HoldScope, KeyPurpose, KeyRotated, RetentionApplied,
    SubjectErased, SubjectKeyId,
};
pub use decision::{
    BreakerCondition, DecisionInputs, DecisionMade, FactsError, FactsText, LadderStep, MAX_FACTS_BYTES,
    Obligations, OutcomeRules, ReasonCode, ReasonText, Step,
};
pub use dimension::{Dimension, DimensionError, DimensionPart, MAX_DIMENSION_PART_BYTES};
pub use export::{EXPORT_SOURCE, ExportFormat, ExportMade, MAX_EXPORT_SELECTION_BYTES};
pub use file_guard::{FileAccess, FileGlobs, FileGuard, MAX_GUARDED_GLOBS};
pub use import::{
    ImportAccepted, ImportBatch, ImportCounts, ImportSource, MAX_IMPORT_SOURCES, MAX_IMPORT_TYPES,
    MAX_MAPPING_BYTES,
};
pub use json_object::{JsonObject, MAX_OBJECT_MEMBERS};
pub use list::{BoundedList, ListError};
pub use local_time::{
    LocalMinute, LocalMinuteError, LocalTime, LocalTimes, MAX_LOCAL_TIMES, MAX_ZONE_BYTES, ZoneName,
};
pub use map::{BoundedMap, MapOverflow};
pub use model::{ModelCalled, ModelStatus};
pub use number::{BoundedNumber, NumberError};
pub use policy::{
    KeyLife, MAX_KEY_LIFE_S, MIN_KEY_LIFE_S, ModeConfigured, ModeScope, PolicyActivated, PolicyDocument,
    PolicyPublished, PolicyRetired,
};
pub use policy_settings::{ExitCodeGlobs, MAX_EXIT_CODE_GLOBS, PolicySettings, UnregisteredTools};
pub use position::EventPosition;
pub use principal::{PrincipalCreated, PrincipalExpired, PrincipalRevoked, Role};
pub use rate::{
    DayLimit, MAX_DAY_CALLS, MAX_RATE_CALLS, MAX_RATE_PERIOD_MS, MAX_ROLLING_CALLS, MAX_ROLLING_S,
    MAX_ROLLING_WINDOWS, RateBy, RateConfigured, RateLimit, RateScope, RollingRate, RollingWindow,
};
pub use retention::{
    MAX_KEEP_DAYS, MAX_RETENTION_GLOBS, MAX_RETENTION_RULES, RETENTION_MINIMUM_DAYS, RetentionChanged,
    RetentionExpired, RetentionGlobs, RetentionRule, RetentionRules,
};
pub use risk::Risk;
pub use rule::{
    ArgumentCondition, Glob, MAX_EQUAL_TEXT_BYTES, MAX_GLOB_BYTES, MAX_RULE_ALTERNATIVES, MAX_RULE_ARGUMENTS,
    MAX_RULES, OneOrMany, PointerText, Rule, RuleMatch, Scalar, TimeOfDay, TimeOfDayError, TimeWindow,
    TrustUse, Weekday,
};
pub use run::{
    RunAborted, RunBudget, RunCompleted, RunFailed, RunOutcome, RunOverdue, RunPaused, RunResumed,
    RunStarted, RunStep, StepStatus,
};
pub use schema::SchemaRegistered;
pub use score::{Score, ScoreError};
pub use service::{
    LedgerCreated, LedgerFramesPutBack, LedgerHeaded, LedgerLimits, LedgerOpened, LedgerReadOnly,
    LedgerRecovered, LedgerTailCut, LedgerWritable, LostHead, RetainedHead,
};
pub use session::{
    PromptDigest, PromptSource, SessionEnded, SessionStarted, SessionTotals, TurnEnded, TurnStarted,
};
pub use stop::{AgentResumed, AgentSuspended, PanicEngaged, PanicReleased};
pub use suggestion::{
    MAX_SUGGESTION_EVIDENCE, SuggestionAccepted, SuggestionKind, SuggestionMade, SuggestionRejected,
    suggestion_id,
};
pub use telemetry::{
    ReportedTime, SelfReported, TELEMETRY_PREFIX, TelemetryAgent, TelemetryAttributes, TelemetryDecision,
    TelemetryEvent, TelemetryModel, TelemetryName, TelemetrySignal, TelemetryStatus, TelemetryTool,
};
pub use text::{
    AgentName, BoundedRef, BoundedText, FreeText, Name, NameRef, PathText, StreamName, TEXT_PATTERN,
    TextError,
};
pub use tool::{
    Artifact, ArtifactText, BlastRadius, BlockedStatus, CallArguments, CompletedStatus, ContentDigest,
    ContextFrom, DefinitionText, DescribedArtifact, DescriptionText, DestinationKind, DestinationRule,
    ExitCode, FailedStatus, Idempotency, MAX_ALLOWED_ROLES, MAX_ARTIFACTS, MAX_BINDING_FIELDS,
    MAX_DEFINITION_BYTES, MAX_DESTINATION_GLOBS, MAX_DESTINATIONS, MAX_RETRIES, MAX_SCHEMA_BYTES,
    MAX_SUMMARY_BYTES, Normaliser, Retry, SUMMARY_BYTES, SchemaError, SchemaText, Sha256Text, SummaryText,
    TokenCounts, ToolBlocked, ToolChanged, ToolCompleted, ToolDescribed, ToolDocument, ToolDrifted,
    ToolFailed, ToolRegistered, ToolRequested, ToolRevoked,
};
pub use trust::{
    Assurance, MAX_TRUST_REASON_BYTES, TrustCounts, TrustObserved, TrustOutcome, TrustProbed, TrustSet,
};
pub use trust_record::{DIMENSION_LIFE, RECENT_OUTCOMES, RecentOutcomes, TrustRecord, base_score};
pub use trust_rules::{FailuresCounted, MAX_HALF_LIFE_S, MAX_RULE_COUNT, TrustRules};
pub use verdict::{Mode, Verdict};
pub use warm::{MIN_WARM_DAYS, WarmCut, WarmDays};
pub use watch::{CoverageGap, LoopDetected, LoopKind, MissingHalf};
pub use workspaces::{MAX_WORKSPACE_ROOTS, MAX_WORKTREE_FOLDER_BYTES, MAX_WORKTREE_FOLDERS, Workspaces};

/// The data of one type of event.
pub trait EventData: Serialize + DeserializeOwned + schemars::JsonSchema {
    /// The event's `type`.
    const KIND: &'static str;
    /// The version of the data; it counts up when its requirements change. Older versions stay readable.
    const VERSION: u32;
}

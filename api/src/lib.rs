//! The wire of the HTTP interface: the shapes of its requests and answers, its paths, and the codes of its problems.
//!
//! The service writes its answers from these types and a client reads them back; the OpenAPI document is made from them.

mod acts;
mod annotations;
mod appends;
mod approvals;
mod archives;
mod asked_url;
mod breakers;
mod budgets;
mod bulk_exports;
mod callers;
mod calls;
mod checkpoints;
mod clock;
mod contract_history;
mod contracts;
mod costs;
mod decision_minutes;
mod decisions;
mod erasures;
mod events;
mod gaps;
mod grants;
mod heads;
mod holds;
mod imports;
mod ingests;
mod keys;
mod ledgers;
mod modes;
mod outcomes;
pub mod paths;
mod policies;
mod policy_cache;
mod principals;
mod problem_codes;
mod problems;
mod projections;
mod proofs;
mod rates;
mod resolutions;
mod retention;
mod runs;
mod schemas;
mod sessions;
mod starter;
mod state;
mod stops;
mod suggestions;
mod tiers;
mod tool_usage;
mod tools;
mod trust;
mod trust_history;
mod trust_months;
mod verifications;
mod what_if;

pub use bitacora_vocabulary::{BlastRadius, Risk};

pub use acts::{ActAnswer, NoteRequest};
pub use annotations::{AnnotationAnswer, AnnotationList, AnnotationRequest, TagAnswer};
pub use appends::{AppendAnswer, AppendReceipt, DerivedReceipt, ReceiptState};
pub use approvals::{
    ApprovalAnswer, ApprovalList, ConsumedAnswer, PENDING, ResolutionAnswer, ResolutionRequest,
};
pub use archives::{ArchiveAnswer, ArchiveList};
pub use asked_url::AskedUrl;
pub use breakers::{
    BreakerAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest, BreakerStateAnswer,
};
pub use budgets::{BudgetAnswer, BudgetList, BudgetRequest, BudgetScopeAnswer, BudgetSetAnswer, SpendAnswer};
pub use bulk_exports::ExportRequest;
pub use callers::{CallerAnswer, SignInLink};
pub use calls::{
    CallAnswer, CallApprovalAnswer, CallArtifactAnswer, CallDecisionAnswer, CallEndsAnswer, CallList,
    CallOutcomeAnswer, OutsideAnswer,
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
pub use decision_minutes::{DecisionMinuteAnswer, DecisionMinuteList};
pub use decisions::{
    ApprovalReference, DecideBatchAnswer, DecideBatchRequest, DecideRequest, DecisionAnswer,
    LadderStepAnswer, ObligationsAnswer, RetryAnswer,
};
pub use erasures::{ErasureAnswer, ErasureMemoryAnswer, ErasureRequest};
pub use events::{End, EndLine, StoredEvent, StoredEventPage};
pub use gaps::{GapAnswer, GapList};
pub use grants::{GrantAnswer, GrantGivenAnswer, GrantList, GrantRequest, GrantScopeAnswer};
pub use heads::{HeadAnswer, HeadReference};
pub use holds::{HoldAnswer, HoldList, HoldPlacedAnswer, HoldReleaseRequest, HoldRequest, HoldScopeAnswer};
pub use imports::{
    ImportAcceptedAnswer, ImportAnswer, ImportCountsAnswer, ImportList, ImportListed, ImportedAnswer,
    StandingsAnswer,
};
pub use ingests::{IngestAcknowledgement, IngestEnd, IngestLine};
pub use keys::{KeysAnswer, SigningKeyAnswer};
pub use ledgers::{LedgerAnswer, LedgerCreation, LedgerList, ReadOnlyRequest, SealRequest};
pub use modes::{ModeAnswer, ModeRequest, ModeScopeAnswer, ScopedMode};
pub use outcomes::{
    ContentRequest, ObservedAnswer, OutcomeAnswer, OutcomeRequest, TokensRequest, TransitionAnswer,
};
pub use policies::{
    PolicyAnswer, PolicyDiffAnswer, PolicyDifferences, PolicyDocumentAnswer, PolicyPublishedAnswer,
    PolicyRequest, PolicyVersionAnswer, VersionAnswer,
};
pub use policy_cache::{ExecutorAnswer, PolicyCacheAnswer};
pub use principals::{PrincipalAnswer, PrincipalList};
pub use problem_codes::{ProblemCode, ProblemFacts, SideEffects};
pub use problems::{FaultAnswer, ProblemAnswer};
pub use projections::{ProjectionAnswer, ProjectionList, RebuildAnswer};
pub use proofs::{ConsistencyAnswer, InclusionAnswer};
pub use rates::{
    RateBucketAnswer, RateLimitAnswer, RateList, RateRequest, RateScopeAnswer, RollingRateAnswer,
};
pub use resolutions::{AnsweredAnswer, AnsweredList, AnswererAnswer, AnswererList};
pub use retention::{RetentionAnswer, RetentionRequest, RetentionRuleAnswer};
pub use runs::{RunAnswer, RunList, RunStepAnswer, RunStepList, StepContentAnswer};
pub use schemas::{SchemaAnswer, SchemaList};
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
pub use tiers::{
    ArchiveTierAnswer, ArchivedRange, DiskTier, IndexTier, ModelTier, SegmentTier, StateTier, TiersAnswer,
};
pub use tool_usage::{ToolCountsAnswer, ToolUsageAnswer, ToolUsageList};
pub use tools::{SeenToolRegistration, ToolAnswer, ToolList, UnregisteredToolAnswer, UnregisteredToolList};
pub use trust::{
    DimensionAnswer, TrustAnswer, TrustCountsRequest, TrustDimension, TrustList, TrustProbeRequest,
    TrustRecordAnswer, TrustRecordOrSum, TrustSetRequest, TrustSumAnswer,
};
pub use trust_history::{OutcomeRecord, TrustHistory};
pub use trust_months::{TrustMonthAnswer, TrustMonthList};
pub use verifications::{VerificationAnswer, VerificationList, VerificationResult};
pub use what_if::{ChangedCall, ChangedGroup, ChangedVerdict, StepsAnswer, WhatIfAnswer};

//! The rules for agents: a pure function from recorded events to decisions.
//!
//! This crate may not know files, clocks, threads, randomness, networks, or the ledger itself. Time is the time of a frame and
//! comes with each event; numbers are integers. The same events in the same order give the same state, byte for byte, on any
//! machine and in any year.

#![deny(clippy::float_arithmetic)]

mod authority;
mod budgets;
mod calls;
mod clock;
mod command;
mod decide;
mod derivation;
mod glob;
mod governance;
pub mod limits;
mod loop_guard;
mod policy;
mod queries;
mod rate;
mod reactor;
mod refusal;
mod replay;
mod replica;
mod retention;
mod starters;
mod state;
mod tools;
mod trust;
mod undo;
mod version;

pub use authority::{AuthorityError, Identity, ON_BEHALF_OF, may_write, suffices};
pub use bitacora_vocabulary::{Dimension, DimensionPart, Score, TrustRules, Verdict};
pub use budgets::spend::{BudgetQuestion, Spend};
pub use budgets::{BudgetError, BudgetStanding, Budgets};
pub use calls::OpenCall;
pub use calls::approval_ids::APPROVAL_ID_BYTES;
pub use calls::approvals::{Approval, ApprovalStatus};
pub use calls::call_request::{CallMembers, take_call};
pub use calls::executor::Executor;
pub use calls::grants::Grants;
pub use calls::outcome::{CallEnding, Outcome};
pub use clock::{ClockJump, ClockTrust};
pub use governance::{Governance, StateCopy};
pub use loop_guard::OverdueRun;
pub use policy::names::folded_loosely;
pub use policy::policies::{Policies, PolicyVersion};
pub use policy::zones::{ZONE_DATA, has_zone};
pub use policy::{
    ArgumentMatches, CallPart, ConditionError, Destinations, DryRun, FileGuardResult, GlobError,
    GuardFinding, MAX_DRY_RUN_EXAMPLES, MAX_MATCH_STEPS, MAX_MATCHED_TEXT_BYTES, MAX_NOTED_RULES,
    MAX_POLICY_ZONES, PointerError, Policy, PolicyDiff, PolicyDigest, PolicyDigestError, PolicyError,
    PolicyQuestion, PolicyWarning, RulePlacement, RuleVerdict, STARTER_POLICY, VerdictChange, WindowError,
    WorktreesError, parse_policy,
};
pub use queries::{DimensionStanding, StateCounts};
pub use rate::{MAX_RATE_BUCKETS, MAX_RATE_LIMITS, RateError, RateLevel, RateQuestion, RateRefusal, Rates};
pub use reactor::derived_event::{DerivedEvent, DerivedValue};
pub use reactor::event_sources::{REACTOR_SOURCE, SCHEDULER_SOURCE};
pub use reactor::examination::{CallFacts, Examination};
pub use reactor::{ObservedEvent, Reactor, ReactorState};
pub use refusal::{ReactorRefusal, RefusalCode};
pub use replay::reevaluation::{Disagreement, MAX_DISAGREEMENTS, Reevaluation, ReevaluationReport};
pub use replay::what_if::{RecordedCall, StepsVerdict, WhatIf};
pub use replica::{
    CutProgress, MAX_PIECE_ENTRIES, PredictedCall, Prediction, PredictionRefusal, REPLICA_FORM, Replica,
    ReplicaBegin, ReplicaNews, StatePatch,
};
pub use retention::expirable_types::may_expire;
pub use retention::holds::{Hold, Holds};
pub use retention::named_run::run_of;
pub use retention::retention_policy::{
    RetainedEvent, RetentionError, RetentionPolicy, RetentionVerdict, StandingRetention,
};
pub use retention::unfinished_acts::{ActEvent, UnfinishedActs};
pub use starters::{Starter, StarterState, StarterTool, StarterToolState};
pub use state::State;
pub use state::contracts::{Contracts, MAX_CONTRACTS};
pub use state::digest::{StateDigest, StateDigests, StatePart, UnwritableState};
pub use state::enforcement_mode::Modes;
pub use state::imports::{Import, ImportedDimension};
pub use state::principals::Principals;
pub use state::state_diff::{StateDifference, StateDifferences};
pub use state::suspensions::Suspensions;
pub use tools::arguments::{
    ArgumentFindings, ArgumentsRefusal, MAX_CALL_DESTINATIONS, NO_CONTEXT, PlaceText, Reach, examine,
    examine_digest, examine_unregistered,
};
pub use tools::blast_radius::{best_verdict, effective_blast_radius};
pub use tools::compiled_schema::{CompileError, MAX_VALIDATION_STEPS, MAX_VIOLATIONS, Violation};
pub use tools::compiled_tool::{CompiledTool, ToolError};
pub use tools::custom_types::{CustomTypes, MAX_CUSTOM_SCHEMA_BYTES, MAX_CUSTOM_TYPES};
pub use tools::registry::{
    MAX_REGISTRY_SCHEMA_BYTES, MAX_TOOLS, RegisteredTool, Registry, RegistryError, STARTER_TOOLS,
    qualified_name,
};
pub use tools::schema_bounds::{
    MAX_PATTERN_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, MAX_SCHEMA_PATTERNS, MAX_SCHEMA_STEPS,
    SchemaBoundsError,
};
pub use tools::tool_sightings::ToolSighting;
pub use trust::breaker::{Breaker, BreakerEvent, Transition, Trial, WindowCounts, bad_outcome};
pub use trust::checks_failed::MAX_CHECKS_FAILED_IN_A_ROW;
pub use trust::decay::Decay;
pub use trust::dimension::{DimensionFilter, TrustSum, WorkspaceFilter};
pub use trust::ranking::{MAX_RANKED, RankedDimension, RankedFrom, TrustRanking};
pub use trust::record::{RECENT_OUTCOMES, RecentOutcomes, TrustRecord};
pub use trust::rules::{Assessment, StandingReason, TrustInputs, TrustStanding, assess, judge};
pub use version::{OLDEST_REACTOR_VERSION, OLDEST_READABLE_STATE, REACTOR_VERSION};

//! The rules for agents: a pure function from recorded events to decisions.
//!
//! This crate may not know files, clocks, threads, randomness, networks, or the ledger itself. Time is the time of a frame and
//! comes with each event; numbers are integers. The same events in the same order give the same state, byte for byte, on any
//! machine and in any year.

#![deny(clippy::float_arithmetic)]

mod apply;
mod approval_ids;
mod approvals;
mod arguments;
mod authority;
mod blast_radius;
mod breaker;
mod budgets;
mod call_request;
mod calls;
mod charging;
mod checks_failed;
mod clock;
mod command;
mod compiled_cache;
mod compiled_schema;
mod compiled_tool;
mod contract_checks;
mod contracts;
mod cow_cell;
mod custom_types;
mod decay;
mod decide;
mod derivation;
mod derived_event;
mod digest;
mod dimension;
mod dimensions_begun;
mod effects;
mod ended_calls;
mod enforcement_mode;
mod event_sources;
mod examination;
mod executor;
mod finding;
mod governance;
mod grants;
mod import_rules;
mod imports;
mod keys;
mod ladder;
pub mod limits;
mod live_sessions;
mod local_time;
mod loop_guard;
mod measured;
mod meter;
mod outcome;
mod per_agent_quota;
mod persistent_map;
mod policies;
mod policy;
mod precheck;
mod principals;
mod queries;
mod rate;
mod reactor;
mod reasons;
mod recorded_decision;
mod recorded_facts;
mod reevaluation;
mod refusal;
mod registry;
mod replica;
mod rollback_request;
mod run_budget;
mod schema_bounds;
mod schema_keywords;
#[cfg(test)]
mod seeded_rng;
mod session_folder;
mod spend;
mod starters;
mod state;
mod state_diff;
mod suspensions;
mod times;
mod tool_sightings;
mod trust;
mod trust_ranking;
mod trust_rules;
mod undo_map;
mod version;
mod what_if;
mod zones;

pub use approval_ids::APPROVAL_ID_BYTES;
pub use approvals::{Approval, ApprovalStatus};
pub use arguments::{
    ArgumentFindings, ArgumentsRefusal, MAX_CALL_DESTINATIONS, NO_CONTEXT, PlaceText, Reach, examine,
    examine_digest, examine_unregistered,
};
pub use authority::{AuthorityError, Identity, ON_BEHALF_OF, may_write, suffices};
pub use bitacora_formats::vocabulary::{Dimension, DimensionPart, Score, TrustRules, Verdict};
pub use blast_radius::{best_verdict, effective_blast_radius};
pub use breaker::{Breaker, BreakerEvent, Transition, Trial, WindowCounts, bad_outcome};
pub use budgets::{BudgetError, BudgetStanding, Budgets};
pub use call_request::{CallMembers, take_call};
pub use calls::OpenCall;
pub use checks_failed::MAX_CHECKS_FAILED_IN_A_ROW;
pub use clock::{ClockJump, ClockTrust};
pub use compiled_schema::{CompileError, MAX_VALIDATION_STEPS, MAX_VIOLATIONS, Violation};
pub use compiled_tool::{CompiledTool, ToolError};
pub use contracts::{Contracts, MAX_CONTRACTS};
pub use custom_types::{CustomTypes, MAX_CUSTOM_SCHEMA_BYTES, MAX_CUSTOM_TYPES};
pub use decay::Decay;
pub use derived_event::{DerivedEvent, DerivedValue};
pub use digest::{StateDigest, StateDigests, StatePart, UnwritableState};
pub use dimension::{DimensionFilter, TrustSum, WorkspaceFilter};
pub use enforcement_mode::Modes;
pub use event_sources::{REACTOR_SOURCE, SCHEDULER_SOURCE};
pub use examination::{CallFacts, Examination};
pub use executor::Executor;
pub use governance::{Governance, StateCopy};
pub use grants::Grants;
pub use imports::{Import, ImportedDimension};
pub use loop_guard::OverdueRun;
pub use outcome::{CallEnding, Outcome};
pub use policies::{Policies, PolicyVersion};
pub use policy::{
    ArgumentMatches, CallPart, ConditionError, Destinations, DryRun, FileGuardResult, GlobError,
    GuardFinding, MAX_DRY_RUN_EXAMPLES, MAX_MATCH_STEPS, MAX_MATCHED_TEXT_BYTES, MAX_NOTED_RULES,
    MAX_POLICY_ZONES, PointerError, Policy, PolicyDiff, PolicyDigest, PolicyDigestError, PolicyError,
    PolicyQuestion, PolicyWarning, RulePlacement, RuleVerdict, STARTER_POLICY, VerdictChange, WindowError,
    WorktreesError, parse_policy,
};
pub use principals::Principals;
pub use queries::{DimensionStanding, StateCounts};
pub use rate::{MAX_RATE_BUCKETS, MAX_RATE_LIMITS, RateError, RateLevel, RateQuestion, RateRefusal, Rates};
pub use reactor::{ObservedEvent, Reactor, ReactorState};
pub use reevaluation::{Disagreement, MAX_DISAGREEMENTS, Reevaluation, ReevaluationReport};
pub use refusal::{ReactorRefusal, RefusalCode};
pub use registry::{
    MAX_REGISTRY_SCHEMA_BYTES, MAX_TOOLS, RegisteredTool, Registry, RegistryError, STARTER_TOOLS,
    qualified_name,
};
pub use replica::{
    CutProgress, MAX_PIECE_ENTRIES, PredictedCall, Prediction, REPLICA_FORM, Replica, ReplicaBegin,
    ReplicaNews, StatePatch, Unpredictable,
};
pub use schema_bounds::{
    MAX_PATTERN_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, MAX_SCHEMA_PATTERNS, MAX_SCHEMA_STEPS,
    SchemaBoundsError,
};
pub use spend::{BudgetQuestion, Spend};
pub use starters::{Starter, StarterState, StarterTool, StarterToolState};
pub use state::State;
pub use state_diff::{StateDifference, StateDifferences};
pub use suspensions::Suspensions;
pub use tool_sightings::ToolSighting;
pub use trust::{RECENT_OUTCOMES, RecentOutcomes, TrustRecord};
pub use trust_ranking::{MAX_RANKED, RankedDimension, RankedFrom, TrustRanking};
pub use trust_rules::{Assessment, StandingReason, TrustInputs, TrustStanding, assess, judge};
pub use version::{OLDEST_REACTOR_VERSION, REACTOR_VERSION};
pub use what_if::{RecordedCall, StepsVerdict, WhatIf};
pub use zones::{ZONE_DATA, has_zone};

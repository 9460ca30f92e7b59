//! The room of derived state, which is folded from the ledger's records, and can be folded anew.
//!
//! An [`IndexedLedger`] is a ledger whose filtered reads look only at events that may match. A follower's thread reads durable events and
//! notes the positions of labels: the newest events in memory, the others in sealed blocks below `projections/` of the ledger's folder.
//! Positions that the index does not know, or is in doubt about, are read from the log itself: it makes answers faster and never other
//! ones.
//!
//! [`ReadModels`] are rows in a store, folded from the log by threads of their own, that answer questions about histories: each model is
//! one file or folder, in which each row stands with its answer, a type of `bitacora-api`. They lag behind the log by a moment and say by
//! how much; doubtful rows are folded again.
//!
//! Forbidden to this crate: HTTP, the archiver beside it, and any way to add to history.

mod block_dir;
mod call_state;
mod calls;
mod checkpoints;
mod contracts;
mod costs;
mod day;
mod durations;
mod follower;
mod gaps;
mod import_times;
mod index;
mod indexed_ledger;
mod learned;
pub mod limits;
mod list_page;
mod models;
mod open_block;
mod options;
mod resolutions;
mod runs;
mod scratch;
mod selection;
mod sessions;
mod spending;
mod status;
mod stored_block;
mod tools;
mod trust;

pub use call_state::CallState;
pub use calls::{
    CALL_OUTCOMES, CALL_VERDICTS, CallApproval, CallArtifact, CallDecision, CallOutcome, CallPage, CallQuery,
    CallSummary, outcome_word,
};
pub use checkpoints::{
    Channel, Checkpoint, CheckpointError, CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointWrite,
    ContentBody, ContentLocation, ContentPiece, FoundCheckpoint, ThreadLoad, Version,
};
pub use contracts::{
    CheckQuery, Contract, ContractCheck, ContractDefinition, Execution, NO_CONTRACT, Rollback,
    RollbackAnswer, RollbackPage, RollbackPart, RollbackQuery, RollbackState,
};
pub use costs::{Cost, CostAnswer, CostQuery, CostsBy};
pub use durations::{Durations, PERCENTILE_ERROR};
pub use gaps::{Gap, GapQuery};
pub use import_times::{HappenedBetween, ImportOrigin, Outside};
pub use indexed_ledger::{IndexedLedger, model_names};
pub use learned::{
    Annotation, AnnotationQuery, BETTER_CALLS, BETTER_FAILURE_SHARE, BLOCK_FAILURES, BLOCK_REJECTIONS,
    CHEAPER_CALLS, CHEAPER_SHARE, Candidate, Candidates, DimensionRecord, ImportedCandidates, ImportedFrom,
    MadeOf, PROMOTE_APPROVALS, PROMOTE_MAX_FAILURES, PROMOTE_SCORE, REVIEW_FAILURE_SHARE,
    REVIEW_OBSERVATIONS, Suggestion, SuggestionAnswer, SuggestionQuery, SuggestionState, Tag,
};
pub use list_page::ListPage;
pub use models::{
    ModelError, ModelState, ModelStatus, ReadModels, RecallBounds, RecallRefusal, RecallSlots, TieredAnswer,
};
pub use options::IndexOptions;
pub use resolutions::{AnsweredApproval, AnsweredApprovalQuery, Answerer, ApprovalQuestion, WAIT_RANGES};
pub use runs::{RunPage, RunQuery, RunState, RunStep, RunSummary, StepContent};
pub use scratch::Scratch;
pub use sessions::{
    RunOfSession, SessionCounts, SessionEnd, SessionFacts, SessionPage, SessionQuery, SessionState,
    SessionTotals, SessionWhole,
};
pub use spending::{SpendingSums, TokenSums};
pub use status::{IndexState, IndexStatus};
pub use tools::{
    DecisionMinute, DecisionMinuteQuery, ToolAnswer, ToolCounts, ToolQuery, ToolSum, ToolUsage, ToolsBy,
};
pub use trust::{BreakerStood, ImportShowed, TrustAt, TrustAtError, TrustMonth};

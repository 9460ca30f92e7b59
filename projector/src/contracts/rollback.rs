//! One rollback: its row, its state, and its answer in the HTTP interface.

use bitacora_api::{PENDING, RollbackAnswered, RollbackExecution, RollbackWord};
use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::{Resolution, RollbackStatus};
use serde::{Deserialize, Serialize};

/// A rollback that was asked for, or made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The position at which it was asked for; if nobody asked, at which it was made.
    pub position: u64,
    /// The time of that, microseconds since 1970.
    pub time: u64,
    /// The approval; `None` where nobody asked.
    pub approval: Option<String>,
    /// The position of the check that did not hold, or of the outcome that told of one.
    pub cause: Option<u64>,
    /// The contract, as far as it is known.
    pub contract: Option<String>,
    /// The call that is to be undone.
    pub call: Option<String>,
    /// Its tool.
    pub tool: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// Its run.
    pub run: Option<String>,
    /// The answer to it.
    pub answer: Option<RollbackAnswer>,
    /// The last attempt to make it.
    pub execution: Option<Execution>,
}

impl Rollback {
    /// Returns the state of the rollback.
    #[must_use]
    pub fn state(&self) -> RollbackState {
        match (&self.execution, &self.answer) {
            (Some(_), _) => RollbackState::Executed,
            (None, None) => RollbackState::Asked,
            (None, Some(answer)) => match answer.resolution {
                Resolution::Approved | Resolution::Edited => RollbackState::Approved,
                Resolution::Rejected => RollbackState::Rejected,
                Resolution::Expired => RollbackState::Expired,
                Resolution::Withdrawn => RollbackState::Withdrawn,
            },
        }
    }
}

impl From<Rollback> for RollbackAnswered {
    fn from(rollback: Rollback) -> Self {
        Self {
            state: rollback.state().answer_word().to_owned(),
            position: rollback.position.to_string(),
            time: format_time(Micros(rollback.time)),
            approval: rollback.approval,
            cause: rollback.cause.map(|cause| cause.to_string()),
            contract: rollback.contract,
            call: rollback.call,
            tool: rollback.tool,
            agent: rollback.agent,
            session: rollback.session,
            run: rollback.run,
            answer: rollback.answer.map(Into::into),
            execution: rollback.execution.map(Into::into),
        }
    }
}

/// An answer to a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackAnswer {
    /// The position of the answer.
    pub position: u64,
    /// The time of the answer, microseconds since 1970.
    pub time: u64,
    /// The resolution.
    pub resolution: Resolution,
    /// The actor that answered.
    pub by: String,
    /// In their words.
    pub note: Option<String>,
}

impl From<RollbackAnswer> for RollbackWord {
    fn from(answer: RollbackAnswer) -> Self {
        Self {
            position: answer.position.to_string(),
            time: format_time(Micros(answer.time)),
            resolution: answer.resolution.as_str().to_owned(),
            by: answer.by,
            note: answer.note,
        }
    }
}

/// A rollback that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// The position of the event.
    pub position: u64,
    /// The time of the event, microseconds since 1970.
    pub time: u64,
    /// The actor that wrote it.
    pub actor: Option<String>,
    /// The node.
    pub node: String,
    /// The status of the rollback.
    pub status: RollbackStatus,
    /// Its steps.
    pub steps: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// The reason, in words.
    pub reason: Option<String>,
    /// The number of attempts, this one included.
    pub tries: u64,
}

impl From<Execution> for RollbackExecution {
    fn from(execution: Execution) -> Self {
        Self {
            position: execution.position.to_string(),
            time: format_time(Micros(execution.time)),
            status: match execution.status {
                RollbackStatus::Ok => "ok",
                RollbackStatus::Partial => "partial",
                RollbackStatus::Error => "error",
            }
            .to_owned(),
            actor: execution.actor,
            node: execution.node,
            steps: execution.steps,
            failed: execution.failed,
            reason: execution.reason,
            tries: execution.tries,
        }
    }
}

/// The state of a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollbackState {
    /// It waits for an answer.
    Asked,
    /// It may be made, and is not.
    Approved,
    /// It is not to be made.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// It was taken back.
    Withdrawn,
    /// It was made, whole or in part, or at least tried.
    Executed,
}

impl RollbackState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Asked, Self::Approved, Self::Rejected, Self::Expired, Self::Withdrawn, Self::Executed];

    /// The state in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Executed => "executed",
        }
    }
    /// The state in the word of the HTTP interface.
    #[must_use]
    pub const fn answer_word(self) -> &'static str {
        match self {
            Self::Asked => PENDING,
            state => state.as_str(),
        }
    }
}

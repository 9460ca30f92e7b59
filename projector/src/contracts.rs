//! Contracts and rollbacks: the checks that had to hold, their results, and the undone calls.
//!
//! Which contracts there are now follows from the state that decides; this is their history.

mod fold;

use std::ops::RangeInclusive;

use bitacora_formats::Position;
use bitacora_vocabulary::{BlastRadius, ContractPhase, Resolution, RollbackStatus, TrustOutcome};
use serde::{Deserialize, Serialize};

use crate::limits::{LOOKED_AT_ROLLBACKS, SHOWN_DEFINITIONS};
use crate::list_page::ListPage;
use crate::models::{Model as _, ModelError, ReadModels};
pub(crate) use fold::ContractsModel;
use fold::{CHECKED_BY, CHECKS, CONTRACT, DEFINITIONS, FAILED_BY, ROLLBACKS};

/// Stands for the contract of checks that name none.
pub const NO_CONTRACT: &str = "-";

/// A contract, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Its name; [`NO_CONTRACT`] for checks that name none.
    pub contract: String,
    /// The version of its newest definition: the number of its definitions. 0 for a contract that only checks name.
    pub version: u64,
    /// Checks that were made by it.
    pub checks: u64,
    /// Those among them that did not hold.
    pub failed: u64,
    /// The first event that names it.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

/// One definition of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractDefinition {
    /// Its number among the contract's definitions, from 1.
    pub version: u64,
    /// The position of the definition.
    pub position: u64,
    /// The time of the definition, microseconds since 1970.
    pub time: u64,
    /// The actor that wrote it.
    pub actor: Option<String>,
    /// The damage that a breach can do.
    pub blast_radius: BlastRadius,
    /// The checks that have to hold before the call.
    pub pre: Vec<RollbackPart>,
    /// The checks that have to hold after it.
    pub post: Vec<RollbackPart>,
    /// The steps that follow, in order, where one does not hold.
    pub rollback: Vec<RollbackPart>,
}

/// A check, or a step of a rollback, that a contract asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackPart {
    /// The kind of check or step.
    pub kind: String,
    /// With what: JSON, its members in their order.
    pub params: String,
}

/// The result of checking a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractCheck {
    /// The position of the check.
    pub position: u64,
    /// The time of the check, microseconds since 1970.
    pub time: u64,
    /// The contract, where it names one.
    pub contract: Option<String>,
    /// The version of its definition then; 0 where there was none.
    pub version: u64,
    /// The call it was about.
    pub call: Option<String>,
    /// The run.
    pub run: String,
    /// The node.
    pub node: String,
    /// The agent that ran the step.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Before or after.
    pub phase: ContractPhase,
    /// The number of checks that were made.
    pub made: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// The kinds of those that the contract asks for and nobody made.
    pub missing: Vec<String>,
    /// The place and the outcome of what it counted for trust.
    pub counted: Option<(u64, TrustOutcome)>,
    /// The position at which a rollback was asked for because of it.
    pub rollback: Option<u64>,
}

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

/// A query of checks.
#[derive(Debug, Clone, Default)]
pub struct CheckQuery {
    /// Those of this contract; [`NO_CONTRACT`] for those that name none.
    pub contract: String,
    /// Only those that did not hold.
    pub failed_only: bool,
    /// Only those before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A query of rollbacks.
#[derive(Debug, Clone, Default)]
pub struct RollbackQuery {
    /// Only those that stand so.
    pub state: Option<RollbackState>,
    /// Only those of calls of this agent.
    pub agent: Option<String>,
    /// Only those of this contract.
    pub contract: Option<String>,
    /// Only those before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A page of rollbacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackPage {
    /// The rollbacks, the newest first.
    pub rollbacks: Vec<Rollback>,
    /// The next page has those before this position; `None` at the end. A page may be short and go on all the same: one looks at
    /// [`LOOKED_AT_ROLLBACKS`] rollbacks at most.
    pub next: Option<Position>,
    /// Every event up to here is in it.
    pub position: Position,
}

impl ContractCheck {
    /// Returns `true` if every check that it tells of passed, and every check was made that the contract asks for.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed.is_empty() && self.missing.is_empty()
    }
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

impl RollbackQuery {
    fn labels(&self) -> impl Iterator<Item = (fold::Label, &str)> {
        let labels = [
            (fold::Label::Contract, self.contract.as_deref()),
            (fold::Label::Agent, self.agent.as_deref()),
            (fold::Label::State, self.state.map(RollbackState::as_str)),
        ];
        labels.into_iter().filter_map(|(label, value)| Some((label, value?)))
    }

    fn matches(&self, rollback: &Rollback) -> bool {
        self.labels().all(|(label, value)| label.of(rollback) == Some(value))
    }
}

fn up_to(before: Option<Position>) -> RangeInclusive<u64> {
    0..=before.map_or(u64::MAX, |before| before.get() - 1)
}

impl ReadModels {
    /// One contract with its newest [`SHOWN_DEFINITIONS`] definitions, the newest first, and up to where it is known.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    #[expect(clippy::type_complexity, reason = "an answer of three parts that go different ways")]
    pub fn contract(
        &self,
        contract: &str,
    ) -> Result<(Option<(Contract, Vec<ContractDefinition>)>, Position), ModelError> {
        let view = self.view(ContractsModel.name())?;
        let Some(known) = view.row(&view.key(CONTRACT, &[contract]))? else {
            return Ok((None, view.position()));
        };
        let rows = view.rows(view.key(DEFINITIONS, &[contract]), 0..=u64::MAX).rev();
        let definitions = rows.take(SHOWN_DEFINITIONS).map(|row| row.map(|(_, definition)| definition));
        Ok((Some((known, definitions.collect::<Result<_, _>>()?)), view.position()))
    }

    /// Returns the results of a contract's checks, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn contract_checks(&self, query: &CheckQuery) -> Result<ListPage<ContractCheck>, ModelError> {
        let view = self.view(ContractsModel.name())?;
        let table = if query.failed_only { FAILED_BY } else { CHECKED_BY };
        let positions = view.posted(view.key(table, &[&query.contract]), up_to(query.before));
        let checks = positions.filter_map(|position| {
            position.and_then(|position| view.row(&view.key(CHECKS, &[]).at(position))).transpose()
        });
        ListPage::take(checks, query.limit, view.position())
    }

    /// Rollbacks, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn rollbacks(&self, query: &RollbackQuery) -> Result<RollbackPage, ModelError> {
        let view = self.view(ContractsModel.name())?;
        let (all, range) = (view.key(ROLLBACKS, &[]), up_to(query.before));
        let found: Box<dyn Iterator<Item = Result<Rollback, ModelError>>> = match query.labels().next() {
            None => Box::new(view.rows(all, range).rev().map(|row| row.map(|(_, rollback)| rollback))),
            Some((label, value)) => {
                let positions = view.posted(view.key(label as u8, &[value]), range);
                Box::new(positions.filter_map(|position| {
                    position.and_then(|position| view.row(&all.at(position))).transpose()
                }))
            }
        };
        let mut page = RollbackPage { rollbacks: Vec::new(), next: None, position: view.position() };
        let mut at = None;
        for (looked_at, rollback) in found.enumerate() {
            if page.rollbacks.len() == query.limit || looked_at == LOOKED_AT_ROLLBACKS {
                page.next = at;
                break;
            }
            let rollback = rollback?;
            at = Position::new(rollback.position);
            page.rollbacks.extend(Some(rollback).filter(|rollback| query.matches(rollback)));
        }
        Ok(page)
    }
}

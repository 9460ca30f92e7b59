//! Contracts and rollbacks: what had to hold, what was checked and what that came to, and what was undone.
//!
//! Which contracts there are now follows from the state that decides; this is their history.

mod fold;

use std::ops::RangeInclusive;

use bitacora_formats::Position;
use bitacora_formats::vocabulary::{BlastRadius, ContractPhase, Resolution, RollbackStatus, TrustOutcome};
use serde::{Deserialize, Serialize};

use crate::limits::{LOOKED_AT_ROLLBACKS, SHOWN_DEFINITIONS};
use crate::listed::Listed;
use crate::models::{Model as _, ModelError, ReadModels};
pub(crate) use fold::Contracts;
use fold::{CHECKED_BY, CHECKS, CONTRACT, DEFINITIONS, FAILED_BY, ROLLBACKS};

/// Stands for the contract of checks that name none.
pub const NO_CONTRACT: &str = "-";

/// What is known of one contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Its name; [`NO_CONTRACT`] for checks that name none.
    pub contract: String,
    /// How often it was defined: the version of its newest definition. 0 for one that only checks name.
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
    /// Which one it is of the contract's, from 1.
    pub version: u64,
    /// Where it stands.
    pub position: u64,
    /// When, microseconds since 1970.
    pub time: u64,
    /// Who wrote it.
    pub actor: Option<String>,
    /// How much damage a breach can do.
    pub blast_radius: BlastRadius,
    /// What has to hold before.
    pub pre: Vec<Part>,
    /// What has to hold after.
    pub post: Vec<Part>,
    /// What is done, in order, where it does not.
    pub rollback: Vec<Part>,
}

/// A check, or a step of a rollback, that a contract asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What kind.
    pub kind: String,
    /// With what: JSON, its members in their order.
    pub params: String,
}

/// What was found where a contract was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractCheck {
    /// Where it stands.
    pub position: u64,
    /// When, microseconds since 1970.
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
    /// Who ran the step.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Before or after.
    pub phase: ContractPhase,
    /// How many checks were made.
    pub made: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// The kinds of those that the contract asks for and nobody made.
    pub missing: Vec<String>,
    /// What it counted for trust, and where.
    pub counted: Option<(u64, TrustOutcome)>,
    /// Where a rollback was asked for because of it.
    pub rollback: Option<u64>,
}

/// A rollback that was asked for, or made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Where it was asked for; where nobody asked, where it was made.
    pub position: u64,
    /// When, microseconds since 1970.
    pub time: u64,
    /// The approval; `None` where nobody asked.
    pub approval: Option<String>,
    /// What did not hold: the check, or the outcome that told of one.
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
    /// What was said to it.
    pub answer: Option<RollbackAnswer>,
    /// What was done, the last time.
    pub execution: Option<Execution>,
}

/// What somebody said to a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackAnswer {
    /// Where.
    pub position: u64,
    /// When, microseconds since 1970.
    pub time: u64,
    /// What.
    pub resolution: Resolution,
    /// Who.
    pub by: String,
    /// In their words.
    pub note: Option<String>,
}

/// A rollback that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Where it stands.
    pub position: u64,
    /// When, microseconds since 1970.
    pub time: u64,
    /// Who wrote it.
    pub actor: Option<String>,
    /// The node.
    pub node: String,
    /// How far it came.
    pub status: RollbackStatus,
    /// Its steps.
    pub steps: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// Why, in words.
    pub reason: Option<String>,
    /// How often it was tried, this time included.
    pub tries: u64,
}

/// How a rollback stands.
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

/// Which checks are asked for.
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

/// Which rollbacks are asked for.
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
    /// Whether everything that it tells passed, and everything was made that the contract asks for.
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
    /// How it stands.
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
        let view = self.view(Contracts.name())?;
        let Some(known) = view.row(&view.key(CONTRACT, &[contract]))? else {
            return Ok((None, view.position()));
        };
        let rows = view.rows(view.key(DEFINITIONS, &[contract]), 0..=u64::MAX).rev();
        let definitions = rows.take(SHOWN_DEFINITIONS).map(|row| row.map(|(_, definition)| definition));
        Ok((Some((known, definitions.collect::<Result<_, _>>()?)), view.position()))
    }

    /// What checks of a contract found, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn contract_checks(&self, query: &CheckQuery) -> Result<Listed<ContractCheck>, ModelError> {
        let view = self.view(Contracts.name())?;
        let table = if query.failed_only { FAILED_BY } else { CHECKED_BY };
        let positions = view.posted(view.key(table, &[&query.contract]), up_to(query.before));
        let checks = positions.filter_map(|position| {
            position.and_then(|position| view.row(&view.key(CHECKS, &[]).at(position))).transpose()
        });
        Listed::take(checks, query.limit, view.position())
    }

    /// Rollbacks, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn rollbacks(&self, query: &RollbackQuery) -> Result<RollbackPage, ModelError> {
        let view = self.view(Contracts.name())?;
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

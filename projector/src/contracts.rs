//! Contracts and rollbacks: the checks that had to hold, their results, and the undone calls.
//!
//! Which contracts there are now follows from the state that decides; this is their history.

mod fold;
mod rollback;

use std::ops::RangeInclusive;

use bitacora_api::{ContractCheckAnswer, ContractDefinitionAnswer, ContractShown};
use bitacora_formats::{Micros, Position, format_time};
use bitacora_vocabulary::{BlastRadius, ContractPhase, TrustOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits::{LOOKED_AT_ROLLBACKS, SHOWN_DEFINITIONS};
use crate::list_page::ListPage;
use crate::models::{Model as _, ModelError, ReadModels};
pub(crate) use fold::ContractsModel;
use fold::{CHECKED_BY, CHECKS, CONTRACT, DEFINITIONS, FAILED_BY, ROLLBACKS};
pub use rollback::{Execution, Rollback, RollbackAnswer, RollbackState};

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

impl Contract {
    /// Returns the contract as it is answered, with these definitions.
    #[must_use]
    pub fn answer(self, definitions: Vec<ContractDefinition>) -> ContractShown {
        ContractShown {
            contract: self.contract,
            version: self.version,
            checks: self.checks,
            failed: self.failed,
            first: self.first.to_string(),
            last: self.last.to_string(),
            definitions: definitions.into_iter().map(Into::into).collect(),
        }
    }
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

impl From<ContractDefinition> for ContractDefinitionAnswer {
    fn from(definition: ContractDefinition) -> Self {
        let parts = |parts: Vec<RollbackPart>| parts.into_iter().map(Into::into).collect();
        Self {
            version: definition.version,
            position: definition.position.to_string(),
            time: format_time(Micros(definition.time)),
            actor: definition.actor,
            blast_radius: match definition.blast_radius {
                BlastRadius::Low => "low",
                BlastRadius::Medium => "medium",
                BlastRadius::High => "high",
                BlastRadius::Critical => "critical",
            }
            .to_owned(),
            pre: parts(definition.pre),
            post: parts(definition.post),
            rollback: parts(definition.rollback),
        }
    }
}

/// A check, or a step of a rollback, that a contract asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackPart {
    /// The kind of check or step.
    pub kind: String,
    /// With what: JSON, its members in their order.
    pub params: String,
}

impl From<RollbackPart> for Value {
    fn from(part: RollbackPart) -> Self {
        let params: Self = serde_json::from_str(&part.params).unwrap_or_default();
        json!({"type": part.kind, "params": params})
    }
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

impl From<ContractCheck> for ContractCheckAnswer {
    fn from(check: ContractCheck) -> Self {
        let outcome = |outcome| match outcome {
            TrustOutcome::Approved => "approved",
            TrustOutcome::AutoApproved => "auto_approved",
            TrustOutcome::Rejected => "rejected",
            TrustOutcome::Error => "error",
            TrustOutcome::Timeout => "timeout",
            TrustOutcome::ChecksFailed => "checks_failed",
        };
        Self {
            holds: check.holds(),
            position: check.position.to_string(),
            time: format_time(Micros(check.time)),
            contract: check.contract,
            version: check.version,
            phase: match check.phase {
                ContractPhase::Pre => "pre".to_owned(),
                ContractPhase::Post => "post".to_owned(),
            },
            made: check.made,
            failed: check.failed,
            missing: check.missing,
            call: check.call,
            run: check.run,
            node: check.node,
            agent: check.agent,
            session: check.session,
            counted: check.counted.map(|(_, counted)| outcome(counted).to_owned()),
            counted_at: check.counted.map(|(position, _)| position.to_string()),
            rollback: check.rollback.map(|position| position.to_string()),
        }
    }
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

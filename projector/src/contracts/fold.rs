//! The fold of events into contracts, checks and rollbacks.

use bitacora_vocabulary::{
    ApprovalAbout, ApprovalRequested, ApprovalResolved, BoundedList, CheckResult, ContractChecked,
    ContractDefined, ContractPart, ContractPhase, EventData as _, JsonObject, MAX_CONTRACT_PARTS,
    RollbackExecuted, TrustObserved,
};
use serde::Deserialize;

use super::{
    Contract, ContractCheck, ContractDefinition, Execution, NO_CONTRACT, Rollback, RollbackAnswer,
    RollbackPart,
};
use crate::models::{FoldError, FoldEvent, Model, ObservationView, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct ContractsModel;

/// The contract of each name, as far as it is known.
pub(super) const CONTRACT: u8 = 1;
/// Its definitions, by where they stand.
pub(super) const DEFINITIONS: u8 = 2;
/// All checks, by where they stand.
pub(super) const CHECKS: u8 = 3;
/// Positions of a contract's checks.
pub(super) const CHECKED_BY: u8 = 4;
/// Positions of the checks at which it did not hold.
pub(super) const FAILED_BY: u8 = 5;
/// All rollbacks, by where they were asked for, or made.
pub(super) const ROLLBACKS: u8 = 6;
/// The contract that was checked last after a call.
const CONTRACT_OF_CALL: u8 = 7;
/// The position of a call's rollback.
const ROLLBACK_OF_CALL: u8 = 8;
/// The position of the rollback that an approval is about.
const ROLLBACK_OF: u8 = 9;

/// The labels that rollbacks are found by; the number is that of the table that has their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Label {
    State = 10,
    Agent = 11,
    Contract = 12,
}

/// The source of what the rules derive from another event; its id is the position of that, a dot and a number.
const REACTOR_SOURCE: &str = "urn:bitacora:reactor";

#[derive(Deserialize)]
struct ApprovalSubjectView {
    #[serde(default)]
    about: ApprovalAbout,
}

impl Label {
    const ALL: [Self; 3] = [Self::State, Self::Agent, Self::Contract];

    pub(super) fn of(self, rollback: &Rollback) -> Option<&str> {
        match self {
            Self::State => Some(rollback.state().as_str()),
            Self::Agent => rollback.agent.as_deref(),
            Self::Contract => rollback.contract.as_deref(),
        }
    }
}

impl Model for ContractsModel {
    fn name(&self) -> &'static str {
        "contracts"
    }

    fn version(&self) -> u32 {
        2
    }

    fn leaving(&self) -> &'static [u8] {
        &[CHECKS]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            ContractDefined::KIND,
            ContractChecked::KIND,
            RollbackExecuted::KIND,
            TrustObserved::KIND,
            ApprovalRequested::KIND,
            ApprovalResolved::KIND,
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ContractDefined::KIND => defined(event, rows),
            ContractChecked::KIND => checked(event, rows),
            RollbackExecuted::KIND => executed(event, rows),
            TrustObserved::KIND => observed(event, rows),
            ApprovalRequested::KIND => asked(event, rows),
            _ => answered(event, rows),
        }
    }
}

fn defined(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(defined) = event.data::<ContractDefined>()? else { return Ok(()) };
    let contract = change(event, rows, &defined.contract, |contract| contract.version += 1)?;
    let position = event.position.get();
    let definition = ContractDefinition {
        version: contract.version,
        position,
        time: event.time.0,
        actor: event.record.actor.as_deref().map(str::to_owned),
        blast_radius: defined.blast_radius,
        pre: parts(&defined.pre),
        post: parts(&defined.post),
        rollback: parts(&defined.rollback),
    };
    // The one that holds stands also where no position is needed to find it.
    rows.put(&rows.key(DEFINITIONS, &[&defined.contract]), &definition)?;
    Ok(rows.add(&rows.key(DEFINITIONS, &[&defined.contract]).at(position), &definition)?)
}

fn parts(parts: &BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>) -> Vec<RollbackPart> {
    parts.iter().map(|part| part_of(&part.kind, &part.params)).collect()
}

fn part_of(kind: &str, params: &JsonObject) -> RollbackPart {
    // A map of JSON is written in the order of its members' names, and no number in it fails to be.
    RollbackPart { kind: kind.to_owned(), params: serde_json::to_string(params).unwrap_or_default() }
}

fn checked(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ContractChecked>()? else { return Ok(()) };
    let position = event.position.get();
    let name = payload.contract.as_deref().unwrap_or(NO_CONTRACT);
    let definition = match &payload.contract {
        Some(contract) => rows.row::<ContractDefinition>(&rows.key(DEFINITIONS, &[contract]))?,
        None => None,
    };
    let made: Vec<_> = payload.checks.iter().map(|check| part_of(&check.kind, &check.params)).collect();
    let asked = definition.as_ref().map(|definition| match payload.phase {
        ContractPhase::Pre => &definition.pre,
        ContractPhase::Post => &definition.post,
    });
    let missing = asked.into_iter().flatten().filter(|part| !made.contains(part));
    let check = ContractCheck {
        position,
        time: event.time.0,
        contract: payload.contract.as_deref().map(str::to_owned),
        version: definition.as_ref().map_or(0, |definition| definition.version),
        call: payload.call.as_deref().map(str::to_owned),
        run: payload.run.to_string(),
        node: payload.node.to_string(),
        agent: event.record.agent.as_deref().map(str::to_owned),
        session: event.record.session.as_deref().map(str::to_owned),
        phase: payload.phase,
        made: made.len() as u64,
        failed: failed(&payload.checks),
        missing: missing.map(|part| part.kind.clone()).collect(),
        counted: None,
        rollback: None,
    };
    change(event, rows, name, |contract| {
        contract.checks += 1;
        contract.failed += u64::from(!check.holds());
    })?;
    rows.post(rows.key(CHECKED_BY, &[name]), position)?;
    if !check.holds() {
        rows.post(rows.key(FAILED_BY, &[name]), position)?;
    }
    if let (Some(call), Some(contract), ContractPhase::Post) = (&check.call, &check.contract, check.phase) {
        rows.put(&rows.key(CONTRACT_OF_CALL, &[call]), contract)?;
    }
    Ok(rows.add(&rows.key(CHECKS, &[]).at(position), &check)?)
}

fn failed(checks: &BoundedList<CheckResult, 0, MAX_CONTRACT_PARTS>) -> Vec<String> {
    checks.iter().filter(|check| !check.passed).map(|check| check.kind.to_string()).collect()
}

/// Changes what is known of a contract, which this event may be the first to name.
fn change(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    name: &str,
    change: impl FnOnce(&mut Contract),
) -> Result<Contract, FoldError> {
    let (key, position) = (rows.key(CONTRACT, &[name]), event.position.get());
    let first = || Contract {
        contract: name.to_owned(),
        version: 0,
        checks: 0,
        failed: 0,
        first: position,
        last: position,
    };
    let mut contract = rows.row::<Contract>(&key)?.unwrap_or_else(first);
    contract.last = position;
    change(&mut contract);
    rows.put(&key, &contract)?;
    Ok(contract)
}

/// Returns the position of the event that this one was derived from.
fn cause(event: &FoldEvent<'_>) -> Option<u64> {
    let derived = event.record.source == REACTOR_SOURCE;
    event.record.id.split_once('.').filter(|_| derived)?.0.parse().ok()
}

/// Changes the check at a position, if one stands there.
fn change_check(
    rows: &mut Rows<'_>,
    position: u64,
    change: impl FnOnce(&mut ContractCheck),
) -> Result<Option<ContractCheck>, FoldError> {
    let key = rows.key(CHECKS, &[]).at(position);
    let Some(mut check) = rows.row::<ContractCheck>(&key)? else { return Ok(None) };
    change(&mut check);
    rows.put(&key, &check)?;
    Ok(Some(check))
}

fn observed(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(cause) = cause(event) else { return Ok(()) };
    let is_failed_check =
        |payload: &&ObservationView| payload.assurance.is_none() && payload.post_check_passed == Some(false);
    let Some(payload) = event.observed()?.filter(is_failed_check) else { return Ok(()) };
    let counted = (event.position.get(), payload.outcome);
    change_check(rows, cause, |check| check.counted = Some(counted))?;
    Ok(())
}

fn asked(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    match event.data::<ApprovalSubjectView>()? {
        Some(payload) if payload.about == ApprovalAbout::Rollback => {}
        _ => return Ok(()),
    }
    let Some(payload) = event.data::<ApprovalRequested>()? else { return Ok(()) };
    let (position, cause) = (event.position.get(), cause(event));
    let check = match cause {
        Some(cause) => change_check(rows, cause, |check| check.rollback = Some(position))?,
        None => None,
    };
    let contract = match check {
        Some(check) => check.contract,
        // An outcome told that a check failed; that may have been one of a contract before.
        None => rows.row::<String>(&rows.key(CONTRACT_OF_CALL, &[&payload.call]))?,
    };
    let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let rollback = Rollback {
        position,
        time: event.time.0,
        approval: Some(payload.approval.to_string()),
        cause,
        contract,
        call: Some(payload.call.to_string()),
        tool: Some(payload.tool.to_string()),
        agent: payload.agent.as_deref().map(str::to_owned),
        session: text(&event.record.session),
        run: text(&event.record.run),
        answer: None,
        execution: None,
    };
    rows.put(&rows.key(ROLLBACK_OF, &[&payload.approval]), &position)?;
    rows.put(&rows.key(ROLLBACK_OF_CALL, &[&payload.call]), &position)?;
    store(rows, None, &rollback)
}

fn answered(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(said) = event.data::<ApprovalResolved>()? else { return Ok(()) };
    let of = rows.key(ROLLBACK_OF, &[&said.approval]);
    let Some(position) = rows.row::<u64>(&of)? else { return Ok(()) };
    // The first word holds.
    rows.remove(&of)?;
    let before = rollback_at(rows, position)?;
    let mut rollback = before.clone();
    rollback.answer = Some(RollbackAnswer {
        position: event.position.get(),
        time: event.time.0,
        resolution: said.resolution,
        by: said.by.to_string(),
        note: said.note.map(|note| note.to_string()),
    });
    store(rows, Some(&before), &rollback)
}

fn executed(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<RollbackExecuted>()? else { return Ok(()) };
    let position = event.position.get();
    let of_call = payload.call.as_ref().map(|call| rows.key(ROLLBACK_OF_CALL, &[call]));
    let asked = of_call.as_ref().map_or(Ok(None), |key| rows.row::<u64>(key))?;
    let before = asked.map(|asked| rollback_at(rows, asked)).transpose()?;
    let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let unasked = || Rollback {
        position,
        time: event.time.0,
        call: payload.call.as_deref().map(str::to_owned),
        agent: text(&event.record.agent),
        session: text(&event.record.session),
        run: Some(payload.run.to_string()),
        ..Rollback::default()
    };
    let mut rollback = before.clone().unwrap_or_else(unasked);
    rollback.contract = rollback.contract.or_else(|| payload.contract.as_deref().map(str::to_owned));
    rollback.run = rollback.run.or_else(|| Some(payload.run.to_string()));
    let tries = rollback.execution.as_ref().map_or(0, |execution| execution.tries) + 1;
    rollback.execution = Some(Execution {
        position,
        time: event.time.0,
        actor: text(&event.record.actor),
        node: payload.node.to_string(),
        status: payload.status,
        steps: payload.steps.len() as u64,
        failed: failed(&payload.steps),
        reason: payload.reason.as_deref().map(str::to_owned),
        tries,
    });
    if let Some(key) = of_call.filter(|_| before.is_none()) {
        rows.put(&key, &position)?;
    }
    store(rows, before.as_ref(), &rollback)
}

fn rollback_at(rows: &mut Rows<'_>, position: u64) -> Result<Rollback, FoldError> {
    let rollback = rows.row(&rows.key(ROLLBACKS, &[]).at(position))?;
    rollback.ok_or(FoldError::Contradiction("a rollback is known and has no row"))
}

/// Stores a rollback, and what it is found by.
fn store(rows: &mut Rows<'_>, before: Option<&Rollback>, rollback: &Rollback) -> Result<(), FoldError> {
    let position = rollback.position;
    for label in Label::ALL {
        let (was, is) = (before.and_then(|before| label.of(before)), label.of(rollback));
        if was == is {
            continue;
        }
        if let Some(was) = was {
            rows.unpost(rows.key(label as u8, &[was]), position)?;
        }
        if let Some(is) = is {
            rows.post(rows.key(label as u8, &[is]), position)?;
        }
    }
    Ok(rows.put(&rows.key(ROLLBACKS, &[]).at(position), rollback)?)
}

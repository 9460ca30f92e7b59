//! How events become calls.

use std::borrow::Cow;

use bitacora_formats::vocabulary::{
    ApprovalRequested, ApprovalResolved, DecisionMade, EventData as _, ToolBlocked, ToolCompleted,
    ToolFailed, ToolRequested,
};
use serde::Deserialize;

use super::{Call, CallApproval, CallDecision, CallOutcome};
use crate::models::{FoldError, Folded, Imported, Model, RowKey, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct Calls;

/// The calls themselves, by position.
pub(super) const ROWS: u8 = 1;
/// Where the call stands that had this id last, wherever it was recorded.
pub(super) const LATEST: u8 = 2;
/// Where the call stands that an event means by this id.
const MEANT: u8 = 11;
/// Where the call stands that waits for this approval.
const APPROVALS: u8 = 3;

/// What calls are found by; the number is that of the table that has their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Label {
    Run = 4,
    Session = 5,
    Agent = 6,
    Actor = 7,
    Tool = 8,
    Outcome = 9,
    Verdict = 10,
}

impl Label {
    /// Those that a call has from its beginning.
    const LASTING: [Self; 5] = [Self::Run, Self::Session, Self::Agent, Self::Actor, Self::Tool];
    /// Those that change.
    const CHANGING: [Self; 2] = [Self::Outcome, Self::Verdict];

    pub(super) fn of(self, call: &Call) -> Option<&str> {
        match self {
            Self::Run => call.run.as_deref(),
            Self::Session => call.session.as_deref(),
            Self::Agent => call.agent.as_deref(),
            Self::Actor => call.actor.as_deref(),
            Self::Tool => Some(&call.tool),
            Self::Outcome => Some(call.outcome.as_ref().map_or("open", |outcome| &outcome.status)),
            Self::Verdict => Some(call.decision.as_ref().map_or("none", |decision| &decision.verdict)),
        }
    }
}

/// The status of a call that was given up.
const TIMEOUT: &str = "timeout";

/// The key of the call at a position.
pub(super) fn row_key(key: impl FnOnce(u8) -> RowKey, position: u64) -> RowKey {
    key(ROWS).at(position)
}

#[derive(Deserialize)]
struct Requested<'a> {
    #[serde(borrow)]
    call: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    task_type: Option<String>,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    assurance: Option<Imported>,
}

#[derive(Deserialize)]
struct Decided<'a> {
    #[serde(borrow)]
    call: Cow<'a, str>,
    verdict: String,
    mode: String,
    reason_code: String,
    reason: String,
    #[serde(default)]
    rule: Option<String>,
    inputs: Inputs,
}

#[derive(Deserialize)]
struct Inputs {
    #[serde(default)]
    imported: bool,
    #[serde(default)]
    policy_version: Option<u64>,
    dimension: Dimension,
}

#[derive(Deserialize)]
struct Dimension {
    #[serde(default)]
    context: Option<String>,
}

#[derive(Deserialize)]
struct ApprovalAsked<'a> {
    approval: String,
    #[serde(borrow)]
    call: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Resolved<'a> {
    #[serde(borrow)]
    approval: Cow<'a, str>,
    resolution: String,
    by: String,
}

#[derive(Deserialize)]
struct Ended<'a> {
    #[serde(borrow)]
    call: Cow<'a, str>,
    status: String,
    #[serde(default)]
    error_type: Option<String>,
    #[serde(default)]
    exit_code: Option<i64>,
    #[serde(default)]
    duration_ms: Option<u64>,
    #[serde(default)]
    cost_micro_usd: Option<u64>,
    #[serde(default)]
    input_summary: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    assurance: Option<Imported>,
}

impl Model for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn version(&self) -> u32 {
        2
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            ToolRequested::KIND,
            DecisionMade::KIND,
            ToolCompleted::KIND,
            ToolFailed::KIND,
            ToolBlocked::KIND,
            ApprovalRequested::KIND,
            ApprovalResolved::KIND,
        ]
    }

    fn fold(&self, event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows),
            DecisionMade::KIND => decided(event, rows),
            ApprovalRequested::KIND => approval_asked(event, rows),
            ApprovalResolved::KIND => resolved(event, rows),
            _ => ended(event, rows),
        }
    }
}

fn requested(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let sealed = || {
        event.record.call.as_deref().map(|call| Requested {
            // What is sealed is not known here; the call's id stands outside.
            call: Cow::Borrowed(call),
            tool: Cow::Borrowed("-"),
            server: None,
            model: None,
            task_type: None,
            run: None,
            assurance: None,
        })
    };
    let Some(told) = event.data::<Requested<'_>>()?.or_else(sealed) else { return Ok(()) };
    let meant = event.call_values(&told.call, told.assurance.is_some());
    let latest = meant_call(rows, &meant)?;
    if let Some((key, mut call)) = latest.filter(|(_, call)| call.outcome.is_none()) {
        call.asked = call.asked.saturating_add(1);
        rows.put(&key, &call)?;
        return Ok(());
    }
    let imported = told.assurance.is_some();
    let mut call = Call {
        call: told.call.clone().into_owned(),
        tool: told.tool.into_owned(),
        server: told.server,
        model: told.model,
        task_type: told.task_type,
        asked: 1,
        ..begun(event, told.assurance)
    };
    call.imported = imported;
    call.run = call.run.or(told.run);
    add(rows, call, &meant)
}

fn decided(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.data::<Decided<'_>>()? else { return Ok(()) };
    let decision = CallDecision {
        position: event.position.get(),
        verdict: told.verdict,
        mode: told.mode,
        reason_code: told.reason_code,
        reason: told.reason,
        rule: told.rule,
        policy_version: told.inputs.policy_version,
        context: told.inputs.dimension.context,
    };
    let meant = event.call_values(&told.call, told.inputs.imported);
    change(rows, &meant, |call| call.decision = Some(decision))
}

fn approval_asked(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.data::<ApprovalAsked<'_>>()? else { return Ok(()) };
    let meant = event.call_values(&told.call, false);
    let Some((key, mut call)) = meant_call(rows, &meant)? else { return Ok(()) };
    rows.put(&rows.key(APPROVALS, &[&told.approval]), &call.position)?;
    call.approval = Some(CallApproval {
        approval: told.approval,
        position: event.position.get(),
        time: event.time.0,
        resolution: None,
        by: None,
        resolved_position: None,
        resolved_time: None,
    });
    rows.put(&key, &call)?;
    Ok(())
}

fn resolved(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.data::<Resolved<'_>>()? else { return Ok(()) };
    let waiting = rows.key(APPROVALS, &[&told.approval]);
    let Some(position) = rows.row::<u64>(&waiting)? else { return Ok(()) };
    rows.remove(&waiting)?;
    let key = row_key(|table| rows.key(table, &[]), position);
    let Some(mut call) = rows.row::<Call>(&key)? else { return Ok(()) };
    if let Some(approval) = call.approval.as_mut().filter(|approval| approval.approval == *told.approval) {
        approval.resolution = Some(told.resolution);
        approval.by = Some(told.by);
        approval.resolved_position = Some(event.position.get());
        approval.resolved_time = Some(event.time.0);
        rows.put(&key, &call)?;
    }
    Ok(())
}

fn ended(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.data::<Ended<'_>>()? else { return Ok(()) };
    let imported = told.assurance.is_some();
    let outcome = CallOutcome {
        position: event.position.get(),
        time: event.happened(told.assurance).0,
        status: told.status,
        error_type: told.error_type,
        exit_code: told.exit_code,
        duration_ms: told.duration_ms,
        cost_micro_usd: told.cost_micro_usd,
        input_summary: told.input_summary,
        summary: told.summary,
    };
    let meant = event.call_values(&told.call, imported);
    let latest = meant_call(rows, &meant)?;
    // The end of a call that was given up is what really came of it; any other end of an ended call is another call's.
    let goes_on = |call: &Call| call.outcome.as_ref().is_none_or(|given_up| given_up.status == TIMEOUT);
    if latest.is_some_and(|(_, call)| goes_on(&call)) {
        return change(rows, &meant, |call| {
            call.late = call.outcome.is_some();
            call.outcome = Some(outcome);
        });
    }
    let mut call = Call {
        call: told.call.clone().into_owned(),
        tool: "-".to_owned(),
        outcome: Some(outcome),
        ..begun(event, told.assurance)
    };
    call.imported = imported;
    add(rows, call, &meant)
}

/// What an event outside of its data says of the call that it begins.
fn begun(event: &Folded<'_>, assurance: Option<Imported>) -> Call {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Call {
        position: event.position.get(),
        time: event.happened(assurance).0,
        actor: text(&event.record.actor),
        agent: text(&event.record.agent),
        session: text(&event.record.session),
        run: text(&event.record.run),
        ..Call::default()
    }
}

/// The call that is known by this, or was last.
fn meant_call(rows: &mut Rows<'_>, meant: &[&str; 2]) -> Result<Option<(RowKey, Call)>, FoldError> {
    let Some(position) = rows.row::<u64>(&rows.key(MEANT, meant))? else { return Ok(None) };
    let key = row_key(|table| rows.key(table, &[]), position);
    let missing = FoldError::Contradiction("a call is known by its id and has no row");
    Ok(Some((key, rows.row(&key)?.ok_or(missing)?)))
}

/// Changes the call that is known by this, and by what it is found.
fn change(rows: &mut Rows<'_>, meant: &[&str; 2], change: impl FnOnce(&mut Call)) -> Result<(), FoldError> {
    let Some((key, mut call)) = meant_call(rows, meant)? else { return Ok(()) };
    for label in Label::CHANGING {
        rows.unpost(found_by(rows, label, &call), call.position)?;
    }
    change(&mut call);
    for label in Label::CHANGING {
        rows.post(found_by(rows, label, &call), call.position)?;
    }
    rows.put(&key, &call)?;
    Ok(())
}

fn add(rows: &mut Rows<'_>, mut call: Call, meant: &[&str; 2]) -> Result<(), FoldError> {
    for label in Label::LASTING.into_iter().chain(Label::CHANGING) {
        if label.of(&call).is_some() {
            rows.post(found_by(rows, label, &call), call.position)?;
        }
    }
    let latest = rows.key(LATEST, &[&call.call]);
    call.earlier = rows.row::<u64>(&latest)?;
    rows.put(&latest, &call.position)?;
    rows.put(&rows.key(MEANT, meant), &call.position)?;
    rows.add(&row_key(|table| rows.key(table, &[]), call.position), &call)?;
    Ok(())
}

fn found_by(rows: &Rows<'_>, label: Label, call: &Call) -> RowKey {
    rows.key(label as u8, &[label.of(call).unwrap_or_default()])
}

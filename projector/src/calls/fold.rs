//! The fold of events into calls.

use std::borrow::Cow;

use bitacora_vocabulary::{
    ApprovalAbout, ApprovalRequested, ApprovalResolved, DecisionMade, EventData as _, ToolBlocked,
    ToolCompleted, ToolFailed, ToolRequested,
};
use serde::{Deserialize, Serialize};

use super::{CallApproval, CallArtifact, CallDecision, CallOutcome, CallSummary};
use crate::call_state::CallState;
use crate::import_times::{IMPORT_KINDS, ImportOrigin, ImportTables};
use crate::models::{Artifact, AssuranceMarker, FoldError, FoldEvent, Model, RowKey, Rows, ToolRequestView};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct CallsModel;

/// The calls themselves, by position.
pub(super) const ROWS: u8 = 1;
/// Positions of calls, by their ids.
pub(super) const OF_ID: u8 = 2;
/// The position of the call that an event means by an id which was recorded elsewhere.
const MEANT: u8 = 11;
/// Approvals that nobody has answered, by their ids.
const APPROVALS: u8 = 3;
/// Positions of calls that wait for an approval, one after another.
const WAITING: u8 = 12;

/// The imports that brought calls, and those of them that are accepted.
pub(super) const IMPORTS: ImportTables = ImportTables { under_way: 13, imports: 14, numbers: 15 };

/// The labels that calls are found by; the number is that of the table that has their positions.
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
    const ALL: [Self; 7] =
        [Self::Run, Self::Session, Self::Agent, Self::Actor, Self::Tool, Self::Outcome, Self::Verdict];

    pub(super) fn of(self, call: &CallSummary) -> Option<&str> {
        match self {
            Self::Run => call.run.as_deref(),
            Self::Session => call.session.as_deref(),
            Self::Agent => call.agent.as_deref(),
            Self::Actor => call.actor.as_deref(),
            Self::Tool => Some(&call.tool),
            Self::Outcome => Some(call.came_to()),
            Self::Verdict => Some(call.decision.as_ref().map_or("none", |decision| &decision.verdict)),
        }
    }
}

/// The positions of the calls of one id.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct OfId {
    /// The one that had it last, wherever it was recorded.
    pub(super) latest: Option<u64>,
    /// The one that an event means which was recorded here.
    own: Option<u64>,
}

/// An approval that nobody has answered.
#[derive(Default, Serialize, Deserialize)]
struct PendingApproval {
    /// The position and the time of the request.
    asked: Option<(u64, u64)>,
    /// The number of calls that have waited for it.
    calls: u64,
}

/// The status of a call that was given up.
const TIMEOUT: &str = "timeout";

/// The key of the call at a position.
pub(super) fn row_key(key: impl FnOnce(u8) -> RowKey, position: u64) -> RowKey {
    key(ROWS).at(position)
}

#[derive(Deserialize)]
struct ApprovalRequestView<'a> {
    approval: String,
    #[serde(default)]
    about: ApprovalAbout,
    #[serde(borrow)]
    call: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ApprovalResolutionView<'a> {
    #[serde(borrow)]
    approval: Cow<'a, str>,
    resolution: String,
    by: String,
}

impl Model for CallsModel {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn version(&self) -> u32 {
        7
    }

    fn leaving(&self) -> &'static [u8] {
        &[ROWS]
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
            IMPORT_KINDS[0],
            IMPORT_KINDS[1],
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows),
            DecisionMade::KIND => decided(event, rows),
            ApprovalRequested::KIND => approval_asked(event, rows),
            ApprovalResolved::KIND => resolved(event, rows),
            kind if IMPORT_KINDS.contains(&kind) => IMPORTS.fold(event, rows),
            _ => ended(event, rows),
        }
    }
}

fn requested(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    // Sealed data is not known here; the call's id stands outside.
    let sealed = event.record.call.as_deref().map(ToolRequestView::of_sealed);
    let Some(payload) = event.requested()?.or(sealed.as_ref()) else { return Ok(()) };
    let meant = event.call_values(&payload.call, payload.assurance.is_some());
    let latest = meant_call(rows, &meant)?;
    if let Some((key, mut call)) = latest.filter(|(_, call)| call.outcome.is_none()) {
        call.asked = call.asked.saturating_add(1);
        rows.put(&key, &call)?;
        return Ok(());
    }
    let imported = payload.assurance.is_some();
    let mut call = CallSummary {
        call: payload.call.clone().into_owned(),
        tool: payload.tool.clone().into_owned(),
        server: owned(&payload.server),
        model: owned(&payload.model),
        task_type: owned(&payload.task_type),
        asked: 1,
        ..begun(event, rows, payload.assurance)?
    };
    call.imported = imported;
    call.run = call.run.or_else(|| owned(&payload.run));
    add(rows, call, &meant)
}

fn decided(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.decided()? else { return Ok(()) };
    let decision = CallDecision {
        position: event.position.get(),
        verdict: payload.verdict.as_str().to_owned(),
        mode: payload.mode.clone().into_owned(),
        reason_code: payload.reason_code.clone().into_owned(),
        reason: payload.reason.clone().into_owned(),
        rule: owned(&payload.rule),
        policy_version: payload.inputs.policy_version,
        context: owned(&payload.inputs.dimension.context),
    };
    let meant = event.call_values(&payload.call, payload.inputs.imported);
    let Some((key, call)) = meant_call(rows, &meant)? else { return Ok(()) };
    let state = CallState::decided(&payload.mode, payload.verdict, &payload.reason_code);
    let mut approval = None;
    if let Some(id) = payload.approval.as_deref().filter(|_| state == CallState::Waiting) {
        approval = waits(rows, &call, id)?;
    }
    change(rows, (key, call), |call| {
        call.decision = Some(decision);
        call.approval = approval.or(call.approval.take());
        call.state = state;
    })
}

/// Notes that a call waits for an approval; that one, where another call has asked for it already.
fn waits(rows: &mut Rows<'_>, call: &CallSummary, approval: &str) -> Result<Option<CallApproval>, FoldError> {
    if call.approval.as_ref().is_some_and(|known| known.approval == approval) {
        return Ok(None);
    }
    let key = rows.key(APPROVALS, &[approval]);
    let mut awaited = rows.row::<PendingApproval>(&key)?.unwrap_or_default();
    rows.put(&rows.key(WAITING, &[approval]).at(awaited.calls), &call.position)?;
    awaited.calls += 1;
    rows.put(&key, &awaited)?;
    Ok(awaited.asked.map(|(position, time)| unanswered(approval.to_owned(), position, time)))
}

fn unanswered(approval: String, position: u64, time: u64) -> CallApproval {
    CallApproval {
        approval,
        position,
        time,
        resolution: None,
        by: None,
        resolved_position: None,
        resolved_time: None,
    }
}

fn approval_asked(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let payload = event.data::<ApprovalRequestView<'_>>()?;
    // One about what is to be undone is none that the call waits for.
    let Some(payload) = payload.filter(|payload| payload.about == ApprovalAbout::Call) else { return Ok(()) };
    let meant = event.call_values(&payload.call, false);
    let Some((key, mut call)) = meant_call(rows, &meant)? else { return Ok(()) };
    let asked = (event.position.get(), event.time.0);
    let of_approval = rows.key(APPROVALS, &[&payload.approval]);
    let awaited = rows.row::<PendingApproval>(&of_approval)?;
    // The decision before it has said so of its call.
    if awaited.is_none() {
        rows.put(&rows.key(WAITING, &[&payload.approval]).at(0), &call.position)?;
    }
    let calls = awaited.map_or(1, |awaited| awaited.calls);
    rows.put(&of_approval, &PendingApproval { asked: Some(asked), calls })?;
    call.approval = Some(unanswered(payload.approval, asked.0, asked.1));
    Ok(rows.put(&key, &call)?)
}

fn resolved(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ApprovalResolutionView<'_>>()? else { return Ok(()) };
    let of_approval = rows.key(APPROVALS, &[&payload.approval]);
    let Some(awaited) = rows.row::<PendingApproval>(&of_approval)? else { return Ok(()) };
    rows.remove(&of_approval)?;
    for number in 0..awaited.calls {
        let waiting = rows.key(WAITING, &[&payload.approval]).at(number);
        let Some(position) = rows.row::<u64>(&waiting)? else { continue };
        rows.remove(&waiting)?;
        let key = row_key(|table| rows.key(table, &[]), position);
        let Some(call) = rows.row::<CallSummary>(&key)? else { continue };
        change(rows, (key, call), |call| answered(call, event, &payload))?;
    }
    Ok(())
}

fn answered(call: &mut CallSummary, event: &FoldEvent<'_>, payload: &ApprovalResolutionView<'_>) {
    // It may wait for another one since.
    let approval = call.approval.as_mut().filter(|approval| approval.approval == *payload.approval);
    let Some(approval) = approval else { return };
    approval.resolution = Some(payload.resolution.clone());
    approval.by = Some(payload.by.clone());
    approval.resolved_position = Some(event.position.get());
    approval.resolved_time = Some(event.time.0);
    call.state = call.state.answered(&payload.resolution);
}

fn ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.outcome()? else { return Ok(()) };
    let (Some(id), Some(status)) = (&payload.call, owned(&payload.status)) else {
        return Err(FoldError::Contradiction("a call ended without an id or a status"));
    };
    let imported = payload.assurance.is_some();
    let outcome = CallOutcome {
        position: event.position.get(),
        time: event.time.0,
        brought: brought(event, rows, payload.assurance)?,
        status,
        error_type: owned(&payload.error_type),
        exit_code: payload.exit_code,
        duration_ms: payload.duration_ms,
        cost_micro_usd: payload.cost_micro_usd,
        input_summary: owned(&payload.input_summary),
        summary: owned(&payload.summary),
        artifacts: payload.artifacts.iter().flat_map(|list| &list.0).map(artifact).collect(),
    };
    let meant = event.call_values(id, imported);
    let latest = meant_call(rows, &meant)?;
    // The end of a call that was given up is what really came of it; any other end of an ended call is another call's.
    let goes_on =
        |call: &CallSummary| call.outcome.as_ref().is_none_or(|given_up| given_up.status == TIMEOUT);
    if let Some(latest) = latest.filter(|(_, call)| goes_on(call)) {
        return change(rows, latest, |call| {
            call.late = call.outcome.is_some();
            call.outcome = Some(outcome);
        });
    }
    let mut call = CallSummary {
        call: id.clone().into_owned(),
        tool: "-".to_owned(),
        outcome: Some(outcome),
        ..begun(event, rows, payload.assurance)?
    };
    call.imported = imported;
    add(rows, call, &meant)
}

/// Returns the call that an event begins, from its attributes outside of its data.
fn begun(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    assurance: Option<AssuranceMarker>,
) -> Result<CallSummary, FoldError> {
    Ok(CallSummary {
        position: event.position.get(),
        time: event.time.0,
        brought: brought(event, rows, assurance)?,
        actor: owned(&event.record.actor),
        agent: owned(&event.record.agent),
        session: owned(&event.record.session),
        run: owned(&event.record.run),
        ..CallSummary::default()
    })
}

fn artifact(payload: &Artifact) -> CallArtifact {
    let Artifact { path, kind, digest } = payload.clone();
    CallArtifact { path, kind, digest }
}

/// The import that brings what an event tells, if it was recorded elsewhere.
fn brought(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    assurance: Option<AssuranceMarker>,
) -> Result<Option<ImportOrigin>, FoldError> {
    assurance.map_or(Ok(None), |_| IMPORTS.brought(event, rows))
}

fn owned(text: &Option<Cow<'_, str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

/// The call that is known by this, or was last.
fn meant_call(rows: &mut Rows<'_>, meant: &[&str; 2]) -> Result<Option<(RowKey, CallSummary)>, FoldError> {
    let position = match meant {
        ["", call] => rows.row::<OfId>(&rows.key(OF_ID, &[call]))?.and_then(|of_id| of_id.own),
        _ => rows.row::<u64>(&rows.key(MEANT, meant))?,
    };
    let Some(position) = position else { return Ok(None) };
    let key = row_key(|table| rows.key(table, &[]), position);
    let missing = FoldError::Contradiction("a call is known by its id and has no row");
    Ok(Some((key, rows.row(&key)?.ok_or(missing)?)))
}

/// Changes a call, and what it is found by of that.
fn change(
    rows: &mut Rows<'_>,
    (key, mut call): (RowKey, CallSummary),
    change: impl FnOnce(&mut CallSummary),
) -> Result<(), FoldError> {
    let labels = [Label::Outcome, Label::Verdict];
    let before = labels.map(|label| found_by(rows, label, &call));
    change(&mut call);
    let now = labels.map(|label| found_by(rows, label, &call));
    for (before, now) in before.into_iter().zip(now).filter(|(before, now)| before != now) {
        rows.unpost(before, call.position)?;
        rows.post(now, call.position)?;
    }
    Ok(rows.put(&key, &call)?)
}

fn add(rows: &mut Rows<'_>, mut call: CallSummary, meant: &[&str; 2]) -> Result<(), FoldError> {
    for label in Label::ALL {
        if label.of(&call).is_some() {
            rows.post(found_by(rows, label, &call), call.position)?;
        }
    }
    let key = rows.key(OF_ID, &[&call.call]);
    let mut of_id = rows.row::<OfId>(&key)?.unwrap_or_default();
    call.earlier = of_id.latest.replace(call.position);
    match meant {
        ["", _] => of_id.own = Some(call.position),
        _ => rows.put(&rows.key(MEANT, meant), &call.position)?,
    }
    rows.put(&key, &of_id)?;
    if let Some(brought) = call.brought {
        IMPORTS.note(rows, call.position, brought)?;
    }
    rows.add(&row_key(|table| rows.key(table, &[]), call.position), &call)?;
    Ok(())
}

fn found_by(rows: &Rows<'_>, label: Label, call: &CallSummary) -> RowKey {
    rows.key(label as u8, &[label.of(call).unwrap_or_default()])
}

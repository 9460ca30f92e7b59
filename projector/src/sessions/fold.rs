//! The fold of events into sessions.

use std::borrow::Cow;

use bitacora_vocabulary::{
    ApprovalRequested, ApprovalResolved, CoverageGap, DecisionMade, EventData as _, ModelCalled, RunAborted,
    RunCompleted, RunFailed, RunPaused, RunResumed, RunStarted, RunStep, SessionEnded, SessionStarted,
    ToolBlocked, ToolCompleted, ToolFailed, ToolRequested, TurnEnded, TurnStarted, Verdict,
};
use serde::{Deserialize, Serialize};

use super::session_rows::{IMPORTS, SessionRows, count_in};
use super::{SessionCounts, SessionEnd, SessionTotals};
use crate::call_state::CallState;
use crate::import_times::IMPORT_KINDS;
use crate::models::{
    AssuranceMarker, EVERY_KIND, FoldError, FoldEvent, Model, OutcomeView, Rows, Tokens, lenient,
};
use crate::spending::news_of_answer;

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct SessionsModel;

/// A call of a session that has not ended, or was given up.
const OPEN_CALL: u8 = 6;
/// The session that an approval without an answer was asked for in.
const ASKED_IN: u8 = 7;
/// The number of calls that have waited for an approval that nobody has answered.
const AWAITED: u8 = 12;
/// The names of the calls that wait for an approval, one after another.
const WAITING: u8 = 13;
/// Answers of models that a log of calls told of, by their requests.
const COUNTED_ANSWER: u8 = 8;

/// The status of a call that was given up.
const TIMEOUT: &str = "timeout";

/// A call of a session.
#[derive(Debug, Serialize, Deserialize)]
struct OpenSessionCall {
    session: String,
    verdict: Option<Verdict>,
    given_up: bool,
    state: CallState,
    /// The approval that it waits for.
    approval: Option<String>,
}

impl OpenSessionCall {
    fn of(session: &str) -> Self {
        let session = session.to_owned();
        Self { session, verdict: None, given_up: false, state: CallState::Open, approval: None }
    }
}

/// The few members read of events that say nothing else.
#[derive(Default, Deserialize)]
struct RunMentionView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    run: Option<Cow<'a, str>>,
    #[serde(default)]
    assurance: Option<AssuranceMarker>,
}

#[derive(Deserialize)]
struct SessionStartView {
    harness: String,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    assurance: Option<AssuranceMarker>,
}

#[derive(Deserialize)]
struct SessionEndView {
    reason: String,
    #[serde(default)]
    totals: Option<Totals>,
    #[serde(default)]
    assurance: Option<AssuranceMarker>,
}

#[derive(Deserialize)]
struct Totals {
    #[serde(default)]
    turns: Option<u64>,
    #[serde(default)]
    calls: Option<u64>,
    #[serde(default)]
    events: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    tokens: Option<Tokens>,
    #[serde(default)]
    cost_micro_usd: Option<u64>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

#[derive(Deserialize)]
struct ApprovalRequestView<'a> {
    #[serde(borrow)]
    approval: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ApprovalResolutionView<'a> {
    #[serde(borrow)]
    approval: Cow<'a, str>,
    #[serde(borrow)]
    resolution: Cow<'a, str>,
}

impl Model for SessionsModel {
    fn name(&self) -> &'static str {
        "sessions"
    }

    fn version(&self) -> u32 {
        5
    }

    fn leaving(&self) -> &'static [u8] {
        &[super::COUNTS]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[EVERY_KIND]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        // These may belong to a session that they do not name.
        match &*event.record.kind {
            ToolCompleted::KIND | ToolFailed::KIND | ToolBlocked::KIND => return call_ended(event, rows),
            ApprovalResolved::KIND => return resolved(event, rows),
            kind if IMPORT_KINDS.contains(&kind) => IMPORTS.fold(event, rows)?,
            _ => {}
        }
        let Some(session) = event.record.session.as_deref() else { return Ok(()) };
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows, session),
            DecisionMade::KIND => decided(event, rows, session),
            ApprovalRequested::KIND => asked(event, rows, session),
            ModelCalled::KIND => model_called(event, rows, session),
            SessionStarted::KIND => started(event, rows, session),
            SessionEnded::KIND => ended(event, rows, session),
            TurnStarted::KIND => seen(event, rows, session, true, |counts| counts.turns += 1),
            CoverageGap::KIND => seen(event, rows, session, true, |counts| counts.gaps += 1),
            TurnEnded::KIND
            | RunStarted::KIND
            | RunStep::KIND
            | RunPaused::KIND
            | RunResumed::KIND
            | RunCompleted::KIND
            | RunFailed::KIND
            | RunAborted::KIND => seen(event, rows, session, true, |_| {}),
            _ => seen(event, rows, session, false, |_| {}),
        }
    }
}

/// Counts an event, of which more is read only where it may name a run or say that it was brought here.
fn seen(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    session: &str,
    is_read: bool,
    count: impl FnOnce(&mut SessionCounts),
) -> Result<(), FoldError> {
    let bare = if is_read {
        event.data::<RunMentionView<'_>>()?.unwrap_or_default()
    } else {
        RunMentionView::default()
    };
    let mut place = SessionRows::at(event, rows, session, bare.assurance, bare.run.as_deref())?;
    count(&mut place.tally.counts);
    place.store(rows)
}

fn started(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    let payload = event.data::<SessionStartView>()?;
    let assurance = payload.as_ref().and_then(|payload| payload.assurance);
    let mut place = SessionRows::at(event, rows, session, assurance, None)?;
    place.tally.has_model |= payload.as_ref().is_some_and(|payload| payload.model.is_some());
    place.tell(rows, |session| {
        // It goes on: what it first began with stays.
        session.end = None;
        if session.started.is_none() {
            session.started = Some(event.position.get());
            if let Some(payload) = payload {
                session.harness = Some(payload.harness);
                session.version = payload.version;
                session.cwd = payload.cwd;
                session.model = payload.model.or(session.model.take());
            }
        }
    })?;
    place.store(rows)
}

fn ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    let Some(payload) = event.data::<SessionEndView>()? else {
        return seen(event, rows, session, false, |_| {});
    };
    let place = SessionRows::at(event, rows, session, payload.assurance, None)?;
    let totals = payload.totals.map(|totals| SessionTotals {
        turns: totals.turns,
        calls: totals.calls,
        events: totals.events,
        tokens_in: totals.tokens.as_ref().map(|tokens| tokens.read),
        tokens_out: totals.tokens.as_ref().map(|tokens| tokens.written),
        cost_micro_usd: totals.cost_micro_usd,
        duration_ms: totals.duration_ms,
    });
    let SessionCounts { last: position, last_time: time, last_brought: brought, .. } = place.tally.counts;
    place.tell(rows, |session| {
        session.end = Some(SessionEnd { position, time, brought, reason: payload.reason, totals });
    })?;
    place.store(rows)
}

fn requested(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    let payload = event.requested()?;
    let assurance = payload.and_then(|payload| payload.assurance);
    let run = payload.and_then(|payload| payload.run.as_deref());
    let mut place = SessionRows::at(event, rows, session, assurance, run)?;
    place.uses(rows, payload.and_then(|payload| payload.model.as_deref()))?;
    let call = payload.map(|payload| &*payload.call).or(event.record.call.as_deref());
    let Some(call) = call else { return place.store(rows) };
    if let (Some(tokens), Some(_)) = (payload.and_then(|payload| payload.tokens), assurance) {
        let answer = payload.and_then(|payload| payload.request.as_deref()).unwrap_or(call);
        let news = news_of_answer(rows, COUNTED_ANSWER, answer, &tokens)?;
        place.tally.counts.spending.count_news(event.position.get(), &news);
    }
    let key = rows.key(OPEN_CALL, &event.call_values(call, assurance.is_some()));
    // One that was given up and is asked for again is another call.
    if rows.row::<OpenSessionCall>(&key)?.is_none_or(|open| open.given_up) {
        place.tally.counts.calls += 1;
        rows.put(&key, &OpenSessionCall::of(session))?;
    }
    place.store(rows)
}

fn decided(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    let Some(payload) = event.decided()? else { return seen(event, rows, session, false, |_| {}) };
    let mut place = SessionRows::at(event, rows, session, None, None)?;
    let meant = event.call_values(&payload.call, payload.inputs.imported);
    if place.has_ended_first(meant) {
        *said(&mut place.tally.counts, payload.verdict) += 1;
        return place.store(rows);
    }
    let key = rows.key(OPEN_CALL, &meant);
    if let Some(open) = rows.row::<OpenSessionCall>(&key)?.filter(|open| open.session == session) {
        let counts = &mut place.tally.counts;
        if let Some(before) = open.verdict {
            let count = said(counts, before);
            *count = count.saturating_sub(1);
        }
        *said(counts, payload.verdict) += 1;
        let state = if open.given_up {
            CallState::Open
        } else {
            CallState::decided(&payload.mode, payload.verdict, &payload.reason_code)
        };
        counts.move_call(open.state, state);
        let awaited = payload.approval.as_deref().filter(|_| state == CallState::Waiting);
        if let Some(approval) = awaited.filter(|approval| open.approval.as_deref() != Some(approval)) {
            waits(rows, meant, approval)?;
        }
        let approval = awaited.map(str::to_owned);
        rows.put(&key, &OpenSessionCall { verdict: Some(payload.verdict), state, approval, ..open })?;
    }
    place.store(rows)
}

/// Returns the count of calls with this last verdict.
const fn said(counts: &mut SessionCounts, verdict: Verdict) -> &mut u64 {
    match verdict {
        Verdict::Allow => &mut counts.allowed,
        Verdict::Review => &mut counts.reviewed,
        Verdict::Deny => &mut counts.denied,
    }
}

fn waits(rows: &mut Rows<'_>, call: [&str; 2], approval: &str) -> Result<(), FoldError> {
    let key = rows.key(AWAITED, &[approval]);
    let calls = rows.row::<u64>(&key)?.unwrap_or_default();
    rows.put(&rows.key(WAITING, &[approval]).at(calls), &call)?;
    Ok(rows.put(&key, &(calls + 1))?)
}

fn call_ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let nothing = OutcomeView::default();
    let payload = event.outcome()?.unwrap_or(&nothing);
    let call = payload.call.as_deref().or(event.record.call.as_deref());
    let meant = call.map(|call| event.call_values(call, payload.assurance.is_some()));
    let key = meant.map(|meant| rows.key(OPEN_CALL, &meant));
    let open = key.as_ref().map_or(Ok(None), |key| rows.row::<OpenSessionCall>(key))?;
    let named = event.record.session.as_deref();
    let Some(session) = open.as_ref().map(|open| &*open.session).or(named) else { return Ok(()) };
    let mut place = SessionRows::at(event, rows, session, payload.assurance, None)?;
    let status = payload.status.as_deref();
    let is_given_up = status == Some(TIMEOUT);
    let counts = &mut place.tally.counts;
    match (&open, key) {
        (Some(open), Some(key)) => {
            // The end of a call that was given up is what really came of it.
            counts.timeouts = counts.timeouts.saturating_sub(u64::from(open.given_up));
            counts.move_call(open.state, CallState::Open);
            if is_given_up {
                let of_session = OpenSessionCall::of(&open.session);
                rows.put(&key, &OpenSessionCall { verdict: open.verdict, given_up: true, ..of_session })?;
            } else {
                rows.remove(&key)?;
            }
        }
        _ => counts.calls += 1,
    }
    match status {
        Some("ok") => counts.ok += 1,
        Some("error") => counts.errors += 1,
        Some(TIMEOUT) => counts.timeouts += 1,
        Some("interrupted") => counts.interrupted += 1,
        Some("rejected") => counts.rejected += 1,
        Some("blocked") => counts.blocked += 1,
        _ => {}
    }
    if payload.is_spending() {
        counts.spending.count(event.position.get(), payload, false);
    }
    let is_undecided = open.as_ref().is_some_and(|open| open.verdict.is_none());
    if let Some(meant) = meant.filter(|_| is_undecided && !is_given_up) {
        place.end_first(event, meant);
    }
    place.store(rows)
}

fn model_called(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    let Some(payload) = event.outcome()? else { return seen(event, rows, session, false, |_| {}) };
    let mut place = SessionRows::at(event, rows, session, payload.assurance, None)?;
    place.uses(rows, payload.model.as_deref())?;
    let (position, spending) = (event.position.get(), &mut place.tally.counts.spending);
    match (&payload.tokens, payload.request.as_deref(), payload.assurance, payload.cost_micro_usd) {
        (Some(tokens), Some(request), Some(_), None) => {
            spending.count_news(position, &news_of_answer(rows, COUNTED_ANSWER, request, tokens)?);
        }
        _ => spending.count(position, payload, true),
    }
    place.store(rows)
}

fn asked(event: &FoldEvent<'_>, rows: &mut Rows<'_>, session: &str) -> Result<(), FoldError> {
    if let Some(payload) = event.data::<ApprovalRequestView<'_>>()? {
        rows.put(&rows.key(ASKED_IN, &[&payload.approval]), &session)?;
    }
    seen(event, rows, session, false, |counts| counts.approvals_asked += 1)
}

fn resolved(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let named = event.record.session.as_deref();
    let mut answered = None;
    if let Some(payload) = event.data::<ApprovalResolutionView<'_>>()? {
        let key = rows.key(ASKED_IN, &[&payload.approval]);
        if let Some(session) = rows.row::<String>(&key)? {
            rows.remove(&key)?;
            answered = Some((session, payload.resolution.clone()));
        }
        move_waiting(rows, &payload)?;
    }
    let Some((session, resolution)) = answered else {
        return named.map_or(Ok(()), |session| seen(event, rows, session, false, |_| {}));
    };
    seen(event, rows, &session, false, |counts| match &*resolution {
        "approved" | "edited" => counts.approvals_given += 1,
        "rejected" => counts.approvals_refused += 1,
        _ => counts.approvals_lapsed += 1,
    })
}

/// The calls that waited for an approval do so no more, each in its own session.
fn move_waiting(rows: &mut Rows<'_>, payload: &ApprovalResolutionView<'_>) -> Result<(), FoldError> {
    let key = rows.key(AWAITED, &[&payload.approval]);
    let Some(calls) = rows.row::<u64>(&key)? else { return Ok(()) };
    rows.remove(&key)?;
    for number in 0..calls {
        let waiting = rows.key(WAITING, &[&payload.approval]).at(number);
        let Some([stream, call]) = rows.row::<[String; 2]>(&waiting)? else { continue };
        rows.remove(&waiting)?;
        let key = rows.key(OPEN_CALL, &[&stream, &call]);
        // It has ended, or waits for another one since.
        let open = rows.row::<OpenSessionCall>(&key)?;
        let Some(open) = open.filter(|open| open.approval.as_deref() == Some(&*payload.approval)) else {
            continue;
        };
        let state = open.state.answered(&payload.resolution);
        count_in(rows, &open.session, |counts| counts.move_call(open.state, state))?;
        rows.put(&key, &OpenSessionCall { state, approval: None, ..open })?;
    }
    Ok(())
}

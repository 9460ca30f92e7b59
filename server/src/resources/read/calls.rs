//! `…/calls`: the audit table.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, Position, format_time, format_usd};
use bitacora_projector::{
    CALL_OUTCOMES, CALL_VERDICTS, CallApproval, CallArtifact, CallDecision, CallOutcome, CallQuery,
    CallState, CallSummary, Outside,
};

use crate::api::Api;
use crate::http::query::{PENDING, state_word, take_word};
use crate::problem::{Code, Problem};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::time_spans::TimeParams;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{
    CallAnswer, CallApprovalAnswer, CallArtifactAnswer, CallDecisionAnswer, CallList, CallOutcomeAnswer,
    OutsideAnswer, paths,
};

/// The model that is asked.
const MODEL: &str = "calls";

#[utoipa::path(
    get,
    path = paths::CALLS,
    tag = "governance",
    operation_id = "listCalls",
    params(
        InLedger,
        ("call" = Option<String>, Query, description = "Only those that had this id: it is another call's after one has ended, and calls that were recorded elsewhere have ids of their own"),
        ("run" = Option<String>, Query, description = "Only those of this run"),
        ("session" = Option<String>, Query, description = "Only those of this session"),
        ("agent" = Option<String>, Query, description = "Only those of this agent"),
        ("actor" = Option<String>, Query, description = "Only those that this actor asked for"),
        ("tool" = Option<String>, Query, description = "Only those of this tool"),
        ("outcome" = Option<String>, Query, description = "Only those of which this came: they ended `ok`, `error`, `timeout`, `interrupted`, `rejected` or `blocked`, or no end is told of them and they are `open`, `pending` while a person is asked, `denied`, `rejected`, `expired` or `withdrawn`"),
        ("verdict" = Option<String>, Query, description = "Only those of which this was said: `allow`, `review`, `deny`; `none` for those of which nothing was"),
        ("since" = Option<String>, Query, description = "Only those that happened at this RFC 3339 time or later: the ledger's time for what happened here, their own for calls of an accepted import"),
        ("before" = Option<String>, Query, description = "Only those that happened before this time"),
        ("recorded_since" = Option<String>, Query, description = "Only those recorded at this time or later"),
        ("recorded_before" = Option<String>, Query, description = "Only those recorded before this time"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Calls, the newest first; 20,000 are looked at for a page at most", body = CallList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let stored_pending = CallState::Waiting.as_str();
    let words = CALL_OUTCOMES.map(|word| state_word(word, stored_pending));
    let outcome = take_word(&mut query, "outcome", &words)?;
    let outcome = outcome.map(|word| if word == PENDING { stored_pending } else { word }.to_owned());
    let verdict = take_word(&mut query, "verdict", &CALL_VERDICTS)?.map(str::to_owned);
    let mut text = |name: &str| query.take(name).map(|text| text.map(Into::into));
    let mut asked = CallQuery {
        call: text("call")?,
        run: text("run")?,
        session: text("session")?,
        agent: text("agent")?,
        actor: text("actor")?,
        tool: text("tool")?,
        outcome,
        verdict,
        ..CallQuery::default()
    };
    let times = TimeParams::take(&mut query)?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let between = times.positions(&api, &request).await?;
    (asked.between, asked.from, asked.before) = (between.happened, between.from, between.before);
    (asked.page_end, asked.limit) = (paging.after.and_then(Position::new), paging.limit);
    let found = ask_model(&api, &request, MODEL, move |models| models.calls(&asked)).await?;
    let next = found.next.and_then(|next| PageParams::next(&next.get()));
    let outside = found.outside.map(outside_answer);
    let page = CallList { calls: found.calls.into_iter().map(answer).collect(), next, outside };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::CALL,
    tag = "governance",
    operation_id = "showCall",
    params(
        InLedger,
        ("call" = String, Path, description = "Its id"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The call that has this id, or had it last", body = CallAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let id = request.names.named.clone().unwrap_or_default();
    let asked = id.clone();
    let (found, position) = ask_model(&api, &request, MODEL, move |models| models.call(&asked)).await?;
    let missing =
        || Problem::new(Code::NoSuchCall, format!("no call {id} is recorded")).with("position", position);
    written_page_at(&request, position, &answer(found.ok_or_else(missing)?))
}

fn artifact(CallArtifact { path, kind, digest }: CallArtifact) -> CallArtifactAnswer {
    CallArtifactAnswer { path, kind, digest }
}

pub(super) fn outside_answer(outside: Outside) -> OutsideAnswer {
    OutsideAnswer { count: outside.count, more: outside.is_more }
}

fn answer(call: CallSummary) -> CallAnswer {
    let state = state_word(call.came_to(), CallState::Waiting.as_str()).to_owned();
    CallAnswer {
        position: call.position.to_string(),
        time: format_time(Micros(call.time)),
        recorded: format_time(Micros(call.recorded)),
        call: call.call,
        earlier: call.earlier.map(|position| position.to_string()),
        tool: call.tool,
        server: call.server,
        model: call.model,
        task_type: call.task_type,
        actor: call.actor,
        agent: call.agent,
        session: call.session,
        run: call.run,
        asked: call.asked,
        imported: call.imported,
        state,
        decision: call.decision.map(decision),
        approval: call.approval.map(approval),
        outcome: call.outcome.map(outcome),
        late: call.late,
    }
}

fn decision(decision: CallDecision) -> CallDecisionAnswer {
    CallDecisionAnswer {
        position: decision.position.to_string(),
        verdict: decision.verdict,
        mode: decision.mode,
        reason_code: decision.reason_code,
        reason: decision.reason,
        rule: decision.rule,
        policy_version: decision.policy_version.map(|version| version.to_string()),
        context: decision.context,
    }
}

fn approval(approval: CallApproval) -> CallApprovalAnswer {
    let waited = approval.resolved_time.map(|resolved| resolved.saturating_sub(approval.time) / 1_000);
    CallApprovalAnswer {
        id: approval.approval,
        position: approval.position.to_string(),
        time: format_time(Micros(approval.time)),
        resolution: approval.resolution,
        by: approval.by,
        resolved_position: approval.resolved_position.map(|position| position.to_string()),
        waited_ms: waited,
    }
}

fn outcome(outcome: CallOutcome) -> CallOutcomeAnswer {
    CallOutcomeAnswer {
        position: outcome.position.to_string(),
        time: format_time(Micros(outcome.time)),
        status: outcome.status,
        error_type: outcome.error_type,
        exit_code: outcome.exit_code,
        duration_ms: outcome.duration_ms,
        cost_usd: outcome.cost_micro_usd.map(|cost| format_usd(cost.into())),
        input_summary: outcome.input_summary,
        summary: outcome.summary,
        artifacts: outcome.artifacts.into_iter().map(artifact).collect(),
    }
}

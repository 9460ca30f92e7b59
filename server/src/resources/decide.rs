//! `POST …/decide`: an answer before a tool is called, recorded before it is given.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bitacora_formats::vocabulary::{
    Arguments, BlastRadius, BoundedText, DecisionMade, EventData, Milliseconds, Name, Sha256Text,
    ToolRequested,
};
use bitacora_ledger::Appended;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{DecideRequest, DecisionAnswer as DecisionShape, ProblemAnswer};
use crate::api::Api;
use crate::decision_json::{DecisionAnswer, rules_of};
use crate::governed::{
    About, DECIDE_SOURCE, Governed, call_id, data_of, event_data, governance, json_bytes, recorded,
};
use crate::limits::INLINE_BODY_BYTES;
use crate::media::JSON;
use crate::members::Members;
use crate::micro_usd::take_usd;
use crate::path::PathNames;
use crate::problem::{Code, Problem};
use crate::query::{Query, bad_query};
use crate::question::{NO_STORE, answer_at};

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/decide",
    tag = "governance",
    operation_id = "decide",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("explain" = Option<bool>, Query, description = "Whether what each step said is answered too"),
    ),
    request_body(content = DecideRequest),
    responses(
        (status = 200, description = "What was decided, and is recorded: `deny` too. A caller takes every other status for `deny`", body = DecisionShape),
        (status = "4XX", description = "Refused; nothing was changed, and nothing is allowed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; nothing is allowed. The member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn decide(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    let governance = governance(&ledger)?;
    let explain = take_explain(parameters.as_deref())?;
    let body = json_bytes(&api, &headers, body).await?;
    let request = if body.as_slice().len() <= INLINE_BODY_BYTES {
        read_request(body.as_slice(), &caller)?
    } else {
        let read = tokio::task::spawn_blocking(move || read_request(body.as_slice(), &caller)).await;
        read.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "reading the request failed on a defect")))?
    };
    let appended = request.append(&api, &ledger).await?;
    let position = decision_in(&appended)?;
    let stored = recorded(&api, &ledger, position, !appended.only_duplicates()).await?;
    let decision: DecisionMade = data_of(&stored)?;
    let rules = governance.read(|state| rules_of(&decision, state));
    let answer = DecisionAnswer { decision: &decision, stored: &stored, rules, explain };
    Ok(answer_at(&appended.head, JSON, NO_STORE, answer.to_json().into()))
}

fn take_explain(parameters: Option<&str>) -> Result<bool, Problem> {
    let mut query = Query::parse(parameters)?;
    let explain = match query.take("explain")?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(bad_query("explain", "is neither `true` nor `false`")),
    };
    query.finish()?;
    Ok(explain)
}

/// A request as the event that it becomes.
fn read_request(body: &[u8], caller: &Caller) -> Result<Governed, Problem> {
    let mut members = Members::of_body(body)?;
    let call: Name = members.require("call")?;
    let approval: Option<Name> = members.take("approval")?;
    let id = match &approval {
        Some(approval) => format!("{call}#requested#{approval}"),
        None => format!("{call}#requested"),
    };
    let id = call_id(&members, id)?;
    let about = About::take(call.clone(), &mut members, caller)?;
    let args: Option<Arguments> = members.take("args")?;
    let args_digest: Option<Sha256Text> = members.take("argsDigest")?;
    if args.is_some() == args_digest.is_some() {
        return Err(members.bad("args", &"either the arguments or `argsDigest` are sent"));
    }
    let request = ToolRequested {
        call,
        tool: members.require("tool")?,
        server: members.take("server")?,
        args,
        args_digest,
        model: members.take("model")?,
        task_type: members.take("task_type")?,
        run: run_name(&about, &members)?,
        cwd: members.take::<BoundedText<4096>>("cwd")?,
        idempotency_key: members.take("idempotencyKey")?,
        approval,
        blast_radius: members.take::<BlastRadius>("blastRadius")?,
        estimated_cost: take_usd(&mut members, "estimate")?,
        interactive: members.take("interactive")?,
        deadline_ms: members.take::<Milliseconds>("deadlineMs")?,
    };
    members.finish()?;
    Ok(Governed {
        id,
        source: DECIDE_SOURCE,
        kind: ToolRequested::KIND,
        stream: about.stream(),
        actor: caller.caller().to_owned(),
        about,
        data: event_data(&request)?,
    })
}

fn run_name(about: &About, members: &Members<'_>) -> Result<Option<Name>, Problem> {
    about.run.as_deref().map(Name::new).transpose().map_err(|error| members.bad("run", &error))
}

/// Where the decision stands. A request that was recorded before anything decided has none.
fn decision_in(appended: &Appended) -> Result<bitacora_formats::Position, Problem> {
    let made = appended.derived.iter().find(|derived| derived.kind == DecisionMade::KIND);
    made.map(|made| made.position).ok_or_else(|| {
        let detail = format!(
            "the request stands at position {} without a decision; use a new id for the call",
            appended.first
        );
        Problem::new(Code::CallReused, detail).with("position", appended.first)
    })
}

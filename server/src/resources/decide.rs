//! `POST …/decide`, `…/decide:batch`: an answer before a tool is called, recorded before it is given.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bitacora_formats::vocabulary::{
    Arguments, BlastRadius, BoundedText, DecisionMade, EventData, Milliseconds, Name, ReasonCode, ReasonText,
    Sha256Text, ToolRequested, Verdict,
};
use bitacora_ledger::{Appended, Head};
use bitacora_projector::IndexedLedger;
use serde_json::value::RawValue;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{
    DecideBatchAnswer, DecideBatchRequest, DecideRequest, DecisionAnswer as DecisionShape, ProblemAnswer,
};
use crate::api::Api;
use crate::body::HeldBody;
use crate::decision_json::{DecisionAnswer, rules_of};
use crate::governed::{
    About, DECIDE_SOURCE, Governed, call_id, data_of, event_data, governance, json_bytes, recorded,
};
use crate::json::JsonWriter;
use crate::limits::{INLINE_BODY_BYTES, MAX_BATCH_REQUESTS};
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
    governance(&ledger)?;
    let explain = take_explain(parameters.as_deref())?;
    let body = json_bytes(&api, &headers, body).await?;
    let request = read_aside(body, move |body| read_request(Members::of_body(body)?, &caller)).await?;
    let (head, answer) = answer_to(request, &api, &ledger, explain).await?;
    Ok(answer_at(&head, JSON, NO_STORE, answer.into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/decide:batch",
    tag = "governance",
    operation_id = "decideBatch",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("explain" = Option<bool>, Query, description = "Whether what each step said is answered too"),
    ),
    request_body(content = DecideBatchRequest),
    responses(
        (status = 200, description = "An answer to each request, in their order: a decision, or a problem. A caller takes what is no decision for `deny`", body = DecideBatchAnswer),
        (status = "4XX", description = "Refused; nothing was changed, and nothing is allowed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; nothing is allowed. The member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn decide_batch(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let explain = take_explain(parameters.as_deref())?;
    let body = json_bytes(&api, &headers, body).await?;
    let requests = read_aside(body, move |body| read_batch(body, &caller)).await?;
    let mut json = JsonWriter::with_capacity(1_024 * requests.len());
    json.begin_object();
    json.key("answers");
    json.begin_array();
    for request in requests {
        let answered = match request {
            Ok(request) => answer_to(request, &api, &ledger, explain).await,
            Err(problem) => Err(problem),
        };
        match answered {
            Ok((_, decision)) => json.value(|out| out.extend_from_slice(&decision)),
            Err(problem) => {
                json.begin_object();
                json.key("problem");
                json.value(|out| out.extend_from_slice(&problem.to_json()));
                json.end_object();
            }
        }
    }
    json.end_array();
    json.end_object();
    Ok(answer_at(&ledger.head(), JSON, NO_STORE, json.into_bytes().into()))
}

/// Reads a body where that may take as long as it takes.
async fn read_aside<T: Send + 'static>(
    body: HeldBody,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if body.as_slice().len() <= INLINE_BODY_BYTES {
        return read(body.as_slice());
    }
    let done = tokio::task::spawn_blocking(move || read(body.as_slice())).await;
    done.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "reading the request failed on a defect")))
}

/// Has a request decided, and writes the decision as it is answered.
async fn answer_to(
    request: Governed,
    api: &Api,
    ledger: &IndexedLedger,
    explain: bool,
) -> Result<(Head, Vec<u8>), Problem> {
    let governance = governance(ledger)?;
    let appended = request.append(api, ledger).await?;
    let position = decision_in(&appended)?;
    let stored = recorded(api, ledger, position, !appended.only_duplicates()).await?;
    let mut decision: DecisionMade = data_of(&stored)?;
    let now = api.ledgers.now();
    if appended.only_duplicates() && !governance.read(|state| state.may_still_begin(&decision, position, now))
    {
        take_back(&mut decision);
    }
    let rules = governance.read(|state| rules_of(&decision, state));
    let answer = DecisionAnswer { decision: &decision, stored: &stored, rules, explain };
    Ok((appended.head, answer.to_json()))
}

/// What is said of a call that was allowed and may not begin any more.
const REASON: &str =
    "This call was allowed before, and has ended, is too old or was stopped since. Ask for a new call.";

/// An allow that was given once is no allow for ever: whoever asks again for a call that has ended, or was stopped, hears no.
fn take_back(decision: &mut DecisionMade) {
    if decision.verdict != Verdict::Allow {
        return;
    }
    decision.verdict = Verdict::Deny;
    decision.reason_code = ReasonCode::Repeated;
    decision.reason = ReasonText::new(REASON).unwrap_or(ReasonText::LEAST);
    decision.obligations = None;
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

/// The requests of a batch, each for itself.
fn read_batch(body: &[u8], caller: &Caller) -> Result<Vec<Result<Governed, Problem>>, Problem> {
    let mut members = Members::of_body(body)?;
    let requests: Vec<&RawValue> = members.require("requests")?;
    if !(1..=MAX_BATCH_REQUESTS).contains(&requests.len()) {
        let fault = format!("it holds 1 to {MAX_BATCH_REQUESTS} requests, not {}", requests.len());
        return Err(members.bad("requests", &fault));
    }
    members.finish()?;
    let read = |(index, value): (usize, &RawValue)| {
        read_request(Members::of_element(value, format!("/requests/{index}"))?, caller)
    };
    Ok(requests.into_iter().enumerate().map(read).collect())
}

/// A request as the event that it becomes.
fn read_request(mut members: Members<'_>, caller: &Caller) -> Result<Governed, Problem> {
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

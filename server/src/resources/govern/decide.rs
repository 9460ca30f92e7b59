//! `POST …/decide`, `…/decide:batch`: a decision before a tool is called, recorded before it is given.

use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::limits::MAX_ID_BYTES;
use bitacora_formats::{Micros, Position};
use bitacora_governance::{ApprovalStatus, DerivedValue, State as GovernanceState, take_call};
use bitacora_ledger::{AppendReceipt, DerivedReceipt, Head};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    DecisionMade, EventData, Milliseconds, Mode, Name, ReasonCode, ReasonText, ToolRequested, Verdict,
};
use serde_json::value::RawValue;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::HeldBody;
use crate::http::media::JSON;
use crate::http::query::{Query, bad_query};
use crate::json::JsonWriter;
use crate::limits::{INLINE_BODY_BYTES, MAX_BATCH_REQUESTS};
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::requests::service_event::{
    CallContext, DECIDE_SOURCE, ServiceEvent, call_id, event_data, governance, said_by,
};
use crate::resources::description::{InLedger, PROBLEM};
use crate::resources::govern::decision_json::{DecisionAnswer, rules_of};
use crate::strict_object::ObjectMembers;
use bitacora_api::{
    DecideBatchAnswer, DecideBatchRequest, DecideRequest, DecisionAnswer as DecisionShape, ProblemAnswer,
};

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/decide",
    tag = "governance",
    operation_id = "decide",
    params(
        InLedger,
        ("explain" = Option<bool>, Query, description = "Whether what each step said is answered too"),
    ),
    request_body(content = DecideRequest),
    responses(
        (status = 200, description = "What was decided, and is recorded: `deny` too. A caller takes every other status for `deny`", body = DecisionShape),
        (status = "4XX", description = "Refused; nothing was changed, and nothing is allowed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; nothing is allowed. The member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn decide(act: Act) -> Result<Response, Problem> {
    let (context, body) = DecideContext::of(act).await?;
    let caller = context.caller.clone();
    let request = read_aside(body, move |body| read_request(ObjectMembers::of_body(body)?, &caller)).await?;
    let (head, answer) = context.answer_to(request).await?;
    Ok(answer_at(&head, JSON, NO_STORE, answer.into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/decide:batch",
    tag = "governance",
    operation_id = "decideBatch",
    params(
        InLedger,
        ("explain" = Option<bool>, Query, description = "Whether what each step said is answered too"),
    ),
    request_body(content = DecideBatchRequest),
    responses(
        (status = 200, description = "An answer to each request, in their order: a decision, or a problem. A caller takes what is no decision for `deny`", body = DecideBatchAnswer),
        (status = "4XX", description = "Refused; nothing was changed, and nothing is allowed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; nothing is allowed. The member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn decide_batch(act: Act) -> Result<Response, Problem> {
    let (context, body) = DecideContext::of(act).await?;
    let caller = context.caller.clone();
    let requests = read_aside(body, move |body| read_batch(body, &caller)).await?;
    let mut json = JsonWriter::with_capacity(1_024 * requests.len());
    json.begin_object();
    json.key("answers");
    json.begin_array();
    for request in requests {
        let answered = match request {
            Ok(request) => context.answer_to(request).await,
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
    Ok(answer_at(&context.ledger.head(), JSON, NO_STORE, json.into_bytes().into()))
}

/// The sender of requests for calls, and the ledger.
struct DecideContext {
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    explain: bool,
    /// The time at which the request began to come: a call's time passes while its request waits.
    received: Micros,
}

impl DecideContext {
    /// With the body that says for which.
    async fn of(mut act: Act) -> Result<(Self, HeldBody), Problem> {
        let received = act.api.ledgers.time_in(act.ledger.ledger());
        let explain = act.query(take_explain)?;
        let body = act.body().await?;
        let Act { api, caller, ledger, .. } = act;
        Ok((Self { api, caller, ledger, explain, received }, body))
    }

    /// Has a request decided, and writes the decision as it is answered. A caller asks no more once its token has ended: while the body
    /// came, or while others of a batch were decided.
    async fn answer_to(&self, request: ServiceEvent) -> Result<(Head, Vec<u8>), Problem> {
        let Self { api, ledger, .. } = self;
        let governance = governance(ledger)?;
        self.caller.still_holds(&api.authenticator)?;
        let first = Arc::new(request);
        let mut request = Arc::clone(&first);
        let mut tries = 0;
        let (appended, (position, time), mut decision) = loop {
            let appended = match request.append_shared(api, ledger).await {
                Err(problem) if problem.is(Code::IdReused) => return Err(self.taken(problem, &first).await),
                appended => appended?,
            };
            let made = decision_in(&appended)?;
            let DerivedReceipt { position, time, .. } = *made;
            let decision = said_by(made, DerivedValue::decision, api, ledger).await?.into_owned();
            let now = api.ledgers.time_in(ledger.ledger());
            let is_over = |state: &_| is_passing_no_over(&decision, time, now, state);
            let anew = first
                .anew(position)
                .filter(|_| tries < MAX_TRIES && appended.only_duplicates() && governance.read(is_over));
            let Some(anew) = anew else { break (appended, (position, time), decision) };
            request = Arc::new(anew);
            tries += 1;
        };
        let now = api.ledgers.time_in(ledger.ledger());
        if appended.only_duplicates() {
            if !governance.read(|state| state.may_still_begin(&decision, position, now)) {
                take_back(&mut decision, ReasonCode::Repeated, ENDED);
            }
        } else if decision.mode == Mode::Enforce && is_late(&decision, time, now, self.received) {
            take_back(&mut decision, ReasonCode::DeadlinePassed, LATE);
        }
        let rules = governance.read(|state| rules_of(&decision, state));
        let answer = DecisionAnswer { decision: &decision, position, time, rules, explain: self.explain };
        Ok((appended.head, answer.to_json()))
    }
}

impl DecideContext {
    /// Tells an id that another agent's call has from one that the caller used before. Of the other call nothing is told.
    async fn taken(&self, problem: Problem, asked: &ServiceEvent) -> Problem {
        let position = problem.member("position").and_then(|position| position.parse().ok());
        let Some(position) = position.and_then(Position::new) else { return problem };
        let ledger = self.ledger.clone();
        let stored = self.api.read(move || Ok(ledger.event(position)?)).await;
        let own = asked.about.agent.as_deref();
        if !stored.is_ok_and(|stored| stored.event.agent.as_deref() != own) {
            return problem;
        }
        let call = asked.about.call.as_deref().unwrap_or_default();
        let detail =
            format!("call `{call}` was asked for by another caller; use an id that nobody can guess");
        Problem::new(Code::CallTaken, detail)
    }
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

/// The most tries to decide one call anew, for any caller.
const MAX_TRIES: usize = 32;

impl ServiceEvent {
    /// The same request once more, behind the decision at `position`, which was a no for the time being. Its id follows from that, so
    /// that it too is accepted once. `None` where the id would be too long.
    fn anew(&self, position: Position) -> Option<Self> {
        let id = format!("{}@{position}", self.id);
        (id.len() <= MAX_ID_BYTES).then(|| Self { id, ..self.clone() })
    }
}

/// Returns `true` if a decision denied for the time being, and that time is over. Either it waited for a person who has answered since, or
/// it came too early.
fn is_passing_no_over(
    decision: &DecisionMade,
    decided: Micros,
    now: Micros,
    state: &GovernanceState,
) -> bool {
    if decision.effective_verdict() == Verdict::Allow {
        return false;
    }
    match decision.reason_code {
        ReasonCode::RateLimited => {
            let wait = decision.retry_after_ms.map_or(0, Milliseconds::get).saturating_mul(1_000);
            now.0 >= decided.0.saturating_add(wait)
        }
        ReasonCode::ApprovalPending => {
            let approval = decision.approval.as_ref().and_then(|approval| state.approval(approval));
            approval.is_none_or(|approval| {
                approval.status != ApprovalStatus::Pending || now.0 >= approval.request.expires
            })
        }
        _ => false,
    }
}

/// Returns `true` if an answer given now comes too late for the call to begin. `decided` is the time of the decision's frame, from which on
/// its deadline is counted. The time that the request waited before that is taken off.
fn is_late(decision: &DecisionMade, decided: Micros, now: Micros, received: Micros) -> bool {
    let ends = decision.expires.map_or(decision.deadline, |expires| expires.min(decision.deadline));
    let waited = now.0.saturating_sub(received.0);
    now.0 >= ends || waited >= ends.saturating_sub(decided.0)
}

/// The answer about a call that was allowed and may not begin any more.
const ENDED: &str =
    "This call was allowed before, and has ended, is too old or was stopped since. Ask for a new call.";
const LATE: &str = "This call was allowed, but so late that its time is over. Ask for a new call.";

/// Takes back an allow. One that was given once does not hold for ever: a caller that asks again for a call that has ended, or was stopped,
/// is denied, in every mode.
fn take_back(decision: &mut DecisionMade, code: ReasonCode, reason: &str) {
    if decision.effective_verdict() != Verdict::Allow {
        return;
    }
    decision.mode = Mode::Enforce;
    decision.verdict = Verdict::Deny;
    decision.reason_code = code;
    decision.reason = ReasonText::new(reason).unwrap_or(ReasonText::LEAST);
    decision.obligations = None;
}

fn take_explain(query: &mut Query<'_>) -> Result<bool, Problem> {
    match query.take("explain")?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(bad_query("explain", "is neither `true` nor `false`")),
    }
}

/// The requests of a batch, each for itself.
fn read_batch(body: &[u8], caller: &Caller) -> Result<Vec<Result<ServiceEvent, Problem>>, Problem> {
    let mut members = ObjectMembers::of_body(body)?;
    let requests: Vec<&RawValue> = members.require("requests")?;
    if !(1..=MAX_BATCH_REQUESTS).contains(&requests.len()) {
        let fault = format!("it holds 1 to {MAX_BATCH_REQUESTS} requests, not {}", requests.len());
        return Err(members.bad("requests", &fault));
    }
    members.finish()?;
    let read = |(index, value): (usize, &RawValue)| {
        read_request(ObjectMembers::of_element(value, format!("/requests/{index}"))?, caller)
    };
    Ok(requests.into_iter().enumerate().map(read).collect())
}

/// A request as the event that it becomes.
fn read_request(mut members: ObjectMembers<'_>, caller: &Caller) -> Result<ServiceEvent, Problem> {
    let call: Name = members.require("call")?;
    let approval: Option<Name> = members.take("approval")?;
    let id = match &approval {
        Some(approval) => format!("{call}#requested#{approval}"),
        None => format!("{call}#requested"),
    };
    let id = call_id(&members, id)?;
    let about = CallContext::take(call.clone(), &mut members, caller)?;
    let mut request = take_call(&mut members, call, about.run.as_deref())?;
    request.approval = approval;
    members.finish()?;
    Ok(ServiceEvent {
        id,
        source: DECIDE_SOURCE,
        kind: ToolRequested::KIND,
        stream: about.stream(),
        actor: caller.caller().to_owned(),
        about,
        data: event_data(&request)?,
    })
}

/// Returns the decision of an append. A request that was recorded before anything decided has none.
fn decision_in(appended: &AppendReceipt) -> Result<&DerivedReceipt, Problem> {
    let made = appended.derived.iter().find(|derived| derived.kind == DecisionMade::KIND);
    made.ok_or_else(|| {
        let detail = format!(
            "the request stands at position {} without a decision; use a new id for the call",
            appended.first
        );
        Problem::new(Code::CallReused, detail).with("position", appended.first)
    })
}

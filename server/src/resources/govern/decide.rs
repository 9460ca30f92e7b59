//! `POST …/decide`, `…/decide:batch`: a decision before a tool is called, recorded before it is given.

mod decision_chain;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::Micros;
use bitacora_governance::{Approval, Governance, take_call};
use bitacora_ledger::{AppendReceipt, Head};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    DecisionMade, EventData, Mode, Name, ReasonCode, ReasonText, ToolRequested, Verdict,
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use self::decision_chain::DecisionChain;
pub(super) use self::decision_chain::DecisionLink;
use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::BufferedBody;
use crate::http::media::JSON;
use crate::http::query::{Query, bad_query};
use crate::json::JsonWriter;
use crate::limits::{INLINE_BODY_BYTES, MAX_BATCH_REQUESTS};
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::requests::service_event::{
    CallContext, DECIDE_SOURCE, ServiceEvent, call_id, event_data, governance,
};
use crate::resources::description::{InLedger, PROBLEM};
use crate::resources::govern::approvals::run_of;
use crate::resources::govern::decision_json::{DecisionAnswer, rules_of};
use crate::strict_object::ObjectMembers;
use bitacora_api::{
    DecideBatchAnswer, DecideBatchRequest, DecideRequest, DecisionAnswer as DecisionShape, ProblemAnswer,
    paths,
};

#[utoipa::path(
    post,
    path = paths::DECIDE,
    tag = "governance",
    operation_id = "decide",
    params(
        InLedger,
        ("explain" = Option<bool>, Query, description = "Whether what each step said is answered too"),
        ("reuse" = Option<bool>, Query, description = "Whether the call takes an unused approval that was given to the same action of the same caller in the same run"),
    ),
    request_body(content = DecideRequest),
    responses(
        (status = 200, description = "What was decided, and is recorded: `deny` too. A caller takes every other status for `deny`", body = DecisionShape),
        (status = "4XX", description = "Refused; nothing was changed, and nothing is allowed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; nothing is allowed. The member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn decide(mut act: Act) -> Result<Response, Problem> {
    let (explain, reuse) =
        act.query(|query| Ok((take_flag(query, "explain")?, take_flag(query, "reuse")?)))?;
    let (context, body) = DecideContext::without_explanation(act).await?;
    let context = DecideContext { explain, ..context };
    let request =
        if reuse { context.request_with_approval(body).await? } else { context.request(body).await? };
    let (head, answer) = context.answer_to(request).await?;
    Ok(answer_at(&head, JSON, NO_STORE, answer.into()))
}

#[utoipa::path(
    post,
    path = paths::DECIDE_BATCH,
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
pub(super) struct DecideContext {
    pub(super) api: Arc<Api>,
    pub(super) caller: Caller,
    pub(super) ledger: IndexedLedger,
    explain: bool,
    /// The time at which the request began to come: a call's time passes while its request waits.
    received: Micros,
}

impl DecideContext {
    /// With the body that says for which.
    async fn of(mut act: Act) -> Result<(Self, BufferedBody), Problem> {
        let explain = act.query(|query| take_flag(query, "explain"))?;
        let (context, body) = Self::without_explanation(act).await?;
        Ok((Self { explain, ..context }, body))
    }

    /// Reads a request as it was sent.
    async fn request(&self, body: BufferedBody) -> Result<ServiceEvent, Problem> {
        let caller = self.caller.clone();
        read_aside(body, move |body| read_request(ObjectMembers::of_body(body)?, &caller)).await
    }

    /// Reads a request, and adds the approval that its action was given before. One that it names itself stays.
    async fn request_with_approval(&self, body: BufferedBody) -> Result<ServiceEvent, Problem> {
        let caller = self.caller.clone();
        let read = move |body: &[u8]| {
            let request = read_request(ObjectMembers::of_body(body)?, &caller)?;
            Ok((request, body.to_vec()))
        };
        let (request, sent) = read_aside(body, read).await?;
        let Some(approval) = self.approval_for(&request).await? else { return Ok(request) };
        let Some(named) = with_approval(&sent, &approval) else { return Ok(request) };
        read_request(ObjectMembers::of_body(&named)?, &self.caller)
    }

    /// With the body of a request that asks in other words.
    pub(super) async fn without_explanation(mut act: Act) -> Result<(Self, BufferedBody), Problem> {
        let received = act.api.ledgers.time_in(act.ledger.ledger());
        let body = act.body().await?;
        let Act { api, caller, ledger, .. } = act;
        Ok((Self { api, caller, ledger, explain: false, received }, body))
    }

    /// Has a request decided, and writes the decision as it is answered.
    async fn answer_to(&self, request: ServiceEvent) -> Result<(Head, Vec<u8>), Problem> {
        let governance = governance(&self.ledger)?;
        let DecisionLink { head, position, time, decision, .. } = self.decided(request).await?;
        let rules = governance.read(|state| rules_of(&decision, state));
        let answer = DecisionAnswer { decision: &decision, position, time, rules, explain: self.explain };
        Ok((head, answer.to_json()))
    }

    /// Has a request decided. A caller asks no more once its token has ended: while the body came, or while others of a batch were
    /// decided.
    pub(super) async fn decided(&self, request: ServiceEvent) -> Result<DecisionLink, Problem> {
        let governance = governance(&self.ledger)?;
        self.caller.still_holds(&self.api.authenticator)?;
        let began = Instant::now();
        let last = DecisionChain::new(self, governance, request).last().await;
        self.api.metrics.observe_decision(self.ledger.ledger(), began.elapsed());
        let mut last = last?;
        self.take_back_if_over(&mut last, governance);
        Ok(last)
    }

    /// Returns the approval that a person gave to the very action of a request in the same run, if no other call has used it.
    pub(super) async fn approval_for(&self, request: &ServiceEvent) -> Result<Option<Name>, Problem> {
        let found = governance(&self.ledger)?.approvals_for(&request.event(), self.now());
        if found.is_empty() {
            return Ok(None);
        }
        let (ledger, run) = (self.ledger.clone(), request.about.run.clone());
        let of_run = move || {
            // One whose request cannot be read is not reused: a person looks at the call again.
            let is_of_run = |approval: &Approval| {
                run_of(&ledger, approval).is_ok_and(|asked| asked.as_deref() == run.as_deref())
            };
            found.into_iter().find(is_of_run).map(|approval| approval.request.approval)
        };
        Ok(tokio::task::spawn_blocking(of_run).await.unwrap_or_default())
    }

    /// Appends an event of the caller's, whose token still holds.
    pub(super) async fn append(&self, event: ServiceEvent) -> Result<AppendReceipt, Problem> {
        self.caller.still_holds(&self.api.authenticator)?;
        event.append(&self.api, &self.ledger).await
    }

    /// Takes back an allow that no call may begin on any more. The recorded decision stays as it is.
    fn take_back_if_over(&self, last: &mut DecisionLink, governance: &Governance) {
        let now = self.now();
        let DecisionLink { is_duplicate, position, time, decision, .. } = last;
        if *is_duplicate {
            // The answer repeats an earlier one, and the call may have run since.
            if !governance.read(|state| state.may_still_begin(decision, *position, now)) {
                take_back(decision, ReasonCode::Repeated, ENDED);
            }
        } else if decision.mode == Mode::Enforce && is_late(decision, *time, now, self.received) {
            take_back(decision, ReasonCode::DeadlinePassed, LATE);
        }
    }

    /// Returns the time in the ledger.
    pub(super) fn now(&self) -> Micros {
        self.api.ledgers.time_in(self.ledger.ledger())
    }
}

/// Reads a body where that may take as long as it takes.
pub(super) async fn read_aside<T: Send + 'static>(
    body: BufferedBody,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if body.as_slice().len() <= INLINE_BODY_BYTES {
        return read(body.as_slice());
    }
    let done = tokio::task::spawn_blocking(move || read(body.as_slice())).await;
    done.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "reading the request failed on a defect")))
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

fn take_flag(query: &mut Query<'_>, name: &'static str) -> Result<bool, Problem> {
    match query.take(name)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(bad_query(name, "is neither `true` nor `false`")),
    }
}

/// Returns the request with an approval; `None` where it names one itself.
fn with_approval(request: &[u8], approval: &Name) -> Option<Vec<u8>> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(request).ok()?;
    let approval = RawValue::from_string(serde_json::to_string(approval.as_str()).ok()?).ok()?;
    if members.contains_key("approval") {
        return None;
    }
    members.insert("approval".to_owned(), &approval);
    serde_json::to_vec(&members).ok()
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
pub(super) fn read_request(mut members: ObjectMembers<'_>, caller: &Caller) -> Result<ServiceEvent, Problem> {
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
        time: None,
        about,
        data: event_data(&request)?,
    })
}

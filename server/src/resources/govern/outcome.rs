//! `POST …/outcome`: the outcome of a call, and its effect on trust.

use axum::response::Response;
use bitacora_formats::Json;
use bitacora_governance::{DerivedValue, TrustInputs};
use bitacora_ledger::AppendReceipt;
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    Artifact, BlockedStatus, BoundedList, BreakerClosed, BreakerHalfOpened, BreakerOpened, CompletedStatus,
    ContentDigest, EventData, ExitCode, FailedStatus, MAX_ARTIFACTS, Milliseconds, Name, Sha256Text,
    SummaryText, TokenCounts, Tokens, ToolBlocked, ToolCompleted, ToolFailed, TrustObserved,
};
use serde::Deserialize;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::json::word_of;
use crate::micro_usd::take_usd;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::read_request::json_answer;
use crate::requests::service_event::{
    CallContext, DECIDE_SOURCE, ServiceEvent, call_id, derived_data, event_data, governance,
};
use crate::resources::description::{InLedger, Refusals};
use crate::resources::govern::decision_json::breaker_name;
use crate::resources::govern::trust::trust_answer;
use crate::strict_object::ObjectMembers;
use bitacora_api::{ObservedAnswer, OutcomeAnswer, OutcomeRequest, TransitionAnswer, paths};

/// The status of an outcome.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Error,
    Timeout,
    Interrupted,
    Rejected,
    Blocked,
}

#[utoipa::path(
    post,
    path = paths::OUTCOME,
    tag = "governance",
    operation_id = "reportOutcome",
    params(InLedger),
    request_body(content = OutcomeRequest),
    responses(
        (status = 200, description = "Recorded, with what it caused; the answer to a repetition is about the first one", body = OutcomeAnswer),
        Refusals,
    )
)]
pub(crate) async fn report(mut act: Act) -> Result<Response, Problem> {
    act.query(|_| Ok(()))?;
    let body = act.body().await?;
    let Act { api, caller, ledger, .. } = act;
    let outcome = read_outcome(body.as_slice(), &caller)?;
    let (call, kind) = (outcome.about.call.clone(), outcome.kind);
    caller.still_holds(&api.authenticator)?;
    let appended = outcome.append(&api, &ledger).await?;
    let mut answer = OutcomeAnswer {
        call: call.map_or_else(String::new, |call| call.to_string()),
        r#type: kind.to_owned(),
        position: appended.first.to_string(),
        trust: None,
        breaker: None,
        transition: None,
    };
    add_effects(&api, &ledger, &appended, &mut answer).await?;
    json_answer(&appended.head, &answer)
}

/// Adds the effect of the outcome on trust and on the breaker, where it had one. Trust is as it stands now.
async fn add_effects(
    api: &Api,
    ledger: &IndexedLedger,
    appended: &AppendReceipt,
    answer: &mut OutcomeAnswer,
) -> Result<(), Problem> {
    let Some(made) = appended.derived.iter().find(|derived| derived.kind == TrustObserved::KIND) else {
        return Ok(());
    };
    let observed = derived_data(made, DerivedValue::observation, api, ledger).await?;
    let (standing, breaker) = governance(ledger)?.read(|state| {
        (state.standing(&observed.dimension, appended.head.time), state.breaker_of(&observed.dimension))
    });
    answer.trust = Some(ObservedAnswer {
        position: made.position.to_string(),
        outcome: word_of(&observed.outcome)?,
        dimension: (&observed.dimension).into(),
        trust: trust_answer(&TrustInputs::from(&standing.record), &standing.assessment),
    });
    answer.breaker = Some(breaker_name(breaker.condition()).to_owned());
    let transitions = [BreakerOpened::KIND, BreakerHalfOpened::KIND, BreakerClosed::KIND];
    let turned = appended.derived.iter().find(|derived| transitions.contains(&&*derived.kind));
    answer.transition = turned.map(|turned| TransitionAnswer {
        r#type: turned.kind.to_string(),
        position: turned.position.to_string(),
    });
    Ok(())
}

/// The members that all outcomes may have.
struct OutcomeMembers {
    error_type: Option<Name>,
    exit_code: Option<ExitCode>,
    duration_ms: Option<Milliseconds>,
    tokens: Option<TokenCounts>,
    cost_micro_usd: Option<bitacora_vocabulary::MicroUsd>,
    input: Option<ContentDigest>,
    output: Option<ContentDigest>,
    input_summary: Option<SummaryText>,
    summary: Option<SummaryText>,
    artifacts: Option<BoundedList<Artifact, 1, MAX_ARTIFACTS>>,
    post_check_passed: Option<bool>,
}

macro_rules! ended {
    ($data:ident, $status:expr, $call:expr, $said:expr) => {{
        let said = $said;
        let data = $data {
            call: $call,
            tool: None,
            status: $status,
            error_type: said.error_type,
            by: None,
            exit_code: said.exit_code,
            duration_ms: said.duration_ms,
            tokens: said.tokens,
            cost_micro_usd: said.cost_micro_usd,
            input: said.input,
            output: said.output,
            input_summary: said.input_summary,
            summary: said.summary,
            artifacts: said.artifacts,
            post_check_passed: said.post_check_passed,
        };
        Ok(($data::KIND, event_data(&data)?))
    }};
}

impl Status {
    fn event(self, call: Name, said: OutcomeMembers) -> Result<(&'static str, Json<'static>), Problem> {
        match self {
            Self::Ok => ended!(ToolCompleted, CompletedStatus::Ok, call, said),
            Self::Error => ended!(ToolFailed, FailedStatus::Error, call, said),
            Self::Timeout => ended!(ToolFailed, FailedStatus::Timeout, call, said),
            Self::Interrupted => ended!(ToolFailed, FailedStatus::Interrupted, call, said),
            Self::Rejected => ended!(ToolBlocked, BlockedStatus::Rejected, call, said),
            Self::Blocked => ended!(ToolBlocked, BlockedStatus::Blocked, call, said),
        }
    }
}

pub(super) fn read_outcome(body: &[u8], caller: &Caller) -> Result<ServiceEvent, Problem> {
    let mut members = ObjectMembers::of_body(body)?;
    let call: Name = members.require("call")?;
    let id = call_id(&members, format!("{call}#outcome"))?;
    let about = CallContext::take(call.clone(), &mut members, caller)?;
    let status: Status = members.require("status")?;
    let (input, input_summary) = take_content(&mut members, "input")?;
    let (output, summary) = take_content(&mut members, "output")?;
    let said = OutcomeMembers {
        error_type: members.take("errorType")?,
        exit_code: members.take("exitCode")?,
        duration_ms: members.take("durationMs")?,
        tokens: take_tokens(&mut members)?,
        cost_micro_usd: take_usd(&mut members, "costUsd")?,
        input,
        output,
        input_summary,
        summary,
        artifacts: members.take("artifacts")?,
        post_check_passed: members.take("postCheckPassed")?,
    };
    members.finish()?;
    let (kind, data) = status.event(call, said)?;
    let stream = about.stream();
    Ok(ServiceEvent {
        id,
        source: DECIDE_SOURCE,
        kind,
        stream,
        actor: caller.caller().to_owned(),
        time: None,
        about,
        data,
    })
}

/// Takes an input or an output: a digest, a length, and its end in words.
fn take_content(
    members: &mut ObjectMembers<'_>,
    name: &'static str,
) -> Result<(Option<ContentDigest>, Option<SummaryText>), Problem> {
    let Some(mut content) = members.take_object(name)? else { return Ok((None, None)) };
    let sha256: Option<Sha256Text> = content.take("digest")?;
    let bytes: Option<u64> = content.take("bytes")?;
    let tail = content.take::<String>("tail")?.map(|tail| SummaryText::tail_of(&tail));
    content.finish()?;
    let digest = (sha256.is_some() || bytes.is_some()).then_some(ContentDigest { sha256, bytes });
    Ok((digest, tail))
}

fn take_tokens(members: &mut ObjectMembers<'_>) -> Result<Option<TokenCounts>, Problem> {
    let Some(mut tokens) = members.take_object("tokens")? else { return Ok(None) };
    let counts = TokenCounts {
        input: tokens.take::<Tokens>("in")?,
        output: tokens.take::<Tokens>("out")?,
        cache_read: tokens.take::<Tokens>("cacheRead")?,
        cache_write: tokens.take::<Tokens>("cacheWrite")?,
    };
    tokens.finish()?;
    Ok(Some(counts))
}

//! `…/clock`: whether the ledger's time can be believed, and an operator's word that it is.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::{ClockAccepted, JumpDirection};
use bitacora_formats::{Micros, format_time};

use super::openapi::PROBLEM;
use super::stops::read_reason;
use crate::access::Caller;
use crate::answers::{ActAnswer, ClockAnswer, ProblemAnswer, StopRequest};
use crate::api::Api;
use crate::governed::{Governed, act_answer, governance};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of all words about the clock.
const STREAM: &str = "governance/clock";

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/clock",
    tag = "governance",
    operation_id = "showClock",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Whether the clock is trusted; the jump that nobody has accepted, where there is one", body = ClockAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    question.takes_no_parameters()?;
    let head = question.state(&api).await?;
    let (jump, governed) = governance(&question.ledger)?
        .read(|state| (state.clock_trust().jump().copied(), state.governed_time()));
    let mut json = JsonWriter::with_capacity(192);
    json.begin_object();
    json.bool_member("trusted", jump.is_none());
    json.text_member("governedTime", &format_time(governed));
    if let Some(jump) = jump {
        json.key("jump");
        json.begin_object();
        json.text_member("position", &jump.position.to_string());
        json.text_member("from", &format_time(Micros(jump.from.get())));
        json.text_member("to", &format_time(Micros(jump.to.get())));
        json.text_member("direction", direction_name(jump.direction));
        json.end_object();
    }
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

const fn direction_name(direction: JumpDirection) -> &'static str {
    match direction {
        JumpDirection::Forward => "forward",
        JumpDirection::Back => "back",
    }
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/clock:accept",
    tag = "governance",
    operation_id = "acceptClock",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded: the time that the clock shows is taken, and calls are decided again", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn accept(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let reason = read_reason(&api, &headers, body).await?;
    let event = Governed::act(&ledger, &caller, STREAM, &ClockAccepted { by: None, reason })?;
    Ok(act_answer(StatusCode::OK, &event.append(&api, &ledger).await?, |_| ()))
}

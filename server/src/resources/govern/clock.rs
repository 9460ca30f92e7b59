//! `…/clock`: the trust in the ledger's time, and an operator's acceptance of a jump.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::{ClockAccepted, JumpDirection};

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::stops::read_reason;
use bitacora_api::{ActAnswer, ClockAnswer, StopRequest};

/// The stream of all words about the clock.
const STREAM: &str = "governance/clock";

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/clock",
    tag = "governance",
    operation_id = "showClock",
    params(
        InLedger,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Whether the clock is trusted; the jump that nobody has accepted, where there is one", body = ClockAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let (trust, governed) =
        governance(&request.ledger)?.read(|state| (*state.clock_trust(), state.governed_time()));
    let jump = trust.jump();
    let mut json = JsonWriter::with_capacity(192);
    json.begin_object();
    json.bool_member("trusted", jump.is_none());
    json.text_member("governedTime", &format_time(governed));
    json.number_member("offsetUs", trust.offset());
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
    params(InLedger),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded, with the offset by which governed time goes on ahead of the clock; calls are decided again", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn accept(mut act: Act) -> Result<Response, Problem> {
    let reason = read_reason(&mut act).await?;
    Ok(act.record(STREAM, &ClockAccepted { by: None, reason }).await?.answer())
}

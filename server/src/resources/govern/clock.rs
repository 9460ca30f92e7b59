//! `…/clock`: the trust in the ledger's time, and an operator's acceptance of a jump.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::{ClockAccepted, JumpDirection};

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::stops::read_reason;
use bitacora_api::{ActAnswer, ClockAnswer, ClockJumpAnswer, StopRequest, paths};

/// The stream of all words about the clock.
const STREAM: &str = "governance/clock";

#[utoipa::path(
    get,
    path = paths::CLOCK,
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
    let jump = trust.jump().map(|jump| ClockJumpAnswer {
        position: jump.position.to_string(),
        from: format_time(Micros(jump.from.get())),
        to: format_time(Micros(jump.to.get())),
        direction: direction_name(jump.direction).to_owned(),
    });
    let answer = ClockAnswer {
        trusted: jump.is_none(),
        governed_time: format_time(governed),
        offset_us: trust.offset(),
        jump,
    };
    json_answer(&head, &answer)
}

const fn direction_name(direction: JumpDirection) -> &'static str {
    match direction {
        JumpDirection::Forward => "forward",
        JumpDirection::Back => "back",
    }
}

#[utoipa::path(
    post,
    path = paths::CLOCK_ACCEPT,
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
    act.record(STREAM, &ClockAccepted { by: None, reason }).await?.answer()
}

//! `…/caller`: the caller, as the ledger knows them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{CallerAnswer, paths};

#[utoipa::path(
    get,
    path = paths::CALLER,
    tag = "operation",
    operation_id = "showCaller",
    params(InLedger),
    responses(
        (status = 200, description = "The name that the caller's acts are recorded under, and the role", body = CallerAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    json_answer(&head, &request.caller.answer())
}

//! `…/verifications`: checks of a ledger's files by the service itself.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{VerificationAnswer, VerificationList, paths};

#[utoipa::path(
    get,
    path = paths::VERIFICATIONS,
    tag = "proof",
    operation_id = "listVerifications",
    params(InLedger),
    responses(
        (status = 200, description = "The last ones since the service started, the newest first", body = VerificationList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let name = named(&request)?;
    json_answer(&head, &VerificationList { verifications: api.verifications.list(&name) })
}

#[utoipa::path(
    post,
    path = paths::VERIFICATIONS,
    tag = "proof",
    operation_id = "startVerification",
    params(InLedger),
    responses(
        (status = 202, description = "Started: one at a time in each ledger. It reads at a pace that leaves appends alone", body = VerificationAnswer),
        Refusals,
    )
)]
pub(crate) async fn start(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let started =
        api.verifications.start(&api, &named(&request)?, &request.ledger, request.caller.actor())?;
    let mut response = json_answer(&head, &started)?;
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

#[utoipa::path(
    get,
    path = paths::VERIFICATION,
    tag = "proof",
    operation_id = "showVerification",
    params(InLedger, ("verification" = String, Path, description = "Its id")),
    responses(
        (status = 200, description = "Its progress, and its outcome once it has ended", body = VerificationAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let id = request.names.named.as_deref().unwrap_or_default();
    let found = api.verifications.list(&named(&request)?).into_iter().find(|found| found.verification == id);
    let found = found.ok_or_else(|| {
        let detail = "there is no such verification since the service started; `…/verifications` lists them";
        Problem::new(Code::NotFound, detail)
    })?;
    json_answer(&head, &found)
}

fn named(request: &ReadRequest) -> Result<bitacora_formats::LedgerName, Problem> {
    let name = request.names.ledger.clone();
    name.ok_or_else(|| Problem::new(Code::InvalidLedgerName, "the path names no ledger"))
}

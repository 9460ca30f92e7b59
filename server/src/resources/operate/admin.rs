//! `/v1/admin/…`: acts of an operator on a running service.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::media::media_type;
use crate::http::path::ledger_name;
use crate::problem::{Code, Problem};
use crate::resources::description::Refusals;
use bitacora_api::{ReadOnlyRequest, SealRequest, paths};

/// Ends the service as a signal would: what is in flight is finished, every ledger is closed.
#[utoipa::path(
    post,
    path = paths::DRAIN,
    tag = "operation",
    operation_id = "drain",
    responses(
        (status = 202, description = "Begun"),
        Refusals,
    )
)]
pub(crate) async fn drain(State(api): State<Arc<Api>>) -> StatusCode {
    api.drain();
    StatusCode::ACCEPTED
}

/// Ends the live segment of a ledger, so that it is complete and may be copied.
#[utoipa::path(
    post,
    path = paths::SEAL,
    tag = "operation",
    operation_id = "seal",
    request_body(content = SealRequest),
    responses(
        (status = 202, description = "Begun"),
        Refusals,
    )
)]
pub(crate) async fn seal(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let SealRequest { ledger } = json_body(&api, &caller, &headers, body, r#"{"ledger":"…"}"#).await?;
    let name = ledger_name(&ledger)?;
    caller.may_administer(&api.authenticator, &name)?;
    api.ledgers.ledger(&name)?.end_segment();
    Ok(StatusCode::ACCEPTED)
}

/// Stops a ledger from taking appends, or lets it take them again.
#[utoipa::path(
    post,
    path = paths::READ_ONLY,
    tag = "operation",
    operation_id = "setReadOnly",
    request_body(content = ReadOnlyRequest),
    responses(
        (status = 202, description = "Begun"),
        Refusals,
    )
)]
pub(crate) async fn read_only(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let wanted = r#"{"ledger":"…","readOnly":true}"#;
    let ReadOnlyRequest { ledger, read_only } = json_body(&api, &caller, &headers, body, wanted).await?;
    let name = ledger_name(&ledger)?;
    caller.may_administer(&api.authenticator, &name)?;
    api.ledgers.ledger(&name)?.set_read_only(read_only);
    Ok(StatusCode::ACCEPTED)
}

/// A small JSON body, strictly of the wanted shape.
pub(crate) async fn json_body<T: DeserializeOwned>(
    api: &Api,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
    wanted: &str,
) -> Result<T, Problem> {
    if media_type(headers)? != "application/json" {
        return Err(Problem::new(
            Code::UnsupportedMediaType,
            format!("the body is application/json: {wanted}"),
        ));
    }
    let body = api.bodies.read(caller.lane(), caller.key(), headers, body).await?;
    serde_json::from_slice(body.as_slice())
        .map_err(|error| Problem::new(Code::BadBody, format!("the body is not {wanted}: {error}")))
}

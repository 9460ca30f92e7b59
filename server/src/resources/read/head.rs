//! `GET …/head`: the durable head of the ledger, with the hashes that commit to all of it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::format_time;

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::json_of;
use crate::problem::Problem;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{HeadAnswer, paths};

#[utoipa::path(
    get,
    path = paths::HEAD,
    tag = "read",
    operation_id = "readHead",
    params(InLedger),
    responses(
        (status = 200, description = "The durable head", body = HeadAnswer),
        Refusals,
    )
)]
pub(crate) async fn head(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let answer = HeadAnswer {
        position: head.position.to_string(),
        hash: head.hash.to_string(),
        time: format_time(head.time),
        tree_root: head.tree_root.to_string(),
    };
    Ok(answer_at(&head, JSON, NO_STORE, json_of(&answer)?.into()))
}

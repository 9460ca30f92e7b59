//! `GET …/head`: the durable head of the ledger, with the hashes that commit to all of it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::format_time;

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::HeadAnswer;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/head",
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
    let mut json = JsonWriter::with_capacity(256);
    json.begin_object();
    json.place_member("position", head.position.get());
    json.hex_member("hash", &head.hash.0);
    json.text_member("time", &format_time(head.time));
    json.hex_member("treeRoot", &head.tree_root.0);
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

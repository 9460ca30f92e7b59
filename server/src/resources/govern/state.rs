//! `…/projections/governance`: the digest of the deciding state, for comparison with a replay.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_governance::{REACTOR_VERSION, UnwritableState};

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::JsonWriter;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::StateAnswer;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/projections/governance",
    tag = "operation",
    operation_id = "showGovernanceState",
    params(
        InLedger,
        AtLeast,
    ),
    responses(
        (status = 200, description = "The digests of the state that decides, and of its parts", body = StateAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let governance = Arc::clone(governance(&request.ledger)?);
    let bytes = api
        .read(move || {
            let copy = governance.copy();
            let mut json = JsonWriter::with_capacity(2 * 1024);
            json.begin_object();
            json.number_member("version", REACTOR_VERSION.into());
            json.place_member("position", copy.through.map_or(0, Position::get));
            let digests = copy.digests().map_err(|error| unwritable(&error))?;
            json.hex_member("digest", &digests.state.0);
            json.key("parts");
            json.begin_object();
            for (part, digest) in &digests.parts {
                json.hex_member(part.name, &digest.0);
            }
            json.end_object();
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

fn unwritable(error: &UnwritableState) -> Problem {
    Problem::new(Code::Internal, error.to_string())
}

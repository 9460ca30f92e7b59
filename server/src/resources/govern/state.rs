//! `…/projections/governance`: the digest of the deciding state, for comparison with a replay.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_governance::{REACTOR_VERSION, UnwritableState};

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{StateAnswer, paths};

#[utoipa::path(
    get,
    path = paths::GOVERNANCE_STATE,
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
    let answer = api.read(move || {
        let copy = governance.copy();
        let digests = copy.digests().map_err(|error| unwritable(&error))?;
        let parts = digests.parts.iter();
        Ok(StateAnswer {
            version: REACTOR_VERSION,
            position: copy.through.map_or(0, Position::get).to_string(),
            digest: digests.state.to_string(),
            parts: parts.map(|(part, digest)| (part.name.to_owned(), digest.to_string())).collect(),
        })
    });
    json_answer(&head, &answer.await?)
}

fn unwritable(error: &UnwritableState) -> Problem {
    Problem::new(Code::Internal, error.to_string())
}

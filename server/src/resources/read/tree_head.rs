//! `GET …/treehead`, `GET …/checkpoint`: the last signed tree head, and the last cosigned one.
//! The latter is for clients of transparency logs: where there are witnesses, a quorum of them cosigned it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_ledger::PublishedHead;
use bitacora_projector::IndexedLedger;

use crate::api::Api;
use crate::http::media::TEXT;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::paths;

#[utoipa::path(
    get,
    path = paths::TREE_HEAD,
    tag = "proof",
    operation_id = "readTreeHead",
    params(
        InLedger,
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s. A head over it is signed within a second more"),
    ),
    responses(
        (status = 200, description = "The last signed tree head: a note (c2sp.org/signed-note) with a checkpoint (c2sp.org/tlog-checkpoint)", content_type = "text/plain", body = String),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    answer(&api, &request, IndexedLedger::tree_head).await
}

#[utoipa::path(
    get,
    path = paths::TREE_CHECKPOINT,
    tag = "proof",
    operation_id = "readCheckpoint",
    params(InLedger),
    responses(
        (status = 200, description = "The last tree head that a quorum of the witnesses cosigned, with their cosignatures (c2sp.org/tlog-cosignature); without witnesses, and before the first quorum, the last signed tree head. Where c2sp.org/tlog-tiles looks for it", content_type = "text/plain", body = String),
        Refusals,
    )
)]
pub(crate) async fn checkpoint(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    answer(&api, &request, |ledger| ledger.witnessed_head().or_else(|| ledger.tree_head())).await
}

async fn answer(
    api: &Api,
    request: &ReadRequest,
    head: impl FnOnce(&IndexedLedger) -> Option<Arc<PublishedHead>>,
) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let state = request.state(api).await?;
    let head = head(&request.ledger).ok_or_else(|| {
        let detail = "no tree head is signed yet; one is within a second of the first event";
        Problem::new(Code::NoTreeHead, detail).with_retry_after(1)
    })?;
    Ok(answer_at(&state, TEXT, NO_STORE, head.note.clone().into()))
}

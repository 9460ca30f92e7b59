//! `GET …/receipts/{position}`: the proof of one event under a signed tree head, checked offline.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{InclusionReceipt, Position};
use bitacora_ledger::{InclusionProof, PublishedHead, ReadError};
use bitacora_projector::IndexedLedger;
use tokio::time::{Instant, sleep};

use crate::api::Api;
use crate::http::media::TEXT;
use crate::limits::{HEAD_POLL, HEAD_WAIT};
use crate::problem::{Code, Problem};
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::paths;

#[utoipa::path(
    get,
    path = paths::RECEIPT,
    tag = "proof",
    operation_id = "readReceipt",
    params(
        InLedger,
        ("position" = String, Path, description = "The event's position; waited for up to 3 s until a signed tree head covers it"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The receipt (c2sp.org/tlog-proof), with the last tree head that a quorum of the witnesses cosigned, where that covers the event; else with the last signed one", content_type = "text/plain", body = String),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let position = request
        .names
        .position
        .ok_or_else(|| Problem::new(Code::BadPosition, "the path names no position"))?;
    let durable = request.state(&api).await?;
    let ledger = request.ledger;
    if position > durable.position {
        return Err(ReadError::PastHead { asked: position, head: durable.position }.into());
    }
    let head = head_over(&ledger, position).await?;
    let size = head.size;
    let proof = {
        let ledger = ledger.clone();
        api.read(move || Ok(ledger.prove_inclusion(position, size)?)).await?
    };
    if proof.root != head.root {
        return Err(ReadError::TreeBehind("its root is not the signed one".to_owned()).into());
    }
    let InclusionProof { leaf, hashes, .. } = proof;
    let receipt = InclusionReceipt { position, leaf, proof: hashes, tree_head: head.note.clone() };
    Ok(answer_at(&durable, TEXT, NO_STORE, receipt.to_string().into()))
}

/// The last tree head that a quorum of the witnesses cosigned, if it covers the position; else the last one, once it does.
pub(super) async fn head_over(
    ledger: &IndexedLedger,
    position: Position,
) -> Result<Arc<PublishedHead>, Problem> {
    let until = Instant::now() + HEAD_WAIT;
    loop {
        let covers = |head: &Arc<PublishedHead>| head.size >= position.get();
        let head = ledger.witnessed_head().filter(covers).or_else(|| ledger.tree_head().filter(covers));
        if let Some(head) = head {
            return Ok(head);
        }
        if Instant::now() >= until {
            let detail = format!(
                "no signed tree head covers position {position} yet; see /readyz and the log for why"
            );
            return Err(Problem::new(Code::NoTreeHead, detail).with_retry_after(1));
        }
        sleep(HEAD_POLL).await;
    }
}

const _: () = assert!(HEAD_WAIT.as_millis() > Duration::from_secs(1).as_millis());

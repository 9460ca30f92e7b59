//! `GET …/proofs/inclusion` and `GET …/proofs/consistency`: proofs of the Merkle tree.
//! The first shows that an event is in the tree, the second that the tree only grew. A proof for given sizes never changes.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{After, TreeHash};
use bitacora_ledger::{ConsistencyProof, InclusionProof};

use crate::api::Api;
use crate::http::media::JSON;
use crate::http::query::{Query, bad_query};
use crate::json::{hex, json_of};
use crate::problem::{Code, Problem};
use crate::requests::read_request::{IMMUTABLE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{ConsistencyAnswer, InclusionAnswer, paths};

#[utoipa::path(
    get,
    path = paths::INCLUSION,
    tag = "proof",
    operation_id = "proveInclusion",
    params(
        InLedger,
        ("position" = String, Query, description = "The event's position"),
        ("size" = Option<String>, Query, description = "In the tree of the first so many events; by default all durable ones"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The proof (RFC 9162, 2.1.3)", body = InclusionAnswer),
        Refusals,
    )
)]
pub(crate) async fn inclusion(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let position = query.take_position("position")?;
    let size = query.take_position("size")?;
    query.finish()?;
    let position = position.ok_or_else(|| bad_query("position", "is missing"))?;
    let head = request.state(&api).await?;
    let size = size.unwrap_or(head.position).get();
    if position.get() > size && size <= head.position.get() && position <= head.position {
        return Err(bad_query("position", "is past `size`: the event is not in that tree"));
    }
    let proof = api.read(move || Ok(request.ledger.prove_inclusion(position, size)?)).await?;
    Ok(answer_at(&head, JSON, IMMUTABLE, json_of(&inclusion_answer(&proof))?.into()))
}

#[utoipa::path(
    get,
    path = paths::CONSISTENCY,
    tag = "proof",
    operation_id = "proveConsistency",
    params(
        InLedger,
        ("from" = String, Query, description = "The size of the earlier tree, from 0"),
        ("to" = Option<String>, Query, description = "The size of the later tree; by default all durable events"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The proof (RFC 9162, 2.1.4)", body = ConsistencyAnswer),
        Refusals,
    )
)]
pub(crate) async fn consistency(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let (from, to) = (take_size(&mut query, "from")?, take_size(&mut query, "to")?);
    query.finish()?;
    let from = from.ok_or_else(|| bad_query("from", "is missing"))?;
    let head = request.state(&api).await?;
    let to = to.unwrap_or(head.position.get());
    if from > to && from <= head.position.get() {
        return Err(bad_query("from", "is larger than `to`: a tree does not shrink"));
    }
    let proof = api.read(move || Ok(request.ledger.prove_consistency(from, to)?)).await?;
    Ok(answer_at(&head, JSON, IMMUTABLE, json_of(&consistency_answer(&proof))?.into()))
}

/// The size of a tree: a plain decimal number, from 0.
fn take_size(query: &mut Query<'_>, name: &str) -> Result<Option<u64>, Problem> {
    let size = query.take_parsed::<After>(name, "a decimal number from 0 to 2^64 - 1");
    let size = size.map_err(|problem| Problem::new(Code::BadPosition, problem.detail()))?;
    Ok(size.map(After::get))
}

fn inclusion_answer(proof: &InclusionProof) -> InclusionAnswer {
    let InclusionProof { position, size, leaf, root, hashes } = proof;
    let mut entry = position.get().to_be_bytes().to_vec();
    leaf.encode(&mut entry);
    InclusionAnswer {
        position: position.to_string(),
        size: size.to_string(),
        entry: hex(&entry),
        leaf_hash: leaf.hash(*position).to_string(),
        root: root.to_string(),
        hashes: hashes.iter().map(TreeHash::to_string).collect(),
    }
}

fn consistency_answer(proof: &ConsistencyProof) -> ConsistencyAnswer {
    let ConsistencyProof { from, to, old_root, new_root, hashes } = proof;
    ConsistencyAnswer {
        from: from.to_string(),
        to: to.to_string(),
        old_root: old_root.to_string(),
        new_root: new_root.to_string(),
        hashes: hashes.iter().map(TreeHash::to_string).collect(),
    }
}

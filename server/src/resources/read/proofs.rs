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
use crate::json::JsonWriter;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{IMMUTABLE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{ConsistencyAnswer, InclusionAnswer};

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/proofs/inclusion",
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
    Ok(answer_at(&head, JSON, IMMUTABLE, inclusion_json(&proof).into()))
}

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/proofs/consistency",
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
    Ok(answer_at(&head, JSON, IMMUTABLE, consistency_json(&proof).into()))
}

/// The size of a tree: a plain decimal number, from 0.
fn take_size(query: &mut Query<'_>, name: &str) -> Result<Option<u64>, Problem> {
    let size = query.take_parsed::<After>(name, "a decimal number from 0 to 2^64 - 1");
    let size = size.map_err(|problem| Problem::new(Code::BadPosition, problem.detail()))?;
    Ok(size.map(After::get))
}

fn inclusion_json(proof: &InclusionProof) -> Vec<u8> {
    let InclusionProof { position, size, leaf, root, hashes } = proof;
    let mut entry = position.get().to_be_bytes().to_vec();
    leaf.encode(&mut entry);
    let mut json = JsonWriter::with_capacity(512);
    json.begin_object();
    json.place_member("position", position.get());
    json.place_member("size", *size);
    json.hex_member("entry", &entry);
    json.hex_member("leafHash", &leaf.hash(*position).0);
    json.hex_member("root", &root.0);
    hashes_member(&mut json, hashes);
    json.end_object();
    json.into_bytes()
}

fn consistency_json(proof: &ConsistencyProof) -> Vec<u8> {
    let ConsistencyProof { from, to, old_root, new_root, hashes } = proof;
    let mut json = JsonWriter::with_capacity(512);
    json.begin_object();
    json.place_member("from", *from);
    json.place_member("to", *to);
    json.hex_member("oldRoot", &old_root.0);
    json.hex_member("newRoot", &new_root.0);
    hashes_member(&mut json, hashes);
    json.end_object();
    json.into_bytes()
}

fn hashes_member(json: &mut JsonWriter, hashes: &[TreeHash]) {
    json.key("hashes");
    json.begin_array();
    hashes.iter().for_each(|hash| json.text(&hash.to_string()));
    json.end_array();
}

//! `GET …/tile/…`: the tree as tiles, for clients of transparency logs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::response::Response;
use bitacora_formats::{LEAF_ENTRY_BYTES, TILE_WIDTH};
use bitacora_projector::IndexedLedger;

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{IMMUTABLE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::read::tile_path::TilePath;

const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// Bytes that are hashed for a leaf: the position, then what lies beside the segment.
const ENTRY_BYTES: usize = 8 + LEAF_ENTRY_BYTES;
/// [`ENTRY_BYTES`] as it stands before each entry of a bundle, big-endian.
const ENTRY_LENGTH: [u8; 2] = [0, 48];

const _: () = assert!(ENTRY_BYTES == 48);

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/tile/{tile}",
    tag = "proof",
    operation_id = "readTile",
    params(
        InLedger,
        ("tile" = String, Path, description = "`<L>/<N>[.p/<W>]`, or `entries/<N>[.p/<W>]`, as C2SP tlog-tiles says; its slashes are slashes of the path"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "Hashes of 32 bytes, or entries of 48 bytes after a length of two", content_type = "application/octet-stream", body = Vec<u8>),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let tile = request.names.tile.as_deref().and_then(TilePath::parse).ok_or_else(|| {
        Problem::new(Code::NoSuchResource, "no tile has that path; see C2SP tlog-tiles for those there are")
    })?;
    let head = request.state(&api).await?;
    let bytes = api.read(move || tile_bytes(&request.ledger, &tile)).await?;
    let bytes = api.hold_answer(bytes).await?;
    // A tile of one width never changes.
    Ok(answer_at(&head, OCTETS, IMMUTABLE, bytes.into()))
}

fn tile_bytes(ledger: &IndexedLedger, tile: &TilePath) -> Result<Vec<u8>, Problem> {
    let TilePath { level, index, width } = *tile;
    if let Some(level) = level {
        let hashes = ledger.tile(level, index, width)?;
        return Ok(hashes.iter().flat_map(|hash| hash.0).collect());
    }
    let leaves = ledger.leaves(index, width)?;
    let mut bytes = Vec::with_capacity(leaves.len() * (ENTRY_LENGTH.len() + ENTRY_BYTES));
    for (position, leaf) in (index * TILE_WIDTH as u64 + 1..).zip(leaves) {
        bytes.extend_from_slice(&ENTRY_LENGTH);
        bytes.extend_from_slice(&position.to_be_bytes());
        leaf.encode(&mut bytes);
    }
    Ok(bytes)
}

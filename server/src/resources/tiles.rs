//! `GET …/tile/…`: the tree as tiles, for clients of transparency logs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bitacora_formats::{LEAF_ENTRY_BYTES, TILE_WIDTH};
use bitacora_projector::IndexedLedger;

use super::events::IMMUTABLE;
use super::openapi::PROBLEM;
use crate::answers::ProblemAnswer;
use crate::api::{Api, set_ledger_position};
use crate::path::PathNames;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::tile_path::TilePath;

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
        ("ledger" = String, Path, description = "The ledger's name"),
        ("tile" = String, Path, description = "`<L>/<N>[.p/<W>]`, or `entries/<N>[.p/<W>]`, as C2SP tlog-tiles says; its slashes are slashes of the path"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Hashes of 32 bytes, or entries of 48 bytes after a length of two", content_type = "application/octet-stream", body = Vec<u8>),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    names: PathNames,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    Query::parse(parameters.as_deref())?.finish()?;
    let tile = names.tile.as_deref().and_then(TilePath::parse).ok_or_else(|| {
        Problem::new(Code::NoSuchResource, "no tile has that path; see C2SP tlog-tiles for those there are")
    })?;
    api.wait_for_asked_state(&ledger, &headers).await?;
    let head = ledger.head();
    let bytes = api.read(move || tile_bytes(&ledger, &tile)).await?;
    let bytes = api.hold_answer(bytes).await?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    // A tile of one width never changes.
    headers.insert(header::CACHE_CONTROL, IMMUTABLE);
    set_ledger_position(headers, &head);
    Ok(response)
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

//! `GET …/evidence`: events in one file, with all that a stranger needs to check them.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bitacora_formats::{After, LedgerKeys, LedgerName, Position};
use bitacora_ledger::{Head, PublishedHead, ReadError};
use bitacora_projector::IndexedLedger;
use http_body_util::channel::Channel;

use super::receipts::head_over;
use crate::api::Api;
use crate::evidence_bundle::{self, BundleSource, Selection};
use crate::http::query::{bad_query, take_time};
use crate::limits::BUNDLE_WAIT;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::paths;

/// The media type of a tar archive.
const TAR: HeaderValue = HeaderValue::from_static("application/x-tar");

#[utoipa::path(
    get,
    path = paths::EVIDENCE,
    tag = "proof",
    operation_id = "readEvidence",
    params(
        InLedger,
        ("after" = Option<String>, Query, description = "Only events past this position"),
        ("until" = Option<String>, Query, description = "Only events up to this position, itself included; by default up to the last signed tree head"),
        ("since" = Option<String>, Query, description = "Recorded at this RFC 3339 time or later"),
        ("before" = Option<String>, Query, description = "Recorded before this RFC 3339 time"),
        ("session" = Option<String>, Query, description = "With this session"),
        ("run" = Option<String>, Query, description = "With this run"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "A tar archive: the events, their records, blinds and proofs, signed tree heads, a manifest, and a verifier", content_type = "application/x-tar", body = Vec<u8>),
        Refusals,
    )
)]
pub(crate) async fn bundle(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let BundleRequest { selection, name, durable } = BundleRequest::of(&api, &request).await?;
    let place = api.bundles.take(request.caller.key(), BUNDLE_WAIT).await.ok_or_else(|| {
        Problem::new(Code::Overloaded, "other evidence bundles are being made; try again").with_retry_after(5)
    })?;
    let head = head_for(&request.ledger, selection.until).await?;
    let keyring = api.ledgers.keyring();
    let source = BundleSource {
        name: name.clone(),
        signing_keys: keyring.signing_chain_note(),
        keys: LedgerKeys::new(keyring, request.ledger.id()),
        ledger: request.ledger,
    };
    let file = evidence_bundle::make(&api, source, selection, head).await?;
    drop(place);
    let bytes = api.hold_answer(file).await?;
    Ok(answer(&durable, &name, bytes.into()))
}

/// Answers `HEAD` with what is known before a bundle is made. Its length is not.
pub(crate) async fn head_of_bundle(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let BundleRequest { name, durable, .. } = BundleRequest::of(&api, &request).await?;
    let (_ended, unknown) = Channel::<Bytes, Infallible>::new(1);
    Ok(answer(&durable, &name, Body::new(unknown)))
}

/// A bundle that is asked for.
struct BundleRequest {
    selection: Selection,
    name: LedgerName,
    durable: Head,
}

impl BundleRequest {
    /// Reads and checks what is asked for.
    async fn of(api: &Api, request: &ReadRequest) -> Result<Self, Problem> {
        let selection = selection(request)?;
        let name = request.names.ledger.clone();
        let name = name.ok_or_else(|| Problem::new(Code::InvalidLedgerName, "the path names no ledger"))?;
        let durable = request.state(api).await?;
        match selection.until.filter(|until| *until > durable.position) {
            Some(asked) => Err(ReadError::PastHead { asked, head: durable.position }.into()),
            None => Ok(Self { selection, name, durable }),
        }
    }
}

fn answer(durable: &Head, name: &LedgerName, bundle: Body) -> Response {
    let mut response = answer_at(durable, TAR, NO_STORE, bundle);
    if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{name}-evidence.tar\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

fn selection(request: &ReadRequest) -> Result<Selection, Problem> {
    let mut query = request.query()?;
    let after = query.take_parsed::<After>("after", "a decimal number from 0 to 2^64 - 1");
    let after = after.map_err(|problem| Problem::new(Code::BadPosition, problem.detail()))?;
    let selection = Selection {
        after: after.unwrap_or(After::START),
        until: query.take_position("until")?,
        since: take_time(&mut query, "since")?,
        before: take_time(&mut query, "before")?,
        session: query.take("session")?.map(Into::into),
        run: query.take("run")?.map(Into::into),
    };
    query.finish()?;
    if selection.until.is_some_and(|until| until.get() <= selection.after.get()) {
        return Err(bad_query("until", "is not past `after`: there is no event between"));
    }
    Ok(selection)
}

/// Returns the tree head that a bundle reaches up to: one over the position that is asked for, else the last one.
async fn head_for(ledger: &IndexedLedger, until: Option<Position>) -> Result<Arc<PublishedHead>, Problem> {
    match (until, ledger.tree_head()) {
        (Some(until), _) => head_over(ledger, until).await,
        (None, Some(last)) => Ok(last),
        (None, None) => head_over(ledger, Position::FIRST).await,
    }
}

//! `POST …/events:ingest`: any number of lines, appended and acknowledged while they come.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::content_encoding;
use crate::http::framing::LongBody;
use crate::http::media::{NDJSON, media_type};
use crate::http::path::PathNames;
use crate::http::preconditions::APPEND_CONDITION;
use crate::ingest::Ingest;
use crate::problem::{Code, FaultLocation, Problem};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{IngestLine, paths};

#[utoipa::path(
    post,
    path = paths::INGEST,
    tag = "append",
    operation_id = "ingest",
    params(
        InLedger,
        ("Content-Encoding" = Option<String>, Header, description = "`gzip` or `zstd`"),
    ),
    request_body(
        description = "CloudEvents 1.0, one a line, of any number",
        content((String = "application/x-ndjson"))
    ),
    responses(
        (status = 200, description = "Begun. One line for each chunk that is durable; the last line is the end or an error, and where both lack the answer was cut", body = IngestLine, content_type = "application/x-ndjson"),
        Refusals,
    )
)]
pub(crate) async fn ingest(
    State(api): State<Arc<Api>>,
    Extension(long_body): Extension<LongBody>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    if !matches!(media_type(&headers)?.as_str(), "application/x-ndjson" | "application/ndjson") {
        let detail = "an upload is application/x-ndjson: one event a line";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    // Each is about one request; an upload is many.
    for (name, shown) in [
        (header::IF_MATCH, "If-Match"),
        (header::IF_NONE_MATCH, "If-None-Match"),
        (APPEND_CONDITION, "Bitacora-Append-Condition"),
    ] {
        refuse_condition(&headers, &name, shown)?;
    }
    let encoding = content_encoding(&headers)?;
    let ingest = Ingest::new(api, caller, ledger, names.stream, encoding, body).await?;
    long_body.allow();
    let mut response = Response::new(ingest.begin());
    response.headers_mut().insert(header::CONTENT_TYPE, NDJSON);
    Ok(response)
}

fn refuse_condition(headers: &HeaderMap, name: &HeaderName, shown: &'static str) -> Result<(), Problem> {
    if !headers.contains_key(name) {
        return Ok(());
    }
    let fault = "is about one request, and an upload is many; send a request of up to 1,000 events";
    Err(Problem::new(Code::BadHeader, format!("the header {shown} {fault}"))
        .with_fault(FaultLocation::Header(shown), fault))
}

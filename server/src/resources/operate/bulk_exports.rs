//! `…/exports`: the record of events that leave the ledger as a file.

use axum::http::StatusCode;
use axum::response::Response;
use bitacora_vocabulary::{EXPORT_SOURCE, EventPosition, ExportMade};

use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::service_event::ServiceEvent;
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{ActAnswer, ExportRequest, paths};

/// The stream of exports.
const STREAM: &str = "exports";

#[utoipa::path(
    post,
    path = paths::BULK_EXPORTS,
    tag = "operation",
    operation_id = "recordExport",
    params(InLedger),
    request_body(content = ExportRequest),
    responses(
        (status = 201, description = "Recorded: the signed log vouches for the manifest's digest", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn record(mut act: Act) -> Result<Response, Problem> {
    let made = act
        .read(|members| {
            Ok(ExportMade {
                format: members.require("format")?,
                selection: members.take("selection")?,
                rows: members.require("rows")?,
                first: members.take("first")?,
                last: members.take("last")?,
                bytes: members.require("bytes")?,
                sha256: members.require("sha256")?,
                manifest_sha256: members.require("manifest_sha256")?,
            })
        })
        .await?;
    let head = act.ledger.head().position;
    let past = |position: &Option<EventPosition>| position.as_ref().is_some_and(|at| at.get() > head);
    if past(&made.first) || past(&made.last) {
        let detail = format!("the export names a position past the head at {head}");
        return Err(Problem::new(Code::NotFound, detail));
    }
    // Its id follows from its manifest, so that a repeated request finds it.
    let event = act.event(made.manifest_sha256.as_str().to_owned(), STREAM, &made)?;
    let event = ServiceEvent { source: EXPORT_SOURCE, ..event };
    act.record_together(vec![event]).await?.answer_as(StatusCode::CREATED, |position| ActAnswer { position })
}

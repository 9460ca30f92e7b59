//! `POST /v1/traces`, `/v1/logs` and `/v1/metrics`: the receiver of OpenTelemetry (OTLP over HTTP).
//!
//! Spans and log records about agents become events of telemetry. Metrics are taken and dropped.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;
use bitacora_otlp::{Encoding, ExportAnswer, Signal};

use crate::access::caller::Caller;
use crate::api::Api;
use crate::exports::{append_export, discard, encoding_of, media_of, receive};
use crate::http::media::single_header;
use crate::http::path::{PathNames, ledger_name};
use crate::problem::{Code, Problem};
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::paths;

/// The header that names the ledger of an export, where the path does not.
const LEDGER: HeaderName = HeaderName::from_static("bitacora-ledger");

macro_rules! export_routes {
    ($(#[$doc:meta] $name:ident, $in_ledger:ident, $path:ident, $ledger_path:ident, $id:literal, $ledger_id:literal, $signal:expr;)*) => {
        $(
            #[$doc]
            #[utoipa::path(
                post,
                path = paths::$path,
                tag = "append",
                operation_id = $id,
                params(
                    ("Bitacora-Ledger" = Option<String>, Header, description = "The ledger; without it the only one that takes the token, or `main`"),
                    ("Content-Encoding" = Option<String>, Header, description = "`gzip` or `zstd`"),
                ),
                request_body(
                    description = "An export request of OTLP 1.x, in protobuf or JSON, at most 64 MiB also when decompressed",
                    content((Object = "application/x-protobuf"), (Object = "application/json"))
                ),
                responses(
                    (status = 200, description = "Taken, in the encoding of the request; `partialSuccess` tells what was rejected", body = Object),
                    Refusals,
                )
            )]
            pub(crate) async fn $name(
                State(api): State<Arc<Api>>,
                caller: Caller,
                headers: HeaderMap,
                body: Body,
            ) -> Result<Response, Problem> {
                let ledger = match single_header(&headers, &LEDGER)? {
                    Some(name) => ledger_name(name)?,
                    None => caller.own_ledger(&api.authenticator)?,
                };
                let caller = caller.writing_to(&api.authenticator, ledger.clone())?;
                let names = PathNames { ledger: Some(ledger), ..PathNames::default() };
                export(api, caller, names, headers, body, $signal).await
            }

            #[$doc]
            #[utoipa::path(
                post,
                path = paths::$ledger_path,
                tag = "append",
                operation_id = $ledger_id,
                params(
                    InLedger,
                    ("Content-Encoding" = Option<String>, Header, description = "`gzip` or `zstd`"),
                ),
                request_body(
                    description = "An export request of OTLP 1.x, in protobuf or JSON, at most 64 MiB also when decompressed",
                    content((Object = "application/x-protobuf"), (Object = "application/json"))
                ),
                responses(
                    (status = 200, description = "Taken, in the encoding of the request; `partialSuccess` tells what was rejected", body = Object),
                    Refusals,
                )
            )]
            pub(crate) async fn $in_ledger(
                State(api): State<Arc<Api>>,
                caller: Caller,
                names: PathNames,
                headers: HeaderMap,
                body: Body,
            ) -> Result<Response, Problem> {
                export(api, caller, names, headers, body, $signal).await
            }
        )*
    };
}

export_routes! {
    /// Takes spans.
    traces, ledger_traces, OTLP_TRACES, LEDGER_OTLP_TRACES, "exportTraces", "exportTracesToLedger", Some(Signal::Traces);
    /// Takes log records.
    logs, ledger_logs, OTLP_LOGS, LEDGER_OTLP_LOGS, "exportLogs", "exportLogsToLedger", Some(Signal::Logs);
    /// Takes metrics, and drops them.
    metrics, ledger_metrics, OTLP_METRICS, LEDGER_OTLP_METRICS, "exportMetrics", "exportMetricsToLedger", None;
}

async fn export(
    api: Arc<Api>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
    signal: Option<Signal>,
) -> Result<Response, Problem> {
    let encoding = encoding_of(&headers)?;
    let ledger = api.ledger_of(&names)?;
    let Some(signal) = signal else {
        discard(&headers, body).await?;
        return Ok(answer(&ExportAnswer::default(), Signal::Traces, encoding));
    };
    let received = receive(&api, &caller, &headers, body).await?;
    // The body may have been on its way for minutes.
    caller.still_holds(&api.authenticator)?;
    let appended =
        tokio::task::spawn_blocking(move || append_export(&api, caller, ledger, signal, encoding, received));
    let appended = appended
        .await
        .map_err(|_| Problem::new(Code::Internal, "the export failed on a defect; repeat it"))?;
    Ok(answer(&appended?, signal, encoding))
}

fn answer(answer: &ExportAnswer, signal: Signal, encoding: Encoding) -> Response {
    let mut response = Response::new(Body::from(answer.bytes(signal, encoding)));
    response.headers_mut().insert(header::CONTENT_TYPE, media_of(encoding));
    response
}

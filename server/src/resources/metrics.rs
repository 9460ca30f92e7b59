//! `/metrics`, in Prometheus' text format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::api::Api;
use crate::problem::{Code, Problem};

#[utoipa::path(get, path = "/metrics", tag = "operation", operation_id = "metrics",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(api): State<Arc<Api>>) -> Result<impl IntoResponse, Problem> {
    let text = api.metrics.to_text(&api.ledgers.all());
    let text =
        text.map_err(|error| Problem::new(Code::Internal, format!("the metrics were not written: {error}")))?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")], text))
}

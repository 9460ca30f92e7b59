//! `/metrics`, in the text format that the caller asks for.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;

use crate::api::Api;
use crate::http::media::weight_of;
use crate::problem::{Code, Problem};
use crate::resources::description::Refusals;
use bitacora_api::paths;

/// OpenMetrics 1.0.0, and Prometheus' older text format.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

#[utoipa::path(get, path = paths::METRICS, tag = "operation", operation_id = "metrics",
    responses(
        (status = 200, description = "The metrics, in base units. Without a preference as text of version 0.0.4", content(
            (String = "text/plain"),
            (String = "application/openmetrics-text"),
        )),
        Refusals,
    ))]
pub(crate) async fn metrics(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let weigh = |offered| weight_of(&headers, offered);
    let (plain, open) = (weigh("text/plain"), weigh("application/openmetrics-text"));
    if plain.max(open) == 0 {
        let detail = "offered are text/plain; version=0.0.4 and application/openmetrics-text; version=1.0.0";
        return Err(Problem::new(Code::NotAcceptable, detail));
    }
    let text = api.metrics.to_openmetrics(api.web.certificate_end(), &api.ledgers.all());
    let text =
        text.map_err(|error| Problem::new(Code::Internal, format!("the metrics were not written: {error}")))?;
    let (media_type, text) =
        if open > plain { (OPENMETRICS, text) } else { (PROMETHEUS, to_prometheus(&text)) };
    let headers =
        [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store"), (header::VARY, "accept")];
    Ok((headers, text))
}

/// The same in text of version 0.0.4: a counter's name ends in `_total` everywhere, and neither units nor an end are told.
fn to_prometheus(openmetrics: &str) -> String {
    let types = openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: std::collections::HashSet<&str> = types.collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        let written = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("EOF" | "UNIT"), ..) => continue,
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(name), Some(rest))
                if counters.contains(name) =>
            {
                format!("# {what} {name}_total {rest}")
            }
            _ => line.to_owned(),
        };
        text.push_str(&written);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_text_names_counters_as_their_samples_are_named() {
        let openmetrics = "# HELP a_b Things.\n# TYPE a_b counter\n# UNIT a_b seconds\na_b_total{x=\"y z\"} 1.5\n\
                           # HELP c Now.\n# TYPE c gauge\nc 2\n# EOF\n";
        assert_eq!(
            to_prometheus(openmetrics),
            "# HELP a_b_total Things.\n# TYPE a_b_total counter\na_b_total{x=\"y z\"} 1.5\n\
             # HELP c Now.\n# TYPE c gauge\nc 2\n"
        );
    }
}

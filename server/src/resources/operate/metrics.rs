//! `/metrics`, in the text format that the caller asks for.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::media::weight_of;
use crate::metrics::collections::MetricsScope;
use crate::problem::{Code, Problem};
use crate::resources::description::Refusals;
use bitacora_api::paths;
use bitacora_vocabulary::Role;

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
    caller: Caller,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let weigh = |offered| weight_of(&headers, offered);
    let (plain, open) = (weigh("text/plain"), weigh("application/openmetrics-text"));
    if plain.max(open) == 0 {
        let detail = "offered are text/plain; version=0.0.4 and application/openmetrics-text; version=1.0.0";
        return Err(Problem::new(Code::NotAcceptable, detail));
    }
    let (of, scope) = (Arc::clone(&api), scope_of(&api, &caller));
    let collect =
        move |scope: &MetricsScope| of.metrics.to_openmetrics(of.web.certificate_end(), &of.ledgers, scope);
    let text = api.metrics.collections.text(scope, collect).await?;
    let (media_type, text) =
        if open > plain { (OPENMETRICS, text.to_string()) } else { (PROMETHEUS, to_prometheus(&text)) };
    let headers =
        [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store"), (header::VARY, "accept")];
    Ok((headers, text))
}

/// Returns the ledgers of whose governing the caller is told: all of them, if its role is about the service.
fn scope_of(api: &Api, caller: &Caller) -> MetricsScope {
    if matches!(caller.role(), Role::Metrics | Role::Admin) {
        return MetricsScope::Service;
    }
    let slots = api.ledgers.all();
    let known = slots.keys().filter(|name| caller.is_known_in(&api.authenticator, name));
    MetricsScope::Only(known.cloned().collect())
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

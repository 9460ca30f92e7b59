//! `…/decisions`: decisions, counted by minute and verdict.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_projector::DecisionMinuteQuery;

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::time_spans::Times;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{DecisionMinuteList, paths};

/// The model that is asked.
const MODEL: &str = "tools";

#[utoipa::path(
    get,
    path = paths::DECISIONS,
    tag = "governance",
    operation_id = "countDecisions",
    params(
        InLedger,
        ("since" = Option<String>, Query, description = "Only minutes from that of this RFC 3339 time on"),
        ("before" = Option<String>, Query, description = "Only minutes that began before this time"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Minutes in which the ledger recorded decisions, the newest first; imported decisions do not count", body = DecisionMinuteList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let times = Times::take(&mut query, "since", "before")?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let (since, before) = (times.since.map(|time| time.0), times.before.map(|time| time.0));
    let asked = DecisionMinuteQuery { since, before, page_end: paging.after, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.decision_minutes(&asked)).await?;
    let last = found.items.last().map(|last| last.minute).filter(|_| found.more);
    let page = DecisionMinuteList {
        minutes: found.items.into_iter().map(Into::into).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

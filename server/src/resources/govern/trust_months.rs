//! `…/trust/months`: the record of one dimension, month by month.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::api::Api;
use crate::limits::MAX_LISTED;
use crate::problem::Problem;
use crate::requests::listing::written_page_at;
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::trust::take_dimension;
use bitacora_api::{TrustMonthList, paths};

#[utoipa::path(
    get,
    path = paths::TRUST_MONTHS,
    tag = "governance",
    operation_id = "listTrustMonths",
    params(
        InLedger,
        ("tool" = String, Query, description = "The tool"),
        ("context" = Option<String>, Query, description = "The context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task_type" = Option<String>, Query, description = "The type of task"),
        ("workspace" = Option<String>, Query, description = "The workspace, `-` for calls that named none; what is kept for all of them together where it is left out"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The last thousand months at most in which anything was observed, the newest first", body = TrustMonthList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let dimension = take_dimension(&mut query)?;
    query.finish()?;
    let ask = ask_model(&api, &request, "trust", move |models| models.trust_months(&dimension, MAX_LISTED));
    let found = ask.await?;
    let list = TrustMonthList { months: found.items.into_iter().map(Into::into).collect() };
    written_page_at(&request, found.position, &list)
}

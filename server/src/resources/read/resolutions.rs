//! `…/resolutions`, `…/answerers`: approvals that were answered, their answerers, and the waits.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::AnsweredApprovalQuery;
use bitacora_vocabulary::Resolution;

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{AnsweredList, AnswererList, paths};

/// The model that is asked.
const MODEL: &str = "resolutions";

#[utoipa::path(
    get,
    path = paths::RESOLUTIONS,
    tag = "governance",
    operation_id = "listResolutions",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "Only what this actor said"),
        ("agent" = Option<String>, Query, description = "Only about calls of this agent"),
        ("resolution" = Option<String>, Query, description = "Only `approved`, `rejected`, `edited`, `expired` or `withdrawn`"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Answered approvals, the newest first", body = AnsweredList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let (by, agent) = (query.take("by")?.map(Into::into), query.take("agent")?.map(Into::into));
    let resolution = query.take("resolution")?.map(|word| resolution_of(&word)).transpose()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let before = paging.after.and_then(Position::new);
    let asked = AnsweredApprovalQuery { by, agent, resolution, before, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.answered(&asked)).await?;
    let last = found.items.last().map(|answered| answered.position).filter(|_| found.more);
    let page = AnsweredList {
        resolutions: found.items.into_iter().map(Into::into).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::ANSWERERS,
    tag = "governance",
    operation_id = "listAnswerers",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Who has answered approvals, in the order in which they did first", body = AnswererList),
        Refusals,
    )
)]
pub(crate) async fn answerers(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let (after, limit) = (paging.after.unwrap_or_default(), paging.limit);
    let found = ask_model(&api, &request, MODEL, move |models| models.answerers(after, limit)).await?;
    let last = found.items.last().map(|person| person.first).filter(|_| found.more);
    let page = AnswererList {
        answerers: found.items.into_iter().map(Into::into).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

fn resolution_of(word: &str) -> Result<Resolution, Problem> {
    let found = Resolution::ALL.into_iter().find(|resolution| resolution.as_str() == word);
    found.ok_or_else(|| {
        let words = Resolution::ALL.map(|resolution| format!("`{}`", resolution.as_str())).join(", ");
        bad_query("resolution", &format!("is none of {words}"))
    })
}

//! `…/gaps`: calls of which half of the record is missing.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::GapQuery;

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{GapList, paths};

#[utoipa::path(
    get,
    path = paths::GAPS,
    tag = "governance",
    operation_id = "listGaps",
    params(
        InLedger,
        ("session" = Option<String>, Query, description = "Only those of this session"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Gaps, the newest first", body = GapList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let session = query.take("session")?.map(Into::into);
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let asked = GapQuery { session, before: paging.after.and_then(Position::new), limit: paging.limit };
    let found = ask_model(&api, &request, "gaps", move |models| models.gaps(&asked)).await?;
    let last = found.items.last().map(|gap| gap.position).filter(|_| found.more);
    let page = GapList {
        gaps: found.items.into_iter().map(Into::into).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

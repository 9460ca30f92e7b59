//! `…/archives`: ranges of events that lie in archives.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{After, Data, format_time};
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use bitacora_vocabulary::{ArchiveSealed, EventData};

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ArchiveAnswer, ArchiveList, paths};

#[utoipa::path(
    get,
    path = paths::ARCHIVES,
    tag = "proof",
    operation_id = "listArchives",
    params(InLedger, OfPage, AtLeast),
    responses(
        (status = 200, description = "The archives, in the order in which they were sealed", body = ArchiveList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let asked = ReadQuery {
        from: ReadFrom::After(paging.after.map_or(After::START, After::new)),
        until: Some(head.position),
        limit: paging.limit,
        filter: Filter { kinds: vec![ArchiveSealed::KIND.to_owned()], ..Filter::default() },
    };
    let ledger = request.ledger.clone();
    let page = api.read(move || Ok(ledger.read(&asked)?)).await?;
    let archives = page.events.iter().filter_map(answer).collect();
    let next = page.next.and_then(|next| match next {
        ReadFrom::After(after) => PageParams::next(&after.get()),
        ReadFrom::Before(_) => None,
    });
    written_page_at(&request, head.position, &ArchiveList { archives, next })
}

fn answer(stored: &StoredEvent<'_>) -> Option<ArchiveAnswer> {
    let Data::Json(json) = &stored.event.data else { return None };
    let sealed: ArchiveSealed = serde_json::from_slice(json.as_bytes()).ok()?;
    Some(ArchiveAnswer {
        archive: sealed.archive.to_string(),
        first: sealed.first.get().to_string(),
        last: sealed.last.get().to_string(),
        bytes: sealed.bytes.get(),
        manifest_sha256: sealed.manifest_sha256.as_str().to_owned(),
        store: sealed.store.as_ref().map(ToString::to_string),
        sealed: format_time(stored.time),
        position: stored.position.to_string(),
    })
}

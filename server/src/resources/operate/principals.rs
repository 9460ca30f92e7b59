//! `…/principals`: the holders of tokens, present and past.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Data, Micros, Position, format_time};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{EventData, Name, PrincipalCreated, PrincipalExpired, PrincipalRevoked};
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::limits::MAX_PRINCIPAL_EVENTS;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{PrincipalAnswer, PrincipalList, paths};

#[utoipa::path(
    get,
    path = paths::PRINCIPALS,
    tag = "operation",
    operation_id = "listPrincipals",
    params(InLedger, OfPage, AtLeast),
    responses(
        (status = 200, description = "Who has a token, or had one, by their ids; never a token or its hash", body = PrincipalList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<Name>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let now = api.ledgers.time_in(request.ledger.ledger());
    let (ledger, until) = (request.ledger.clone(), head.position);
    let all = api.read(move || principals(&ledger, until, now)).await?;
    let behind = all.into_iter().filter(|(id, _)| paging.after.as_ref().is_none_or(|after| id > after));
    let page = paging.page(behind, |(id, _)| id.clone());
    let principals = page.items.into_iter().map(|(_, principal)| principal).collect();
    written_page_at(&request, head.position, &PrincipalList { principals, next: page.next })
}

/// Reads the newest events about principals up to a position, from the last one back: the end of each comes before its beginning.
fn principals(
    ledger: &IndexedLedger,
    until: Position,
    now: Micros,
) -> Result<BTreeMap<Name, PrincipalAnswer>, Problem> {
    let kinds = [PrincipalCreated::KIND, PrincipalRevoked::KIND, PrincipalExpired::KIND];
    let filter = Filter { kinds: kinds.map(str::to_owned).to_vec(), ..Filter::default() };
    let (mut ended, mut found) = (BTreeMap::new(), BTreeMap::new());
    let (mut next, mut read) = (Some(ReadFrom::Before(until.next())), 0);
    while let Some(from) = next.filter(|_| read < MAX_PRINCIPAL_EVENTS) {
        let query = ReadQuery { from, until: None, limit: MAX_PAGE_EVENTS, filter: filter.clone() };
        let end = ledger.read_each(&query, &mut |stored| take(&stored, now, &mut ended, &mut found))?;
        read += end.events;
        next = end.next;
    }
    Ok(found)
}

/// The end of a principal: its time, and the reason.
type PrincipalEnd = (Micros, Option<String>);

fn take(
    stored: &StoredEvent<'_>,
    now: Micros,
    ended: &mut BTreeMap<Name, PrincipalEnd>,
    found: &mut BTreeMap<Name, PrincipalAnswer>,
) {
    if stored.event.kind == PrincipalCreated::KIND {
        let Some(created) = data::<PrincipalCreated>(stored) else { return };
        let end = ended.remove(&created.principal);
        found.entry(created.principal.clone()).or_insert_with(|| answer(stored, &created, end, now));
    } else if let Some(PrincipalRevoked { principal, note }) = data(stored) {
        ended.entry(principal).or_insert_with(|| (stored.time, note.map(|note| note.to_string())));
    }
}

/// An expiry has the members that a revocation must have.
fn data<T: DeserializeOwned>(stored: &StoredEvent<'_>) -> Option<T> {
    let Data::Json(json) = &stored.event.data else { return None };
    serde_json::from_slice(json.as_bytes()).ok()
}

fn answer(
    stored: &StoredEvent<'_>,
    created: &PrincipalCreated,
    end: Option<PrincipalEnd>,
    now: Micros,
) -> PrincipalAnswer {
    let expires = created.expires.map(Micros);
    let is_over = expires.is_some_and(|expires| expires <= now);
    let state = match &end {
        _ if is_over => "expired",
        Some(_) => "revoked",
        None => "valid",
    };
    PrincipalAnswer {
        principal: created.principal.to_string(),
        role: created.role.as_str().to_owned(),
        actor: created.actor(),
        state: state.to_owned(),
        name: created.name.as_ref().map(ToString::to_string),
        agent: created.agent.as_ref().map(ToString::to_string),
        created: format_time(stored.time),
        position: stored.position.to_string(),
        expires: expires.map(format_time),
        ended: end.as_ref().map(|(time, _)| format_time(*time)),
        note: end.and_then(|(_, note)| note),
    }
}

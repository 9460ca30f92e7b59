//! `…/sessions`: sessions with their agents, tools, times and results.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::{SessionQuery, SessionState};

use crate::api::Api;
use crate::requests::listing::{PageParams, written_page_at};
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{SessionList, SessionShown, paths};

use crate::http::query::bad_query;
use crate::problem::{Code, Problem, quoted};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::time_spans::TimeParams;

/// The model that is asked.
const MODEL: &str = "sessions";

#[utoipa::path(
    get,
    path = paths::SESSIONS,
    tag = "governance",
    operation_id = "listSessions",
    params(
        InLedger,
        ("agent" = Option<String>, Query, description = "Only those of this agent"),
        ("harness" = Option<String>, Query, description = "Only those that this program ran"),
        ("state" = Option<String>, Query, description = "Only those that are `open` or `ended`"),
        ("since" = Option<String>, Query, description = "Only those that began at this RFC 3339 time or later: the ledger's time for what happened here, their own for sessions of an accepted import"),
        ("before" = Option<String>, Query, description = "Only those that began before this time"),
        ("recorded_since" = Option<String>, Query, description = "Only those named first in the ledger at this time or later"),
        ("recorded_before" = Option<String>, Query, description = "Only those named first in the ledger before this time"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Sessions, those that were named first last first; 20,000 are looked at for a page at most", body = SessionList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let (agent, harness) = (query.take("agent")?.map(Into::into), query.take("harness")?.map(Into::into));
    let state = query.take("state")?.map(|word| state_of(&word)).transpose()?;
    let times = TimeParams::take(&mut query)?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let between = times.positions(&api, &request).await?;
    let asked = SessionQuery {
        agent,
        harness,
        state,
        between: between.happened,
        from: between.from,
        before: between.before,
        page_end: paging.after.and_then(Position::new),
        limit: paging.limit,
    };
    let found = ask_model(&api, &request, MODEL, move |models| models.sessions(&asked)).await?;
    let next = found.next.and_then(|next| PageParams::next(&next.get()));
    let outside = found.outside.map(Into::into);
    let page = SessionList { sessions: found.sessions.into_iter().map(Into::into).collect(), next, outside };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::SESSION,
    tag = "governance",
    operation_id = "showSession",
    params(
        InLedger,
        ("session" = String, Path, description = "Its id"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The session, with its newest runs", body = SessionShown),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let id = request.names.named.clone().unwrap_or_default();
    let asked = id.clone();
    let (found, position) = ask_model(&api, &request, MODEL, move |models| models.session(&asked)).await?;
    let missing = || {
        Problem::new(Code::NoSuchSession, format!("no session {} is recorded", quoted(&id)))
            .with("position", position)
    };
    let (session, runs) = found.ok_or_else(missing)?;
    let newest_runs = runs.into_iter().map(Into::into).collect();
    written_page_at(&request, position, &SessionShown { session: session.into(), newest_runs })
}

fn state_of(word: &str) -> Result<SessionState, Problem> {
    let found = SessionState::ALL.into_iter().find(|state| state.as_str() == word);
    found.ok_or_else(|| {
        let words = SessionState::ALL.map(|state| format!("`{}`", state.as_str())).join(", ");
        bad_query("state", &format!("is none of {words}"))
    })
}

//! `…/trust/history`, `…/trust/record?at=`: what was recorded of the trust of one dimension, and what it came to then.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::vocabulary::{
    Dimension, EventData, ImportAccepted, PolicyActivated, PolicyPublished, TrustObserved, TrustSet,
};
use bitacora_formats::{After, Data, Micros, Position, format_time};
use bitacora_governance::{DimensionStanding, Observed, ReactorState, State as GovernedState};
use bitacora_ledger::{Filter, From as Place, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use tokio::time::Instant;

use super::openapi::{AtLeast, InLedger, Refusals};
use super::trust::take_dimension;
use crate::answers::TrustHistory;
use crate::api::Api;
use crate::governed::{data_of, governance};
use crate::json::JsonWriter;
use crate::limits::{DEFAULT_OUTCOMES, HISTORY_PAGE_EVENTS, MAX_HISTORY_READ, MAX_OUTCOMES, MAX_PAST_TIME};
use crate::listing::take_limit;
use crate::media::JSON;
use crate::page::is_forgettable;
use crate::problem::{Code, Problem};
use crate::question::{IMMUTABLE, NO_STORE, Question, answer_at};

/// What one outcome takes in an answer, about, bytes.
const OUTCOME_BYTES: usize = 320;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/trust/history",
    tag = "governance",
    operation_id = "readTrustHistory",
    params(
        InLedger,
        ("tool" = String, Query, description = "The tool"),
        ("context" = Option<String>, Query, description = "The context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task_type" = Option<String>, Query, description = "The type of task"),
        ("until" = Option<String>, Query, description = "Only up to this position, itself included"),
        ("limit" = Option<usize>, Query, description = "At most this many: 100 without it, up to 1,000"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What was recorded, the newest first; 20,000 events are looked through at once", body = TrustHistory),
        Refusals,
    )
)]
pub(crate) async fn history(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let dimension = take_dimension(&mut query)?;
    let until = query.take_position("until")?;
    let limit = take_limit(&mut query, DEFAULT_OUTCOMES, MAX_OUTCOMES)?;
    query.finish()?;
    governance(&question.ledger)?;
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let from = Place::Before(until.unwrap_or(head.position).next());
    let (bytes, is_forgettable) = api.read(move || outcomes(&ledger, &dimension, from, limit)).await?;
    // What stands up to a position that is there stays as it is.
    let is_settled = until.is_some_and(|until| until <= head.position) && !is_forgettable;
    let cache = if is_settled { IMMUTABLE } else { NO_STORE };
    Ok(answer_at(&head, JSON, cache, bytes.into()))
}

/// A page of what was recorded of a dimension, written, and whether any of it may be forgotten.
fn outcomes(
    ledger: &IndexedLedger,
    dimension: &Dimension,
    from: Place,
    limit: usize,
) -> Result<(Vec<u8>, bool), Problem> {
    let mut json = JsonWriter::with_capacity(64 + OUTCOME_BYTES * limit.min(DEFAULT_OUTCOMES));
    json.begin_object();
    json.key("outcomes");
    json.begin_array();
    let (mut found, mut read, mut from, mut last, mut forgettable) = (0, 0, Some(from), None, false);
    while let Some(next) = from.filter(|_| found < limit && read < MAX_HISTORY_READ) {
        let filter = of_kinds(&[TrustObserved::KIND, TrustSet::KIND]);
        let page = ledger.read(&ReadQuery { from: next, until: None, limit: HISTORY_PAGE_EVENTS, filter })?;
        from = page.next;
        read += page.events.len();
        for stored in &page.events {
            if found == limit {
                from = from.or(Some(next));
                break;
            }
            last = Some(stored.position);
            forgettable |= is_forgettable(stored);
            if dimension_of(stored).as_ref() == Some(dimension) {
                found += 1;
                write_outcome(stored, &mut json);
            }
        }
    }
    json.end_array();
    let before = last.map(Position::get).filter(|last| from.is_some() && *last > 1);
    if let Some(last) = before {
        json.place_member("next", last - 1);
    }
    json.end_object();
    Ok((json.into_bytes(), forgettable))
}

fn of_kinds(kinds: &[&'static str]) -> Filter {
    Filter { kinds: kinds.iter().map(|kind| (*kind).into()).collect(), ..Filter::default() }
}

fn dimension_of(stored: &StoredEvent<'_>) -> Option<Dimension> {
    if stored.event.kind == TrustSet::KIND {
        return data_of::<TrustSet>(stored).ok().map(|set| set.dimension);
    }
    data_of::<TrustObserved>(stored).ok().map(|observed| observed.dimension)
}

fn write_outcome(stored: &StoredEvent<'_>, json: &mut JsonWriter) {
    let Data::Json(data) = &stored.event.data else { return };
    json.begin_object();
    json.place_member("position", stored.position.get());
    json.text_member("time", &format_time(stored.time));
    json.text_member("type", &stored.event.kind);
    if let Some(actor) = stored.event.actor.as_deref().filter(|_| !stored.derived) {
        json.text_member("actor", actor);
    }
    json.key("data");
    json.value(|out| out.extend_from_slice(data.as_bytes()));
    json.end_object();
}

/// What a dimension had shown after the event at a position, under the policy of then, and the time of that event. It is folded
/// from all that was recorded of trust and policies up to there, if that is not more than so many events.
pub(super) fn standing_after(
    ledger: &IndexedLedger,
    dimension: &Dimension,
    at: Position,
    max_events: usize,
) -> Result<(Micros, DimensionStanding), Problem> {
    let time = ledger.event(at)?.time;
    let end = Instant::now() + MAX_PAST_TIME;
    let mut state = GovernedState::default();
    let (mut read, mut from) = (0, Some(Place::After(After::START)));
    while let Some(next) = from {
        let filter = of_kinds(&[
            TrustObserved::KIND,
            TrustSet::KIND,
            ImportAccepted::KIND,
            PolicyPublished::KIND,
            PolicyActivated::KIND,
        ]);
        let query = ReadQuery { from: next, until: Some(at), limit: HISTORY_PAGE_EVENTS, filter };
        let page = ledger.read(&query)?;
        read += page.events.len();
        if read > max_events || Instant::now() > end {
            let detail = format!(
                "what was recorded of trust up to position {at} takes too long to fold; replay the log, or ask for an earlier one"
            );
            return Err(Problem::new(Code::HistoryTooLong, detail).with("position", at));
        }
        for stored in &page.events {
            state.fold(&[Observed {
                position: stored.position,
                stream_version: stored.stream_version,
                time: stored.time,
                derived: stored.derived,
                event: &stored.event,
                examination: None,
            }]);
        }
        from = page.next;
    }
    Ok((time, state.standing(dimension, time)))
}

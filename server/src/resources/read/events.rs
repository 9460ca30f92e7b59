//! Reads of durable events: `GET …/events`, `GET …/streams/{stream}/events`, `GET …/events/{position}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bitacora_formats::{After, Position, StreamVersion};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, Ledger, ReadFrom, ReadQuery, ReadTiers};
use bitacora_projector::IndexedLedger;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::followers::event_follower::EventFollower;
use crate::followers::follow_body::follow_body;
use crate::http::media::{EVENT_STREAM, JSON, ListForm, NDJSON, list_form};
use crate::http::preconditions::version_tag;
use crate::http::query::{bad_query, take_time};
use crate::http::resume::{LEDGER_ID, last_event_id};
use crate::limits::{DEFAULT_PAGE_EVENTS, MAX_WAIT};
use crate::page::{Permanence, WrittenPage, event_json, page_json, page_lines};
use crate::problem::{Code, Problem};
use crate::requests::answer_tiers::{note_events, note_read};
use crate::requests::ndjson_answer::NdjsonAnswer;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{StoredEvent as StoredEventAnswer, StoredEventPage as PageAnswer, paths};

/// A question as a client asks it.
struct ReadParams {
    query: ReadQuery,
    /// The client's own limit.
    limit: Option<u64>,
    /// The time until which an empty answer is held back.
    wait_until: Option<Instant>,
}

#[utoipa::path(
    get,
    path = paths::EVENTS,
    tag = "read",
    operation_id = "readEvents",
    params(
        InLedger,
        ("stream" = Option<String>, Query, description = "Of this stream"),
        ("after" = Option<String>, Query, description = "Only events past this position"),
        ("until" = Option<String>, Query, description = "Only events up to this position, itself included"),
        ("limit" = Option<u64>, Query, description = "At most this many; a page holds up to 1,000, NDJSON any number"),
        ("type" = Option<Vec<String>>, Query, description = "Of one of these types"),
        ("actor" = Option<String>, Query, description = "With this actor"),
        ("agent" = Option<String>, Query, description = "With this agent"),
        ("session" = Option<String>, Query, description = "With this session"),
        ("run" = Option<String>, Query, description = "With this run"),
        ("call" = Option<String>, Query, description = "With this call"),
        ("tag" = Option<String>, Query, description = "With this tag"),
        ("since" = Option<String>, Query, description = "Recorded at this RFC 3339 time or later"),
        ("before" = Option<String>, Query, description = "Recorded before this RFC 3339 time"),
        ("dir" = Option<String>, Query, description = "`forward` (the default) or `backward`"),
        ("wait" = Option<String>, Query, description = "How long an empty answer may be held back, such as `30s`"),
        ("Last-Event-ID" = Option<String>, Header, description = "With text/event-stream: go on past this id, a position or `<ledger id>:<position>`; it wins over `after`"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What is durable and matches", content(
            (PageAnswer = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/event-stream"),
        )),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let form = list_form(&request.headers)?;
    let mut asked = read_parameters(&request)?;
    if form == ListForm::Follow {
        return follow(api, request, asked).await;
    }
    request.state(&api).await?;
    let ledger = request.ledger;
    check_begins_in_the_ledger(&asked.query, ledger.ledger())?;
    let wanted = asked.limit.unwrap_or(match form {
        ListForm::Page => DEFAULT_PAGE_EVENTS as u64,
        ListForm::Lines | ListForm::Follow => u64::MAX,
    });
    asked.query.limit = usize::try_from(wanted).unwrap_or(usize::MAX).min(MAX_PAGE_EVENTS);
    let has_end = ledger.lost_end().is_none();
    if form == ListForm::Lines && asked.query.until.is_none() && asked.wait_until.is_none() && has_end {
        // An answer of many pages is about one moment. Where the end is lost, the answer has to meet that.
        asked.query.until = Some(ledger.head().position);
    }
    // Before the page is read: a tag may say less than the page shows, never more.
    let tip = asked.query.filter.stream.as_deref().and_then(|stream| Some(ledger.stream_tip(stream)?.0));
    let mut page = first_page(&api, &request.caller, &ledger, &asked, form).await?;
    note_read(page.end.read);
    // What follows is read once the header is sent: it may hold less than is looked at.
    if let (ListForm::Lines, Some(next)) = (form, page.end.next) {
        let (first, last) = range(next, asked.query.until.unwrap_or(page.end.head.position));
        note_events(&ledger, first, last);
    }
    let bytes = api.hold_answer(std::mem::take(&mut page.bytes)).await?;

    let tag = is_plain_stream_read(&asked.query).then(|| tag_version(&page, tip)).flatten();
    // Of an answer of several pages nothing is known yet but the first one.
    let is_whole = form == ListForm::Page || page.end.next.is_none() || page.end.events as u64 >= wanted;
    let is_settled = has_end && is_whole && is_settled(&page, &asked.query);
    let cache = if is_settled { page.permanence.caching() } else { NO_STORE };
    let head = page.end.head;
    let (media_type, body) = match form {
        ListForm::Page => (JSON, Body::from(bytes)),
        ListForm::Lines | ListForm::Follow => {
            let count = page.end.events as u64;
            let (wanted, next) = (wanted.saturating_sub(count), page.end.next);
            let lines = NdjsonAnswer { api, ledger, query: asked.query, wanted, written: count, next, head };
            (NDJSON, lines.into_body(bytes))
        }
    };
    let mut response = answer_at(&head, media_type, cache, body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    if let Some(tag) = tag.and_then(|version| HeaderValue::try_from(version_tag(version)).ok()) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

#[utoipa::path(
    get,
    path = paths::EVENT,
    tag = "read",
    operation_id = "readEvent",
    params(("ledger" = String, Path, description = "The ledger's name"),("position" = String, Path, description = "Its position, from 1"),),
    responses(
        (status = 200, description = "The event", body = StoredEventAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let position = request
        .names
        .position
        .ok_or_else(|| Problem::new(Code::BadPosition, "the path names no position"))?;
    let head = request.state(&api).await?;
    note_events(&request.ledger, position.get(), position.get());
    let (bytes, permanence) = api
        .read(move || {
            let stored = request.ledger.event(position)?;
            Ok((event_json(&stored), Permanence::of(&stored)))
        })
        .await?;
    Ok(answer_at(&head, JSON, permanence.caching(), bytes.into()))
}

/// Everything that matches, from a position on and for as long as both sides last.
async fn follow(api: Arc<Api>, request: ReadRequest, asked: ReadParams) -> Result<Response, Problem> {
    let ReadParams { query, limit, wait_until } = asked;
    let ReadFrom::After(after) = query.from else {
        return Err(bad_query("dir", "is `backward`, and a stream of events goes forward"));
    };
    for (name, is_given) in
        [("limit", limit.is_some()), ("wait", wait_until.is_some()), ("until", query.until.is_some())]
    {
        if is_given {
            return Err(bad_query(name, "does not go with text/event-stream, which has no end"));
        }
    }
    let id = request.ledger.id();
    let after = last_event_id(&request.headers, id)?.unwrap_or(after);
    let head = request.state(&api).await?;
    let ledger = request.ledger;
    check_begins_in_the_ledger(
        &ReadQuery { from: ReadFrom::After(after), ..query.clone() },
        ledger.ledger(),
    )?;
    let followed = ledger.clone();
    let follower = EventFollower::new(api, request.caller, ledger, query.filter, after).await?;
    let body = follow_body(follower);
    note_events(&followed, after.get().saturating_add(1), u64::MAX);
    let mut response = answer_at(&head, EVENT_STREAM, NO_STORE, body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        headers.insert(LEDGER_ID, id);
    }
    Ok(response)
}

/// Reads the parameters; a stream in the path is one more filter.
fn read_parameters(request: &ReadRequest) -> Result<ReadParams, Problem> {
    let mut query = request.query()?;
    let after = query.take_parsed::<After>("after", "a decimal number from 0 to 2^64 - 1");
    let after = after.map_err(|problem| Problem::new(Code::BadPosition, problem.detail()))?;
    let until = query.take_position("until")?;
    let limit = query.take_parsed::<u64>("limit", "a number")?;
    if limit == Some(0) {
        return Err(bad_query("limit", "is 0; ask for at least one event"));
    }
    let backward = match query.take("dir")?.as_deref() {
        None | Some("forward") => false,
        Some("backward") => true,
        Some(_) => return Err(bad_query("dir", "is neither `forward` nor `backward`")),
    };
    let wait = query.take_duration("wait", MAX_WAIT)?;
    let named = query.take("stream")?;
    let stream = match (&request.names.stream, named) {
        (Some(_), Some(_)) => return Err(bad_query("stream", "is given in the path already")),
        (Some(stream), None) => Some(stream.to_owned()),
        (None, named) => named.map(Into::into),
    };
    let filter = Filter {
        kinds: query.take_all("type").into_iter().map(Into::into).collect(),
        stream,
        actor: query.take("actor")?.map(Into::into),
        agent: query.take("agent")?.map(Into::into),
        session: query.take("session")?.map(Into::into),
        run: query.take("run")?.map(Into::into),
        call: query.take("call")?.map(Into::into),
        tag: query.take("tag")?.map(Into::into),
        since: take_time(&mut query, "since")?,
        before: take_time(&mut query, "before")?,
    };
    query.finish()?;
    if backward && after.is_some() {
        return Err(bad_query("after", "does not go with dir=backward; bound it with until"));
    }
    if backward && wait.is_some() {
        return Err(bad_query("wait", "does not go with dir=backward"));
    }
    let from = if backward {
        ReadFrom::Before(until.and_then(Position::next))
    } else {
        ReadFrom::After(after.unwrap_or(After::START))
    };
    let until = until.filter(|_| !backward);
    let wait_until = wait.map(|wait| Instant::now() + wait);
    Ok(ReadParams { query: ReadQuery { from, until, limit: 0, filter }, limit, wait_until })
}

/// Refuses a position past the head. A client that has seen more than the ledger holds must hear it: one of the ledgers is not the one it
/// was.
fn check_begins_in_the_ledger(query: &ReadQuery, ledger: &Ledger) -> Result<(), Problem> {
    let ReadFrom::After(after) = query.from else { return Ok(()) };
    let tip = ledger.head().position;
    if after.get() <= tip.get() {
        return Ok(());
    }
    let detail = format!("position {after} is past the head at {tip}");
    Err(Problem::new(Code::NotFound, detail).with("position", after).with("tip", tip))
}

/// The first page, written; an empty one is held back while the client wants to wait.
async fn first_page(
    api: &Api,
    caller: &Caller,
    ledger: &IndexedLedger,
    asked: &ReadParams,
    form: ListForm,
) -> Result<WrittenPage, Problem> {
    let mut query = asked.query.clone();
    let (mut place, mut read) = (None, ReadTiers::default());
    loop {
        let (reader, request) = (ledger.clone(), query.clone());
        let mut page = api
            .read(move || {
                Ok(match form {
                    ListForm::Page => page_json(&reader, &request)?,
                    ListForm::Lines | ListForm::Follow => page_lines(&reader, &request)?,
                })
            })
            .await?;
        read.add(page.end.read);
        page.end.read = read;
        let end = &page.end;
        let Some(until) = asked.wait_until.filter(|until| end.events == 0 && Instant::now() < *until) else {
            return Ok(page);
        };
        // Nothing up to here matches, so nothing up to here is read again.
        query.from = end.next.unwrap_or(ReadFrom::After(end.head.position.into()));
        let is_past_the_last = asked.query.until.is_some_and(|last| end.head.position >= last);
        let news = end.head.position.next();
        if end.next.is_none() {
            let Some(news) = news.filter(|_| !is_past_the_last) else { return Ok(page) };
            let place = match &mut place {
                Some(place) => place,
                None => place.insert(api.place_to_wait(caller).await?),
            };
            // A caller that gives way is answered as if the time were over.
            let has_news = tokio::select! {
                has_news = api.wait_for_head(ledger.ledger(), news, until) => has_news,
                () = place.give_way_requested() => false,
            };
            if !has_news {
                return Ok(page);
            }
        }
    }
}

/// The positions between which an answer looks for events: from here to its end.
fn range(from: ReadFrom, until: Position) -> (u64, u64) {
    match from {
        ReadFrom::After(after) => (after.get().saturating_add(1), until.get()),
        ReadFrom::Before(before) => (1, before.map_or(until.get(), |before| before.get() - 1)),
    }
}

/// Returns `true` if the client reads a stream from some version on, and nothing else: only then a version is what it has seen.
fn is_plain_stream_read(query: &ReadQuery) -> bool {
    let of_stream = Filter { stream: query.filter.stream.clone(), ..Filter::default() };
    query.filter.stream.is_some() && query.filter == of_stream && query.until.is_none()
}

/// The highest version the page shows; for an empty page the stream's own.
fn tag_version(page: &WrittenPage, tip: Option<StreamVersion>) -> Option<StreamVersion> {
    page.highest_version.or(tip)
}

/// Returns `true` for a forward page with something after it: no event will be added to it.
fn is_settled(page: &WrittenPage, query: &ReadQuery) -> bool {
    let forward = matches!(query.from, ReadFrom::After(_));
    forward && page.end.next.is_some() && page.end.events > 0
}

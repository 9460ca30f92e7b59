//! `…/annotations`: notes beside the record.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_ledger::{Filter, ReadError, ReadFrom, ReadQuery};
use bitacora_projector::{AnnotationQuery, IndexedLedger, ModelError, ReadModels};
use bitacora_vocabulary::{
    AnnotationAdded, AnnotationTarget, DecisionMade, EventData as _, Name, ToolBlocked, ToolCompleted,
    ToolFailed, ToolRequested,
};

use crate::api::Api;
use crate::background::suggestion_job::MODEL;
use crate::http::query::{Query, bad_query};
use crate::problem::{Code, Problem, quoted};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::ServiceEvent;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::trust::take_dimension;
use bitacora_api::{ActAnswer, AnnotationList, AnnotationRequest, paths};

/// The stream of annotations.
const STREAM: &str = "annotations";
/// The types of events that a call has.
const CALL_KINDS: [&str; 5] =
    [ToolRequested::KIND, DecisionMade::KIND, ToolCompleted::KIND, ToolFailed::KIND, ToolBlocked::KIND];

#[utoipa::path(
    get,
    path = paths::ANNOTATIONS,
    tag = "governance",
    operation_id = "listAnnotations",
    params(
        InLedger,
        ("position" = Option<String>, Query, description = "Only those on the event at this position"),
        ("call" = Option<String>, Query, description = "Only those on this call"),
        ("tool" = Option<String>, Query, description = "Only those on the dimension of this tool, and its tags"),
        ("context" = Option<String>, Query, description = "The dimension's context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "Its model"),
        ("task_type" = Option<String>, Query, description = "Its type of task"),
        ("workspace" = Option<String>, Query, description = "The workspace, `-` for calls that named none; what is kept for all of them together where it is left out"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Annotations, the newest first", body = AnnotationList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let on = take_target(&mut query)?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let before = paging.after.and_then(Position::new);
    let asked = AnnotationQuery { on, before, limit: paging.limit };
    let (page, position) = ask_model(&api, &request, MODEL, move |models| page(models, &asked)).await?;
    written_page_at(&request, position, &page)
}

fn page(models: &ReadModels, asked: &AnnotationQuery) -> Result<(AnnotationList, Position), ModelError> {
    let found = models.annotations(asked)?;
    let tags = match &asked.on {
        Some(AnnotationTarget::Dimension(dimension)) => Some(models.tags(dimension)?),
        _ => None,
    };
    let last = found.items.last().map(|annotation| annotation.position).filter(|_| found.more);
    let page = AnnotationList {
        annotations: found.items.into_iter().map(Into::into).collect(),
        tags: tags.map(|tags| tags.into_iter().map(Into::into).collect()),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    Ok((page, found.position))
}

/// Takes the target of the annotations that are asked for; at most one.
fn take_target(query: &mut Query<'_>) -> Result<Option<AnnotationTarget>, Problem> {
    let position = query.take_position("position")?;
    let call = query.take("call")?.map(Name::new).transpose();
    let call = call.map_err(|error| bad_query("call", &error.to_string()))?;
    match (position, call) {
        (Some(_), Some(_)) => Err(bad_query("call", "and `position` name two things; ask for one")),
        (Some(position), None) => Ok(Some(AnnotationTarget::Position(position.into()))),
        (None, Some(call)) => Ok(Some(AnnotationTarget::Call(call))),
        (None, None) if query.has("tool") => take_dimension(query).map(AnnotationTarget::Dimension).map(Some),
        (None, None) => Ok(None),
    }
}

#[utoipa::path(
    post,
    path = paths::ANNOTATIONS,
    tag = "governance",
    operation_id = "annotate",
    params(InLedger),
    request_body(content = AnnotationRequest),
    responses(
        (status = 201, description = "Recorded", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn add(mut act: Act) -> Result<Response, Problem> {
    let added = act
        .read(|members| {
            Ok(AnnotationAdded {
                on: members.require_known("on")?,
                text: members.require("text")?,
                tags: members.take("tags")?,
            })
        })
        .await?;
    if let AnnotationTarget::Position(position) = &added.on {
        let head = act.ledger.head().position;
        if position.get() > head {
            let detail = format!("nothing stands at position {} yet; the last is {head}", position.get());
            return Err(Problem::new(Code::NotFound, detail));
        }
    }
    if let AnnotationTarget::Call(call) = &added.on {
        refuse_unknown(&act.api, &act.ledger, call).await?;
    }
    let mut event = ServiceEvent::act(&act.ledger, &act.caller, STREAM, &added)?;
    if let AnnotationTarget::Call(call) = &added.on {
        event.about.call = Some(call.clone());
    }
    act.record_together(vec![event]).await?.answer_as(StatusCode::CREATED, |position| ActAnswer { position })
}

/// Refuses a call that never was: a note on it would be found with nothing. Events that tell of a call name it in their label.
async fn refuse_unknown(api: &Api, ledger: &IndexedLedger, call: &Name) -> Result<(), Problem> {
    let (log, id) = (ledger.clone(), call.to_string());
    if api.read(move || Ok(is_recorded(&log, id)?)).await? {
        return Ok(());
    }
    let detail =
        format!("no event tells of a call {}; `…/calls` lists those there are", quoted(call.as_str()));
    Err(Problem::new(Code::NoSuchCall, detail))
}

/// Returns `true` if an event that tells of calls has this label; the newest are looked at first.
fn is_recorded(ledger: &IndexedLedger, call: String) -> Result<bool, ReadError> {
    let kinds = CALL_KINDS.map(str::to_owned).to_vec();
    let filter = Filter { kinds, call: Some(call), ..Filter::default() };
    let mut query = ReadQuery { from: ReadFrom::Before(None), until: None, limit: 1, filter };
    loop {
        let page = ledger.read(&query)?;
        match page.next {
            _ if !page.events.is_empty() => return Ok(true),
            Some(next) => query.from = next,
            None => return Ok(false),
        }
    }
}

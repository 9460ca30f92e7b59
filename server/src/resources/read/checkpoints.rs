//! `…/checkpoints`: checkpoints of threads, and one of them with all that belongs to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_projector::{
    CheckpointError, CheckpointPlace, CheckpointQuery, ContentBody, ContentLocation, FoundCheckpoint,
    ReadModels,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::Api;
use crate::http::query::bad_query;
use crate::json::json_of;
use crate::limits::MAX_SHOWN_CONTENT_BYTES;
use crate::problem::{Code, Problem};
use crate::requests::listing::{PageParams, page_answer_at, written_page_at};
use crate::requests::read_model_query::{ask_model_and_log, come_to_head};
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::write::checkpoint_acts::MODEL;
use crate::resources::write::content_pieces::JSON_ENCODING;
use bitacora_api::{CheckpointAnswer, CheckpointList, ContentValue, paths};

/// The place at which a page of checkpoints goes on: id, subgraph, and place.
type After = (String, String, u64, u64);

#[utoipa::path(
    get,
    path = paths::CHECKPOINTS,
    tag = "checkpoints",
    operation_id = "listCheckpoints",
    params(
        InLedger,
        ("thread" = Option<String>, Query, description = "Only those of this thread"),
        ("namespace" = Option<String>, Query, description = "Only those of this subgraph; empty is the outermost one"),
        ("before" = Option<String>, Query, description = "Only those whose id is smaller"),
        ("filter" = Option<String>, Query, description = "Only those whose metadata has these members with these values: a JSON object"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Of a thread the greatest id first, of all threads those saved last first", body = CheckpointList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let thread: Option<String> = query.take("thread")?.map(Into::into);
    let namespace = query.take("namespace")?.map(Into::into);
    let before = query.take("before")?.map(Into::into);
    let filter = query.take("filter")?;
    let filter = filter.map(|filter| serde_json::from_str::<BTreeMap<String, Value>>(&filter)).transpose();
    let filter = filter.map_err(|error| bad_query("filter", &format!("is no JSON object: {error}")))?;
    let paging = PageParams::<After>::take(&mut query)?;
    query.finish()?;
    let mut asked =
        CheckpointQuery { thread, namespace, before, limit: paging.limit, ..CheckpointQuery::default() };
    asked.filter = filter.unwrap_or_default();
    if let Some((id, namespace, position, number)) = paging.after {
        asked.after = Some((id, namespace));
        asked.after_place = Some(CheckpointPlace { position, number });
    }
    let found = ask_of_now(&api, &request, move |models| models.checkpoints(&asked)).await?;
    let next = found.last.map(|(id, namespace, place)| (id, namespace, place.position, place.number));
    let page = CheckpointList {
        checkpoints: found.checkpoints.into_iter().map(Into::into).collect(),
        next: next.and_then(|next| PageParams::next(&next)),
    };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::CHECKPOINT_THREAD,
    tag = "checkpoints",
    operation_id = "showCheckpoint",
    params(
        InLedger,
        ("thread" = String, Path, description = "The thread, percent-encoded once"),
        ("namespace" = Option<String>, Query, description = "The subgraph; the outermost one without it"),
        ("checkpoint" = Option<String>, Query, description = "Its id; the newest without it"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The checkpoint, what its channels hold, and what tasks wrote behind it", body = CheckpointAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let namespace: String = query.take("namespace")?.map(Into::into).unwrap_or_default();
    let checkpoint: Option<String> = query.take("checkpoint")?.map(Into::into);
    query.finish()?;
    let thread = request.names.named.clone().unwrap_or_default();
    let asked = thread.clone();
    let found = ask_of_now(&api, &request, move |models| {
        let (found, position) = models.checkpoint(&asked, &namespace, checkpoint.as_deref())?;
        let found = found.map(|found| shown(models, found)).transpose()?;
        Ok::<_, CheckpointError>((found, position))
    });
    let (Some(found), position) = found.await? else {
        return Err(Problem::new(
            Code::NoSuchCheckpoint,
            format!("thread {thread} holds no such checkpoint"),
        ));
    };
    let bytes = json_of(&found)?;
    let held = api.hold_answer(bytes).await?;
    Ok(page_answer_at(&request, position, held))
}

/// Asks the model of checkpoints once it stands where the ledger does. An agent goes on from the newest checkpoint, so an older one is
/// no answer, also while the service starts.
async fn ask_of_now<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    api: &Api,
    request: &ReadRequest,
    ask: impl Fn(&ReadModels) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, Problem> {
    request.state(api).await?;
    come_to_head(&request.ledger, MODEL).await?;
    ask_model_and_log(api, request, MODEL, ask).await
}

/// A checkpoint with its contents, as far as they fit an answer.
fn shown(models: &ReadModels, found: FoundCheckpoint) -> Result<CheckpointAnswer, CheckpointError> {
    let FoundCheckpoint { checkpoint, has_parent, writes } = found;
    let document = models.checkpoint_document(&checkpoint)?;
    let mut room = MAX_SHOWN_CONTENT_BYTES;
    let mut value = |content: &ContentLocation| value(models, content, &mut room);
    let mut values = BTreeMap::new();
    for channel in &checkpoint.channels {
        if let Some(content) = &channel.value {
            values.insert(channel.name.clone(), value(content)?);
        }
    }
    let mut written = Vec::with_capacity(writes.len());
    for write in writes {
        let value = value(&write.content)?;
        written.push(write.answer(value));
    }
    Ok(CheckpointAnswer {
        parent_found: checkpoint.parent.is_some().then_some(has_parent),
        document: document.and_then(|document| RawValue::from_string(document).ok()),
        saved: checkpoint.into(),
        values,
        writes: written,
    })
}

/// A content itself while there is room for it, else where it lies.
fn value(
    models: &ReadModels,
    content: &ContentLocation,
    room: &mut u64,
) -> Result<ContentValue, CheckpointError> {
    let value = ContentValue {
        encoding: content.encoding.clone(),
        bytes: Some(content.bytes),
        ..ContentValue::default()
    };
    if content.bytes > *room {
        let positions = content.pieces.iter().map(|piece| Some(piece.as_ref()?.to_string()));
        return Ok(match positions.collect() {
            Some(positions) => ContentValue { positions: Some(positions), ..value },
            None => ContentValue { missing: Some(true), ..value },
        });
    }
    let bytes = match models.content(content)? {
        ContentBody::Bytes(bytes) => bytes,
        ContentBody::Erased => return Ok(ContentValue { erased: Some(true), ..value }),
        ContentBody::Missing => return Ok(ContentValue { missing: Some(true), ..value }),
    };
    *room -= bytes.len() as u64;
    let json = content.encoding.as_deref().filter(|encoding| *encoding == JSON_ENCODING);
    // Answers are of one line. JSON has line breaks between its tokens alone.
    let line = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.replace(['\n', '\r'], " "));
    let json = json.and_then(|_| RawValue::from_string(line(&bytes)?).ok());
    Ok(match json {
        Some(json) => ContentValue { encoding: None, bytes: None, json: Some(json), ..value },
        None => ContentValue { base64: Some(STANDARD.encode(bytes)), ..value },
    })
}

//! Acts on checkpoints: `POST …/checkpoints/{thread}:save`, `:writes`, `:copy`, `:fork`, and `DELETE`.

use axum::response::Response;
use bitacora_formats::limits::MAX_REQUEST_BYTES;
use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::{AppendReceipt, Filter, PendingAppend, ReadFrom, ReadQuery, ReceiptStatus};
use bitacora_projector::IndexedLedger;
use bitacora_projector::limits::{MAX_THREAD_BYTES, MAX_THREAD_ENTRIES};
use bitacora_vocabulary::{
    BoundedText, CHECKPOINT_SOURCE, CheckpointCopied, CheckpointDeleted, EventData, Name, Namespace,
};

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::json_of;
use crate::limits::REPEATED_REQUESTS;
use crate::problem::{Code, Problem};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::read_model_query::{come_to_head, read_models};
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::requests::service_event::{CallContext, act_id, event_data};
use crate::resources::description::{InLedger, Refusals};
use crate::resources::write::checkpoint_saves::{fork, save, write};
use crate::resources::write::content_pieces::Contents;
use bitacora_api::{CheckpointActAnswer, CheckpointSaveRequest, paths};

/// The model that is asked.
pub(crate) const MODEL: &str = "checkpoints";

#[utoipa::path(
    post,
    path = paths::CHECKPOINT_THREAD,
    tag = "checkpoints",
    operation_id = "actOnCheckpoints",
    params(
        InLedger,
        ("thread" = String, Path, description = "The thread, percent-encoded once, and what is done: `t1:save`; `t1:writes` with what a task wrote (`CheckpointWritesRequest`); `t1:copy` (`CheckpointCopyRequest`); `t1:fork` (`CheckpointForkRequest`)"),
    ),
    request_body(content = CheckpointSaveRequest),
    responses(
        (status = 200, description = "Recorded. What another agent's thread would have to take is refused (`thread-of-another`): a thread is the agent's that saved in it first", body = CheckpointActAnswer),
        Refusals,
    )
)]
pub(crate) async fn act(mut act: Act) -> Result<Response, Problem> {
    act.query(|_| Ok(()))?;
    let (thread, verb) = act.named_verb();
    let (thread, verb) = (thread_name(thread)?, verb.to_owned());
    match verb.as_str() {
        "save" => save(act, thread).await,
        "writes" => write(act, thread).await,
        "copy" => copy(act, thread).await,
        "fork" => fork(act, thread).await,
        _ => Err(no_such_verb("what is done with a thread is `:save`, `:writes`, `:copy` or `:fork`")),
    }
}

#[utoipa::path(
    delete,
    path = paths::CHECKPOINT_THREAD,
    tag = "checkpoints",
    operation_id = "deleteCheckpoints",
    params(
        InLedger,
        ("thread" = String, Path, description = "The thread, percent-encoded once"),
        ("namespace" = Option<String>, Query, description = "Only this subgraph; empty is the outermost one"),
        ("checkpoint" = Option<String>, Query, description = "Only this checkpoint"),
        ("keep" = Option<String>, Query, description = "`newest` keeps the newest of each subgraph"),
        ("id" = Option<String>, Query, description = "The request's own id: one that was lost on its way is sent again under it, and done once"),
    ),
    responses(
        (status = 200, description = "Recorded: they are found no more. What the log says of them stays. Of another agent's thread an operator or an admin deletes (else `thread-of-another`)", body = CheckpointActAnswer),
        Refusals,
    )
)]
pub(crate) async fn delete(mut act: Act) -> Result<Response, Problem> {
    let thread = thread_name(act.named())?;
    let text = |text: Option<std::borrow::Cow<'_, str>>| text.map(std::borrow::Cow::into_owned);
    let (namespace, checkpoint, keep, id) = act.query(|query| {
        let (namespace, checkpoint) = (text(query.take("namespace")?), text(query.take("checkpoint")?));
        Ok((namespace, checkpoint, text(query.take("keep")?), text(query.take("id")?)))
    })?;
    let bad =
        |name: &str, fault: &dyn std::fmt::Display| crate::http::query::bad_query(name, &fault.to_string());
    let keep_newest = match keep.as_deref() {
        None => None,
        Some("newest") if checkpoint.is_none() => Some(true),
        Some(_) => return Err(bad("keep", &"is `newest`, without `checkpoint`")),
    };
    let data = CheckpointDeleted {
        thread: thread.clone(),
        namespace: namespace
            .map(Namespace::try_from)
            .transpose()
            .map_err(|error| bad("namespace", &error))?,
        checkpoint: checkpoint.map(Name::new).transpose().map_err(|error| bad("checkpoint", &error))?,
        keep_newest,
        reason: None,
    };
    let id = id.map(RequestId::new).transpose().map_err(|error| bad("id", &error))?;
    let _nothing = act.read_if_any(|_| Ok(())).await?;
    if let Some(told) = told_before::<CheckpointDeleted>(&act.api, &act.ledger, &thread, id.as_ref()).await? {
        return Ok(told);
    }
    come_to_head(&act.ledger, MODEL).await?;
    let models = read_models(&act.ledger)?;
    let is_there = match &data.checkpoint {
        Some(id) => match data.namespace.as_ref().map(Namespace::as_str) {
            Some(namespace) => models.checkpoint_place(&thread, namespace, id)?.is_some(),
            None => models.thread_has(&thread, id)?,
        },
        None => {
            let load = models.thread_load(&thread)?;
            let is_all = data.namespace.is_none() && data.keep_newest.is_none();
            load.entries > 0 || is_all && load.is_freed_by(act.caller.caller())
        }
    };
    if !is_there {
        return Err(Problem::new(
            Code::NoSuchCheckpoint,
            format!("thread {thread} holds no such checkpoint"),
        ));
    }
    act.caller.still_holds(&act.api.authenticator)?;
    let about = CallContext { agent: agent_of(&act, None)?, ..CallContext::default() };
    let event = ThreadEvent::of(&act, &thread, id.as_ref(), about, &data)?;
    event.must_count(&act.ledger, &thread)?;
    event.record(act, None).await
}

/// Copies a whole thread, or one checkpoint and those that lead to it, in one event.
async fn copy(mut act: Act, thread: Name) -> Result<Response, Problem> {
    let (to, namespace, checkpoint, id) = act
        .read(|members| {
            let to: Name = members.require("to")?;
            Ok((to, members.take("namespace")?, members.take("checkpoint")?, members.take("id")?))
        })
        .await?;
    if let Some(told) = told_before::<CheckpointCopied>(&act.api, &act.ledger, &to, id.as_ref()).await? {
        return Ok(told);
    }
    let data = CheckpointCopied { thread, to, namespace, checkpoint };
    come_to_head(&act.ledger, MODEL).await?;
    let models = read_models(&act.ledger)?;
    let CheckpointCopied { thread, to, .. } = &data;
    let namespace = data.namespace.as_ref().map_or("", Namespace::as_str);
    let from = models.thread_load(thread)?;
    let is_there = match &data.checkpoint {
        Some(id) => models.checkpoint_place(thread, namespace, id)?.is_some(),
        None => from.entries > 0,
    };
    if !is_there {
        return Err(Problem::new(
            Code::NoSuchCheckpoint,
            format!("thread {thread} holds no such checkpoint"),
        ));
    }
    if thread == to || models.thread_load(to)?.entries > 0 {
        let detail = format!("thread {to} holds checkpoints already; copy to another one, or delete them");
        return Err(Problem::new(Code::ThreadTaken, detail));
    }
    act.caller.still_holds(&act.api.authenticator)?;
    let about = CallContext { agent: agent_of(&act, None)?, ..CallContext::default() };
    let event = ThreadEvent::of(&act, to, id.as_ref(), about, &data)?;
    event.must_count(&act.ledger, to)?;
    event.record(act, None).await
}

/// A thread's name, as a path has it.
fn thread_name(text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|error| {
        Problem::new(Code::NoSuchCheckpoint, format!("that cannot be a thread's name: {error}"))
    })
}

/// The agent that saves: the token's, where it is an agent's.
pub(super) fn agent_of(
    act: &Act,
    named: Option<&str>,
) -> Result<Option<crate::requests::service_event::PlaceName>, Problem> {
    let agent = act.caller.agent_for(named)?.map(crate::requests::service_event::PlaceName::new).transpose();
    agent.map_err(|error| Problem::new(Code::BadBody, format!("the member `agent` is not taken: {error}")))
}

/// Refuses what would count for nothing, because the thread is another agent's.
pub(super) fn must_be_of(
    ledger: &IndexedLedger,
    thread: &str,
    actor: &str,
    agent: Option<&str>,
) -> Result<(), Problem> {
    // While the model is folded anew nobody knows. What is recorded then counts for as little.
    let Ok(load) = read_models(ledger)?.thread_load(thread) else { return Ok(()) };
    if load.takes(actor, agent) {
        return Ok(());
    }
    let owner = load.owner().unwrap_or_default();
    let detail =
        format!("thread {thread} belongs to agent {owner}, who saved in it first; take another thread");
    Err(Problem::new(Code::ThreadOfAnother, detail))
}

/// Refuses what a thread has no room for.
pub(super) fn must_have_room(ledger: &IndexedLedger, thread: &str, bytes: u64) -> Result<(), Problem> {
    // While the model is folded anew nobody knows, and what is past the limit is recorded all the same.
    let Ok(load) = read_models(ledger)?.thread_load(thread) else { return Ok(()) };
    if load.entries < MAX_THREAD_ENTRIES && load.bytes.saturating_add(bytes) <= MAX_THREAD_BYTES {
        return Ok(());
    }
    let detail = format!(
        "thread {thread} has {} of {MAX_THREAD_ENTRIES} checkpoints and tasks, {} of {MAX_THREAD_BYTES} bytes; delete some (`?keep=newest`)",
        load.entries, load.bytes
    );
    Err(Problem::new(Code::ThreadFull, detail))
}

/// The id that a caller gives a request, so that it is done once however often it is sent.
pub(super) type RequestId = BoundedText<128>;

/// The event that a request of this name becomes. Pieces of content have other ids of the same source.
fn event_id(id: &RequestId) -> String {
    format!("request/{}", id.as_str())
}

/// Returns the answer that was given when a request was sent before, if it is among the last ones about the thread. The log itself refuses
/// to take an older one twice. Only a request that would be refused now because it was done needs this.
pub(super) async fn told_before<T: EventData>(
    api: &Api,
    ledger: &IndexedLedger,
    thread: &Name,
    id: Option<&RequestId>,
) -> Result<Option<Response>, Problem> {
    let Some(request) = id else { return Ok(None) };
    let id = event_id(request);
    let filter =
        Filter { kinds: vec![T::KIND.to_owned()], stream: Some(stream_of(thread)), ..Filter::default() };
    let query = ReadQuery { from: ReadFrom::Before(None), until: None, limit: REPEATED_REQUESTS, filter };
    let ledger = ledger.clone();
    let page = api.read(move || Ok(ledger.read(&query)?)).await?;
    let told = |stored: &&bitacora_ledger::StoredEvent<'_>| {
        stored.event.id == id && stored.event.source == CHECKPOINT_SOURCE
    };
    let Some(stored) = page.events.iter().find(told) else { return Ok(None) };
    let json = json_of(&act_answer(stored.position, true, None, id_of(Some(request))))?;
    Ok(Some(answer_at(&page.head, JSON, NO_STORE, json.into())))
}

fn stream_of(thread: &str) -> String {
    format!("thread/{thread}")
}

/// An event about a thread, ready to be sent.
pub(super) struct ThreadEvent {
    id: String,
    /// The id of its request.
    pub(super) request: Option<String>,
    kind: &'static str,
    stream: String,
    actor: String,
    about: CallContext,
    pub(super) data: Json<'static>,
}

impl ThreadEvent {
    pub(super) fn of<T: EventData>(
        act: &Act,
        thread: &str,
        id: Option<&RequestId>,
        about: CallContext,
        data: &T,
    ) -> Result<Self, Problem> {
        let data = event_data(data)?;
        if data.as_bytes().len() > MAX_REQUEST_BYTES {
            return Err(Problem::new(Code::RequestTooLarge, "what is said of the checkpoint is too large"));
        }
        Ok(Self {
            id: id.map_or_else(|| act_id(&act.ledger), event_id),
            request: id_of(id),
            kind: T::KIND,
            stream: stream_of(thread),
            actor: act.caller.caller().to_owned(),
            about,
            data,
        })
    }

    fn event(&self) -> Event<'_> {
        let mut event = Event::new(&*self.id, CHECKPOINT_SOURCE, self.kind, &*self.stream);
        event.actor = Some(self.actor.as_str().into());
        event.agent = self.about.agent.as_deref().map(Into::into);
        event.session = self.about.session.as_deref().map(Into::into);
        event.run = self.about.run.as_deref().map(Into::into);
        event.data = Data::Json(self.data.borrowed());
        event
    }

    /// Refuses it where it would count for nothing.
    pub(super) fn must_count(&self, ledger: &IndexedLedger, thread: &str) -> Result<(), Problem> {
        must_be_of(ledger, thread, &self.actor, self.about.agent.as_deref())
    }

    /// Sends it, behind the pieces that it names. Blocks until they are on their way.
    pub(super) fn send(
        &self,
        ledger: &IndexedLedger,
        contents: Contents,
    ) -> Result<Vec<PendingAppend>, Problem> {
        contents.send(ledger, Some(self.event()))
    }

    /// Records it, where it brings no content.
    pub(super) async fn record(self, act: Act, found: Option<bool>) -> Result<Response, Problem> {
        let (api, ledger, request) = (act.api, act.ledger, self.request.clone());
        let of = ledger.clone();
        let pending = api.read(move || self.send(&of, Contents::new(None))).await?;
        let appended = last_of(&api, &ledger, pending).await?;
        answer(&appended, request, found)
    }
}

/// Waits until all is durable; where the last one stands.
pub(super) async fn last_of(
    api: &Api,
    ledger: &IndexedLedger,
    pending: Vec<PendingAppend>,
) -> Result<AppendReceipt, Problem> {
    let mut last = None;
    for append in pending {
        let appended = append.await?;
        api.metrics.count_append(ledger.ledger(), &appended);
        last = Some(appended);
    }
    last.ok_or_else(|| Problem::new(Code::Internal, "nothing was sent"))
}

/// Answers with the position of the act: behind the pieces that were recorded with it.
pub(super) fn answer(
    appended: &AppendReceipt,
    request: Option<String>,
    found: Option<bool>,
) -> Result<Response, Problem> {
    let own = appended.results.last();
    let position = own.map_or(appended.last, |event| event.position);
    let repeated = own.is_some_and(|event| event.status == ReceiptStatus::Duplicate);
    let json = json_of(&act_answer(position, repeated, found, request))?;
    Ok(answer_at(&appended.head, JSON, NO_STORE, json.into()))
}

/// Returns the answer to the request with this id.
pub(super) fn act_answer(
    position: impl std::fmt::Display,
    repeated: bool,
    found: Option<bool>,
    id: Option<String>,
) -> CheckpointActAnswer {
    CheckpointActAnswer { position: position.to_string(), repeated, found, id }
}

fn id_of(request: Option<&RequestId>) -> Option<String> {
    request.map(|id| id.as_str().to_owned())
}

//! The acts that save: a checkpoint, a task's writes behind one, or a fork of an older one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::{Json, Position};
use bitacora_projector::{Checkpoint, IndexedLedger};
use bitacora_vocabulary::{
    BoundedList, BoundedMap, BoundedText, ChannelVersion, CheckpointBlob, CheckpointSaved, CheckpointSource,
    CheckpointStep, CheckpointTaskWrites, CheckpointWrites, JsonObject, MAX_CHECKPOINT_BLOBS,
    MAX_CHECKPOINT_CHANNELS, MAX_CHECKPOINT_TASKS, MAX_NAMESPACE_BYTES, Name, Namespace, WriteIndex,
};
use serde_json::Value;

use crate::api::requested_position;
use crate::http::media::JSON;
use crate::json::json_of;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::read_model_query::{come_near_head, come_to, come_to_head, read_models};
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::requests::service_event::{CallContext, PlaceName};
use crate::resources::write::checkpoint_acts::{
    MODEL, RequestId, ThreadEvent, act_answer, agent_of, answer, last_of, must_have_room, told_before,
};
use crate::resources::write::content_pieces::Contents;
use crate::strict_object::ObjectMembers;
use bitacora_api::{CheckpointTaskRequest, CheckpointWriteRequest, ContentValue};

/// Values of one request, by their channels.
type Values = BoundedMap<ContentValue, MAX_CHECKPOINT_CHANNELS>;

/// The writes of a task, as a body has them.
type Writes = BoundedList<CheckpointWriteRequest, 0, MAX_CHECKPOINT_BLOBS>;

/// The same of several tasks, as an event has them.
type Tasks = BoundedList<CheckpointTaskWrites, 1, MAX_CHECKPOINT_TASKS>;

/// A content that a body brings.
struct BodyContent {
    /// The JSON pointer of its value.
    at: String,
    channel: Name,
    index: Option<WriteIndex>,
    value: ContentValue,
}

/// The content of a body.
struct SaveRequest<T> {
    data: T,
    /// Those of channels; then those of tasks, of one behind the other.
    given: Vec<BodyContent>,
    /// The number of the last ones that each task has.
    shares: Vec<usize>,
    id: Option<RequestId>,
    subject: Option<Name>,
    agent: Option<String>,
    session: Option<PlaceName>,
    run: Option<PlaceName>,
}

/// `:save`.
pub(super) async fn save(act: Act, thread: Name) -> Result<Response, Problem> {
    record(act, move |members| {
        let metadata: Option<JsonObject> = members.take("metadata")?;
        let channel_versions = members.take("channelVersions")?;
        let values: Option<Values> = members.take("values")?;
        let values = values.iter().flat_map(|values| values.iter());
        let given = values.map(|(channel, value)| BodyContent {
            at: format!("/values/{}", channel.replace('~', "~0").replace('/', "~1")),
            channel: channel.clone(),
            index: None,
            value: value.clone(),
        });
        let mut given: Vec<_> = given.collect();
        let parent = members.take("parent")?;
        let (tasks, shares) = tasks(members, &mut given)?;
        if tasks.is_some() && parent.is_none() {
            return Err(members.bad("writes", &"they stand behind the parent, and there is none"));
        }
        let data = CheckpointSaved {
            thread,
            namespace: members.take("namespace")?.unwrap_or_default(),
            checkpoint: members.require("checkpoint")?,
            parent,
            step: said(members, "step", metadata.as_ref())?,
            source: said(members, "source", metadata.as_ref())?,
            channel_versions,
            blobs: None,
            writes: tasks,
            metadata,
            document: members.take("document")?,
        };
        told(members, data, given, shares)
    })
    .await
}

/// `:writes`.
pub(super) async fn write(act: Act, thread: Name) -> Result<Response, Problem> {
    record(act, move |members| {
        let mut given = Vec::new();
        let writes = members.require("writes")?;
        take_writes(members, "/writes", writes, &mut given)?;
        let path: Option<String> = members.take("path")?;
        let data = CheckpointWrites {
            thread,
            namespace: members.take("namespace")?.unwrap_or_default(),
            checkpoint: members.require("checkpoint")?,
            task: members.require("task")?,
            path: task_path(path).map_err(|error| members.bad("path", &error))?,
            replace: members.take("replace")?,
            writes: BoundedList::new(Vec::new()).map_err(|error| members.bad("writes", &error))?,
        };
        told(members, data, given, Vec::new())
    })
    .await
}

/// The tasks of a checkpoint's body, whose writes are put behind what is given; how many each has.
fn tasks(
    members: &mut ObjectMembers<'_>,
    given: &mut Vec<BodyContent>,
) -> Result<(Option<Tasks>, Vec<usize>), Problem> {
    let requests: Option<BoundedList<CheckpointTaskRequest, 0, MAX_CHECKPOINT_TASKS>> =
        members.take("writes")?;
    let requests = requests.map_or_else(Vec::new, BoundedList::into_vec);
    let (mut tasks, mut shares) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
    for (number, CheckpointTaskRequest { task, path, replace, writes }) in requests.into_iter().enumerate() {
        let bad = |error: &dyn std::fmt::Display| members.bad("writes", error);
        let writes = Writes::new(writes).map_err(|error| bad(&error))?;
        let before = given.len();
        take_writes(members, &format!("/writes/{number}/writes"), writes, given)?;
        shares.push(given.len() - before);
        tasks.push(CheckpointTaskWrites {
            task: Name::new(task).map_err(|error| bad(&error))?,
            path: task_path(path).map_err(|error| bad(&error))?,
            replace,
            writes: BoundedList::new(Vec::new()).map_err(|error| bad(&error))?,
        });
    }
    let tasks = (!tasks.is_empty()).then(|| BoundedList::new(tasks)).transpose();
    Ok((tasks.map_err(|error| members.bad("writes", &error))?, shares))
}

fn take_writes(
    members: &ObjectMembers<'_>,
    at: &str,
    writes: Writes,
    given: &mut Vec<BodyContent>,
) -> Result<(), Problem> {
    for (number, CheckpointWriteRequest { channel, index, value }) in
        writes.into_vec().into_iter().enumerate()
    {
        let channel = Name::new(channel).map_err(|error| members.bad("writes", &error))?;
        let index = index.map(WriteIndex::try_from).transpose();
        let index = index.map_err(|error| members.bad("writes", &error))?;
        given.push(BodyContent { at: format!("{at}/{number}/value"), channel, index, value });
    }
    Ok(())
}

/// A task's place in the graph; an empty one is none.
fn task_path(
    path: Option<String>,
) -> Result<Option<BoundedText<MAX_NAMESPACE_BYTES>>, bitacora_vocabulary::TextError> {
    path.filter(|path| !path.is_empty()).map(TryFrom::try_from).transpose()
}

/// `:fork`: a new checkpoint, whose parent is another one, with all that the parent's channels hold.
pub(super) async fn fork(mut act: Act, thread: Name) -> Result<Response, Problem> {
    let (base, namespace, id, metadata, request) = act
        .read(|members| {
            let base: Option<Name> = members.take("checkpoint")?;
            let namespace: Option<Namespace> = members.take("namespace")?;
            let id: Name = members.require("as")?;
            let metadata: Option<JsonObject> = members.take("metadata")?;
            Ok((base, namespace.unwrap_or_default(), id, metadata, members.take("id")?))
        })
        .await?;
    if let Some(told) =
        told_before::<CheckpointSaved>(&act.api, &act.ledger, &thread, request.as_ref()).await?
    {
        return Ok(told);
    }
    come_to_head(&act.ledger, MODEL).await?;
    let ledger = act.ledger.clone();
    let asked = (thread.clone(), namespace.clone(), base);
    let found = act.api.read(move || {
        let (thread, namespace, base) = asked;
        let models = read_models(&ledger)?;
        let base = base.as_ref().map(Name::as_str);
        let Some(found) = models.checkpoint(&thread, namespace.as_str(), base)?.0 else { return Ok(None) };
        Ok(Some((models.checkpoint_document(&found.checkpoint)?, found.checkpoint)))
    });
    let Some((document, base)) = found.await? else {
        return Err(Problem::new(
            Code::NoSuchCheckpoint,
            format!("thread {thread} holds no such checkpoint"),
        ));
    };
    if base.checkpoint == *id {
        return Err(Problem::new(Code::BadBody, "the new checkpoint has an id of its own"));
    }
    let object = |json: &Option<String>| json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let unfit = |error: &dyn std::fmt::Display| Problem::new(Code::Internal, error.to_string());
    let data = CheckpointSaved {
        parent: Some(Name::new(&*base.checkpoint).map_err(|error| unfit(&error))?),
        step: CheckpointStep::try_from(base.step.saturating_add(1)).map_err(|error| unfit(&error))?,
        source: CheckpointSource::Fork,
        channel_versions: Some(versions(&base).ok_or_else(|| unfit(&"a version is none"))?),
        blobs: None,
        writes: None,
        metadata: metadata.or_else(|| object(&base.metadata)),
        document: object(&document),
        checkpoint: id,
        namespace,
        thread: thread.clone(),
    };
    let about = CallContext { agent: agent_of(&act, None)?, ..CallContext::default() };
    must_have_room(&act.ledger, &thread, 0)?;
    act.caller.still_holds(&act.api.authenticator)?;
    let draft = ThreadEvent::of(&act, &thread, request.as_ref(), about, &data)?;
    draft.must_count(&act.ledger, &thread)?;
    draft.record(act, Some(true)).await
}

fn versions(base: &Checkpoint) -> Option<BoundedMap<ChannelVersion, MAX_CHECKPOINT_CHANNELS>> {
    let versions =
        base.channels.iter().filter_map(|channel| Some((&channel.name, channel.version.as_ref()?)));
    let versions = versions.map(|(name, version)| Some((Name::new(&**name).ok()?, version.recorded()?)));
    BoundedMap::new(versions.collect::<Option<BTreeMap<_, _>>>()?).ok()
}

/// A member, or what the metadata says in its place.
fn said<T: serde::de::DeserializeOwned>(
    members: &mut ObjectMembers<'_>,
    name: &'static str,
    metadata: Option<&JsonObject>,
) -> Result<T, Problem> {
    if let Some(given) = members.take(name)? {
        return Ok(given);
    }
    let said = metadata.and_then(|metadata| metadata.get(name)).cloned().unwrap_or(Value::Null);
    serde_json::from_value(said)
        .map_err(|_| members.bad(name, &"it is missing, and `metadata` has none that is taken"))
}

fn told<T>(
    members: &mut ObjectMembers<'_>,
    data: T,
    given: Vec<BodyContent>,
    shares: Vec<usize>,
) -> Result<SaveRequest<T>, Problem> {
    Ok(SaveRequest {
        data,
        given,
        shares,
        id: members.take("id")?,
        subject: members.take("datasubject")?,
        agent: members.take("agent")?,
        session: members.take("session")?,
        run: members.take("run")?,
    })
}

/// An event that is saved with contents.
trait CheckpointEvent: bitacora_vocabulary::EventData {
    fn key(&self) -> (&Name, &Namespace, &Name);
    /// With these contents, of which each task has its share at the end.
    fn with(self, blobs: Vec<CheckpointBlob>, shares: &[usize]) -> Result<Self, Problem>;
    /// Returns `true` if the checkpoint that it rests on is there; `None` if it rests on none.
    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem>;
    /// Returns the position of the same event, if it is recorded already.
    fn repeats(&self, ledger: &IndexedLedger, data: &Json<'_>) -> Result<Option<u64>, Problem>;
}

impl CheckpointEvent for CheckpointSaved {
    fn key(&self) -> (&Name, &Namespace, &Name) {
        (&self.thread, &self.namespace, &self.checkpoint)
    }

    fn with(mut self, mut blobs: Vec<CheckpointBlob>, shares: &[usize]) -> Result<Self, Problem> {
        let own = blobs.len().saturating_sub(shares.iter().sum());
        let mut of_tasks = blobs.split_off(own).into_iter();
        let mut tasks = self.writes.take().map_or_else(Vec::new, BoundedList::into_vec);
        for (task, share) in tasks.iter_mut().zip(shares) {
            task.writes = BoundedList::new(of_tasks.by_ref().take(*share).collect()).map_err(too_many)?;
        }
        self.writes = (!tasks.is_empty()).then(|| BoundedList::new(tasks)).transpose().map_err(too_many)?;
        self.blobs = if blobs.is_empty() { None } else { Some(BoundedList::new(blobs).map_err(too_many)?) };
        Ok(self)
    }

    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem> {
        let Some(parent) = &self.parent else { return Ok(None) };
        let found = stands(ledger, &self.thread, &self.namespace, parent)?;
        // Writes behind what was deleted would go nowhere.
        if self.writes.is_some() && found == Some(false) {
            must_not_be_deleted(ledger, &self.thread, parent)?;
        }
        Ok(found)
    }

    fn repeats(&self, ledger: &IndexedLedger, data: &Json<'_>) -> Result<Option<u64>, Problem> {
        let models = read_models(ledger)?;
        let place = models.checkpoint_place(&self.thread, self.namespace.as_str(), &self.checkpoint);
        let Ok(Some((place, recorded))) = place else { return Ok(None) };
        let of_its_own = place.position == recorded;
        let Some(at) = Position::new(recorded).filter(|_| of_its_own) else { return Ok(None) };
        let stored = ledger.event(at)?;
        let bitacora_formats::Data::Json(stored) = &stored.event.data else { return Ok(None) };
        Ok(Some(recorded).filter(|_| stored.as_bytes() == data.as_bytes()))
    }
}

impl CheckpointEvent for CheckpointWrites {
    fn key(&self) -> (&Name, &Namespace, &Name) {
        (&self.thread, &self.namespace, &self.checkpoint)
    }

    fn with(mut self, blobs: Vec<CheckpointBlob>, _: &[usize]) -> Result<Self, Problem> {
        self.writes = BoundedList::new(blobs).map_err(too_many)?;
        Ok(self)
    }

    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem> {
        let found = stands(ledger, &self.thread, &self.namespace, &self.checkpoint)?;
        if found == Some(false) {
            must_not_be_deleted(ledger, &self.thread, &self.checkpoint)?;
        }
        Ok(found)
    }

    fn repeats(&self, _: &IndexedLedger, _: &Json<'_>) -> Result<Option<u64>, Problem> {
        Ok(None)
    }
}

/// Returns `true` if a checkpoint is there; `None` while nobody knows, because the model is folded anew.
fn stands(
    ledger: &IndexedLedger,
    thread: &Name,
    namespace: &Namespace,
    id: &Name,
) -> Result<Option<bool>, Problem> {
    let found = read_models(ledger)?.checkpoint_place(thread, namespace.as_str(), id);
    Ok(found.ok().map(|found| found.is_some()))
}

/// Refuses what is written behind a checkpoint that went with its thread.
fn must_not_be_deleted(ledger: &IndexedLedger, thread: &Name, id: &Name) -> Result<(), Problem> {
    let deleted = read_models(ledger)?.thread_load(thread)?.deleted;
    if deleted.is_none_or(|deleted| **id > *deleted) {
        return Ok(());
    }
    let detail = format!("checkpoint {} of thread {} was deleted", &**id, &**thread);
    Err(Problem::new(Code::NoSuchCheckpoint, detail))
}

fn too_many(error: bitacora_vocabulary::ListError) -> Problem {
    Problem::new(Code::BadBody, format!("too many contents: {error}"))
}

/// Reads a body, and records what it says behind the contents that it brings.
async fn record<T: CheckpointEvent + Send + 'static>(
    mut act: Act,
    read: impl FnOnce(&mut ObjectMembers<'_>) -> Result<SaveRequest<T>, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let body = act.body().await?;
    let ledger = act.ledger.clone();
    // Values are decoded, cut and hashed where that may take as long as it takes.
    let read = act.api.read(move || {
        let mut members = ObjectMembers::of_body(body.as_slice())?;
        let SaveRequest { data, given, shares, id, subject, agent, session, run } = read(&mut members)?;
        members.finish()?;
        let mut contents = Contents::new(subject);
        let mut blobs = Vec::with_capacity(given.len());
        for BodyContent { at, channel, index, value } in given {
            let named = contents.take(&ledger, &at, &value)?;
            blobs.push(CheckpointBlob { index, ..named.blob(channel)? });
        }
        // The body's part of the memory stands for its contents until they are on their way.
        Ok((body, data.with(blobs, &shares)?, contents, id, agent, session, run))
    });
    let (held, data, mut contents, id, agent, session, run) = read.await?;
    match requested_position(&act.headers)? {
        Some(position) => come_to(&act.ledger, MODEL, position).await?,
        None if contents.names_others() => come_to_head(&act.ledger, MODEL).await?,
        None => come_near_head(&act.ledger, MODEL).await?,
    }
    let about = CallContext { agent: agent_of(&act, agent.as_deref())?, session, run, call: None };
    let (thread, _, _) = data.key();
    let draft = ThreadEvent::of(&act, thread, id.as_ref(), about, &data)?;
    act.caller.still_holds(&act.api.authenticator)?;
    let (api, ledger, request) = (Arc::clone(&act.api), act.ledger.clone(), draft.request.clone());
    let sent = api.read(move || {
        draft.must_count(&ledger, data.key().0)?;
        contents.look_up(&ledger)?;
        let found = data.finds(&ledger)?;
        if let Some(position) = data.repeats(&ledger, &draft.data)? {
            return Ok((found, Err(position)));
        }
        must_have_room(&ledger, data.key().0, 0)?;
        let sent = draft.send(&ledger, contents)?;
        drop(held);
        Ok((found, Ok(sent)))
    });
    match sent.await? {
        (found, Ok(pending)) => answer(&last_of(&api, &act.ledger, pending).await?, request, found),
        (found, Err(position)) => {
            let json = json_of(&act_answer(position, true, found, request))?;
            Ok(answer_at(&act.ledger.head(), JSON, NO_STORE, json.into()))
        }
    }
}

//! What is saved of a thread: a checkpoint, what a task wrote behind one, or a new one that goes on from an older one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::vocabulary::{
    BoundedList, BoundedMap, ChannelVersion, CheckpointBlob, CheckpointSaved, CheckpointSource,
    CheckpointStep, CheckpointWrites, JsonObject, MAX_CHECKPOINT_BLOBS, MAX_CHECKPOINT_CHANNELS, Name,
    Namespace, WriteIndex,
};
use bitacora_formats::{Json, Position};
use bitacora_projector::{Checkpoint, IndexedLedger, Version};
use serde_json::Value;

use super::checkpoint_acts::{Draft, MODEL, agent_of, answer, last_of, must_have_room};
use crate::act::Act;
use crate::answers::{CheckpointActAnswer, CheckpointWriteRequest, ContentValue};
use crate::contents::Contents;
use crate::governed::{About, PlaceName};
use crate::listing::unwritable;
use crate::media::JSON;
use crate::members::Members;
use crate::modelled::{come_near_head, come_to_head, read_models};
use crate::problem::{Code, Problem};
use crate::question::{NO_STORE, answer_at};

/// Values of one request, by their channels.
type Values = BoundedMap<ContentValue, MAX_CHECKPOINT_CHANNELS>;

/// What a body says beside its contents.
struct Told<T> {
    data: T,
    values: Vec<(Name, Option<WriteIndex>, ContentValue)>,
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
        let values = values.map(|(channel, value)| (channel.clone(), None, value.clone())).collect();
        let data = CheckpointSaved {
            thread,
            namespace: members.take("namespace")?.unwrap_or_default(),
            checkpoint: members.require("checkpoint")?,
            parent: members.take("parent")?,
            step: said(members, "step", metadata.as_ref())?,
            source: said(members, "source", metadata.as_ref())?,
            channel_versions,
            blobs: None,
            metadata,
            document: members.take("document")?,
        };
        told(members, data, values)
    })
    .await
}

/// `:writes`.
pub(super) async fn write(act: Act, thread: Name) -> Result<Response, Problem> {
    record(act, move |members| {
        let writes: BoundedList<CheckpointWriteRequest, 0, MAX_CHECKPOINT_BLOBS> =
            members.require("writes")?;
        let mut values = Vec::with_capacity(writes.len());
        for CheckpointWriteRequest { channel, index, value } in writes.into_vec() {
            let channel = Name::new(channel).map_err(|error| members.bad("writes", &error))?;
            let index = index.map(WriteIndex::try_from).transpose();
            values.push((channel, index.map_err(|error| members.bad("writes", &error))?, value));
        }
        let data = CheckpointWrites {
            thread,
            namespace: members.take("namespace")?.unwrap_or_default(),
            checkpoint: members.require("checkpoint")?,
            task: members.require("task")?,
            path: members
                .take::<String>("path")?
                .filter(|path| !path.is_empty())
                .map(TryFrom::try_from)
                .transpose()
                .map_err(|error| members.bad("path", &error))?,
            replace: members.take("replace")?,
            writes: BoundedList::new(Vec::new()).map_err(|error| members.bad("writes", &error))?,
        };
        told(members, data, values)
    })
    .await
}

/// `:fork`: a new checkpoint, whose parent is another one, with all that the parent's channels hold.
pub(super) async fn fork(mut act: Act, thread: Name) -> Result<Response, Problem> {
    let (base, namespace, id, metadata) = act
        .read(|members| {
            let base: Option<Name> = members.take("checkpoint")?;
            let namespace: Option<Namespace> = members.take("namespace")?;
            let id: Name = members.require("as")?;
            Ok((base, namespace.unwrap_or_default(), id, members.take::<JsonObject>("metadata")?))
        })
        .await?;
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
        metadata: metadata.or_else(|| object(&base.metadata)),
        document: object(&document),
        checkpoint: id,
        namespace,
        thread: thread.clone(),
    };
    let about = About { agent: agent_of(&act, None)?, ..About::default() };
    must_have_room(&act.ledger, &thread, 0)?;
    act.caller.still_holds(&act.api)?;
    Draft::of(&act, &thread, about, &data)?.record(act, Some(true)).await
}

fn versions(base: &Checkpoint) -> Option<BoundedMap<ChannelVersion, MAX_CHECKPOINT_CHANNELS>> {
    let versions =
        base.channels.iter().filter_map(|channel| Some((&channel.name, channel.version.as_ref()?)));
    let versions = versions.map(|(name, version)| Some((Name::new(&**name).ok()?, told_version(version)?)));
    BoundedMap::new(versions.collect::<Option<BTreeMap<_, _>>>()?).ok()
}

/// A version as events have it.
pub(super) fn told_version(version: &Version) -> Option<ChannelVersion> {
    match version {
        Version::Number(number) => (*number).try_into().ok().map(ChannelVersion::Number),
        Version::Text(text) => text.clone().try_into().ok().map(ChannelVersion::Text),
    }
}

/// A member, or what the metadata says in its place.
fn said<T: serde::de::DeserializeOwned>(
    members: &mut Members<'_>,
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
    members: &mut Members<'_>,
    data: T,
    values: Vec<(Name, Option<WriteIndex>, ContentValue)>,
) -> Result<Told<T>, Problem> {
    Ok(Told {
        data,
        values,
        subject: members.take("datasubject")?,
        agent: members.take("agent")?,
        session: members.take("session")?,
        run: members.take("run")?,
    })
}

/// What is saved with contents.
trait Saved: bitacora_formats::vocabulary::EventData {
    fn key(&self) -> (&Name, &Namespace, &Name);
    fn with(self, blobs: Vec<CheckpointBlob>) -> Result<Self, Problem>;
    /// Whether what it rests on is there, if it rests on anything.
    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem>;
    /// Where the same stands already.
    fn repeats(&self, ledger: &IndexedLedger, data: &Json<'_>) -> Result<Option<u64>, Problem>;
    /// Where a value stands in the body.
    fn pointer(&self, number: usize, channel: &Name) -> String;
}

impl Saved for CheckpointSaved {
    fn key(&self) -> (&Name, &Namespace, &Name) {
        (&self.thread, &self.namespace, &self.checkpoint)
    }

    fn with(mut self, blobs: Vec<CheckpointBlob>) -> Result<Self, Problem> {
        self.blobs = if blobs.is_empty() { None } else { Some(BoundedList::new(blobs).map_err(too_many)?) };
        Ok(self)
    }

    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem> {
        let Some(parent) = &self.parent else { return Ok(None) };
        let found = read_models(ledger)?.checkpoint(&self.thread, self.namespace.as_str(), Some(parent));
        Ok(found.ok().map(|(found, _)| found.is_some()))
    }

    fn repeats(&self, ledger: &IndexedLedger, data: &Json<'_>) -> Result<Option<u64>, Problem> {
        let models = read_models(ledger)?;
        let found = models.checkpoint(&self.thread, self.namespace.as_str(), Some(&self.checkpoint));
        let Ok((Some(found), _)) = found else { return Ok(None) };
        let Checkpoint { position, recorded, .. } = found.checkpoint;
        let Some(at) = Position::new(position).filter(|_| position == recorded) else { return Ok(None) };
        let stored = ledger.event(at)?;
        let bitacora_formats::Data::Json(stored) = &stored.event.data else { return Ok(None) };
        Ok(Some(position).filter(|_| stored.as_bytes() == data.as_bytes()))
    }

    fn pointer(&self, _: usize, channel: &Name) -> String {
        format!("/values/{}", channel.replace('~', "~0").replace('/', "~1"))
    }
}

impl Saved for CheckpointWrites {
    fn key(&self) -> (&Name, &Namespace, &Name) {
        (&self.thread, &self.namespace, &self.checkpoint)
    }

    fn with(mut self, blobs: Vec<CheckpointBlob>) -> Result<Self, Problem> {
        self.writes = BoundedList::new(blobs).map_err(too_many)?;
        Ok(self)
    }

    fn finds(&self, ledger: &IndexedLedger) -> Result<Option<bool>, Problem> {
        let models = read_models(ledger)?;
        let found = models.checkpoint(&self.thread, self.namespace.as_str(), Some(&self.checkpoint));
        let Ok((None, _)) = found else { return Ok(found.ok().map(|_| true)) };
        let deleted = models.thread_load(&self.thread)?.deleted;
        if deleted.is_some_and(|deleted| *self.checkpoint <= *deleted) {
            let detail = format!("checkpoint {} of thread {} was deleted", &*self.checkpoint, &*self.thread);
            return Err(Problem::new(Code::NoSuchCheckpoint, detail));
        }
        Ok(Some(false))
    }

    fn repeats(&self, _: &IndexedLedger, _: &Json<'_>) -> Result<Option<u64>, Problem> {
        Ok(None)
    }

    fn pointer(&self, number: usize, _: &Name) -> String {
        format!("/writes/{number}/value")
    }
}

fn too_many(error: bitacora_formats::vocabulary::ListError) -> Problem {
    Problem::new(Code::BadBody, format!("too many contents: {error}"))
}

/// Reads a body, and records what it says behind the contents that it brings.
async fn record<T: Saved + Send + 'static>(
    mut act: Act,
    read: impl FnOnce(&mut Members<'_>) -> Result<Told<T>, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let body = act.body().await?;
    let ledger = act.ledger.clone();
    // Values are decoded, cut and hashed where that may take as long as it takes.
    let read = act.api.read(move || {
        let mut members = Members::of_body(body.as_slice())?;
        let Told { data, values, subject, agent, session, run } = read(&mut members)?;
        members.finish()?;
        let mut contents = Contents::new(subject);
        let mut blobs = Vec::with_capacity(values.len());
        for (number, (channel, index, value)) in values.into_iter().enumerate() {
            let named = contents.take(&ledger, &data.pointer(number, &channel), &value)?;
            blobs.push(CheckpointBlob { index, ..named.blob(channel)? });
        }
        // The body's part of the memory stands for its contents until they are on their way.
        Ok((body, data.with(blobs)?, contents, agent, session, run))
    });
    let (held, data, mut contents, agent, session, run) = read.await?;
    if contents.names_others() {
        come_to_head(&act.ledger, MODEL).await?;
    } else {
        come_near_head(&act.ledger, MODEL).await?;
    }
    let about = About { agent: agent_of(&act, agent.as_deref())?, session, run, call: None };
    let (thread, _, _) = data.key();
    let draft = Draft::of(&act, thread, about, &data)?;
    act.caller.still_holds(&act.api)?;
    let (api, ledger) = (Arc::clone(&act.api), act.ledger.clone());
    let sent = api.read(move || {
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
        (found, Ok(pending)) => answer(&last_of(&api, pending).await?, false, found),
        (found, Err(position)) => {
            let answer = CheckpointActAnswer { position: position.to_string(), repeated: true, found };
            let json = serde_json::to_vec(&answer).map_err(|error| unwritable(&error))?;
            Ok(answer_at(&act.ledger.head(), JSON, NO_STORE, json.into()))
        }
    }
}

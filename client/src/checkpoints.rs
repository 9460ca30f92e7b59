//! Threads of work: their state, saved step by step, found again, copied, forked, deleted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_api::paths::{self, percent_encoded};
use bitacora_api::{
    CheckpointActAnswer, CheckpointAnswer, CheckpointList, CheckpointWriteAnswer, ContentStoredAnswer,
    ContentValue, ProblemCode, StoredEvent,
};
use bitacora_formats::MAX_CONTENT_BYTES;
use hyper::Method;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::{
    CheckpointContext, CheckpointFilter, CheckpointSelector, Content, ContentState, CopySelection,
    DeleteSelection, FoundCheckpoint, LargeContent, NewCheckpoint, RecordedWrite, TaskWrites,
};
use crate::client::Client;
use crate::content::{ahead, held, named, within};
use crate::error::ClientError;
use crate::limits::{CONTENT_PART_BYTES, MAX_REQUEST_BYTES};
use crate::request_id::request_id;

/// The checkpoints of a ledger. A handle reads its own writes: reads wait for everything that it, or a clone of it, has
/// recorded.
///
/// Every request that records something has an id of its own. It is sent again under that id, unchanged, while the
/// service is busy or gone, or its answer is lost. It takes effect once. Returned `Ok` ⇒ it is durable.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    client: Client,
    /// The last position that something was recorded at; reads wait for it.
    recorded: Arc<AtomicU64>,
}

/// A request with its id.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a, T> {
    id: &'a str,
    #[serde(flatten)]
    about: &'a CheckpointContext,
    #[serde(flatten)]
    told: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SaveBody<'a> {
    checkpoint: &'a str,
    namespace: &'a str,
    parent: &'a Option<String>,
    step: i64,
    source: crate::checkpoint::CheckpointSource,
    metadata: &'a Option<Value>,
    document: &'a Option<Value>,
    channel_versions: &'a BTreeMap<String, crate::checkpoint::ChannelVersion>,
    values: BTreeMap<&'a str, ContentValue>,
    writes: Vec<TaskBody<'a>>,
}

#[derive(Serialize)]
struct TaskBody<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replace: Option<bool>,
    writes: Vec<WriteBody<'a>>,
}

#[derive(Serialize)]
struct WriteBody<'a> {
    channel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<i64>,
    value: ContentValue,
}

#[derive(Serialize)]
struct WritesBody<'a> {
    checkpoint: &'a str,
    namespace: &'a str,
    #[serde(flatten)]
    task: TaskBody<'a>,
}

#[derive(Serialize)]
struct CopyBody<'a> {
    to: &'a str,
    namespace: &'a Option<String>,
    checkpoint: &'a Option<String>,
}

#[derive(Serialize)]
struct ForkBody<'a> {
    #[serde(rename = "as")]
    as_checkpoint: &'a str,
    namespace: &'a str,
    checkpoint: &'a Option<String>,
    metadata: Option<&'a Value>,
}

/// The event of a piece of a content.
#[derive(Deserialize)]
struct PieceEvent {
    data_base64: Option<String>,
}

impl Checkpoints {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, recorded: Arc::default() }
    }

    /// Saves the state of a thread behind a step. Of contents that together do not fit a request, the largest ones are
    /// sent ahead.
    ///
    /// # Errors
    /// [`ClientError`]; where it is not [`ClientError::Refused`] it is unknown whether it was saved, and the same may
    /// be saved again.
    pub async fn save(&self, thread: &str, new: &NewCheckpoint) -> Result<CheckpointActAnswer, ClientError> {
        let writes = new.writes.iter().flat_map(|task| &task.writes).map(|write| &write.content);
        let contents: Vec<&Content> = new.values.values().chain(writes).collect();
        let mut told = SaveBody {
            checkpoint: &new.checkpoint,
            namespace: &new.namespace,
            parent: &new.parent,
            step: new.step,
            source: new.source,
            metadata: &new.metadata,
            document: &new.document,
            channel_versions: &new.channel_versions,
            values: new.values.keys().map(|name| (name.as_str(), ContentValue::default())).collect(),
            writes: new.writes.iter().map(TaskBody::of).collect(),
        };
        let beside = self.client.json(&told)?.len();
        let mut values = self.sent(&contents, beside, &new.about).await?.into_iter();
        for (place, value) in told.values.values_mut().zip(values.by_ref()) {
            *place = value;
        }
        let writes = told.writes.iter_mut().flat_map(|task| &mut task.writes);
        for (write, value) in writes.zip(values) {
            write.value = value;
        }
        self.act(thread, "save", &new.about, told).await
    }

    /// Saves what a task wrote behind a checkpoint, which may still be on its way.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub async fn write(
        &self,
        thread: &str,
        namespace: &str,
        checkpoint: &str,
        task: &TaskWrites,
        about: &CheckpointContext,
    ) -> Result<CheckpointActAnswer, ClientError> {
        let contents: Vec<&Content> = task.writes.iter().map(|write| &write.content).collect();
        let mut told = WritesBody { checkpoint, namespace, task: TaskBody::of(task) };
        let beside = self.client.json(&told)?.len();
        let values = self.sent(&contents, beside, about).await?;
        for (write, value) in told.task.writes.iter_mut().zip(values) {
            write.value = value;
        }
        self.act(thread, "writes", about, told).await
    }

    /// Copies a thread, or what led to one of its checkpoints, to another one that holds nothing yet.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub async fn copy(
        &self,
        thread: &str,
        to: &str,
        what: &CopySelection,
    ) -> Result<CheckpointActAnswer, ClientError> {
        let CopySelection { namespace, checkpoint } = what;
        self.act(thread, "copy", &CheckpointContext::default(), CopyBody { to, namespace, checkpoint }).await
    }

    /// Forks a thread: saves a new checkpoint that has another one for its parent and holds all that it holds. It has
    /// other metadata if some is given.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub async fn fork(
        &self,
        thread: &str,
        from: &CheckpointSelector,
        new_checkpoint: &str,
        metadata: Option<&Value>,
    ) -> Result<CheckpointActAnswer, ClientError> {
        let CheckpointSelector { namespace, checkpoint } = from;
        let told = ForkBody { as_checkpoint: new_checkpoint, namespace, checkpoint, metadata };
        self.act(thread, "fork", &CheckpointContext::default(), told).await
    }

    /// Deletes checkpoints: they are found no more. What the log says of them stays.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub async fn delete(
        &self,
        thread: &str,
        what: &DeleteSelection,
    ) -> Result<CheckpointActAnswer, ClientError> {
        let id = request_id();
        let mut path = format!("{}?id={id}", self.thread(thread));
        match what {
            DeleteSelection::Thread => {}
            DeleteSelection::AllButNewest => path.push_str("&keep=newest"),
            DeleteSelection::One { namespace, checkpoint } => {
                with(&mut path, "namespace", namespace);
                with(&mut path, "checkpoint", checkpoint);
            }
        }
        self.note(&id, self.client.ask(&Method::DELETE, &path, None, None).await?)
    }

    /// Returns the newest checkpoint of a thread, or another one, with all that belongs to it; `None` where there is
    /// none.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(
        &self,
        thread: &str,
        which: &CheckpointSelector,
    ) -> Result<Option<FoundCheckpoint>, ClientError> {
        let mut path = format!("{}?", self.thread(thread));
        with(&mut path, "namespace", &which.namespace);
        if let Some(checkpoint) = &which.checkpoint {
            with(&mut path, "checkpoint", checkpoint);
        }
        let at_least = self.at_least();
        match self.client.ask(&Method::GET, &path, None, at_least.as_deref()).await {
            Err(error) if error.is_refused_with(ProblemCode::NoSuchCheckpoint) => Ok(None),
            answer => found(answer?).map(Some).ok_or_else(|| self.client.strange()),
        }
    }

    /// Lists checkpoints page by page, without the contents of their channels; `after` is the `next` of the page
    /// before.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn list(
        &self,
        filter: &CheckpointFilter,
        after: Option<&str>,
    ) -> Result<CheckpointList, ClientError> {
        let mut path = format!("{}?", self.client.path(paths::CHECKPOINTS, &[]));
        let metadata = filter.metadata.as_ref().map(Value::to_string);
        let limit = filter.limit.map(|limit| limit.to_string());
        let parameters = [
            ("thread", filter.thread.as_deref()),
            ("namespace", filter.namespace.as_deref()),
            ("before", filter.before.as_deref()),
            ("filter", metadata.as_deref()),
            ("limit", limit.as_deref()),
            ("after", after),
        ];
        for (name, value) in parameters {
            if let Some(value) = value {
                with(&mut path, name, value);
            }
        }
        self.client.ask(&Method::GET, &path, None, self.at_least().as_deref()).await
    }

    /// Reads a content that is larger than an answer, piece by piece. Returns [`ContentState::Erased`] where it was erased
    /// meanwhile.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Strange`] where the pieces do not add up to it.
    pub async fn read(&self, large: &LargeContent) -> Result<ContentState, ClientError> {
        let mut bytes = Vec::new();
        for position in &large.positions {
            let path = self.client.path(paths::EVENT, &[position]);
            let piece: StoredEvent = self.client.ask(&Method::GET, &path, None, None).await?;
            if piece.erased {
                return Ok(ContentState::Erased);
            }
            let event = serde_json::from_str::<PieceEvent>(piece.event.get()).ok();
            let piece = event.and_then(|event| STANDARD.decode(event.data_base64?).ok());
            bytes.extend_from_slice(&piece.ok_or_else(|| self.client.strange())?);
            if bytes.len() > MAX_CONTENT_BYTES {
                return Err(self.client.strange());
            }
        }
        if bytes.len() as u64 != large.bytes {
            return Err(self.client.strange());
        }
        Ok(ContentState::Content(Content { encoding: large.encoding.clone(), bytes }))
    }

    /// Returns contents as a request names them. Those sent ahead of it are durable before it is sent.
    async fn sent(
        &self,
        contents: &[&Content],
        beside: usize,
        about: &CheckpointContext,
    ) -> Result<Vec<ContentValue>, ClientError> {
        if let Some(large) = contents.iter().find(|content| content.bytes.len() > MAX_CONTENT_BYTES) {
            return Err(ClientError::TooLarge { bytes: large.bytes.len(), most: MAX_CONTENT_BYTES });
        }
        let flags = ahead(contents, MAX_REQUEST_BYTES.saturating_sub(beside));
        let mut values = Vec::with_capacity(contents.len());
        for (content, goes_ahead) in contents.iter().zip(flags) {
            values.push(match goes_ahead {
                true => named(content, self.send_ahead(content, about).await?),
                false => within(content),
            });
        }
        Ok(values)
    }

    /// Has the service store a content, and returns the names of its pieces.
    async fn send_ahead(
        &self,
        content: &Content,
        about: &CheckpointContext,
    ) -> Result<Vec<String>, ClientError> {
        let mut path = format!("{}?", self.client.path(paths::CONTENTS, &[]));
        if let Some(subject) = &about.datasubject {
            with(&mut path, "datasubject", subject);
        }
        let mut pieces = Vec::new();
        for part in content.bytes.chunks(CONTENT_PART_BYTES) {
            let stored: ContentStoredAnswer =
                self.client.post(&path, "application/octet-stream", Bytes::copy_from_slice(part)).await?;
            pieces.extend(stored.pieces);
        }
        Ok(pieces)
    }

    async fn act<T: Serialize>(
        &self,
        thread: &str,
        verb: &str,
        about: &CheckpointContext,
        told: T,
    ) -> Result<CheckpointActAnswer, ClientError> {
        let id = request_id();
        let json = self.client.json(&Request { id: &id, about, told })?;
        let path = format!("{}:{verb}", self.thread(thread));
        let at_least = self.at_least();
        self.note(&id, self.client.ask(&Method::POST, &path, Some(json), at_least.as_deref()).await?)
    }

    /// Returns the path of a thread.
    fn thread(&self, thread: &str) -> String {
        self.client.path(paths::CHECKPOINT_THREAD, &[thread])
    }

    /// Notes the position of an answer. The answer to another request is refused.
    fn note(&self, id: &str, recorded: CheckpointActAnswer) -> Result<CheckpointActAnswer, ClientError> {
        if recorded.id.as_deref() != Some(id) {
            return Err(self.client.strange());
        }
        let position: u64 = recorded.position.parse().map_err(|_| self.client.strange())?;
        self.recorded.fetch_max(position, Ordering::Relaxed);
        Ok(recorded)
    }

    fn at_least(&self) -> Option<String> {
        let position = self.recorded.load(Ordering::Relaxed);
        (position > 0).then(|| position.to_string())
    }
}

impl<'a> TaskBody<'a> {
    fn of(task: &'a TaskWrites) -> Self {
        let writes = task.writes.iter().map(|write| WriteBody {
            channel: &write.channel,
            index: write.index,
            value: ContentValue::default(),
        });
        let replace = task.replace.then_some(true);
        Self { task: &task.task, path: &task.path, replace, writes: writes.collect() }
    }
}

/// Returns a checkpoint as an executor uses it; `None` where a content's members do not fit together.
fn found(answer: CheckpointAnswer) -> Option<FoundCheckpoint> {
    let CheckpointAnswer { saved, parent_found, document, values, writes } = answer;
    let values = values.into_iter().map(|(name, value)| Some((name, held(value)?)));
    let writes = writes.into_iter().map(|write| {
        let CheckpointWriteAnswer { task, path, index, channel, position, value } = write;
        Some(RecordedWrite { task, path, index, channel, position, held: held(value)? })
    });
    Some(FoundCheckpoint {
        saved,
        parent_found,
        document,
        values: values.collect::<Option<_>>()?,
        writes: writes.collect::<Option<_>>()?,
    })
}

/// Adds a parameter to an address that ends in `?` or in another one.
fn with(path: &mut String, name: &str, value: &str) {
    let joint = if path.ends_with('?') { "" } else { "&" };
    // Nothing fails to be written into a text.
    let _written = write!(path, "{joint}{name}={}", percent_encoded(value));
}

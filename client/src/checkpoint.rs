//! Checkpoints as an executor saves them, and as the service answers them.

use std::collections::BTreeMap;

use bitacora_api::SavedCheckpoint;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The version of a channel: a number, or a text that sorts as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ChannelVersion {
    /// A number.
    Number(u64),
    /// A text of at most 128 bytes.
    Text(String),
}

/// The origin of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointSource {
    /// The input of a run.
    Input,
    /// A step.
    Loop,
    /// A change by hand.
    Update,
    /// A copy of another one.
    Fork,
}

/// A channel's value, or a task's write: bytes, and their encoding in the executor's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The encoding of the bytes: `msgpack`, `application/json`.
    pub encoding: Option<String>,
    /// At most 64 MiB.
    pub bytes: Vec<u8>,
}

impl Content {
    /// Returns these bytes with this encoding.
    pub fn new(encoding: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { encoding: Some(encoding.into()), bytes: bytes.into() }
    }

    /// Returns a JSON text, which people see as JSON.
    pub fn json(text: impl Into<String>) -> Self {
        Self::new(JSON_ENCODING, text.into())
    }
}

/// The encoding of what the service shows as JSON.
pub(crate) const JSON_ENCODING: &str = "application/json";

/// The state of a thread behind one step.
#[derive(Debug, Clone)]
pub struct NewCheckpoint {
    /// Its id. Ids sort by the time at which they were made.
    pub checkpoint: String,
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// The checkpoint before it.
    pub parent: Option<String>,
    /// The step that it follows; -1 is the input before the first.
    pub step: i64,
    /// The origin.
    pub source: CheckpointSource,
    /// A JSON object that lists are filtered by.
    pub metadata: Option<Value>,
    /// A JSON object with the rest of the state.
    pub document: Option<Value>,
    /// The version of each channel.
    pub channel_versions: BTreeMap<String, ChannelVersion>,
    /// The contents of channels. A channel that is absent here has its content of the parent, where its version is the
    /// same.
    pub values: BTreeMap<String, Content>,
    /// The writes of tasks behind the parent, from which this checkpoint came. They are recorded in the same step,
    /// where they were not saved with [`Checkpoints::write`](crate::Checkpoints::write) before.
    pub writes: Vec<TaskWrites>,
    /// The agent, session and run that it belongs to, and its data subject.
    pub about: CheckpointContext,
}

impl NewCheckpoint {
    /// Returns a checkpoint that holds nothing yet.
    pub fn new(checkpoint: impl Into<String>, step: i64, source: CheckpointSource) -> Self {
        Self {
            checkpoint: checkpoint.into(),
            namespace: String::new(),
            parent: None,
            step,
            source,
            metadata: None,
            document: None,
            channel_versions: BTreeMap::new(),
            values: BTreeMap::new(),
            writes: Vec::new(),
            about: CheckpointContext::default(),
        }
    }
}

/// The writes of one task.
#[derive(Debug, Clone, Default)]
pub struct TaskWrites {
    /// The task.
    pub task: String,
    /// The task's path in the graph; writes are read in the order of it.
    pub path: Option<String>,
    /// Set when the writes replace those at their indexes. Otherwise the first write at an index stays.
    pub replace: bool,
    /// The writes, in order.
    pub writes: Vec<TaskWrite>,
}

/// One write.
#[derive(Debug, Clone)]
pub struct TaskWrite {
    /// The channel.
    pub channel: String,
    /// Its place among the task's; without it they are counted from 0.
    pub index: Option<i64>,
    /// The value written.
    pub content: Content,
}

/// The agent, session and run that a saved item belongs to, and its data subject.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CheckpointContext {
    /// The data subject of the contents. They are sealed under that person's key, and are lost when the key is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasubject: Option<String>,
    /// The agent, where the token does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A choice of one checkpoint of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointSelector {
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// Its id; the newest without it.
    pub checkpoint: Option<String>,
}

impl CheckpointSelector {
    /// Returns the choice of the newest checkpoint of the outermost graph.
    #[must_use]
    pub fn newest() -> Self {
        Self::default()
    }

    /// Returns the choice of the checkpoint with this id in the outermost graph.
    pub fn of(checkpoint: impl Into<String>) -> Self {
        Self { namespace: String::new(), checkpoint: Some(checkpoint.into()) }
    }
}

/// The part of a thread that is copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopySelection {
    /// Only this subgraph.
    pub namespace: Option<String>,
    /// Only this checkpoint of the subgraph and those that it comes from.
    pub checkpoint: Option<String>,
}

/// The part of a thread that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteSelection {
    /// All of it.
    Thread,
    /// All but the newest of each subgraph.
    AllButNewest,
    /// One checkpoint.
    One {
        /// The subgraph; empty is the outermost one.
        namespace: String,
        /// Its id.
        checkpoint: String,
    },
}

/// The filter of a list of checkpoints.
#[derive(Debug, Clone, Default)]
pub struct CheckpointFilter {
    /// Only those of this thread, the greatest id first; without it of all, those saved last first.
    pub thread: Option<String>,
    /// Only those of this subgraph.
    pub namespace: Option<String>,
    /// Only those whose id is smaller.
    pub before: Option<String>,
    /// A JSON object: only those whose metadata has these members.
    pub metadata: Option<Value>,
    /// The number of checkpoints of one page, up to 1,000.
    pub limit: Option<usize>,
}

/// A checkpoint with all that belongs to it.
#[derive(Debug, Clone)]
pub struct FoundCheckpoint {
    /// The checkpoint.
    pub saved: SavedCheckpoint,
    /// For a checkpoint with a parent: `true` if the parent is there.
    pub parent_found: Option<bool>,
    /// The JSON object with the rest of the state.
    pub document: Option<Box<RawValue>>,
    /// The contents of channels.
    pub values: BTreeMap<String, ContentState>,
    /// The writes of tasks behind it, by path, task and index.
    pub writes: Vec<RecordedWrite>,
}

/// A recorded write of a task.
#[derive(Debug, Clone)]
pub struct RecordedWrite {
    /// The task.
    pub task: String,
    /// The task's path in the graph.
    pub path: Option<String>,
    /// Its place among the task's.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// The position at which it is recorded.
    pub position: String,
    /// The value written.
    pub held: ContentState,
}

/// The retrieved state of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentState {
    /// The whole content.
    Content(Content),
    /// The content is larger than an answer; [`Checkpoints::read`](crate::Checkpoints::read) gets it.
    Large(LargeContent),
    /// The content was sealed under the key of a data subject, which is gone.
    Erased,
    /// The content was named before it was recorded.
    Missing,
}

/// A content that is larger than an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeContent {
    pub(crate) encoding: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) positions: Vec<String>,
}

impl LargeContent {
    /// Returns the encoding of its bytes.
    #[must_use]
    pub fn encoding(&self) -> Option<&str> {
        self.encoding.as_deref()
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

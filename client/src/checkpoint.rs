//! What is saved of a thread, and what is found of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The version of a channel: a number, or a text that sorts as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChannelVersion {
    /// A number.
    Number(u64),
    /// A text of at most 128 bytes.
    Text(String),
}

/// What made a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A word that this version does not know.
    #[serde(other)]
    Unknown,
}

/// What a channel holds, or a task wrote: bytes, and how they are to be read in the executor's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// How the bytes are to be read: `msgpack`, `application/json`.
    pub encoding: Option<String>,
    /// At most 64 MiB.
    pub bytes: Vec<u8>,
}

impl Content {
    /// These bytes, to be read so.
    pub fn new(encoding: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { encoding: Some(encoding.into()), bytes: bytes.into() }
    }

    /// A JSON text, which people see as what it is.
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
    /// After which step; -1 is the input before the first.
    pub step: i64,
    /// What made it.
    pub source: CheckpointSource,
    /// A JSON object that lists are filtered by.
    pub metadata: Option<Value>,
    /// A JSON object: what else belongs to the state.
    pub document: Option<Value>,
    /// The version of each channel.
    pub channel_versions: BTreeMap<String, ChannelVersion>,
    /// What channels hold. One that is not here has what it has in the parent, where its version is the same.
    pub values: BTreeMap<String, Content>,
    /// What tasks wrote behind the parent, and what came of which this is: recorded in the same step, where it was not saved with
    /// [`Checkpoints::write`](crate::Checkpoints::write) before.
    pub writes: Vec<TaskWrites>,
    /// Where it belongs, and whose it is.
    pub about: About,
}

impl NewCheckpoint {
    /// One that holds nothing yet.
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
            about: About::default(),
        }
    }
}

/// What one task wrote.
#[derive(Debug, Clone, Default)]
pub struct TaskWrites {
    /// The task.
    pub task: String,
    /// Where it stands in the graph; writes are read in the order of it.
    pub path: Option<String>,
    /// Whether they take the place of what stands at their indexes; else what stands there first stays.
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
    /// What was written.
    pub content: Content,
}

/// Where something that is saved belongs, and whose it is.
#[derive(Debug, Clone, Default, Serialize)]
pub struct About {
    /// Whose data the contents are: they are sealed under that person's key, and gone with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasubject: Option<String>,
    /// Who works, where the token does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Which checkpoint of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// Its id; the newest without it.
    pub checkpoint: Option<String>,
}

impl Which {
    /// The newest of the outermost graph.
    #[must_use]
    pub fn newest() -> Self {
        Self::default()
    }

    /// The one of this id in the outermost graph.
    pub fn of(checkpoint: impl Into<String>) -> Self {
        Self { namespace: String::new(), checkpoint: Some(checkpoint.into()) }
    }
}

/// What of a thread is copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Only this subgraph.
    pub namespace: Option<String>,
    /// Only this checkpoint of the subgraph and those that it comes from.
    pub checkpoint: Option<String>,
}

/// What of a thread is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
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

/// That something was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Recorded {
    /// Where.
    pub position: String,
    /// Whether it stood there before.
    pub repeated: bool,
    /// Of a checkpoint with a parent, whether that is there; of writes, whether their checkpoint is there; `None` while nobody knows.
    pub found: Option<bool>,
}

/// Which checkpoints are listed.
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
    /// So many at once, up to 1,000.
    pub limit: Option<usize>,
}

/// Some checkpoints.
#[derive(Debug, Clone, Deserialize)]
pub struct CheckpointPage {
    /// The checkpoints. A page may be short.
    pub checkpoints: Vec<SavedCheckpoint>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// A checkpoint, without what its channels hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedCheckpoint {
    /// The thread.
    pub thread: String,
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// Its id.
    pub checkpoint: String,
    /// The checkpoint before it.
    pub parent: Option<String>,
    /// After which step.
    pub step: i64,
    /// What made it.
    pub source: CheckpointSource,
    /// Where it was saved, or copied.
    pub position: String,
    /// When it was saved first, RFC 3339.
    pub time: String,
    /// Who saved it.
    pub agent: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// Of which run.
    pub run: Option<String>,
    /// What is said of it.
    pub metadata: Option<Value>,
    /// The version of each channel.
    pub channel_versions: BTreeMap<String, ChannelVersion>,
}

/// A checkpoint with all that belongs to it.
#[derive(Debug, Clone)]
pub struct FoundCheckpoint {
    /// The checkpoint.
    pub saved: SavedCheckpoint,
    /// Of one with a parent, whether that is there.
    pub parent_found: Option<bool>,
    /// What else belongs to the state.
    pub document: Option<Box<RawValue>>,
    /// What channels hold.
    pub values: BTreeMap<String, Held>,
    /// What tasks wrote behind it, by path, task and index.
    pub writes: Vec<Written>,
}

/// What a task wrote.
#[derive(Debug, Clone)]
pub struct Written {
    /// The task.
    pub task: String,
    /// Where the task stands in the graph.
    pub path: Option<String>,
    /// Its place among the task's.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// Where it is recorded.
    pub position: String,
    /// What was written.
    pub held: Held,
}

/// What is left of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// All of it.
    Content(Content),
    /// It is larger than an answer; [`Checkpoints::read`](crate::Checkpoints::read) gets it.
    Large(LargeContent),
    /// It was sealed under the key of a data subject, which is gone.
    Erased,
    /// It was named before it was recorded.
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
    /// How its bytes are to be read.
    #[must_use]
    pub fn encoding(&self) -> Option<&str> {
        self.encoding.as_deref()
    }

    /// How many they are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

//! Checkpoints of a thread of work, from which a run goes on.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{
    BoundedList, BoundedMap, BoundedText, ChannelVersion, CheckpointBlob, EventData, FreeText, JsonObject,
    Name, TextError,
};

/// Channels of one checkpoint.
pub const MAX_CHECKPOINT_CHANNELS: usize = 1_024;
/// Blobs that one checkpoint or one set of writes names.
pub const MAX_CHECKPOINT_BLOBS: usize = 1_024;
/// Tasks whose writes one checkpoint tells.
pub const MAX_CHECKPOINT_TASKS: usize = 1_024;
/// Bytes of a namespace: a path of subgraphs.
pub const MAX_NAMESPACE_BYTES: usize = 1_024;
/// The first step a checkpoint may stand at: the input, before any.
const FIRST_STEP: i64 = -1;
/// The last.
const LAST_STEP: i64 = 1_000_000_000;

/// `checkpoint.saved`: a thread's state was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointSaved {
    /// The thread. It belongs to the agent that saved in it first: saves and deletions by others do not count.
    pub thread: Name,
    /// The subgraph; empty, or not there, is the outermost one.
    #[serde(default, skip_serializing_if = "Namespace::is_outermost")]
    pub namespace: Namespace,
    /// Its id.
    pub checkpoint: Name,
    /// The checkpoint before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The number of the step after which it was saved.
    pub step: CheckpointStep,
    /// The origin of the checkpoint.
    pub source: CheckpointSource,
    /// The version of each channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_versions: Option<BoundedMap<ChannelVersion, MAX_CHECKPOINT_CHANNELS>>,
    /// The contents of the channels. A channel of `channel_versions` that is missing here has the content that it has
    /// in the parent, if its version is the same there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blobs: Option<BoundedList<CheckpointBlob, 0, MAX_CHECKPOINT_BLOBS>>,
    /// The writes of tasks after the parent, from which this checkpoint came: as in `checkpoint.writes`, in the same step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<BoundedList<CheckpointTaskWrites, 1, MAX_CHECKPOINT_TASKS>>,
    /// Metadata, by which lists are filtered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// The rest of the state, as the executor has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<JsonObject>,
}

/// The writes of one task, reported with the checkpoint that came of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointTaskWrites {
    /// The task.
    pub task: Name,
    /// The task's place in the graph; writes are read in the order of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<BoundedText<MAX_NAMESPACE_BYTES>>,
    /// `true`: they replace the writes at their indexes. Otherwise the first write at an index stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
    /// The task's writes, in order.
    pub writes: BoundedList<CheckpointBlob, 0, MAX_CHECKPOINT_BLOBS>,
}

/// `checkpoint.writes`: the writes of a task after a checkpoint, before the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointWrites {
    /// The thread.
    pub thread: Name,
    /// The subgraph; empty, or not there, is the outermost one.
    #[serde(default, skip_serializing_if = "Namespace::is_outermost")]
    pub namespace: Namespace,
    /// The checkpoint they follow.
    pub checkpoint: Name,
    /// The task.
    pub task: Name,
    /// The task's place in the graph; writes are read in the order of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<BoundedText<MAX_NAMESPACE_BYTES>>,
    /// `true`: they replace the writes at their indexes. Otherwise the first write at an index stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
    /// The task's writes, in order.
    pub writes: BoundedList<CheckpointBlob, 0, MAX_CHECKPOINT_BLOBS>,
}

/// `checkpoint.deleted`: a checkpoint, or a whole thread, is not to be gone on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointDeleted {
    /// The thread.
    pub thread: Name,
    /// The subgraph; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The checkpoint; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Name>,
    /// `true`: the newest checkpoint of each subgraph stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_newest: Option<bool>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// `checkpoint.copied`: the contents of a thread are in another one, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointCopied {
    /// The thread that is copied.
    pub thread: Name,
    /// The thread that has it from here on. Its own contents stay.
    pub to: Name,
    /// The subgraph; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Only this checkpoint of the subgraph and those that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Name>,
}

/// The origin of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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

/// A path of subgraphs; empty for the outermost one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(Option<BoundedText<MAX_NAMESPACE_BYTES>>);

/// The number of a step; -1 is the input before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct CheckpointStep(i64);

/// A number that is no step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no step: {FIRST_STEP} to {LAST_STEP}")]
pub struct StepError(i64);

impl Namespace {
    /// The path; empty for the outermost one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", BoundedText::as_str)
    }

    /// Returns `true` if it is the path of the outermost graph.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        self.0.is_none()
    }
}

impl TryFrom<String> for Namespace {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        BoundedText::new(text).map(|text| Self(Some(text)))
    }
}

impl From<Namespace> for String {
    fn from(namespace: Namespace) -> Self {
        namespace.0.map(Self::from).unwrap_or_default()
    }
}

impl JsonSchema for Namespace {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Namespace".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": MAX_NAMESPACE_BYTES })
    }
}

impl CheckpointStep {
    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for CheckpointStep {
    type Error = StepError;

    fn try_from(number: i64) -> Result<Self, StepError> {
        if !(FIRST_STEP..=LAST_STEP).contains(&number) {
            return Err(StepError(number));
        }
        Ok(Self(number))
    }
}

impl From<CheckpointStep> for i64 {
    fn from(step: CheckpointStep) -> Self {
        step.0
    }
}

impl JsonSchema for CheckpointStep {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CheckpointStep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": FIRST_STEP, "maximum": LAST_STEP })
    }
}

impl EventData for CheckpointSaved {
    const KIND: &'static str = "checkpoint.saved";
    const VERSION: u32 = 1;
}

impl EventData for CheckpointWrites {
    const KIND: &'static str = "checkpoint.writes";
    const VERSION: u32 = 1;
}

impl EventData for CheckpointDeleted {
    const KIND: &'static str = "checkpoint.deleted";
    const VERSION: u32 = 1;
}

impl EventData for CheckpointCopied {
    const KIND: &'static str = "checkpoint.copied";
    const VERSION: u32 = 1;
}

//! Checkpoints of threads of work, and the requests that save them.

use std::collections::BTreeMap;

use bitacora_vocabulary::ChannelVersion;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The content of a channel, or of a task's write. A request has `json`, `base64`, or `pieces` that are recorded already. An answer has one
/// of these, or `positions` where it is large, or `erased` or `missing`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentValue {
    /// The encoding of its bytes, in the executor's words; of `json` it is `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "msgpack")]
    pub encoding: Option<String>,
    /// Its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "pHRlc3Q=")]
    pub base64: Option<String>,
    /// Itself, where it is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub json: Option<Box<RawValue>>,
    /// The digests of its pieces, in order, as `POST …/contents` answered them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<Vec<String>>,
    /// The number of its bytes; sent with `pieces`, and answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Answered for large content: the positions of the events whose data, one behind the other, are its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<Vec<String>>,
    /// Answered as `true` for content that was sealed under the key of a data subject, which is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<bool>,
    /// Answered as `true` for content that was named before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<bool>,
}

/// The body that saves a checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointSaveRequest {
    /// Its id; ids sort by the time at which they were made.
    #[schema(example = "1f0c8a3e-8335-6428-8001-8a1503f9b875")]
    pub checkpoint: String,
    /// The subgraph; the outermost one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The checkpoint before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The step after which it was made, -1 to 10^9; else the one in `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
    /// `input`, `loop`, `update` or `fork`; else the one in `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Metadata, by which lists are filtered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The rest of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub document: Option<Value>,
    /// The version of each channel. One without a value has that of the parent, if its version is the same there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub channel_versions: Option<BTreeMap<String, ChannelVersion>>,
    /// The contents of channels, those that changed at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeMap<String, ContentValue>>,
    /// The writes of tasks behind the parent, from which this checkpoint was made. They are recorded in the same step, instead of by
    /// requests of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<CheckpointTaskRequest>>,
    /// The data subject of the values: they are sealed under that person's key, and gone with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datasubject: Option<String>,
    /// The agent that works; of an agent's token it is that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The request's own id: one that was lost on its way is sent again under it, and done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The writes of a task behind the parent of a checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointTaskRequest {
    /// The task.
    pub task: String,
    /// The place of the task in the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `true` if they replace the writes at their indexes; without it the earlier writes stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
    /// The writes, in order.
    pub writes: Vec<CheckpointWriteRequest>,
}

/// The body that records the writes of a task behind a checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointWritesRequest {
    /// The checkpoint, which may still be on its way.
    pub checkpoint: String,
    /// The subgraph; the outermost one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The task.
    pub task: String,
    /// The place of the task in the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `true` if they replace the writes at their indexes; without it the earlier writes stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
    /// The writes, in order.
    pub writes: Vec<CheckpointWriteRequest>,
    /// The data subject of the writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datasubject: Option<String>,
    /// The agent that works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The request's own id: one that was lost on its way is sent again under it, and done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// One write.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointWriteRequest {
    /// The channel.
    pub channel: String,
    /// Its place among the task's; without it they are counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
    /// The content that was written.
    pub value: ContentValue,
}

/// The body that copies checkpoints.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckpointCopyRequest {
    /// The thread to copy to; it holds nothing yet.
    pub to: String,
    /// Only this subgraph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only this checkpoint of the subgraph (the outermost one without `namespace`) and those that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The request's own id: one that was lost on its way is sent again under it, and done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// From where a thread goes on another way.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckpointForkRequest {
    /// The checkpoint; the newest without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The subgraph; the outermost one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The id of the new checkpoint, whose parent that one is.
    #[serde(rename = "as")]
    pub as_checkpoint: String,
    /// The metadata of the new one; without it that of the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The request's own id: one that was lost on its way is sent again under it, and done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The answer to what is done with checkpoints.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointActAnswer {
    /// The position of its event.
    #[schema(example = "918275")]
    pub position: String,
    /// `true` if it was recorded before: the request is a repetition.
    pub repeated: bool,
    /// Of a checkpoint with a parent, `true` if the parent is recorded; of writes, `true` if their checkpoint is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<bool>,
    /// The request's own id, if it has one: the answer to another request is not taken for that to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The answer to content that is stored ahead of the checkpoint that names it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContentStoredAnswer {
    /// The digests of its pieces, in order, to be named.
    pub pieces: Vec<String>,
    /// Its bytes.
    pub bytes: u64,
}

/// Checkpoints, without what their channels hold.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckpointList {
    /// Of one thread the greatest id first, of all threads those saved last first.
    pub checkpoints: Vec<SavedCheckpoint>,
    /// The `after` of the next page; absent at the end. A page may be short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedCheckpoint {
    /// The thread.
    pub thread: String,
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// Its id.
    pub checkpoint: String,
    /// The checkpoint before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The step after which it was made.
    pub step: i64,
    /// The source: `input`, `loop`, `update` or `fork`.
    pub source: String,
    /// The position at which it was saved, or copied.
    pub position: String,
    /// The time at which it was saved first.
    pub time: String,
    /// The agent that saved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session in which it was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run in which it was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The version of each channel.
    #[schema(value_type = Object)]
    pub channel_versions: BTreeMap<String, ChannelVersion>,
}

/// One checkpoint with all that belongs to it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointAnswer {
    /// The checkpoint.
    #[serde(flatten)]
    pub saved: SavedCheckpoint,
    /// Of one with a parent, `true` if the parent is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_found: Option<bool>,
    /// The rest of the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub document: Option<Box<RawValue>>,
    /// The contents of channels.
    pub values: BTreeMap<String, ContentValue>,
    /// The writes of tasks behind it, by path, task and index.
    pub writes: Vec<CheckpointWriteAnswer>,
}

/// The members of a [`CheckpointAnswer`] beside the checkpoint: raw JSON does not pass through a flattened member.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckpointContents {
    parent_found: Option<bool>,
    document: Option<Box<RawValue>>,
    values: BTreeMap<String, ContentValue>,
    writes: Vec<CheckpointWriteAnswer>,
}

impl<'de> Deserialize<'de> for CheckpointAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let saved = serde_json::from_str(json.get()).map_err(D::Error::custom)?;
        let contents = serde_json::from_str(json.get()).map_err(D::Error::custom)?;
        let CheckpointContents { parent_found, document, values, writes } = contents;
        Ok(Self { saved, parent_found, document, values, writes })
    }
}

/// One write.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckpointWriteAnswer {
    /// The task.
    pub task: String,
    /// The place of the task in the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its place among the task's.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// The position of the write.
    pub position: String,
    /// The content that was written.
    pub value: ContentValue,
}

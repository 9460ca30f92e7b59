//! Checkpoints of threads of work: channels and writes of tasks, found by thread, subgraph and id.
//!
//! Rows say which events of the log tell of a checkpoint, of each of its channels and of each write; the events say the rest.

mod content_body;
mod event_views;
mod fold;
mod order;
mod reading;
mod row;
mod thread;
mod whose;

use std::collections::BTreeMap;

use bitacora_api::{CheckpointWriteAnswer, ContentValue, SavedCheckpoint};
use bitacora_formats::{Micros, Position, format_time};
use bitacora_vocabulary::ChannelVersion;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::RowKey;
pub use content_body::{CheckpointError, ContentBody};
pub(crate) use fold::CheckpointsModel;
use whose::{Owner, Sender};

/// One checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The thread.
    pub thread: String,
    /// The subgraph; empty is the outermost one.
    pub namespace: String,
    /// Its id. Ids sort by the time at which they were made.
    pub checkpoint: String,
    /// The one before it, which need not be there.
    pub parent: Option<String>,
    /// After which step; -1 is the input before the first.
    pub step: i64,
    /// `input`, `loop`, `update` or `fork`.
    pub source: String,
    /// The position at which it was saved here, or copied.
    pub position: u64,
    /// The time at which it was first saved, microseconds since 1970.
    pub time: u64,
    /// The position of the event that records that.
    pub recorded: u64,
    /// `true` if the event there has a `document`.
    pub has_document: bool,
    /// The agent that saved it.
    pub agent: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// Of which run.
    pub run: Option<String>,
    /// A JSON object, as it was recorded.
    pub metadata: Option<String>,
    /// Its channels, by their names.
    pub channels: Vec<Channel>,
}

impl From<Checkpoint> for SavedCheckpoint {
    fn from(checkpoint: Checkpoint) -> Self {
        let versions = checkpoint.channels.iter();
        let versions = versions
            .filter_map(|channel| Some((channel.name.clone(), channel.version.as_ref()?.recorded()?)));
        Self {
            channel_versions: versions.collect(),
            thread: checkpoint.thread,
            namespace: checkpoint.namespace,
            checkpoint: checkpoint.checkpoint,
            parent: checkpoint.parent,
            step: checkpoint.step,
            source: checkpoint.source,
            position: checkpoint.position.to_string(),
            time: format_time(Micros(checkpoint.time)),
            agent: checkpoint.agent,
            session: checkpoint.session,
            run: checkpoint.run,
            metadata: checkpoint.metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()),
        }
    }
}

/// One channel of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<Version>,
    /// Its content, if anything was said of that.
    pub value: Option<ContentLocation>,
}

/// The version of a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
pub enum Version {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

impl Version {
    /// Returns the version as events have it; `None` of one that no event may have.
    #[must_use]
    pub fn recorded(&self) -> Option<ChannelVersion> {
        match self {
            Self::Number(number) => (*number).try_into().ok().map(ChannelVersion::Number),
            Self::Text(text) => text.clone().try_into().ok().map(ChannelVersion::Text),
        }
    }
}

/// The place of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentLocation {
    /// The encoding of its bytes.
    pub encoding: Option<String>,
    /// Bytes.
    pub bytes: u64,
    /// The content, where it is small.
    pub inline: Option<Vec<u8>>,
    /// The positions of its pieces; `None` of one that was not recorded before it was named.
    pub pieces: Vec<Option<u64>>,
}

/// A write of a task behind a checkpoint, before the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointWrite {
    /// The task.
    pub task: String,
    /// The place of the task in the graph.
    pub path: Option<String>,
    /// Its place among the task's.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// The content that it wrote.
    pub content: ContentLocation,
    /// The position of the event that records it.
    pub position: u64,
}

impl CheckpointWrite {
    /// Returns the write as it is answered, with the content that it wrote.
    #[must_use]
    pub fn answer(self, value: ContentValue) -> CheckpointWriteAnswer {
        CheckpointWriteAnswer {
            task: self.task,
            path: self.path,
            index: self.index,
            channel: self.channel,
            position: self.position.to_string(),
            value,
        }
    }
}

/// A checkpoint with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// `true` if its parent is there.
    pub has_parent: bool,
    /// The writes of tasks behind it, by path, task and index.
    pub writes: Vec<CheckpointWrite>,
}

/// The place of a checkpoint: the event that made it, and its number among those that the event made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CheckpointPlace {
    /// The position of the event.
    pub position: u64,
    /// Its number, from 0.
    pub number: u64,
}

/// A query of checkpoints.
#[derive(Debug, Clone, Default)]
pub struct CheckpointQuery {
    /// Only those of this thread, the greatest id first; without it of all, those saved last first.
    pub thread: Option<String>,
    /// Only those of this subgraph.
    pub namespace: Option<String>,
    /// Only those whose id is smaller.
    pub before: Option<String>,
    /// Only those whose metadata has these members with these values; `null` is a member that is not there.
    pub filter: BTreeMap<String, Value>,
    /// Of one thread: only what is behind this checkpoint and subgraph.
    pub after: Option<(String, String)>,
    /// Of all threads: only what is behind this place.
    pub after_place: Option<CheckpointPlace>,
    /// At most so many.
    pub limit: usize,
}

/// Some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointPage {
    /// The checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// The last one that was looked at, unless it was the last of all: the page goes on behind it.
    pub last: Option<(String, String, CheckpointPlace)>,
    /// Up to where they are known.
    pub position: Position,
}

/// A piece of content that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPiece {
    /// The position of the event.
    pub position: u64,
    /// Its bytes, where they are not sealed.
    pub bytes: Option<u64>,
}

/// The load of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLoad {
    /// Checkpoints, and tasks with writes, of at most [`crate::limits::MAX_THREAD_ENTRIES`].
    pub entries: u64,
    /// Bytes of its rows, of at most [`crate::limits::MAX_THREAD_BYTES`].
    pub bytes: u64,
    /// The greatest id that there was when all of it was deleted: what is written behind it or a smaller one comes too late.
    pub deleted: Option<String>,
    owner: Option<Owner>,
}

impl ThreadLoad {
    /// Returns `true` if an event that this actor sends for this agent counts in the thread. The thread is then nobody's or this agent's,
    /// or the actor governs agents.
    #[must_use]
    pub fn takes(&self, actor: &str, agent: Option<&str>) -> bool {
        Sender::new(Some(actor), agent).may_act(self.owner.as_ref())
    }

    /// Returns `true` if the thread belongs to an agent, and is nobody's again once this actor deletes all of it.
    #[must_use]
    pub fn is_freed_by(&self, actor: &str) -> bool {
        self.owner().is_some() && Sender::new(Some(actor), None).governs
    }

    /// The agent that the thread belongs to.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        match self.owner.as_ref()? {
            Owner::Nobody => None,
            Owner::Agent(agent) => Some(agent),
        }
    }
}

impl CheckpointPlace {
    fn within(self, group: RowKey) -> RowKey {
        group.at(self.position).at(self.number)
    }
}

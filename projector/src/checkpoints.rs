//! Checkpoints of threads of work: what each channel held, what tasks wrote behind it, found by thread, subgraph and id.
//!
//! Rows say where contents lie in the log, and hold small ones alone.

mod fold;
mod held;
mod order;
mod thread;

use std::collections::BTreeMap;

use bitacora_formats::Position;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::LOOKED_AT_CHECKPOINTS;
use crate::models::{Model as _, ModelError, ReadModels, RowKey, View};
pub(crate) use fold::Checkpoints;
use fold::{BLOB, CHECKPOINT, NEWEST, SAVED};
pub use held::{CheckpointError, Held};
use order::Entry;
use thread::{Counts, Newest, THREAD, WRITES};

/// One checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Where it was saved here, or copied.
    pub position: u64,
    /// When it was saved first, microseconds since 1970.
    pub time: u64,
    /// Where that is recorded.
    pub recorded: u64,
    /// Whether the event there has a `document`.
    pub has_document: bool,
    /// Who saved it.
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

/// One channel of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<Version>,
    /// What it holds, if anything was said of that.
    pub value: Option<Content>,
}

/// The version of a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Version {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// Where a content is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// How its bytes are to be read.
    pub encoding: Option<String>,
    /// Bytes.
    pub bytes: u64,
    /// The content, where it is small.
    pub inline: Option<Vec<u8>>,
    /// The positions of its pieces; `None` of one that was not recorded before it was named.
    pub pieces: Vec<Option<u64>>,
}

/// What one task wrote behind a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskWrites {
    task: String,
    path: Option<String>,
    /// By their indexes.
    writes: Vec<Write>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Write {
    index: i64,
    channel: String,
    content: Content,
    position: u64,
}

/// What a task wrote behind a checkpoint, before the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointWrite {
    /// The task.
    pub task: String,
    /// Where the task stands in the graph.
    pub path: Option<String>,
    /// Its place among the task's.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// What it wrote.
    pub content: Content,
    /// Where that is recorded.
    pub position: u64,
}

/// A checkpoint with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Whether its parent is there.
    pub has_parent: bool,
    /// What tasks wrote behind it, by path, task and index.
    pub writes: Vec<CheckpointWrite>,
}

/// Where a checkpoint stands: the event that made it, and its number among those that the event made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CheckpointPlace {
    /// The position of the event.
    pub position: u64,
    /// Its number, from 0.
    pub number: u64,
}

/// Which checkpoints are asked for.
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
pub struct Piece {
    /// Where.
    pub position: u64,
    /// Its bytes, where they are not sealed.
    pub bytes: Option<u64>,
}

/// What a thread holds already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLoad {
    /// Checkpoints, and tasks with writes, of at most [`crate::limits::MAX_THREAD_ENTRIES`].
    pub entries: u64,
    /// Bytes of its rows, of at most [`crate::limits::MAX_THREAD_BYTES`].
    pub bytes: u64,
    /// The greatest id that there was when all of it was deleted: what is written behind it or a smaller one comes too late.
    pub deleted: Option<String>,
}

impl CheckpointPlace {
    fn within(self, group: RowKey) -> RowKey {
        group.at(self.position).at(self.number)
    }
}

impl Checkpoint {
    /// What its row comes to, about.
    fn weight(&self) -> u64 {
        let texts = [&self.thread, &self.namespace, &self.checkpoint, &self.source].into_iter();
        let optional = [&self.parent, &self.agent, &self.session, &self.run, &self.metadata];
        let texts = texts.chain(optional.into_iter().flatten()).map(|text| text.len() as u64).sum::<u64>();
        let channel = |channel: &Channel| {
            let version = match &channel.version {
                Some(Version::Text(text)) => text.len() as u64,
                _ => 8,
            };
            channel.name.len() as u64 + version + channel.value.as_ref().map_or(0, Content::weight)
        };
        texts + self.channels.iter().map(channel).sum::<u64>()
    }
}

impl Content {
    fn weight(&self) -> u64 {
        let encoding = self.encoding.as_ref().map_or(0, String::len);
        let inline = self.inline.as_ref().map_or(0, Vec::len);
        (16 + encoding + inline + 8 * self.pieces.len()) as u64
    }
}

impl TaskWrites {
    fn weight(&self) -> u64 {
        let texts = self.task.len() + self.path.as_ref().map_or(0, String::len);
        let write = |write: &Write| 16 + write.channel.len() as u64 + write.content.weight();
        texts as u64 + self.writes.iter().map(write).sum::<u64>()
    }
}

/// As it stands in JSON; in rows it is written as what it is.
impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        enum Stored {
            Number(u64),
            Text(String),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Told {
            Number(u64),
            Text(String),
        }
        if deserializer.is_human_readable() {
            return Told::deserialize(deserializer).map(|told| match told {
                Told::Number(number) => Self::Number(number),
                Told::Text(text) => Self::Text(text),
            });
        }
        Stored::deserialize(deserializer).map(|stored| match stored {
            Stored::Number(number) => Self::Number(number),
            Stored::Text(text) => Self::Text(text),
        })
    }
}

impl ReadModels {
    /// One checkpoint of a thread, or its newest, and up to where they are known.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn checkpoint(
        &self,
        thread: &str,
        namespace: &str,
        checkpoint: Option<&str>,
    ) -> Result<(Option<FoundCheckpoint>, Position), ModelError> {
        let view = self.view(Checkpoints.name())?;
        let place = match checkpoint {
            Some(id) => view.row(&view.key(CHECKPOINT, &[thread, namespace, id]))?,
            None => {
                let newest = view.row::<Newest>(&view.key(NEWEST, &[thread, namespace]))?;
                newest.map(|newest| newest.place)
            }
        };
        let found = match place {
            Some(place) => found(&view, place)?,
            None => None,
        };
        Ok((found, view.position()))
    }

    /// Checkpoints, as the query says.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<CheckpointPage, ModelError> {
        let view = self.view(Checkpoints.name())?;
        let position = view.position();
        let saved = view.key(SAVED, &[]);
        let places: Box<dyn Iterator<Item = Result<CheckpointPlace, ModelError>> + '_> = match &query.thread {
            Some(thread) => {
                let bounds = [
                    query.before.as_ref().map(|id| Entry::new(id, "")),
                    query.after.as_ref().map(|(id, namespace)| Entry::new(id, namespace)),
                ];
                let bound = bounds.into_iter().flatten().min();
                let view = &view;
                let entries = order::before(view, thread, bound)?;
                Box::new(entries.filter_map(move |entry| placed(view, query, thread, entry).transpose()))
            }
            None => {
                // What stands before everything stands behind nothing.
                let last = query.after_place.map_or(Some((u64::MAX, u64::MAX)), before);
                let rows = last.map(|(position, number)| {
                    view.between::<Checkpoint>(saved.at(0), saved.at(position).at(number)).rev()
                });
                Box::new(rows.into_iter().flatten().map(|row| row.map(|(key, _)| CheckpointPlace::of(&key))))
            }
        };
        let (mut checkpoints, mut last, mut looked_at) = (Vec::new(), None, 0);
        for place in places {
            let place = place?;
            if checkpoints.len() == query.limit || looked_at == LOOKED_AT_CHECKPOINTS {
                return Ok(CheckpointPage { checkpoints, last, position });
            }
            looked_at += 1;
            let Some(checkpoint) = view.row::<Checkpoint>(&place.within(saved))? else { continue };
            last = Some((checkpoint.checkpoint.clone(), checkpoint.namespace.clone(), place));
            if is_asked(query, &checkpoint) {
                checkpoints.push(checkpoint);
            }
        }
        Ok(CheckpointPage { checkpoints, last: None, position })
    }

    /// Pieces of contents by their digests, those that are recorded.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn content_pieces(&self, digests: &[String]) -> Result<Vec<Option<Piece>>, ModelError> {
        let view = self.view(Checkpoints.name())?;
        digests.iter().map(|digest| view.row(&view.key(BLOB, &[digest]))).collect()
    }

    /// What a thread holds already.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn thread_load(&self, thread: &str) -> Result<ThreadLoad, ModelError> {
        let view = self.view(Checkpoints.name())?;
        let counts: Counts = view.row(&view.key(THREAD, &[thread]))?.unwrap_or_default();
        let Counts { entries, bytes, deleted } = counts;
        Ok(ThreadLoad { entries, bytes, deleted })
    }
}

impl CheckpointPlace {
    /// Of the key of a checkpoint's row.
    fn of(key: &RowKey) -> Self {
        Self { position: key.first_number(), number: key.last_number() }
    }
}

/// The place right before one, as position and number.
fn before(place: CheckpointPlace) -> Option<(u64, u64)> {
    match place.number.checked_sub(1) {
        Some(number) => Some((place.position, number)),
        None => Some((place.position.checked_sub(1)?, u64::MAX)),
    }
}

fn placed(
    view: &View,
    query: &CheckpointQuery,
    thread: &str,
    entry: Result<Entry, ModelError>,
) -> Result<Option<CheckpointPlace>, ModelError> {
    let entry = entry?;
    if query.namespace.as_ref().is_some_and(|namespace| namespace != entry.namespace()) {
        return Ok(None);
    }
    view.row(&view.key(CHECKPOINT, &[thread, entry.namespace(), entry.id()]))
}

fn is_asked(query: &CheckpointQuery, checkpoint: &Checkpoint) -> bool {
    if query.namespace.as_ref().is_some_and(|namespace| *namespace != checkpoint.namespace)
        || query.before.as_ref().is_some_and(|before| checkpoint.checkpoint >= *before)
    {
        return false;
    }
    if query.filter.is_empty() {
        return true;
    }
    let metadata: Option<BTreeMap<String, Value>> =
        checkpoint.metadata.as_deref().and_then(|metadata| serde_json::from_str(metadata).ok());
    let metadata = metadata.unwrap_or_default();
    query.filter.iter().all(|(name, value)| {
        let own = match name.as_str() {
            "source" => Value::from(checkpoint.source.as_str()),
            "step" => Value::from(checkpoint.step),
            _ => Value::Null,
        };
        metadata.get(name).unwrap_or(&own) == value
    })
}

fn found(view: &View, place: CheckpointPlace) -> Result<Option<FoundCheckpoint>, ModelError> {
    let Some(checkpoint) = view.row::<Checkpoint>(&place.within(view.key(SAVED, &[])))? else {
        return Ok(None);
    };
    let Checkpoint { thread, namespace, checkpoint: id, .. } = &checkpoint;
    let has_parent = match &checkpoint.parent {
        Some(parent) => {
            let key = view.key(CHECKPOINT, &[thread, namespace, parent]);
            view.row::<CheckpointPlace>(&key)?.is_some()
        }
        None => false,
    };
    let group = view.key(WRITES, &[thread, namespace, id]);
    let mut writes = Vec::new();
    for row in view.rows::<TaskWrites>(group, 0..=u64::MAX) {
        let (_, TaskWrites { task, path, writes: of_task }) = row?;
        writes.extend(of_task.into_iter().map(|Write { index, channel, content, position }| {
            let (task, path) = (task.clone(), path.clone());
            CheckpointWrite { task, path, index, channel, content, position }
        }));
    }
    writes.sort_by(|one, other| {
        (&one.path, &one.task, one.index).cmp(&(&other.path, &other.task, other.index))
    });
    Ok(Some(FoundCheckpoint { checkpoint, has_parent, writes }))
}

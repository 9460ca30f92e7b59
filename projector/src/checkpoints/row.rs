//! The rows of checkpoints: places in the log, and no more beside them than a fold or an order needs.

use serde::{Deserialize, Serialize};

use super::Version;
use crate::models::RowKey;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckpointRow {
    /// The event that says all else of it.
    pub(super) recorded: u64,
    /// Of a copy: the thread that it was copied to.
    pub(super) copied: Option<String>,
    /// The checkpoint before it.
    pub(super) parent: Option<String>,
    /// Its channels that have a version and a content.
    pub(super) channels: Vec<ChannelLocation>,
}

/// The place in the log of a channel's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChannelLocation {
    /// Stands for the channel and its version.
    pub(super) name: u64,
    /// The event of the checkpoint that brought it.
    pub(super) position: u64,
    /// Its place among that event's blobs.
    pub(super) number: u32,
}

/// The writes of one task behind a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskWrites {
    pub(super) task: String,
    pub(super) path: Option<String>,
    /// By their indexes.
    pub(super) writes: Vec<Write>,
}

/// The place in the log of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Write {
    pub(super) index: i64,
    /// The event.
    pub(super) position: u64,
    /// In the event of a checkpoint: the task's place there.
    pub(super) task: Option<u32>,
    /// Its place among what the task wrote there.
    pub(super) number: u32,
}

/// Bytes that a channel's row counts, about.
const WHENCE_BYTES: u64 = 16;
/// Bytes that a write counts, about.
const WRITE_BYTES: u64 = 16;

impl CheckpointRow {
    /// Returns its size in bytes, about.
    pub(super) fn weight(&self) -> u64 {
        let texts = [&self.copied, &self.parent].into_iter().flatten().map(|text| text.len() as u64);
        texts.sum::<u64>() + WHENCE_BYTES * self.channels.len() as u64
    }
}

impl TaskWrites {
    /// Returns its size in bytes, about.
    pub(super) fn weight(&self) -> u64 {
        let texts = self.task.len() + self.path.as_ref().map_or(0, String::len);
        texts as u64 + WRITE_BYTES * self.writes.len() as u64
    }
}

/// Returns the name of a channel and its version: the beginning of their key.
pub(super) fn channel_name(key: impl Fn(&[&str]) -> RowKey, channel: &str, version: &Version) -> u64 {
    match version {
        Version::Number(number) => key(&[channel, "number", &number.to_string()]),
        Version::Text(text) => key(&[channel, "text", text]),
    }
    .group_number()
}

//! What rows have of checkpoints: where the log says it, and no more than a fold or an order needs beside that.

use serde::{Deserialize, Serialize};

use super::Version;
use crate::models::RowKey;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    /// The event that says all else of it.
    pub(super) recorded: u64,
    /// Of a copy: the thread that it was copied to.
    pub(super) copied: Option<String>,
    /// The checkpoint before it.
    pub(super) parent: Option<String>,
    /// Its channels that have a version and a content.
    pub(super) channels: Vec<Whence>,
}

/// Where it is told what a channel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Whence {
    /// Stands for the channel and its version.
    pub(super) name: u64,
    /// The event of the checkpoint that brought it.
    pub(super) position: u64,
    /// Its place among that event's blobs.
    pub(super) number: u32,
}

/// What one task wrote behind a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskWrites {
    pub(super) task: String,
    pub(super) path: Option<String>,
    /// By their indexes.
    pub(super) writes: Vec<Write>,
}

/// Where a write is told.
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

/// What a channel's row comes to, about.
const WHENCE_BYTES: u64 = 16;
/// What a write comes to, about.
const WRITE_BYTES: u64 = 16;

impl Row {
    /// What it comes to, about.
    pub(super) fn weight(&self) -> u64 {
        let texts = [&self.copied, &self.parent].into_iter().flatten().map(|text| text.len() as u64);
        texts.sum::<u64>() + WHENCE_BYTES * self.channels.len() as u64
    }
}

impl TaskWrites {
    /// What it comes to, about.
    pub(super) fn weight(&self) -> u64 {
        let texts = self.task.len() + self.path.as_ref().map_or(0, String::len);
        texts as u64 + WRITE_BYTES * self.writes.len() as u64
    }
}

/// What stands for a channel and its version: the beginning of the key that they have.
pub(super) fn channel_name(key: impl Fn(&[&str]) -> RowKey, channel: &str, version: &Version) -> u64 {
    match version {
        Version::Number(number) => key(&[channel, "number", &number.to_string()]),
        Version::Text(text) => key(&[channel, "text", text]),
    }
    .group_number()
}

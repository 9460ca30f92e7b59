//! The data of checkpoint events, as folds and readers understand it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::Version;

/// The data of `checkpoint.saved`.
#[derive(Deserialize)]
pub(super) struct CheckpointSaveView<'a> {
    #[serde(borrow)]
    pub(super) thread: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) checkpoint: Cow<'a, str>,
    #[serde(default)]
    pub(super) parent: Option<String>,
    pub(super) step: i64,
    pub(super) source: String,
    #[serde(default)]
    pub(super) channel_versions: Option<BTreeMap<String, Version>>,
    #[serde(borrow, default)]
    pub(super) blobs: Option<Vec<Blob<'a>>>,
    /// The writes of tasks behind the parent.
    #[serde(borrow, default)]
    pub(super) writes: Option<Vec<OfTask<'a>>>,
    #[serde(borrow, default)]
    pub(super) metadata: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) document: Option<IgnoredAny>,
}

/// The writes of one task, in the event of the checkpoint that came of it.
#[derive(Deserialize)]
pub(super) struct OfTask<'a> {
    #[serde(borrow)]
    pub(super) task: Cow<'a, str>,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) replace: Option<bool>,
    #[serde(borrow)]
    pub(super) writes: Vec<Blob<'a>>,
}

/// The data of `checkpoint.writes`.
#[derive(Deserialize)]
pub(super) struct Writes<'a> {
    #[serde(borrow)]
    pub(super) thread: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) checkpoint: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) task: Cow<'a, str>,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) replace: Option<bool>,
    #[serde(borrow)]
    pub(super) writes: Vec<Blob<'a>>,
}

/// A reference to a content.
#[derive(Deserialize)]
pub(super) struct Blob<'a> {
    #[serde(borrow)]
    pub(super) channel: Cow<'a, str>,
    #[serde(default)]
    pub(super) version: Option<Version>,
    #[serde(default)]
    pub(super) encoding: Option<String>,
    #[serde(borrow, default)]
    pub(super) digest: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) pieces: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, default)]
    pub(super) inline: Option<Cow<'a, str>>,
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) index: Option<i64>,
}

/// The data of `checkpoint.deleted`.
#[derive(Deserialize)]
pub(super) struct CheckpointDeletionView<'a> {
    #[serde(borrow)]
    pub(super) thread: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) checkpoint: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) keep_newest: Option<bool>,
}

/// The data of `checkpoint.copied`.
#[derive(Deserialize)]
pub(super) struct CheckpointCopyView<'a> {
    #[serde(borrow)]
    pub(super) thread: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) to: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) checkpoint: Option<Cow<'a, str>>,
}

impl<'a> CheckpointSaveView<'a> {
    /// The version of a channel whose content it names.
    pub(super) fn version<'s>(&'s self, blob: &'s Blob<'a>) -> Option<&'s Version> {
        let of_channel = self.channel_versions.as_ref().and_then(|versions| versions.get(&*blob.channel));
        blob.version.as_ref().or(of_channel)
    }

    /// The blob that a task's write is, or one that a channel holds where no task is meant.
    pub(super) fn blob(&self, task: Option<u32>, number: u32) -> Option<&Blob<'a>> {
        let blobs = match task {
            Some(task) => &self.writes.as_ref()?.get(usize::try_from(task).ok()?)?.writes,
            None => self.blobs.as_ref()?,
        };
        blobs.get(usize::try_from(number).ok()?)
    }
}

impl Blob<'_> {
    /// The digests of its pieces.
    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.digest.iter().chain(self.pieces.iter().flatten()).map(|digest| &**digest)
    }

    /// The content, where it stands in the event.
    pub(super) fn content(&self) -> Option<Vec<u8>> {
        hex(self.inline.as_ref()?).filter(|held| held.len() as u64 == self.bytes)
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    rest.is_empty().then(|| bytes.collect())?
}

//! How events become checkpoints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bitacora_formats::RecordData;
use bitacora_formats::vocabulary::{
    CHECKPOINT_BLOB, CHECKPOINT_SOURCE, CheckpointCopied, CheckpointDeleted, CheckpointSaved,
    CheckpointWrites, EventData as _,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::order::Entry;
use super::thread::Thread;
use super::{Channel, Checkpoint, Content, Piece, Version};
use crate::models::{FoldError, Folded, Model, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct Checkpoints;

/// All checkpoints, by where they were saved, and of those that one event saved by their number.
pub(super) const SAVED: u8 = 1;
/// Where a checkpoint stands, by thread, subgraph and id.
pub(super) const CHECKPOINT: u8 = 2;
/// The newest of a subgraph of a thread.
pub(super) const NEWEST: u8 = 3;
/// Where a piece of content stands, by its digest.
pub(super) const BLOB: u8 = 7;

/// What `checkpoint.saved` says.
#[derive(Deserialize)]
struct Saved<'a> {
    #[serde(borrow)]
    thread: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    checkpoint: Cow<'a, str>,
    #[serde(default)]
    parent: Option<String>,
    step: i64,
    source: String,
    #[serde(default)]
    channel_versions: Option<BTreeMap<String, Version>>,
    #[serde(borrow, default)]
    blobs: Option<Vec<Blob<'a>>>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(default)]
    document: Option<IgnoredAny>,
}

/// What `checkpoint.writes` says.
#[derive(Deserialize)]
struct Writes<'a> {
    #[serde(borrow)]
    thread: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    checkpoint: Cow<'a, str>,
    #[serde(borrow)]
    task: Cow<'a, str>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    replace: Option<bool>,
    #[serde(borrow)]
    writes: Vec<Blob<'a>>,
}

/// What names a content.
#[derive(Deserialize)]
struct Blob<'a> {
    #[serde(borrow)]
    channel: Cow<'a, str>,
    #[serde(default)]
    version: Option<Version>,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(borrow, default)]
    digest: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pieces: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, default)]
    inline: Option<Cow<'a, str>>,
    bytes: u64,
    #[serde(default)]
    index: Option<i64>,
}

#[derive(Deserialize)]
struct Deleted<'a> {
    #[serde(borrow)]
    thread: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    checkpoint: Option<Cow<'a, str>>,
    #[serde(default)]
    keep_newest: Option<bool>,
}

#[derive(Deserialize)]
struct Copied<'a> {
    #[serde(borrow)]
    thread: Cow<'a, str>,
    #[serde(borrow)]
    to: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    checkpoint: Option<Cow<'a, str>>,
}

impl Model for Checkpoints {
    fn name(&self) -> &'static str {
        "checkpoints"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            CHECKPOINT_BLOB,
            CheckpointSaved::KIND,
            CheckpointWrites::KIND,
            CheckpointDeleted::KIND,
            CheckpointCopied::KIND,
        ]
    }

    fn fold(&self, event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let kind = &*event.record.kind;
        if kind == CHECKPOINT_BLOB {
            return blob(event, rows);
        }
        match kind {
            CheckpointSaved::KIND => event.data::<Saved<'_>>()?.map(|told| saved(event, rows, told)),
            CheckpointWrites::KIND => event.data::<Writes<'_>>()?.map(|told| wrote(event, rows, told)),
            CheckpointDeleted::KIND => event.data::<Deleted<'_>>()?.map(|told| deleted(rows, &told)),
            _ => event.data::<Copied<'_>>()?.map(|told| copied(event, rows, &told)),
        }
        .unwrap_or(Ok(()))
    }
}

/// A piece is where it was recorded first; what others call one is none.
fn blob(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    if event.record.source == CHECKPOINT_SOURCE {
        let key = rows.key(BLOB, &[&event.record.id]);
        if rows.row::<Piece>(&key)?.is_none() {
            let bytes = match &event.record.data {
                RecordData::Binary(piece) => Some(piece.len() as u64),
                _ => None,
            };
            rows.put(&key, &Piece { position: event.position.get(), bytes })?;
        }
    }
    Ok(())
}

fn content(rows: &mut Rows<'_>, blob: &Blob<'_>) -> Result<Content, FoldError> {
    let (encoding, bytes) = (blob.encoding.clone(), blob.bytes);
    if let Some(inline) = &blob.inline {
        let held = hex(inline).filter(|held| held.len() as u64 == bytes);
        return Ok(Content { encoding, bytes, inline: held, pieces: Vec::new() });
    }
    let named = blob.digest.iter().chain(blob.pieces.iter().flatten());
    let mut pieces = Vec::new();
    for digest in named {
        let piece = rows.row::<Piece>(&rows.key(BLOB, &[digest]))?;
        pieces.push(piece.map(|piece| piece.position));
    }
    Ok(Content { encoding, bytes, inline: None, pieces })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    rest.is_empty().then(|| bytes.collect())?
}

fn saved(event: &Folded<'_>, rows: &mut Rows<'_>, told: Saved<'_>) -> Result<(), FoldError> {
    let entry = Entry::new(&told.checkpoint, &told.namespace);
    let mut thread = Thread::open(rows, &told.thread)?;
    let channels = channels(&mut thread, &told)?;
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let row = Checkpoint {
        thread: told.thread.as_ref().to_owned(),
        namespace: told.namespace.as_ref().to_owned(),
        checkpoint: told.checkpoint.as_ref().to_owned(),
        parent: told.parent,
        step: told.step,
        source: told.source,
        position: event.position.get(),
        time: event.time.0,
        recorded: event.position.get(),
        has_document: told.document.is_some(),
        agent: text(&event.record.agent),
        session: text(&event.record.session),
        run: text(&event.record.run),
        metadata: told.metadata.map(|metadata| metadata.get().to_owned()),
        channels,
    };
    thread.put(&entry, &row, 0)?;
    thread.close()
}

/// What each channel holds: as it is told, else as in the parent, else as in the newest before it, where its version is the
/// same.
fn channels(thread: &mut Thread<'_, '_>, told: &Saved<'_>) -> Result<Vec<Channel>, FoldError> {
    let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
    for blob in told.blobs.iter().flatten() {
        let name = blob.channel.as_ref().to_owned();
        let version = told.channel_versions.as_ref().and_then(|versions| versions.get(&name));
        let version = blob.version.as_ref().or(version).cloned();
        let value = Some(content(thread.rows, blob)?);
        channels.insert(name.clone(), Channel { name, version, value });
    }
    let versions = told.channel_versions.iter().flatten();
    let rest: Vec<_> = versions.filter(|(name, _)| !channels.contains_key(*name)).collect();
    if !rest.is_empty() {
        let parent = match &told.parent {
            Some(parent) => thread.checkpoint(&Entry::new(parent, &told.namespace))?,
            None => None,
        };
        let newest = thread.newest(&told.namespace)?;
        let before: Vec<&Channel> =
            parent.iter().chain(&newest).flat_map(|checkpoint| &checkpoint.channels).collect();
        for (name, version) in rest {
            let same =
                |channel: &&&Channel| channel.name == *name && channel.version.as_ref() == Some(version);
            let value = before.iter().find(same).and_then(|channel| channel.value.clone());
            let channel = Channel { name: name.clone(), version: Some(version.clone()), value };
            channels.insert(name.clone(), channel);
        }
    }
    Ok(channels.into_values().collect())
}

fn wrote(event: &Folded<'_>, rows: &mut Rows<'_>, told: Writes<'_>) -> Result<(), FoldError> {
    let entry = Entry::new(&told.checkpoint, &told.namespace);
    let mut contents = Vec::with_capacity(told.writes.len());
    for (number, blob) in told.writes.iter().enumerate() {
        let index = blob.index.unwrap_or_else(|| i64::try_from(number).unwrap_or(i64::MAX));
        contents.push((index, blob.channel.as_ref().to_owned(), content(rows, blob)?));
    }
    let mut thread = Thread::open(rows, &told.thread)?;
    thread.write(
        &entry,
        &told.task,
        told.path,
        told.replace == Some(true),
        event.position.get(),
        contents,
    )?;
    thread.close()
}

fn deleted(rows: &mut Rows<'_>, told: &Deleted<'_>) -> Result<(), FoldError> {
    let mut thread = Thread::open(rows, &told.thread)?;
    let all = thread.entries()?;
    let is_meant = |entry: &Entry| {
        told.namespace.as_ref().is_none_or(|namespace| namespace == entry.namespace())
            && told.checkpoint.as_ref().is_none_or(|checkpoint| checkpoint == entry.id())
    };
    let mut meant: Vec<Entry> = all.iter().filter(|entry| is_meant(entry)).cloned().collect();
    if told.keep_newest == Some(true) {
        let mut kept = Vec::with_capacity(meant.len());
        for entry in meant {
            if thread.newest_id(entry.namespace())?.as_deref() != Some(entry.id()) {
                kept.push(entry);
            }
        }
        meant = kept;
    } else if told.checkpoint.is_none() && told.namespace.is_none() {
        thread.end(&all);
    }
    thread.delete(&meant)?;
    thread.close()
}

fn copied(event: &Folded<'_>, rows: &mut Rows<'_>, told: &Copied<'_>) -> Result<(), FoldError> {
    if told.thread == told.to {
        return Ok(());
    }
    let mut from = Thread::open(rows, &told.thread)?;
    let mut chosen = Vec::new();
    match &told.checkpoint {
        Some(checkpoint) => {
            let namespace = told.namespace.as_deref().unwrap_or_default();
            let mut next = Some(checkpoint.as_ref().to_owned());
            // Each is taken once, also where somebody made a circle of them.
            let mut left = from.entries()?.len();
            while let Some(id) = next.take().filter(|_| left > 0) {
                left -= 1;
                let entry = Entry::new(&id, namespace);
                let found = from.checkpoint(&entry)?;
                next = found.and_then(|found| found.parent);
                chosen.push(entry);
            }
        }
        None => {
            let all = from.entries()?;
            let is_meant = |entry: &Entry| {
                told.namespace.as_ref().is_none_or(|namespace| namespace == entry.namespace())
            };
            chosen.extend(all.into_iter().filter(is_meant));
        }
    }
    let mut copies = Vec::with_capacity(chosen.len());
    for entry in chosen {
        if let Some(checkpoint) = from.checkpoint(&entry)? {
            let writes = from.writes(&entry)?;
            copies.push((entry, checkpoint, writes));
        }
    }
    let mut to = Thread::open(rows, &told.to)?;
    for (number, (entry, checkpoint, writes)) in (0_u64..).zip(copies) {
        if to.checkpoint(&entry)?.is_some() {
            continue;
        }
        let copy =
            Checkpoint { thread: told.to.as_ref().to_owned(), position: event.position.get(), ..checkpoint };
        if to.put(&entry, &copy, number)? {
            to.put_writes(&entry, writes)?;
        }
    }
    to.close()
}

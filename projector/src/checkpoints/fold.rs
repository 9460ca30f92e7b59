//! The fold of events into checkpoints.

use std::collections::BTreeMap;

use bitacora_formats::RecordData;
use bitacora_vocabulary::{
    CHECKPOINT_BLOB, CHECKPOINT_SOURCE, CheckpointCopied, CheckpointDeleted, CheckpointSaved,
    CheckpointWrites, EventData as _,
};

use super::ContentPiece;
use super::event_views::{Blob, CheckpointCopyView, CheckpointDeletionView, CheckpointSaveView, Writes};
use super::order::OrderEntry;
use super::row::{ChannelLocation, CheckpointRow, TaskWrites, Write, channel_name};
use super::thread::{TaskWriteBatch, Thread};
use super::whose::Sender;
use crate::models::{FoldError, FoldEvent, Model, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct CheckpointsModel;

/// All checkpoints, by where they were saved, and of those that one event saved by their number.
pub(super) const SAVED: u8 = 1;
/// The place of a checkpoint, by thread, subgraph and id.
pub(super) const CHECKPOINT: u8 = 2;
/// The newest of a subgraph of a thread.
pub(super) const NEWEST: u8 = 3;
/// The place of a piece of content, by its digest.
pub(super) const BLOB: u8 = 7;
/// No rows: what stands for a channel and its version in those of checkpoints.
pub(super) const CHANNEL: u8 = 11;

impl Model for CheckpointsModel {
    fn name(&self) -> &'static str {
        "checkpoints"
    }

    fn version(&self) -> u32 {
        3
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

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let kind = &*event.record.kind;
        if kind == CHECKPOINT_BLOB {
            return blob(event, rows);
        }
        match kind {
            CheckpointSaved::KIND => {
                event.data::<CheckpointSaveView<'_>>()?.map(|payload| saved(event, rows, payload))
            }
            CheckpointWrites::KIND => event.data::<Writes<'_>>()?.map(|payload| wrote(event, rows, &payload)),
            CheckpointDeleted::KIND => {
                event.data::<CheckpointDeletionView<'_>>()?.map(|payload| deleted(event, rows, &payload))
            }
            _ => event.data::<CheckpointCopyView<'_>>()?.map(|payload| copied(event, rows, &payload)),
        }
        .unwrap_or(Ok(()))
    }
}

/// A piece is where it was recorded first; what others call one is none.
fn blob(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    if event.record.source == CHECKPOINT_SOURCE {
        let key = rows.key(BLOB, &[&event.record.id]);
        if rows.row::<ContentPiece>(&key)?.is_none() {
            let bytes = match &event.record.data {
                RecordData::Binary(piece) => Some(piece.len() as u64),
                _ => None,
            };
            rows.put(&key, &ContentPiece { position: event.position.get(), bytes })?;
        }
    }
    Ok(())
}

fn saved(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    payload: CheckpointSaveView<'_>,
) -> Result<(), FoldError> {
    let entry = OrderEntry::new(&payload.checkpoint, &payload.namespace);
    let position = event.position.get();
    let mut thread = Thread::open(rows, &payload.thread)?;
    if !thread.takes(&Sender::of(event)) {
        return Ok(());
    }
    let channels = channels(&mut thread, position, &payload)?;
    let of_parent = payload.parent.as_ref().map(|parent| OrderEntry::new(parent, &payload.namespace));
    if let Some(parent) = &of_parent {
        for (number, of_task) in (0_u32..).zip(payload.writes.iter().flatten()) {
            let writes = writes(position, Some(number), &of_task.writes);
            let path = of_task.path.as_deref();
            thread.write(
                parent,
                TaskWriteBatch { task: &of_task.task, path, replace: of_task.replace, writes },
            )?;
        }
    }
    let row = CheckpointRow { recorded: position, copied: None, parent: payload.parent, channels };
    thread.put(&entry, &row, position, 0)?;
    thread.close()
}

/// Finds the place of each channel's content. It is here, else as for the parent, else as for the newest checkpoint before it, where its
/// version is the same.
fn channels(
    thread: &mut Thread<'_, '_>,
    position: u64,
    payload: &CheckpointSaveView<'_>,
) -> Result<Vec<ChannelLocation>, FoldError> {
    let mut own: BTreeMap<&str, Option<ChannelLocation>> = BTreeMap::new();
    for (number, blob) in (0_u32..).zip(payload.blobs.iter().flatten()) {
        let version = payload.version(blob);
        let name = version
            .map(|version| channel_name(|values| thread.rows.key(CHANNEL, values), &blob.channel, version));
        own.insert(&blob.channel, name.map(|name| ChannelLocation { name, position, number }));
    }
    let versions = payload.channel_versions.iter().flatten();
    let rest: Vec<_> = versions.filter(|(name, _)| !own.contains_key(name.as_str())).collect();
    let mut channels: Vec<ChannelLocation> = own.into_values().flatten().collect();
    if !rest.is_empty() {
        let parent = match &payload.parent {
            Some(parent) => thread.checkpoint(&OrderEntry::new(parent, &payload.namespace))?,
            None => None,
        };
        let newest = thread.newest(&payload.namespace)?;
        let before: Vec<ChannelLocation> =
            parent.into_iter().chain(newest).flat_map(|row| row.channels).collect();
        for (name, version) in rest {
            let name = channel_name(|values| thread.rows.key(CHANNEL, values), name, version);
            channels.extend(before.iter().find(|origin| origin.name == name));
        }
    }
    Ok(channels)
}

fn writes(position: u64, task: Option<u32>, blobs: &[Blob<'_>]) -> Vec<Write> {
    let writes = (0_u32..).zip(blobs).map(|(number, blob)| {
        let index = blob.index.unwrap_or(i64::from(number));
        Write { index, position, task, number }
    });
    writes.collect()
}

fn wrote(event: &FoldEvent<'_>, rows: &mut Rows<'_>, payload: &Writes<'_>) -> Result<(), FoldError> {
    let entry = OrderEntry::new(&payload.checkpoint, &payload.namespace);
    let writes = writes(event.position.get(), None, &payload.writes);
    let path = payload.path.as_deref();
    let mut thread = Thread::open(rows, &payload.thread)?;
    if !thread.takes(&Sender::of(event)) {
        return Ok(());
    }
    thread.write(&entry, TaskWriteBatch { task: &payload.task, path, replace: payload.replace, writes })?;
    thread.close()
}

fn deleted(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    payload: &CheckpointDeletionView<'_>,
) -> Result<(), FoldError> {
    let sender = Sender::of(event);
    let mut thread = Thread::open(rows, &payload.thread)?;
    if !thread.may_be_deleted_by(&sender) {
        return Ok(());
    }
    let all = thread.entries()?;
    let is_meant = |entry: &OrderEntry| {
        payload.namespace.as_ref().is_none_or(|namespace| namespace == entry.namespace())
            && payload.checkpoint.as_ref().is_none_or(|checkpoint| checkpoint == entry.id())
    };
    let mut meant: Vec<OrderEntry> = all.iter().filter(|entry| is_meant(entry)).cloned().collect();
    if payload.keep_newest == Some(true) {
        let mut kept = Vec::with_capacity(meant.len());
        for entry in meant {
            if thread.newest_id(entry.namespace())?.as_deref() != Some(entry.id()) {
                kept.push(entry);
            }
        }
        meant = kept;
    } else if payload.checkpoint.is_none() && payload.namespace.is_none() {
        thread.end(&all);
        if sender.governs {
            thread.free();
        }
    }
    thread.delete(&meant)?;
    thread.close()
}

fn copied(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    payload: &CheckpointCopyView<'_>,
) -> Result<(), FoldError> {
    if payload.thread == payload.to {
        return Ok(());
    }
    let copies = CheckpointCopy::all(&mut Thread::open(rows, &payload.thread)?, payload)?;
    let mut to = Thread::open(rows, &payload.to)?;
    if copies.is_empty() || !to.takes(&Sender::of(event)) {
        return Ok(());
    }
    for (number, CheckpointCopy { entry, row, writes }) in (0_u64..).zip(copies) {
        // A checkpoint that the thread has already stays as it is.
        if to.checkpoint(&entry)?.is_some() {
            continue;
        }
        let row = CheckpointRow { copied: Some(payload.to.as_ref().to_owned()), ..row };
        if to.put(&entry, &row, event.position.get(), number)? {
            to.put_writes(&entry, writes)?;
        }
    }
    to.close()
}

/// A checkpoint of one thread that another thread gets.
struct CheckpointCopy {
    entry: OrderEntry,
    row: CheckpointRow,
    writes: Vec<TaskWrites>,
}

impl CheckpointCopy {
    /// Reads all that a copy takes from a thread. Both threads are rows of one table, so one is read whole before the other is opened.
    fn all(from: &mut Thread<'_, '_>, payload: &CheckpointCopyView<'_>) -> Result<Vec<Self>, FoldError> {
        let entries = match &payload.checkpoint {
            Some(checkpoint) => ancestry(from, checkpoint, payload.namespace.as_deref().unwrap_or_default())?,
            None => {
                let mut entries = from.entries()?;
                entries.retain(|entry| {
                    payload.namespace.as_ref().is_none_or(|namespace| namespace == entry.namespace())
                });
                entries
            }
        };
        let mut copies = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Some(row) = from.checkpoint(&entry)? {
                let writes = from.writes(&entry)?;
                copies.push(Self { entry, row, writes });
            }
        }
        Ok(copies)
    }
}

/// Returns a checkpoint and those before it, the newest first.
fn ancestry(from: &mut Thread<'_, '_>, newest: &str, namespace: &str) -> Result<Vec<OrderEntry>, FoldError> {
    let mut chain = Vec::new();
    let mut next = Some(newest.to_owned());
    // Parents are what senders say, so they may form a circle: no more are followed than the thread has.
    for _ in 0..from.entries()?.len() {
        let Some(id) = next.take() else { break };
        let entry = OrderEntry::new(&id, namespace);
        next = from.checkpoint(&entry)?.and_then(|found| found.parent);
        chain.push(entry);
    }
    Ok(chain)
}

//! Checkpoints as they are asked for: of rows, and of the events that these name.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitacora_formats::Position;
use serde::Deserialize;
use serde_json::Value;

use super::event_views::{Blob, CheckpointSaveView, Writes};
use super::fold::{BLOB, CHANNEL, CHECKPOINT, CheckpointsModel, NEWEST, SAVED};
use super::order::{self, OrderEntry};
use super::row::{CheckpointRow, TaskWrites, Write, channel_name};
use super::thread::{Counts, Newest, THREAD, WRITES};
use super::{
    Channel, Checkpoint, CheckpointError, CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointWrite,
    ContentLocation, ContentPiece, FoundCheckpoint, ThreadLoad,
};
use crate::limits::LOOKED_AT_CHECKPOINTS;
use crate::models::{LogData, LogEvent, Model as _, ModelError, ReadModels, RowKey, View};

impl ReadModels {
    /// One checkpoint of a thread, or its newest, and up to where they are known. Blocks on the disk, where its events are not in
    /// memory.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn checkpoint(
        &self,
        thread: &str,
        namespace: &str,
        checkpoint: Option<&str>,
    ) -> Result<(Option<FoundCheckpoint>, Position), CheckpointError> {
        let view = self.view(CheckpointsModel.name())?;
        let place = match checkpoint {
            Some(id) => view.row(&view.key(CHECKPOINT, &[thread, namespace, id]))?,
            None => {
                let newest = view.row::<Newest>(&view.key(NEWEST, &[thread, namespace]))?;
                newest.map(|newest| newest.place)
            }
        };
        let found = match place {
            Some(place) => self.found(&view, place)?,
            None => None,
        };
        Ok((found, view.position()))
    }

    /// Returns the place of a checkpoint of a thread, if it is there, and the position at which it was first recorded.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn checkpoint_place(
        &self,
        thread: &str,
        namespace: &str,
        checkpoint: &str,
    ) -> Result<Option<(CheckpointPlace, u64)>, ModelError> {
        let view = self.view(CheckpointsModel.name())?;
        let place = view.row::<CheckpointPlace>(&view.key(CHECKPOINT, &[thread, namespace, checkpoint]))?;
        let Some(place) = place else { return Ok(None) };
        let row = view.row::<CheckpointRow>(&place.within(view.key(SAVED, &[])))?;
        Ok(row.map(|row| (place, row.recorded)))
    }

    /// Returns `true` if a thread has a checkpoint of this id, or writes that wait for one, in any subgraph.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn thread_has(&self, thread: &str, checkpoint: &str) -> Result<bool, ModelError> {
        let view = self.view(CheckpointsModel.name())?;
        // Behind the id in all subgraphs: it has no such character.
        let behind = OrderEntry::new(&format!("{checkpoint}\u{1}"), "");
        let mut last = order::before(&view, thread, Some(behind))?;
        Ok(last.next().transpose()?.is_some_and(|entry| entry.id() == checkpoint))
    }

    /// Checkpoints, as the query says. Blocks on the disk, where their events are not in memory.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<CheckpointPage, CheckpointError> {
        let view = self.view(CheckpointsModel.name())?;
        let position = view.position();
        let saved = view.key(SAVED, &[]);
        let places: Box<dyn Iterator<Item = Result<CheckpointPlace, ModelError>> + '_> = match &query.thread {
            Some(thread) => {
                let bounds = [
                    query.before.as_ref().map(|id| OrderEntry::new(id, "")),
                    query.after.as_ref().map(|(id, namespace)| OrderEntry::new(id, namespace)),
                ];
                let bound = bounds.into_iter().flatten().min();
                let view = &view;
                let entries = order::before(view, thread, bound)?;
                Box::new(entries.filter_map(move |entry| placed(view, query, thread, entry).transpose()))
            }
            None => {
                // A checkpoint before everything stands behind nothing.
                let last = query.after_place.map_or(Some((u64::MAX, u64::MAX)), before);
                let rows = last.map(|(position, number)| {
                    view.between::<CheckpointRow>(saved.at(0), saved.at(position).at(number)).rev()
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
            let Some(row) = view.row::<CheckpointRow>(&place.within(saved))? else { continue };
            let checkpoint = self.read_checkpoint(&view, place, row)?;
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
    pub fn content_pieces(&self, digests: &[String]) -> Result<Vec<Option<ContentPiece>>, ModelError> {
        let view = self.view(CheckpointsModel.name())?;
        digests.iter().map(|digest| view.row(&view.key(BLOB, &[digest]))).collect()
    }

    /// Returns the load of a thread.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn thread_load(&self, thread: &str) -> Result<ThreadLoad, ModelError> {
        let view = self.view(CheckpointsModel.name())?;
        let counts: Counts = view.row(&view.key(THREAD, &[thread]))?.unwrap_or_default();
        let Counts { entries, bytes, deleted, owner } = counts;
        Ok(ThreadLoad { entries, bytes, deleted, owner })
    }

    fn found(&self, view: &View, place: CheckpointPlace) -> Result<Option<FoundCheckpoint>, CheckpointError> {
        let Some(row) = view.row::<CheckpointRow>(&place.within(view.key(SAVED, &[])))? else {
            return Ok(None);
        };
        let checkpoint = self.read_checkpoint(view, place, row)?;
        let Checkpoint { thread, namespace, checkpoint: id, .. } = &checkpoint;
        let has_parent = match &checkpoint.parent {
            Some(parent) => {
                let key = view.key(CHECKPOINT, &[thread, namespace, parent]);
                view.row::<CheckpointPlace>(&key)?.is_some()
            }
            None => false,
        };
        let mut writes = self.written(view, view.key(WRITES, &[thread, namespace, id]))?;
        writes.sort_by(|one, other| {
            (&one.path, &one.task, one.index).cmp(&(&other.path, &other.task, other.index))
        });
        Ok(Some(FoundCheckpoint { checkpoint, has_parent, writes }))
    }

    /// Returns the writes of tasks behind a checkpoint, whose rows these are. Each event that tells of them is read once.
    fn written(&self, view: &View, group: RowKey) -> Result<Vec<CheckpointWrite>, CheckpointError> {
        let mut by_event: BTreeMap<u64, Vec<(Arc<TaskWrites>, Write)>> = BTreeMap::new();
        for row in view.rows::<TaskWrites>(group, 0..=u64::MAX) {
            let row = Arc::new(row?.1);
            for write in &row.writes {
                by_event.entry(write.position).or_default().push((Arc::clone(&row), *write));
            }
        }
        let mut writes = Vec::new();
        for (position, of_event) in by_event {
            let event = self.logged(position)?;
            let is_a_checkpoints = of_event.iter().any(|(_, write)| write.task.is_some());
            let (saved, wrote): (Option<CheckpointSaveView<'_>>, Option<Writes<'_>>) = if is_a_checkpoints {
                (Some(read(&event, position)?), None)
            } else {
                (None, Some(read(&event, position)?))
            };
            for (row, Write { index, task, number, .. }) in of_event {
                let of_saved = saved.as_ref().and_then(|saved| saved.blob(task, number));
                let own = wrote.as_ref().zip(usize::try_from(number).ok());
                let blob = of_saved.or_else(|| own.and_then(|(wrote, number)| wrote.writes.get(number)));
                let blob = blob.ok_or(CheckpointError::Other(position))?;
                writes.push(CheckpointWrite {
                    task: row.task.clone(),
                    path: row.path.clone(),
                    index,
                    channel: blob.channel.as_ref().to_owned(),
                    content: named(view, blob)?,
                    position,
                });
            }
        }
        Ok(writes)
    }

    /// Reads from the log the checkpoint that a row is about.
    fn read_checkpoint(
        &self,
        view: &View,
        place: CheckpointPlace,
        row: CheckpointRow,
    ) -> Result<Checkpoint, CheckpointError> {
        let event = self.logged(row.recorded)?;
        let payload: CheckpointSaveView<'_> = read(&event, row.recorded)?;
        let mut channels: BTreeMap<&str, Channel> = BTreeMap::new();
        let mut earlier: BTreeMap<u64, Vec<(&str, u32)>> = BTreeMap::new();
        for blob in payload.blobs.iter().flatten() {
            let (name, version) = (blob.channel.as_ref(), payload.version(blob).cloned());
            let value = Some(named(view, blob)?);
            channels.insert(name, Channel { name: name.to_owned(), version, value });
        }
        for (name, version) in payload.channel_versions.iter().flatten() {
            if channels.contains_key(name.as_str()) {
                continue;
            }
            let known = channel_name(|values| view.key(CHANNEL, values), name, version);
            if let Some(origin) = row.channels.iter().find(|origin| origin.name == known) {
                earlier.entry(origin.position).or_default().push((name, origin.number));
            }
            channels
                .insert(name, Channel { name: name.clone(), version: Some(version.clone()), value: None });
        }
        // One event tells of many channels, and is read once.
        for (position, wanted) in earlier {
            let event = self.logged(position)?;
            let payload: CheckpointSaveView<'_> = read(&event, position)?;
            for (name, number) in wanted {
                let blob = payload.blob(None, number).ok_or(CheckpointError::Other(position))?;
                if let Some(channel) = channels.get_mut(name) {
                    channel.value = Some(named(view, blob)?);
                }
            }
        }
        Ok(Checkpoint {
            channels: channels.into_values().collect(),
            thread: row.copied.unwrap_or_else(|| payload.thread.as_ref().to_owned()),
            namespace: payload.namespace.as_ref().to_owned(),
            checkpoint: payload.checkpoint.as_ref().to_owned(),
            step: payload.step,
            position: place.position,
            time: event.time.0,
            recorded: row.recorded,
            has_document: payload.document.is_some(),
            agent: event.agent.clone(),
            session: event.session.clone(),
            run: event.run.clone(),
            metadata: payload.metadata.map(|metadata| metadata.get().to_owned()),
            source: payload.source,
            parent: payload.parent,
        })
    }

    fn logged(&self, position: u64) -> Result<Arc<LogEvent>, CheckpointError> {
        match Position::new(position).map(|position| self.log.data(position)).transpose()? {
            Some(LogData::Event(event)) => Ok(event),
            _ => Err(CheckpointError::Other(position)),
        }
    }
}

fn read<'e, T: Deserialize<'e>>(event: &'e LogEvent, position: u64) -> Result<T, CheckpointError> {
    serde_json::from_slice(&event.data).map_err(|_| CheckpointError::Other(position))
}

/// Returns the place of the content that an event names.
fn named(view: &View, blob: &Blob<'_>) -> Result<ContentLocation, ModelError> {
    let (encoding, bytes) = (blob.encoding.clone(), blob.bytes);
    if blob.inline.is_some() {
        return Ok(ContentLocation { encoding, bytes, inline: blob.content(), pieces: Vec::new() });
    }
    let position =
        |digest| Ok(view.row::<ContentPiece>(&view.key(BLOB, &[digest]))?.map(|piece| piece.position));
    let pieces = blob.digests().map(position).collect::<Result<_, ModelError>>()?;
    Ok(ContentLocation { encoding, bytes, inline: None, pieces })
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
    entry: Result<OrderEntry, ModelError>,
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

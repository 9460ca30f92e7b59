//! The rows of one thread, as a fold changes them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::CheckpointPlace;
use super::fold::{CHECKPOINT, NEWEST, SAVED};
use super::order::{self, OrderEntry};
use super::row::{CheckpointRow, TaskWrites, Write};
use super::whose::{Owner, Sender};
use crate::limits::{MAX_THREAD_BYTES, MAX_THREAD_ENTRIES};
use crate::models::{FoldError, RowKey, Rows};

/// The counts and the owner of a thread.
pub(super) const THREAD: u8 = 6;
/// The writes of tasks behind a checkpoint, by the task's number.
pub(super) const WRITES: u8 = 8;
/// The number of a task that wrote behind a checkpoint.
const TASK: u8 = 9;
/// The number of tasks that wrote behind a checkpoint.
pub(super) const TASKS: u8 = 10;

/// Rows beside a checkpoint's and a task's own count about as much.
const ENTRY_BYTES: u64 = 128;

/// The counts and the owner of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Checkpoints, and tasks that wrote.
    pub(super) entries: u64,
    /// The size of its rows in bytes, about.
    pub(super) bytes: u64,
    /// The greatest id that there was when all of it was deleted: what is written behind it or a smaller one comes too late.
    pub(super) deleted: Option<String>,
    /// The owner, once something was saved in it.
    pub(super) owner: Option<Owner>,
}

/// The newest checkpoint of a subgraph.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Newest {
    pub(super) id: String,
    pub(super) place: CheckpointPlace,
}

/// A write of a task, as an event tells it.
pub(super) struct TaskWriteBatch<'a> {
    pub(super) task: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) replace: Option<bool>,
    pub(super) writes: Vec<Write>,
}

/// A thread while an event changes it.
pub(super) struct Thread<'r, 'a> {
    pub(super) rows: &'r mut Rows<'a>,
    name: &'r str,
    before: Counts,
    counts: Counts,
}

impl<'r, 'a> Thread<'r, 'a> {
    pub(super) fn open(rows: &'r mut Rows<'a>, name: &'r str) -> Result<Self, FoldError> {
        let before: Counts = rows.row(&rows.key(THREAD, &[name]))?.unwrap_or_default();
        let counts = before.clone();
        Ok(Self { rows, name, before, counts })
    }

    /// Returns `true` if the sender's event counts here. The first sender to save owns the thread.
    pub(super) fn takes(&mut self, sender: &Sender<'_>) -> bool {
        let takes = self.may_be_deleted_by(sender);
        if takes && self.counts.owner.is_none() {
            self.counts.owner = Some(sender.owner());
        }
        takes
    }

    /// The same of a deletion, after which the thread is whose it was.
    pub(super) fn may_be_deleted_by(&self, sender: &Sender<'_>) -> bool {
        sender.may_act(self.counts.owner.as_ref())
    }

    /// Frees the thread: the next sender to save owns it.
    pub(super) fn free(&mut self) {
        self.counts.owner = None;
    }

    /// Stores what there is of it now.
    pub(super) fn close(self) -> Result<(), FoldError> {
        let key = self.rows.key(THREAD, &[self.name]);
        if self.counts != self.before {
            self.rows.put(&key, &self.counts)?;
        }
        Ok(())
    }

    fn key(&self, table: u8, entry: &OrderEntry) -> RowKey {
        self.rows.key(table, &[self.name, entry.namespace(), entry.id()])
    }

    fn saved(&self, place: CheckpointPlace) -> RowKey {
        place.within(self.rows.key(SAVED, &[]))
    }

    /// All entries, in the order of their ids.
    pub(super) fn entries(&mut self) -> Result<Vec<OrderEntry>, FoldError> {
        order::all(self.rows, self.name)
    }

    fn place(&mut self, entry: &OrderEntry) -> Result<Option<CheckpointPlace>, FoldError> {
        Ok(self.rows.row(&self.key(CHECKPOINT, entry))?)
    }

    pub(super) fn checkpoint(&mut self, entry: &OrderEntry) -> Result<Option<CheckpointRow>, FoldError> {
        let Some(place) = self.place(entry)? else { return Ok(None) };
        Ok(self.rows.row(&self.saved(place))?)
    }

    fn newest_row(&mut self, namespace: &str) -> Result<Option<Newest>, FoldError> {
        Ok(self.rows.row(&self.rows.key(NEWEST, &[self.name, namespace]))?)
    }

    pub(super) fn newest_id(&mut self, namespace: &str) -> Result<Option<String>, FoldError> {
        Ok(self.newest_row(namespace)?.map(|newest| newest.id))
    }

    pub(super) fn newest(&mut self, namespace: &str) -> Result<Option<CheckpointRow>, FoldError> {
        let Some(newest) = self.newest_row(namespace)? else { return Ok(None) };
        Ok(self.rows.row(&self.saved(newest.place))?)
    }

    fn has_room(&self, entries: u64, bytes: u64) -> bool {
        self.counts.entries + entries <= MAX_THREAD_ENTRIES
            && self.counts.bytes.saturating_add(bytes) <= MAX_THREAD_BYTES
    }

    fn give_back(&mut self, entries: u64, bytes: u64) {
        self.counts.entries = self.counts.entries.saturating_sub(entries);
        self.counts.bytes = self.counts.bytes.saturating_sub(bytes);
    }

    /// Saves a checkpoint in the place of what has its id; whether there was room for it.
    pub(super) fn put(
        &mut self,
        entry: &OrderEntry,
        row: &CheckpointRow,
        position: u64,
        number: u64,
    ) -> Result<bool, FoldError> {
        let bytes = row.weight() + entry.weight() + ENTRY_BYTES;
        let before = self.place(entry)?;
        if let Some(before) = before {
            let old = self.saved(before);
            let old_bytes = self.rows.row::<CheckpointRow>(&old)?.map_or(0, |old| old.weight());
            self.give_back(1, old_bytes + entry.weight() + ENTRY_BYTES);
            if !self.has_room(1, bytes) {
                self.counts.entries += 1;
                self.counts.bytes += old_bytes + entry.weight() + ENTRY_BYTES;
                return Ok(false);
            }
            self.rows.remove(&old)?;
        } else if !self.has_room(1, bytes) {
            return Ok(false);
        }
        self.counts.entries += 1;
        self.counts.bytes += bytes;
        let place = CheckpointPlace { position, number };
        self.rows.add(&self.saved(place), row)?;
        self.rows.put(&self.key(CHECKPOINT, entry), &place)?;
        order::insert(self.rows, self.name, entry)?;
        let newest = self.newest_id(entry.namespace())?;
        if newest.is_none_or(|newest| *newest <= *entry.id()) {
            let key = self.rows.key(NEWEST, &[self.name, entry.namespace()]);
            self.rows.put(&key, &Newest { id: entry.id().to_owned(), place })?;
        }
        Ok(true)
    }

    /// Notes what a task wrote behind a checkpoint. That may be recorded later, unless it was deleted before.
    pub(super) fn write(&mut self, entry: &OrderEntry, wrote: TaskWriteBatch<'_>) -> Result<(), FoldError> {
        let TaskWriteBatch { task, path, replace, writes } = wrote;
        let replace = replace == Some(true);
        let is_saved = self.place(entry)?.is_some();
        let is_late = self.counts.deleted.as_deref().is_some_and(|deleted| entry.id() <= deleted);
        if !is_saved && is_late {
            return Ok(());
        }
        let task_key = self.rows.key(TASK, &[self.name, entry.namespace(), entry.id(), task]);
        let known = self.rows.row::<u64>(&task_key)?;
        let mut row = match known {
            Some(number) => self.rows.row(&self.key(WRITES, entry).at(number))?,
            None => None,
        }
        .unwrap_or_else(|| TaskWrites {
            task: task.to_owned(),
            path: path.map(str::to_owned),
            writes: Vec::new(),
        });
        let before = row.weight();
        if replace {
            row.path = path.map(str::to_owned).or(row.path);
        }
        for write in writes {
            match row.writes.binary_search_by_key(&write.index, |write| write.index) {
                Err(at) => row.writes.insert(at, write),
                Ok(at) if replace => {
                    if let Some(place) = row.writes.get_mut(at) {
                        *place = write;
                    }
                }
                Ok(_) => {}
            }
        }
        let more = row.weight().saturating_sub(if known.is_some() { before } else { 0 });
        if !self.has_room(u64::from(known.is_none()), more + ENTRY_BYTES) {
            return Ok(());
        }
        match known {
            Some(number) => {
                let key = self.key(WRITES, entry).at(number);
                self.rows.put(&key, &row)?;
                self.counts.bytes += row.weight();
                self.give_back(0, before);
            }
            None => self.add_writes(entry, &row)?,
        }
        if !is_saved {
            order::insert(self.rows, self.name, entry)?;
        }
        Ok(())
    }

    fn add_writes(&mut self, entry: &OrderEntry, row: &TaskWrites) -> Result<(), FoldError> {
        let tasks_key = self.key(TASKS, entry);
        let number = self.rows.row::<u64>(&tasks_key)?.unwrap_or(0);
        self.rows.put(&tasks_key, &(number + 1))?;
        self.rows
            .put(&self.rows.key(TASK, &[self.name, entry.namespace(), entry.id(), &row.task]), &number)?;
        self.rows.put(&self.key(WRITES, entry).at(number), row)?;
        self.counts.entries += 1;
        self.counts.bytes += row.weight() + ENTRY_BYTES;
        Ok(())
    }

    /// Returns the writes of tasks behind a checkpoint.
    pub(super) fn writes(&mut self, entry: &OrderEntry) -> Result<Vec<TaskWrites>, FoldError> {
        let tasks = self.rows.row::<u64>(&self.key(TASKS, entry))?.unwrap_or(0);
        let mut writes = Vec::new();
        for number in 0..tasks {
            writes.extend(self.rows.row::<TaskWrites>(&self.key(WRITES, entry).at(number))?);
        }
        Ok(writes)
    }

    /// Gives a copy what was written behind its original, as far as there is room; what waits for it already stays.
    pub(super) fn put_writes(
        &mut self,
        entry: &OrderEntry,
        writes: Vec<TaskWrites>,
    ) -> Result<(), FoldError> {
        for row in writes {
            let task_key = self.rows.key(TASK, &[self.name, entry.namespace(), entry.id(), &row.task]);
            if self.rows.row::<u64>(&task_key)?.is_none() && self.has_room(1, row.weight() + ENTRY_BYTES) {
                self.add_writes(entry, &row)?;
            }
        }
        Ok(())
    }

    /// All of it is deleted: what still comes of it comes too late.
    pub(super) fn end(&mut self, entries: &[OrderEntry]) {
        let greatest = entries.iter().map(OrderEntry::id).max();
        let before = self.counts.deleted.as_deref();
        self.counts.deleted = greatest.max(before).map(str::to_owned);
    }

    /// Takes checkpoints away, with what was written behind them.
    pub(super) fn delete(&mut self, entries: &[OrderEntry]) -> Result<(), FoldError> {
        let mut touched = BTreeSet::new();
        for entry in entries {
            if let Some(place) = self.place(entry)? {
                let key = self.saved(place);
                let bytes = self.rows.row::<CheckpointRow>(&key)?.map_or(0, |row| row.weight());
                self.rows.remove(&key)?;
                self.rows.remove(&self.key(CHECKPOINT, entry))?;
                self.give_back(1, bytes + entry.weight() + ENTRY_BYTES);
            }
            for (number, row) in (0..).zip(self.writes(entry)?) {
                self.rows.remove(&self.key(WRITES, entry).at(number))?;
                self.rows
                    .remove(&self.rows.key(TASK, &[self.name, entry.namespace(), entry.id(), &row.task]))?;
                self.give_back(1, row.weight() + ENTRY_BYTES);
            }
            self.rows.remove(&self.key(TASKS, entry))?;
            order::remove(self.rows, self.name, entry)?;
            touched.insert(entry.namespace());
        }
        self.find_newest(touched)
    }

    /// Looks for what is the newest now of these subgraphs.
    fn find_newest(&mut self, mut touched: BTreeSet<&str>) -> Result<(), FoldError> {
        let mut left = BTreeSet::new();
        for namespace in std::mem::take(&mut touched) {
            let Some(newest) = self.newest_row(namespace)? else { continue };
            if self.place(&OrderEntry::new(&newest.id, namespace))?.is_none() {
                self.rows.remove(&self.rows.key(NEWEST, &[self.name, namespace]))?;
                left.insert(namespace);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        for entry in self.entries()?.iter().rev() {
            if let Some(place) = self.place(entry)?.filter(|_| left.contains(entry.namespace())) {
                left.remove(entry.namespace());
                let key = self.rows.key(NEWEST, &[self.name, entry.namespace()]);
                self.rows.put(&key, &Newest { id: entry.id().to_owned(), place })?;
            }
        }
        Ok(())
    }
}

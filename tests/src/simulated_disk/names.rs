//! The changes of names that are seen and not yet durable: what a file system keeps in its journal.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use super::crash::CrashPolicy;
use crate::seeded::SeededRandom;

/// An edit of one name: the inode it stands for from then on, or `None` for nothing.
#[derive(Debug, Clone)]
pub(super) struct NameEdit {
    pub(super) folder: u64,
    pub(super) name: OsString,
    pub(super) inode: Option<u64>,
}

/// A change of one name, or of the two of a rename, that a crash keeps or loses as one.
#[derive(Debug, Clone)]
struct NameChange {
    edits: Vec<NameEdit>,
    /// The inodes that got, lost or changed a name: later changes of the same rest on this one.
    inodes: Vec<u64>,
    /// Folders that must yet be synced.
    unsynced_folders: BTreeSet<u64>,
}

impl NameChange {
    fn rests_on(&self, earlier: &Self) -> bool {
        self.inodes.iter().any(|inode| earlier.inodes.contains(inode))
            || self.edits.iter().any(|edit| earlier.names(edit.folder, &edit.name))
    }

    fn names(&self, folder: u64, name: &OsStr) -> bool {
        self.edits.iter().any(|edit| edit.folder == folder && edit.name == name)
    }
}

/// Oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct NameJournal(Vec<NameChange>);

impl NameJournal {
    /// Notes a change that touched these files and folders.
    pub(super) fn add(&mut self, edits: Vec<NameEdit>, inodes: Vec<u64>) {
        let unsynced_folders = edits.iter().map(|edit| edit.folder).collect();
        self.0.push(NameChange { edits, inodes, unsynced_folders });
    }

    /// A folder was synced: gives the edits that are durable by that, in order.
    pub(super) fn sync_folder(&mut self, folder: u64) -> Vec<NameEdit> {
        for change in &mut self.0 {
            change.unsynced_folders.remove(&folder);
        }
        self.take_synced()
    }

    /// The sync of a folder failed: its changes count as synced and are not.
    pub(super) fn lose_folder(&mut self, folder: u64) {
        self.0.retain(|change| !change.unsynced_folders.contains(&folder));
    }

    /// Gives the edits that must be durable before this name can be changed for good, in order.
    pub(super) fn settle_name(&mut self, folder: u64, name: &OsStr) -> Vec<NameEdit> {
        for change in self.0.iter_mut().filter(|change| change.names(folder, name)) {
            change.unsynced_folders.clear();
        }
        self.take_synced()
    }

    /// Takes out the changes that wait for no folder, and what they rest on: a journal keeps order.
    fn take_synced(&mut self) -> Vec<NameEdit> {
        let mut synced: Vec<NameChange> = Vec::new();
        let mut unsynced = Vec::new();
        for change in std::mem::take(&mut self.0).into_iter().rev() {
            let is_needed = synced.iter().any(|later| later.rests_on(&change));
            let is_synced = change.unsynced_folders.is_empty();
            if is_needed || is_synced { synced.push(change) } else { unsynced.push(change) }
        }
        unsynced.reverse();
        self.0 = unsynced;
        synced.into_iter().rev().flat_map(|change| change.edits).collect()
    }

    /// Gives the edits that a crash keeps, in order: each change on its own, but none without what it rests on.
    pub(super) fn survivors(&self, policy: CrashPolicy, random: &mut SeededRandom) -> Vec<NameEdit> {
        let kept_of_8 = policy.names_kept_of_8(random);
        let mut kept = Vec::new();
        let mut lost: Vec<&NameChange> = Vec::new();
        for change in &self.0 {
            let rests_on_loss = lost.iter().any(|earlier| change.rests_on(earlier));
            if random.chance(kept_of_8, 8) && !rests_on_loss {
                kept.extend(change.edits.iter().cloned());
            } else {
                lost.push(change);
            }
        }
        kept
    }
}

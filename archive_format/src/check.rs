//! Checks of an archive: of its tree without keys, of its events with them.

use super::error::ArchiveError;
use super::group::GroupSummary;
use super::key::ArchiveKey;
use super::layout::ArchiveLayout;
use super::manifest::Manifest;
use super::table::PartEntry;
use super::term::ArchiveLabel;
use super::tree::subtree_roots;
use super::writer::Contents;
use crate::{ColumnRow, Rows};
use bitacora_formats::{Frontier, leaf_hash};
use bitacora_formats::{LedgerKeys, LevelsHeader, Position, TreeHash, decode_record};

/// Checks the roots of an archive's groups of leaves, as they are stored, against its manifest, whose tree follows from them.
///
/// # Errors
/// [`ArchiveError::Tree`].
pub fn check_roots(manifest: &Manifest, stored: &[u8]) -> Result<Vec<TreeHash>, ArchiveError> {
    let roots: Vec<TreeHash> = LevelsHeader::hashes(stored).collect();
    if subtree_roots(manifest.range, &roots)? == manifest.subtrees {
        Ok(roots)
    } else {
        Err(ArchiveError::Tree { what: "a subtree" })
    }
}

/// Checks an archive's events with the keys: against the tree, the manifest and the index. It takes the groups in
/// order, and holds as much as the index would hold.
pub struct ContentCheck<'a> {
    layout: &'a ArchiveLayout,
    key: &'a ArchiveKey,
    keys: &'a LedgerKeys,
    roots: Vec<TreeHash>,
    tree: Frontier,
    found: usize,
    contents: Contents,
    /// The first position of the last frame that begins in the archive.
    last_frame: Option<Position>,
}

impl<'a> ContentCheck<'a> {
    /// Begins with the roots that [`check_roots`] gave.
    #[must_use]
    pub fn new(
        layout: &'a ArchiveLayout,
        roots: Vec<TreeHash>,
        key: &'a ArchiveKey,
        keys: &'a LedgerKeys,
    ) -> Self {
        let tree = layout.manifest().manifest().tree_before.clone();
        Self { layout, key, keys, roots, tree, found: 0, contents: Contents::default(), last_frame: None }
    }

    /// Takes the next group.
    ///
    /// # Errors
    /// [`ArchiveError::Tree`] for events that are not those of the tree; [`ArchiveError::Contents`]; [`ArchiveError::Record`].
    pub fn take(&mut self, rows: &Rows) -> Result<(), ArchiveError> {
        let due = self.tree.size().saturating_add(1);
        let first = Position::new(due).ok_or(ArchiveError::OutOfTurn { expected: due, found: due })?;
        let mut time = self.contents.times.map_or(self.manifest().times.0, |(_, last)| last);
        for row in rows.iter() {
            if row.time < time {
                return Err(ArchiveError::Contents { what: "the times" });
            }
            time = row.time;
            self.take_row(&row)?;
        }
        self.contents.add(GroupSummary::of(self.key.terms(), first, rows.iter())?);
        Ok(())
    }

    fn take_row(&mut self, row: &ColumnRow<'_>) -> Result<(), ArchiveError> {
        let due = self.tree.size().saturating_add(1);
        let position = Position::new(due).ok_or(ArchiveError::OutOfTurn { expected: due, found: due })?;
        let record = decode_record(row.record).map_err(|source| ArchiveError::Record { position, source })?;
        let commitment = self.keys.commitment_of(&record, row.record);
        if row.begins_frame {
            self.last_frame = Some(position);
        }
        let begins = self.manifest().chain_before.position == position;
        if position == self.manifest().range.first() && begins != row.begins_frame {
            return Err(ArchiveError::Contents { what: "the link of the chain" });
        }
        if let Some(root) = self.tree.push_grouping(leaf_hash(position, row.time, &commitment)) {
            if self.roots.get(self.found) != Some(&root) {
                return Err(ArchiveError::Tree { what: "a group of events" });
            }
            self.found += 1;
        }
        Ok(())
    }

    /// After the last group: opens the pieces of the index with `open`, and compares all with the events.
    ///
    /// # Errors
    /// The errors of `open`; [`ArchiveError::Contents`].
    pub fn finish<E: From<ArchiveError>>(
        mut self,
        mut open: impl FnMut(&PartEntry) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let differs = |what| Err(ArchiveError::Contents { what }.into());
        let manifest = self.layout.manifest().manifest();
        if self.found != self.roots.len() {
            return differs("the number of events");
        }
        let kinds = std::mem::take(&mut self.contents.kinds);
        if !kinds.into_iter().eq(manifest.kinds.iter().cloned()) {
            return differs("the counts by type");
        }
        if self.contents.expired != manifest.expiry.map_or(0, |expiry| expiry.events) {
            return differs("the number of expired events");
        }
        if self.contents.bytes != manifest.content_bytes || self.contents.times != Some(manifest.times) {
            return differs("the bytes or times");
        }
        let after = manifest.chain_after.position;
        if Some(after) != manifest.range.last().next()
            && after != self.last_frame.unwrap_or(manifest.chain_before.position)
        {
            return differs("the link of the chain");
        }
        let table = self.layout.table();
        let times = table.times().map(&mut open).transpose()?;
        if times != Some(self.contents.index.times()) {
            return differs("the times of the index");
        }
        for label in ArchiveLabel::ALL {
            let shards = self.contents.index.take_shards(label);
            let entries = table.shards(label);
            if shards.len() != entries.len() {
                return differs("the index");
            }
            for (shard, entry) in shards.iter().zip(entries) {
                if open(entry)? != *shard {
                    return differs("the index");
                }
            }
        }
        Ok(())
    }

    fn manifest(&self) -> &'a Manifest {
        self.layout.manifest().manifest()
    }
}

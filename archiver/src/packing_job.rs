//! A range of a ledger's events, made an archive in a file.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchivePlan, ArchiveRange, ArchiveSecrets, ArchiveWriter, ChainLink,
    EventGroup, Facts, FinishedArchive, GroupCollector, Manifest, Revision, SealedGroup, SegmentLink,
    SignedManifest, TreeHeadProof, seal_group,
};
use bitacora_formats::{Compressor, Keyring, LedgerOrigin, Position};
use bitacora_ledger::{Environment, Ledger, ReadError};

use crate::error::ArchiverError;
use crate::frame_rows::rows_of;
use crate::limits::ARCHIVE_LEVEL;
use crate::ordered_pool::{Feed, Results, in_order};
use crate::packing_file::PackingFile;
use crate::plan::ARCHIVE_UNIT_EVENTS;
use crate::state_at_end::{StateDigest, state_at_end};
use crate::throttle::{ArchivePace, ArchiveProgress};

/// The source and the settings of packing an archive.
pub(crate) struct PackingJob<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) environment: &'a Environment,
    pub(crate) keyring: &'a Keyring,
    pub(crate) origin: &'a LedgerOrigin,
    /// The archive before, if there is one.
    pub(crate) before: Option<&'a Manifest>,
    pub(crate) pace: ArchivePace,
    pub(crate) progress: &'a ArchiveProgress,
}

/// An archive in its file.
pub(crate) struct PackedArchive {
    pub(crate) file: PackingFile,
    pub(crate) manifest: SignedManifest,
    /// The state that it holds.
    pub(crate) state: Option<StateDigest>,
}

impl PackingJob<'_> {
    /// Packs a range into a file in `folder`. Holds a few groups of events at once, and what the index needs of each.
    pub(crate) fn pack(&self, range: ArchiveRange, folder: &Path) -> Result<PackedArchive, ArchiverError> {
        let on_disk = |source| ArchiverError::Disk { range, source };
        let secrets = self.secrets()?;
        let plan = ArchivePlan { origin: self.origin.clone(), range, revision: Revision::FIRST };
        let key = secrets.key(&plan);
        let (mut writer, header) = ArchiveWriter::new(plan, secrets);
        let mut file = PackingFile::create(&self.environment.disk, folder).map_err(on_disk)?;
        file.append(&header).map_err(on_disk)?;
        self.pack_groups(range, &key, &mut writer, &mut file)?;
        let facts = self.facts(range)?;
        let state = facts.state.as_ref().map(StateDigest::of);
        let finished = self.pace.work(|| {
            let mut compressor = Compressor::new(ARCHIVE_LEVEL).map_err(ArchiveError::Zstd)?;
            writer.finish(facts, self.keyring, &mut compressor)
        });
        let FinishedArchive { pieces, manifest, .. } =
            finished.map_err(|source| ArchiverError::Pack { range, source })?;
        for piece in pieces {
            file.append(&piece).map_err(on_disk)?;
        }
        Ok(PackedArchive { file, manifest, state })
    }

    fn secrets(&self) -> Result<ArchiveSecrets, ArchiverError> {
        let mut failed = None;
        let secrets = ArchiveSecrets::generate(&mut |bytes| {
            failed = failed.take().or(self.environment.entropy.fill(bytes).err());
        });
        failed.map_or(Ok(secrets), |error| Err(ArchiverError::Entropy(error)))
    }

    /// Reads frames on one thread, encodes groups of their events on others, and writes them on this one.
    fn pack_groups(
        &self,
        range: ArchiveRange,
        key: &ArchiveKey,
        writer: &mut ArchiveWriter,
        file: &mut PackingFile,
    ) -> Result<(), ArchiverError> {
        let wrong = |source| ArchiverError::Pack { range, source };
        let take = |results: &mut Results<Result<(u64, SealedGroup), ArchiveError>>| {
            for sealed in results {
                let (events, sealed) = sealed.map_err(wrong)?;
                let stored = writer.add(sealed).map_err(wrong)?;
                file.append(&stored).map_err(|source| ArchiverError::Disk { range, source })?;
                self.progress.packed(events);
            }
            Ok::<_, ArchiverError>(())
        };
        let work = |group: EventGroup| {
            let began = Instant::now();
            let sealed = seal_group(key, &group, ARCHIVE_LEVEL);
            self.pace.rest_after(began);
            sealed.map(|sealed| (group.len() as u64, sealed))
        };
        let feed = |feed: &mut Feed<EventGroup>| self.collect(range, feed);
        let (fed, taken) = in_order(self.pace, feed, work, take);
        // The error that stopped the work comes first; the reading ended because of it.
        taken?;
        fed
    }

    /// Collects the events of a range into groups.
    fn collect(&self, range: ArchiveRange, feed: &mut Feed<EventGroup>) -> Result<(), ArchiverError> {
        let mut collector = GroupCollector::new(range.first());
        let mut is_wanted = true;
        self.ledger.frames(range.first(), range.last(), &mut |frame| {
            let positions = frame.first_position.get()..;
            for (position, row) in positions.zip(rows_of(frame.time, &frame.body)) {
                if Position::new(position).is_some_and(|position| range.contains(position))
                    && let Some(full) = collector.push(row)
                {
                    is_wanted = feed.put(full) && !self.progress.is_stopped();
                    if !is_wanted {
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        if self.progress.is_stopped() {
            return Err(ArchiverError::Stopped);
        }
        if let Some(rest) = collector.take().filter(|_| is_wanted) {
            feed.put(rest);
        }
        Ok(())
    }

    /// Returns the ledger's facts around a range.
    fn facts(&self, range: ArchiveRange) -> Result<Facts, ArchiverError> {
        let link = |position: Position| {
            let link = self.ledger.chain_link(position)?;
            Ok::<_, ReadError>(link.map(|link| ChainLink { position: link.frame, hash: link.previous }))
        };
        let unknown = |position| ReadError::PastHead { asked: position, head: self.ledger.head().position };
        // Facts that lie in archives alone are known from the one before.
        let chain_before = match self.before {
            Some(before) => before.chain_after,
            None => link(range.first())?.ok_or_else(|| unknown(range.first()))?,
        };
        let behind = range.last().next().ok_or_else(|| unknown(range.last()))?;
        let chain_after = link(behind)?.ok_or_else(|| unknown(behind))?;
        let begun = self.ledger.started_segments(range.first(), range.last())?;
        let segments = begun.into_iter().map(|start| SegmentLink {
            number: start.number,
            first: start.first_position,
            epoch: start.epoch,
            generation: start.generation,
            hash: start.previous,
        });
        let (first_group, groups) = (range.tree_before() / ARCHIVE_UNIT_EVENTS, range.leaf_groups());
        Ok(Facts {
            made: self.environment.clock.now(),
            reactor: self.ledger.reactor_version(),
            chain_before,
            chain_after,
            segments: segments.collect(),
            tree_before: self.ledger.frontier(first_group)?,
            group_roots: self.ledger.group_roots(first_group, groups)?,
            tree_head: self.tree_head(range)?,
            state: self.pace.work(|| state_at_end(self.ledger, range, chain_after, self.before))?,
        })
    }

    /// The last tree head, where it covers the range.
    fn tree_head(&self, range: ArchiveRange) -> Result<Option<TreeHeadProof>, ReadError> {
        let head = self.ledger.tree_head().filter(|head| head.size >= range.last().get());
        let Some(head) = head else { return Ok(None) };
        let consistency = self.ledger.prove_consistency(range.last().get(), head.size)?;
        Ok(Some(TreeHeadProof { note: head.note.clone(), consistency: consistency.hashes }))
    }
}

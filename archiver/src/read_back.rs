//! The comparison of an archive, read back from its store with the keys, with the ledger.

use std::ops::ControlFlow;

use bitacora_archive_format::Rows;
use bitacora_archive_format::{ChainLink, Manifest, SegmentLink};
use bitacora_formats::{Keyring, Position};
use bitacora_ledger::Ledger;

use crate::error::ArchiverError;
use crate::frame_rows::rows_of;
use crate::plan::ARCHIVE_UNIT_EVENTS;
use crate::state_at_end::{StateDigest, state_at_end};
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// Reads every byte of an archive back and compares every event with the ledger's own.
pub(crate) struct ReadBack<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) keyring: &'a Keyring,
    pub(crate) stored: &'a StoredArchive,
    pub(crate) pace: ArchivePace,
    pub(crate) progress: &'a ArchiveProgress,
    /// The archive before, if there is one.
    pub(crate) before: Option<&'a Manifest>,
    /// The state that was put into it, where this run packed it.
    pub(crate) packed: Option<Option<StateDigest>>,
}

impl ReadBack<'_> {
    /// Checks that the archive tells the truth about the ledger, and holds all of its events, byte for byte.
    pub(crate) fn check(&self) -> Result<(), ArchiverError> {
        self.check_manifest(self.stored.outline().manifest().manifest())?;
        let verification = Verification::new(self.stored, self.pace, self.progress);
        let state = verification.contents(self.keyring, |first, rows| self.compare(first, rows))?;
        self.check_state(state.as_ref().map(StateDigest::of))
    }

    /// Checks that it holds the state that the ledger's events come to. A state of another reactor cannot be made again, and no replay
    /// begins from it.
    fn check_state(&self, held: Option<StateDigest>) -> Result<(), ArchiverError> {
        let manifest = self.stored.outline().manifest().manifest();
        let due = match self.packed {
            Some(packed) => packed,
            None if manifest.reactor != self.ledger.reactor_version() => return Ok(()),
            None => {
                let (range, end) = (manifest.range, manifest.chain_after);
                let state = self.pace.work(|| state_at_end(self.ledger, range, end, self.before))?;
                state.as_ref().map(StateDigest::of)
            }
        };
        if held == due { Ok(()) } else { self.differs(manifest.range.last(), "the state that decides") }
    }

    fn differs<T>(&self, position: Position, what: &'static str) -> Result<T, ArchiverError> {
        Err(ArchiverError::Differs { object: self.stored.shown(), position, what })
    }

    fn check_manifest(&self, manifest: &Manifest) -> Result<(), ArchiverError> {
        let (range, ledger) = (manifest.range, self.ledger);
        if manifest.origin.ledger != ledger.id() {
            return self.differs(range.first(), "the ledger's identity");
        }
        let tree_before = ledger.frontier(range.tree_before() / ARCHIVE_UNIT_EVENTS)?;
        let tree_after = ledger.frontier(range.last().get() / ARCHIVE_UNIT_EVENTS)?;
        if manifest.tree_before != tree_before || manifest.root_after != tree_after.root() {
            return self.differs(range.first(), "the tree");
        }
        let behind = range.last().next().unwrap_or(range.last());
        for (position, said) in [(range.first(), manifest.chain_before), (behind, manifest.chain_after)] {
            let link = ledger.chain_link(position)?;
            let link = link.map(|link| ChainLink { position: link.frame, hash: link.previous });
            // A link that lies in archives alone is held by the one before, which this one is joined to.
            if link.is_some_and(|link| link != said) {
                return self.differs(position, "the chain");
            }
        }
        let begun = ledger.started_segments(range.first(), range.last())?;
        let segments = begun.iter().map(|start| SegmentLink {
            number: start.number,
            first: start.first_position,
            epoch: start.epoch,
            generation: start.generation,
            hash: start.previous,
        });
        if !segments.eq(manifest.segments.iter().copied()) {
            return self.differs(range.first(), "a segment that begins");
        }
        Ok(())
    }

    /// Compares the rows of a group with the ledger's own, one by one.
    fn compare(&self, first: Position, rows: &Rows) -> Result<(), ArchiverError> {
        let Some(last) = first.plus((rows.len() as u64).saturating_sub(1)) else {
            return self.differs(first, "the end of the events");
        };
        let mut stored = (first.get()..).zip(rows.iter()).peekable();
        let mut different = None;
        self.ledger.frames(first, last, &mut |frame| {
            for (position, row) in (frame.first_position.get()..).zip(rows_of(frame.time, &frame.body)) {
                if position < first.get() || position > last.get() {
                    continue;
                }
                if stored.next() != Some((position, row)) {
                    different = Position::new(position);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        let different = different.or(stored.next().and_then(|(position, _)| Position::new(position)));
        different.map_or(Ok(()), |position| self.differs(position, "the event"))
    }
}

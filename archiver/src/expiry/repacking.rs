//! An archive packed again, without the content of its expired events.

use std::collections::BTreeMap;
use std::path::Path;

use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchivePlan, ArchiveSecrets, ArchiveWriter, ColumnRow, EventGroup, Facts,
    FinishedArchive, GroupCollector, Manifest, Revision, Rows, SignedManifest, check_roots, seal_group,
};
use bitacora_formats::{Compressor, Keyring, LedgerKeys, Position};
use bitacora_ledger::{Environment, state_rests_on};

use super::expired_rows::{expired_record, record_of, without_content};
use super::{RetainedEvent, Retention};
use crate::error::ArchiverError;
use crate::limits::ARCHIVE_LEVEL;
use crate::packing_file::PackingFile;
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// One archive, and the policy by which its events expire.
pub(crate) struct Repacking<'a> {
    pub(crate) stored: &'a StoredArchive,
    pub(crate) retention: &'a dyn Retention,
    pub(crate) environment: &'a Environment,
    pub(crate) keyring: &'a Keyring,
    pub(crate) pace: ArchivePace,
    pub(crate) progress: &'a ArchiveProgress,
}

/// The number of events of an archive that expire, by type.
#[derive(Debug, Default)]
pub(crate) struct ExpiredKinds {
    /// Events that the deciding state rests on.
    pub(crate) resting: BTreeMap<String, u64>,
    /// All others.
    pub(crate) others: BTreeMap<String, u64>,
}

/// The next revision of an archive, in its file.
pub(crate) struct RepackedArchive {
    pub(crate) file: PackingFile,
    pub(crate) manifest: SignedManifest,
}

impl Repacking<'_> {
    /// Counts the events that expire, by type: those that the deciding state rests on apart. Every byte of the archive is read and checked.
    pub(crate) fn count(&self) -> Result<ExpiredKinds, ArchiverError> {
        let mut kinds = ExpiredKinds::default();
        self.verification().each_group(self.keyring, |first, rows| {
            for (position, row) in positioned(first, rows) {
                let record = record_of(position, &row).map_err(|error| self.wrong(error))?;
                if record.expired().is_none()
                    && self.retention.expires(&RetainedEvent { position, time: row.time, record: &record })
                {
                    let of_kind =
                        if state_rests_on(&record.kind) { &mut kinds.resting } else { &mut kinds.others };
                    *of_kind.entry(record.kind.into_owned()).or_default() += 1;
                }
            }
            Ok::<_, ArchiverError>(())
        })?;
        Ok(kinds)
    }

    /// Packs the archive's events as this revision into a file in `folder`.
    pub(crate) fn pack(&self, revision: Revision, folder: &Path) -> Result<RepackedArchive, ArchiverError> {
        let manifest = self.manifest();
        let on_disk = |source| ArchiverError::Disk { range: manifest.range, source };
        let plan = ArchivePlan { origin: manifest.origin.clone(), range: manifest.range, revision };
        let secrets = self.secrets()?;
        let key = secrets.key(&plan);
        let (writer, header) = ArchiveWriter::new(plan, secrets);
        let mut file = PackingFile::create(&self.environment.disk, folder).map_err(on_disk)?;
        file.append(&header).map_err(on_disk)?;
        let mut packing = GroupPacker { repacking: self, key, writer, file };
        let state = packing.take_groups()?;
        let facts = self.facts(state)?;
        let GroupPacker { writer, mut file, .. } = packing;
        let finished = self.pace.work(|| {
            let mut compressor = Compressor::new(ARCHIVE_LEVEL).map_err(ArchiveError::Zstd)?;
            writer.finish(facts, self.keyring, &mut compressor)
        });
        let FinishedArchive { pieces, manifest, .. } = finished.map_err(|error| self.unpackable(error))?;
        for piece in pieces {
            file.append(&piece).map_err(on_disk)?;
        }
        Ok(RepackedArchive { file, manifest })
    }

    fn secrets(&self) -> Result<ArchiveSecrets, ArchiverError> {
        let mut failed = None;
        let secrets = ArchiveSecrets::generate(&mut |bytes| {
            failed = failed.take().or(self.environment.entropy.fill(bytes).err());
        });
        failed.map_or(Ok(secrets), |error| Err(ArchiverError::Entropy(error)))
    }

    /// The facts around the events, which are those of the archive as it was.
    fn facts(&self, state: Option<bitacora_archive_format::ArchivedState>) -> Result<Facts, ArchiverError> {
        let manifest = self.manifest();
        let no_roots = || self.wrong(ArchiveError::Contents { what: "the roots" });
        let roots = self.stored.outline().table().roots().ok_or_else(no_roots)?;
        let roots = self.stored.part(roots)?;
        Ok(Facts {
            made: self.environment.clock.now(),
            reactor: manifest.reactor,
            chain_before: manifest.chain_before,
            chain_after: manifest.chain_after,
            segments: manifest.segments.clone(),
            tree_before: manifest.tree_before.clone(),
            group_roots: check_roots(manifest, &roots).map_err(|error| self.wrong(error))?,
            tree_head: manifest.tree_head.clone(),
            state,
        })
    }

    fn manifest(&self) -> &Manifest {
        self.stored.outline().manifest().manifest()
    }

    fn verification(&self) -> Verification<'_> {
        Verification::new(self.stored, self.pace, self.progress)
    }

    fn wrong(&self, error: ArchiveError) -> ArchiverError {
        self.stored.wrong(error).into()
    }

    fn unpackable(&self, source: ArchiveError) -> ArchiverError {
        ArchiverError::Pack { range: self.manifest().range, source }
    }
}

/// The rows of a group, each with its position.
fn positioned(first: Position, rows: &Rows) -> impl Iterator<Item = (Position, ColumnRow<'_>)> {
    (0..).zip(rows.iter()).filter_map(move |(index, row)| Some((first.plus(index)?, row)))
}

/// An archive on its way into a file.
struct GroupPacker<'a, 'b> {
    repacking: &'a Repacking<'b>,
    key: ArchiveKey,
    writer: ArchiveWriter,
    file: PackingFile,
}

impl GroupPacker<'_, '_> {
    /// Writes all events; returns the state of the archive as it was.
    fn take_groups(&mut self) -> Result<Option<bitacora_archive_format::ArchivedState>, ArchiverError> {
        let repacking = self.repacking;
        let range = repacking.manifest().range;
        let keys = LedgerKeys::new(repacking.keyring, repacking.manifest().origin.ledger);
        let mut collector = GroupCollector::new(range.first());
        let state = repacking.verification().contents(repacking.keyring, |first, rows| {
            for (position, row) in positioned(first, rows) {
                let left = left_of(repacking, &keys, position, &row)?;
                let row = left.as_deref().map_or(row, |record| without_content(&row, record));
                if let Some(full) = collector.push(row) {
                    self.write(&full)?;
                }
            }
            Ok::<_, ArchiverError>(())
        })?;
        if let Some(rest) = collector.take() {
            self.write(&rest)?;
        }
        Ok(state)
    }

    fn write(&mut self, group: &EventGroup) -> Result<(), ArchiverError> {
        let range = self.repacking.manifest().range;
        let sealed = self.repacking.pace.work(|| seal_group(&self.key, group, ARCHIVE_LEVEL));
        let stored = sealed.and_then(|sealed| self.writer.add(sealed));
        let stored = stored.map_err(|error| self.repacking.unpackable(error))?;
        self.file.append(&stored).map_err(|source| ArchiverError::Disk { range, source })?;
        self.repacking.progress.packed(group.len() as u64);
        Ok(())
    }
}

/// The record that is left of a row, if its event expires.
fn left_of(
    repacking: &Repacking<'_>,
    keys: &LedgerKeys,
    position: Position,
    row: &ColumnRow<'_>,
) -> Result<Option<Vec<u8>>, ArchiverError> {
    let record = record_of(position, row).map_err(|error| repacking.wrong(error))?;
    let event = RetainedEvent { position, time: row.time, record: &record };
    if record.expired().is_some() || !repacking.retention.expires(&event) {
        return Ok(None);
    }
    let policy = repacking.retention.policy();
    let left = expired_record(keys, (position, row), record, policy);
    left.map(Some).map_err(|error| repacking.wrong(error))
}

//! Events of released segments, from their archives.

use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchiveLayout, SignedManifest, UnverifiedManifest, open_group,
};
use bitacora_formats::{Decompressor, Keyring, LedgerId, Position};

use super::entry::EntryError;
use super::event_reader::{EventBlock, StoredEvent};
use crate::archive_store::{ArchiveBytes, ArchiveStore, read_layout};
use crate::archives::object_name;
use crate::folder::LedgerFolder;

/// The archives of one ledger, of which the last one that was read stays open.
pub(super) struct ArchivedEvents<'a> {
    folder: &'a LedgerFolder<'a>,
    keyring: &'a Keyring,
    ledger: LedgerId,
    store: Option<&'a dyn ArchiveStore>,
    opened: Option<OpenedArchive>,
}

/// An archive whose layout the ledger signed, with the key of its parts.
struct OpenedArchive {
    bytes: Box<dyn ArchiveBytes>,
    layout: ArchiveLayout,
    key: ArchiveKey,
}

impl<'a> ArchivedEvents<'a> {
    pub(super) fn new(
        folder: &'a LedgerFolder<'a>,
        keyring: &'a Keyring,
        ledger: LedgerId,
        store: Option<&'a dyn ArchiveStore>,
    ) -> Self {
        Self { folder, keyring, ledger, store, opened: None }
    }

    /// Opens the group of events that holds a position.
    pub(super) fn block_at(
        &mut self,
        position: Position,
        decompressor: &mut Decompressor,
    ) -> Result<EventBlock, EntryError> {
        let archive = match self.opened.take().filter(|opened| opened.holds(position)) {
            Some(opened) => opened,
            None => self.open(position)?,
        };
        let archive = self.opened.insert(archive);
        let groups = archive.layout.table().groups();
        let behind = groups.partition_point(|group| group.position <= position.get());
        let group = behind.checked_sub(1).and_then(|index| groups.get(index));
        let group = group.ok_or(EntryError::NotThere)?;
        let stored = archive.bytes.read(group.range())?;
        let rows = open_group(&archive.key, group, &stored, decompressor)?;
        let events = rows.iter().map(|row| StoredEvent {
            time: row.time,
            record: row.record.to_vec(),
            part: row.part.map(<[u8]>::to_vec),
        });
        let first = Position::new(group.position).ok_or(EntryError::NotThere)?;
        Ok(EventBlock { first, events: events.collect() })
    }

    fn open(&self, position: Position) -> Result<OpenedArchive, EntryError> {
        let kept = self.manifest(position)?;
        let name = object_name(kept.manifest());
        let store = self.store.ok_or(EntryError::NoStore)?;
        let bytes = store.open(&name)?;
        let layout = read_layout(&*bytes, Some(self.keyring.signing_chain()))?;
        if layout.manifest().note() != kept.note() {
            return Err(
                ArchiveError::Contents { what: "the manifest that is kept beside the segments" }.into()
            );
        }
        let key = ArchiveKey::unwrap(layout.manifest().manifest(), self.keyring)?;
        Ok(OpenedArchive { bytes, layout, key })
    }

    /// Reads the manifest, beside the segments, of the archive that holds a position.
    fn manifest(&self, position: Position) -> Result<SignedManifest, EntryError> {
        let ranges = self.folder.manifests()?;
        let range = ranges.into_iter().find(|range| range.contains(position));
        let range = range.ok_or(EntryError::NotThere)?;
        let manifest = UnverifiedManifest::parse(&self.folder.manifest(range)?);
        let manifest = manifest.and_then(|manifest| manifest.verify(self.keyring.signing_chain()));
        let manifest = manifest.map_err(ArchiveError::from)?;
        let found = manifest.manifest();
        if found.origin.ledger != self.ledger || found.range != range {
            return Err(
                ArchiveError::Contents { what: "the ledger and the positions of its manifest" }.into()
            );
        }
        Ok(manifest)
    }
}

impl OpenedArchive {
    fn holds(&self, position: Position) -> bool {
        self.layout.manifest().manifest().range.contains(position)
    }
}

//! The state that decides as archives keep it: the newest one that is not too new, from its archive.

use std::ops::RangeInclusive;

use bitacora_archive_format::{ArchiveError, open_part};
use bitacora_formats::{Decompressor, Position};
use bitacora_ledger::{ArchiveTierError, ArchivedReactorState};

use crate::archives::{LedgerArchives, tier_error};
use crate::catalogue::OpenArchive;
use crate::error::StoredError;

impl LedgerArchives {
    /// The newest state by a reactor of one of these versions, of no event after `until`.
    pub(crate) fn newest_state(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, ArchiveTierError> {
        let catalogue = self.look_again(until)?;
        for (index, manifest) in catalogue.manifests().enumerate().rev() {
            let reactor = manifest.reactor;
            let state = manifest.state.filter(|state| state.position <= until && versions.contains(&reactor));
            let Some(state) = state else { continue };
            let at_fault = |error: StoredError| tier_error(manifest.range, &error);
            let archive = self.open(&catalogue, index).map_err(at_fault)?;
            let bytes = read(&archive, state.bytes).map_err(at_fault)?;
            return Ok(Some(ArchivedReactorState { position: state.position, reactor, bytes }));
        }
        Ok(None)
    }

    /// The places of all states by reactors of these versions, of no event after `until`, in order.
    pub(crate) fn state_positions(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Vec<Position>, ArchiveTierError> {
        let catalogue = self.look_again(until)?;
        let readable = catalogue.manifests().filter(|manifest| versions.contains(&manifest.reactor));
        let positions = readable.filter_map(|manifest| Some(manifest.state?.position));
        Ok(positions.filter(|position| *position <= until).collect())
    }
}

/// The pieces of a state, one behind the other; the manifest has said how many bytes they come to, and the table fits it.
fn read(archive: &OpenArchive, bytes: u64) -> Result<Vec<u8>, StoredError> {
    let wrong = |error: ArchiveError| archive.stored.wrong(error);
    let mut zstd = Decompressor::new().map_err(|error| wrong(ArchiveError::Zstd(error)))?;
    let mut state = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    for entry in archive.stored.outline().table().state() {
        let stored = archive.stored.part(entry)?;
        state.extend_from_slice(&open_part(&archive.key, entry, &stored, &mut zstd).map_err(wrong)?);
    }
    if state.len() as u64 == bytes {
        Ok(state)
    } else {
        Err(wrong(ArchiveError::Contents { what: "the state" }))
    }
}

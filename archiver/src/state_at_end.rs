//! The state that decides in an archive: as of the last frame that ends in the archive's range.

use bitacora_archive_format::{ArchiveRange, ArchivedState, ChainLink, Manifest};
use bitacora_formats::Position;
use bitacora_ledger::Ledger;
use sha2::{Digest, Sha256};

use crate::error::ArchiverError;

/// The identity of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateDigest {
    position: Position,
    sha256: [u8; 32],
}

impl StateDigest {
    pub(crate) fn of(state: &ArchivedState) -> Self {
        Self { position: state.position, sha256: Sha256::digest(&state.bytes).into() }
    }
}

/// The state at the end of a range, `end` being where the chain is cut behind it, if a frame ends in the range; folded from the one
/// in the archive before.
pub(crate) fn state_at_end(
    ledger: &Ledger,
    range: ArchiveRange,
    end: ChainLink,
    before: Option<&Manifest>,
) -> Result<Option<ArchivedState>, ArchiverError> {
    let at = Position::new(end.position.get() - 1).filter(|at| range.contains(*at));
    let Some(at) = at else { return Ok(None) };
    let earlier = before.and_then(|before| before.state).map(|state| state.position);
    let earlier = earlier.and_then(|until| {
        let version = ledger.reactor_version();
        let state = ledger.kept_state(until, &(version..=version));
        state.unwrap_or_else(|error| {
            tracing::warn!(%error, "the state in the archive before cannot be read; events are folded instead");
            None
        })
    });
    let state = ledger.saved_state(at, earlier.as_ref())?;
    Ok(state.map(|state| ArchivedState { position: state.position, bytes: state.bytes }))
}

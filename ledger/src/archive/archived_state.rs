//! The state that decides as archives keep it: as of an old frame, for replays that begin there.

use bitacora_formats::{After, Position};

use crate::archive_tier::ArchivedReactorState;
use crate::ledger::Ledger;
use crate::read::log_fold::fold;
use crate::read_error::ReadError;
use crate::tables::reactor_state::ReactorProjection;

/// The reasons for which there is no state to put into an archive.
#[derive(Debug, thiserror::Error)]
pub enum SavedStateError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The events cannot be folded, or the earlier state is none of this reactor's.
    #[error("the state after position {position}: {what}")]
    Unfolded {
        /// The position.
        position: Position,
        /// The reason, in words.
        what: String,
    },
}

impl Ledger {
    /// The state that decides as it stood after the event at `position`, the last one of its frame, as its reactor writes it: folded
    /// from `earlier`, or from the first event on. `None` where nothing governs, or keeps no state.
    ///
    /// # Errors
    /// [`SavedStateError`].
    pub fn saved_state(
        &self,
        position: Position,
        earlier: Option<&ArchivedReactorState>,
    ) -> Result<Option<ArchivedReactorState>, SavedStateError> {
        let shared = self.shared();
        let Some(reactor) = shared.write.preparer.reactor() else { return Ok(None) };
        let unfolded = |what: String| SavedStateError::Unfolded { position, what };
        let mut projection = ReactorProjection::apart(reactor);
        let mut after = After::START;
        if let Some(earlier) = earlier {
            projection.restore(earlier.position, &earlier.bytes).map_err(unfolded)?;
            after = After::new(earlier.position.get());
        }
        fold(shared, after, position, &mut projection)?;
        if projection.is_broken() {
            return Err(unfolded("the reactor could not fold the events before".to_owned()));
        }
        let bytes = projection.to_save().write().map_err(|error| unfolded(error.to_string()))?;
        Ok(bytes.map(|bytes| ArchivedReactorState { position, bytes }))
    }

    /// The newest state that archives keep, by a reactor of this version and of no event after `until`. Blocks on the store.
    ///
    /// # Errors
    /// [`ReadError::Archive`].
    pub fn archived_state(
        &self,
        until: Position,
        reactor: u32,
    ) -> Result<Option<ArchivedReactorState>, ReadError> {
        self.shared().read.tier.state(until, reactor).map_err(ReadError::Archive)
    }
}

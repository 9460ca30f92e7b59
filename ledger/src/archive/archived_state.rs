//! The state that decides as archives keep it: as of an old frame, for replays and openings that begin there.

use std::ops::RangeInclusive;

use bitacora_formats::{After, Position};
use bitacora_governance::{Governance, OLDEST_READABLE_STATE, REACTOR_VERSION, Reactor, State};

use crate::archive_tier::ArchivedReactorState;
use crate::ledger::Ledger;
use crate::missing_state::MissingStateReason;
use crate::read::log_fold::fold;
use crate::read::state_fold::{kept_state_at, kept_state_positions, newest_kept_state, readable_versions};
use crate::read_error::ReadError;
use crate::tables::reactor_state::ReactorProjection;

/// The versions of the rules whose states are read for good.
pub const READABLE_STATES: RangeInclusive<u32> = OLDEST_READABLE_STATE..=REACTOR_VERSION;

/// Returns `true` if the deciding state rests on the content of events of this type.
#[must_use]
pub fn state_rests_on(kind: &str) -> bool {
    State::concerns(kind) && State::reads(kind)
}

/// Checks that a state can be opened: content of the events before it may go only then.
///
/// # Errors
/// The reason for which it is none, or of no readable version.
pub fn check_state(state: &ArchivedReactorState) -> Result<(), String> {
    if !READABLE_STATES.contains(&state.reactor) {
        return Err(format!(
            "it is of version {} of the rules, which this program does not read",
            state.reactor
        ));
    }
    Governance::default().apart().restore(state.position, &state.bytes)
}

/// The reasons for which there is no state to put into an archive.
#[derive(Debug, thiserror::Error)]
pub enum SavedStateError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A kept state that it would be folded from cannot be read.
    #[error("the state after position {position}: {why}")]
    Kept {
        /// The position.
        position: Position,
        /// The reason.
        why: MissingStateReason,
    },
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
    /// from `earlier`, or from the first event on. `None` where nothing governs or keeps a state, and where content before `position`
    /// expired that no kept state stands behind.
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
        if !self.fold_from(earlier, position, &mut projection)? {
            let kept = newest_kept_state(shared, position, &readable_versions(&**reactor))
                .map_err(|why| SavedStateError::Kept { position, why })?;
            let folded = match &kept {
                Some(kept) => self.fold_from(Some(kept), position, &mut projection)?,
                None => false,
            };
            if !folded {
                tracing::warn!(%position, "content expired here, and no state is kept behind it");
                return Ok(None);
            }
        }
        if projection.is_broken() {
            return Err(unfolded("the reactor could not fold the events before".to_owned()));
        }
        let bytes = projection.to_save().write().map_err(|error| unfolded(error.to_string()))?;
        let reactor = reactor.version();
        Ok(bytes.map(|bytes| ArchivedReactorState { position, reactor, bytes }))
    }

    /// Folds the events up to `position` behind a state, or from the first one on. Returns `false` if content of one of them expired.
    fn fold_from(
        &self,
        earlier: Option<&ArchivedReactorState>,
        position: Position,
        projection: &mut ReactorProjection,
    ) -> Result<bool, SavedStateError> {
        let mut after = After::START;
        if let Some(earlier) = earlier {
            let unfolded = |what: String| SavedStateError::Unfolded { position, what };
            projection.restore(earlier.position, &earlier.bytes).map_err(unfolded)?;
            after = After::new(earlier.position.get());
        }
        match fold(self.shared(), after, position, projection) {
            Err(ReadError::Expired { .. }) => Ok(false),
            folded => Ok(folded.map(|()| true)?),
        }
    }

    /// Returns the newest state that archives keep, by a reactor of one of these versions and of no event after `until`. Blocks on the store.
    ///
    /// # Errors
    /// [`ReadError::Archive`].
    pub fn archived_state(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, ReadError> {
        self.shared().read.tier.state(until, versions).map_err(ReadError::Archive)
    }

    /// Returns the newest state that archives or a restoration keep, by a reactor of one of these versions and of no event after `until`, and
    /// that can be read. Blocks on the store.
    ///
    /// # Errors
    /// [`MissingStateReason`], where some are kept and none can be read.
    pub fn kept_state(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
        newest_kept_state(self.shared(), until, versions)
    }

    /// Returns the state that archives or a restoration keep at this position, by a reactor of one of these versions. Blocks on the store.
    ///
    /// # Errors
    /// [`MissingStateReason`], where it cannot be read.
    pub fn kept_state_at(
        &self,
        position: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
        kept_state_at(self.shared(), position, versions)
    }

    /// Returns the last events that are folded in the states that archives or a restoration keep, by reactors of these versions, in order.
    ///
    /// # Errors
    /// As [`Self::kept_state`].
    pub fn kept_state_positions(
        &self,
        versions: &RangeInclusive<u32>,
    ) -> Result<Vec<Position>, MissingStateReason> {
        kept_state_positions(self.shared(), versions)
    }
}

//! The fold of the log into the state that decides, begun behind content that expired.

use std::ops::RangeInclusive;

use bitacora_formats::{After, Position};
use bitacora_governance::Reactor;

use crate::archive::restored_state::{self, RESTORED_STATE};
use crate::archive_tier::ArchivedReactorState;
use crate::missing_state::{MissingState, MissingStateReason};
use crate::read::log_fold::fold;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::tables::reactor_state::ReactorProjection;

/// The reasons for which the state cannot be folded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateFoldError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Events that it rests on expired, and no state stands behind them.
    #[error(transparent)]
    Missing(#[from] MissingState),
}

/// Returns the versions whose states a reactor reads.
pub(crate) fn readable_versions(reactor: &dyn Reactor) -> RangeInclusive<u32> {
    reactor.oldest_readable_state()..=reactor.version()
}

/// Kept states of no event after a position, the newest first. Each is read when it is asked for; one that cannot be used is passed over.
struct KeptStates<'a> {
    shared: &'a SharedState,
    versions: &'a RangeInclusive<u32>,
    /// The places of those in archives, in order.
    archived: Vec<Position>,
    restored: Option<ArchivedReactorState>,
    /// The reason for which the first one that was passed over cannot be used.
    passed_over: Option<MissingStateReason>,
}

impl<'a> KeptStates<'a> {
    fn until(shared: &'a SharedState, until: Position, versions: &'a RangeInclusive<u32>) -> Self {
        let mut states = Self { shared, versions, archived: Vec::new(), restored: None, passed_over: None };
        match shared.read.tier.state_positions(until, versions) {
            Ok(positions) => states.archived = positions,
            Err(error) => states.pass_over(MissingStateReason::Archive(error)),
        }
        match restored_state(shared, until, versions) {
            Ok(restored) => states.restored = restored,
            Err(why) => states.pass_over(why),
        }
        states
    }

    fn pass_over(&mut self, why: MissingStateReason) {
        tracing::warn!(%why, "a kept state cannot be used; an older one is tried");
        self.passed_over.get_or_insert(why);
    }

    /// Returns the next one that can be read.
    fn next(&mut self) -> Option<ArchivedReactorState> {
        loop {
            let archived = self.archived.last().copied();
            let restored = self.restored.take_if(|state| archived.is_none_or(|at| state.position >= at));
            if restored.is_some() {
                return restored;
            }
            let position = self.archived.pop()?;
            match self.shared.read.tier.state(position, self.versions) {
                Ok(None) => {}
                Ok(state) => return state,
                Err(error) => self.pass_over(MissingStateReason::Archive(error)),
            }
        }
    }
}

/// Brings a state that stands after `after` up to `until`. Where it meets content that expired, it begins again at the newest usable state
/// that is kept behind that, of any version that the reactor reads. After an error the state is of no use.
pub(crate) fn fold_state(
    shared: &SharedState,
    projection: &mut ReactorProjection,
    reactor: &dyn Reactor,
    (after, until): (After, Position),
) -> Result<(), StateFoldError> {
    let position = match fold(shared, after, until, projection) {
        Err(ReadError::Expired { position }) => position,
        folded => return Ok(folded?),
    };
    let versions = readable_versions(reactor);
    let mut states = KeptStates::until(shared, until, &versions);
    let at = loop {
        let Some(state) = states.next() else {
            let none = MissingStateReason::None { oldest: *versions.start(), newest: *versions.end() };
            return Err(MissingState { position, why: states.passed_over.unwrap_or(none) }.into());
        };
        let at = state.position;
        if at < position {
            let why = states.passed_over.unwrap_or(MissingStateReason::Earlier(at));
            return Err(MissingState { position, why }.into());
        }
        match projection.restore(at, &state.bytes) {
            Ok(()) => break at,
            Err(what) => states.pass_over(MissingStateReason::Unfit { position: at, what }),
        }
    };
    tracing::info!(position = at.get(), "the deciding state begins behind content that expired");
    match (fold(shared, After::new(at.get()), until, projection), states.passed_over) {
        (Err(ReadError::Expired { position }), passed_over) => {
            let why = passed_over.unwrap_or(MissingStateReason::Earlier(at));
            Err(MissingState { position, why }.into())
        }
        // The archive of a state that was passed over holds these events too.
        (Err(ReadError::Archive(_)), Some(why)) => Err(MissingState { position, why }.into()),
        (folded, _) => Ok(folded?),
    }
}

/// Returns the newest state of no event after `until` that archives or a restoration keep, by a reactor of one of these versions, and that
/// can be read. Blocks on the store.
///
/// # Errors
/// [`MissingStateReason`] of the newest one, where none can be read.
pub(crate) fn newest_kept_state(
    shared: &SharedState,
    until: Position,
    versions: &RangeInclusive<u32>,
) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
    let mut states = KeptStates::until(shared, until, versions);
    let newest = states.next();
    match states.passed_over {
        Some(why) if newest.is_none() => Err(why),
        _ => Ok(newest),
    }
}

/// Returns the state that is kept at this position, by a reactor of one of these versions; `None` where none is. Blocks on the store.
///
/// # Errors
/// [`MissingStateReason`], where it cannot be read.
pub(crate) fn kept_state_at(
    shared: &SharedState,
    position: Position,
    versions: &RangeInclusive<u32>,
) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
    let is_there = |state: &ArchivedReactorState| state.position == position;
    let restored = restored_state(shared, position, versions);
    if let Ok(Some(state)) = restored.as_ref().map(|state| state.as_ref().filter(|state| is_there(state))) {
        return Ok(Some(state.clone()));
    }
    let archived = shared.read.tier.state(position, versions).map_err(MissingStateReason::Archive)?;
    archived.filter(is_there).map_or_else(|| restored.map(|_| None), |state| Ok(Some(state)))
}

/// Returns the last events that are folded in kept states, by reactors of these versions, in order.
///
/// # Errors
/// As [`newest_kept_state`].
pub(crate) fn kept_state_positions(
    shared: &SharedState,
    versions: &RangeInclusive<u32>,
) -> Result<Vec<Position>, MissingStateReason> {
    let head = shared.read.head().position;
    let positions = shared.read.tier.state_positions(head, versions);
    let mut positions = positions.map_err(MissingStateReason::Archive)?;
    match restored_state(shared, head, versions) {
        Ok(restored) => positions.extend(restored.map(|state| state.position)),
        Err(why) if positions.is_empty() => return Err(why),
        Err(why) => tracing::warn!(%why, "a kept state cannot be read"),
    }
    positions.sort_unstable();
    positions.dedup();
    Ok(positions)
}

fn restored_state(
    shared: &SharedState,
    until: Position,
    versions: &RangeInclusive<u32>,
) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
    restored_state::read(shared, until, versions)
        .map_err(|what| MissingStateReason::Restored { file: RESTORED_STATE.to_owned(), what })
}

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

/// Brings a state that stands after `after` up to `until`. Where it meets content that expired, it begins again at the newest state that is
/// kept behind that, of any version that the reactor reads. After an error the state is of no use.
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
    let missing = |why| MissingState { position, why };
    let versions = readable_versions(reactor);
    let state = newest_kept_state(shared, until, &versions).map_err(missing)?;
    let (oldest, newest) = versions.into_inner();
    let state = state.ok_or_else(|| missing(MissingStateReason::None { oldest, newest }))?;
    let at = state.position;
    if at < position {
        return Err(missing(MissingStateReason::Earlier(at)).into());
    }
    let unfit = |what| missing(MissingStateReason::Unfit { position: at, what });
    projection.restore(at, &state.bytes).map_err(unfit)?;
    tracing::info!(position = at.get(), "the deciding state begins behind content that expired");
    match fold(shared, After::new(at.get()), until, projection) {
        Err(ReadError::Expired { position }) => {
            Err(MissingState { position, why: MissingStateReason::Earlier(at) }.into())
        }
        folded => Ok(folded?),
    }
}

/// Returns the newest state of no event after `until` that archives or a restoration keep, by a reactor of one of these versions. Blocks on
/// the store.
///
/// # Errors
/// [`MissingStateReason`], where one is kept and cannot be read, and no other one can.
pub(crate) fn newest_kept_state(
    shared: &SharedState,
    until: Position,
    versions: &RangeInclusive<u32>,
) -> Result<Option<ArchivedReactorState>, MissingStateReason> {
    let archived = shared.read.tier.state(until, versions).map_err(MissingStateReason::Archive);
    let restored = restored_state(shared, until, versions);
    match (archived, restored) {
        (Ok(archived), Ok(restored)) => {
            Ok([archived, restored].into_iter().flatten().max_by_key(|state| state.position))
        }
        (Ok(Some(state)), Err(why)) | (Err(why), Ok(Some(state))) => {
            tracing::warn!(%why, "a kept state cannot be read; another one is used");
            Ok(Some(state))
        }
        (Err(why), Ok(None) | Err(_)) | (Ok(None), Err(why)) => Err(why),
    }
}

/// Returns the last events that are folded in kept states, by reactors of these versions, in order.
///
/// # Errors
/// As [`newest_kept_state`].
pub(crate) fn kept_state_positions(
    shared: &SharedState,
    versions: &RangeInclusive<u32>,
) -> Result<Vec<Position>, MissingStateReason> {
    let mut positions = shared.read.tier.state_positions(versions).map_err(MissingStateReason::Archive)?;
    match restored_state(shared, shared.read.head().position, versions) {
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

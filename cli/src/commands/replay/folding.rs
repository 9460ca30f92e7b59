//! Folding a log into the state that decides, with a bar for who waits.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Position};
use bitacora_governance::{Observed, REACTOR_VERSION, ReactorState, State};
use bitacora_ledger::{Fold, KeptReplayError, Ledger};

use super::ReplayFailure;
use crate::progress::EventBar;

/// A state, and how it was come to.
pub(super) struct Folded {
    pub(super) position: Position,
    pub(super) state: State,
    /// Events that concerned it.
    pub(super) governing: u64,
    /// What all of it took, from the first event on, or from where it went on.
    pub(super) took: Duration,
    /// The last event that was folded before.
    pub(super) began_after: Option<Earlier>,
}

/// What was folded before, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// By a replay that was interrupted.
    Replay(Position),
    /// By the service, which kept it in an archive.
    Archive(Position),
}

impl Earlier {
    pub(super) fn position(self) -> Position {
        match self {
            Self::Replay(position) | Self::Archive(position) => position,
        }
    }
}

/// Where a replay begins.
pub(super) enum Begin {
    /// With nothing.
    AtTheFirstEvent,
    /// With what an earlier one kept in this file, if it kept anything.
    WhereItWasKept(PathBuf),
    /// With the newest state that archives keep.
    InArchives,
}

/// Ends a folding early.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to go on.
    pub(super) fn flow(&self) -> ControlFlow<()> {
        if self.is_told() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The state as far as the log is folded.
pub(super) struct Folding {
    state: State,
    governing: u64,
    reached: u64,
    stop: Stop,
    bar: EventBar,
}

/// The states at these places, which rise. Where a file for that is named, one that is told to stop keeps how far it came, and the
/// next one goes on from there.
pub(super) fn states(
    ledger: &Ledger,
    places: &[Position],
    begin: &Begin,
    stop: Stop,
) -> Result<Vec<Folded>, ReplayFailure> {
    let began = Instant::now();
    let bar = EventBar::new("replaying", places.last().map_or(0, |last| last.get()));
    let mut folding = Folding { state: State::default(), governing: 0, reached: 0, stop, bar };
    let first = places.first().copied().unwrap_or(Position::FIRST);
    let progress = match begin {
        Begin::WhereItWasKept(file) => Some(file.as_path()),
        Begin::AtTheFirstEvent | Begin::InArchives => None,
    };
    let began_after = match begin {
        Begin::AtTheFirstEvent => None,
        Begin::WhereItWasKept(file) => folding.go_on_from(ledger, file, first)?.map(Earlier::Replay),
        Begin::InArchives => Some(Earlier::Archive(folding.begin_in_archives(ledger, first)?)),
    };
    let mut folded = Vec::with_capacity(places.len());
    let mut after = began_after.map_or(After::START, |earlier| After::new(earlier.position().get()));
    for place in places {
        ledger.fold(after, *place, &mut folding)?;
        if let Some(file) = progress.filter(|_| folding.stop.is_told()) {
            folding.keep(ledger, file)?;
            return Ok(folded);
        }
        after = After::new(place.get());
        folded.push(Folded {
            position: *place,
            state: folding.state.clone(),
            governing: folding.governing,
            took: began.elapsed(),
            began_after,
        });
    }
    if let Some(file) = progress.filter(|_| began_after.is_some()) {
        ledger.forget_replay(file)?;
    }
    Ok(folded)
}

impl Folding {
    /// Becomes what an earlier replay came to, if it did not go further than is asked for; the last event that it folded.
    fn go_on_from(
        &mut self,
        ledger: &Ledger,
        file: &Path,
        to: Position,
    ) -> Result<Option<Position>, ReplayFailure> {
        let Some(kept) = ledger.kept_replay(file, REACTOR_VERSION)?.filter(|kept| kept.position <= to) else {
            return Ok(None);
        };
        self.state.restore(kept.position, &kept.state).map_err(ReplayFailure::Kept)?;
        self.reached = kept.position.get();
        self.bar.advance(self.reached);
        Ok(Some(kept.position))
    }

    /// Becomes what archives keep; the last event that is folded in it.
    fn begin_in_archives(&mut self, ledger: &Ledger, to: Position) -> Result<Position, ReplayFailure> {
        let state = ledger.archived_state(to, REACTOR_VERSION)?;
        let state = state.ok_or(ReplayFailure::NoneArchived(to))?;
        self.state.restore(state.position, &state.bytes).map_err(ReplayFailure::Archived)?;
        self.reached = state.position.get();
        self.bar.advance(self.reached);
        Ok(state.position)
    }

    fn keep(&self, ledger: &Ledger, file: &Path) -> Result<(), ReplayFailure> {
        let Some(position) = Position::new(self.reached) else { return Ok(()) };
        let Some(state) = self.state.save().map_err(ReplayFailure::Kept)? else { return Ok(()) };
        match ledger.keep_replay(file, REACTOR_VERSION, position, &state) {
            // It has just come to its end.
            Err(KeptReplayError::WithinFrame(_)) => Ok(()),
            kept => Ok(kept?),
        }
    }
}

impl Fold for Folding {
    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn reads(&self, kind: &str) -> bool {
        State::reads(kind)
    }

    fn fold(&mut self, frame: &[Observed<'_>]) {
        self.governing += frame.len() as u64;
        self.state.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.bar.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        self.stop.flow()
    }
}

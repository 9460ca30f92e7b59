//! Folding of a log into the state that decides, with a progress bar.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Position};
use bitacora_governance::{ObservedEvent, REACTOR_VERSION, ReactorState, State};
use bitacora_ledger::{Fold, Ledger, ReplayProgressError};

use super::ReplayFailure;
use crate::terminal::progress::EventBar;

/// A state with the statistics of its folding.
pub(super) struct FoldResult {
    pub(super) position: Position,
    pub(super) state: State,
    /// The number of events that concerned it.
    pub(super) governing: u64,
    /// The duration of the folding, from the first event or from where it resumed.
    pub(super) took: Duration,
    /// The last event that was folded before, if it did not begin at the first one.
    pub(super) began_after: Option<Earlier>,
}

/// The origin of a state that was folded before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// An interrupted replay.
    Replay(Position),
    /// An archive that the service wrote.
    Archive(Position),
}

impl Earlier {
    pub(super) fn position(self) -> Position {
        match self {
            Self::Replay(position) | Self::Archive(position) => position,
        }
    }
}

/// The start of a replay.
pub(super) enum Begin {
    /// The first event.
    AtTheFirstEvent,
    /// The progress in this file, if it holds any.
    WhereItWasKept(PathBuf),
    /// The newest archived state.
    InArchives,
}

/// A signal that stops a folding early.
#[derive(Clone, Default)]
pub(super) struct FoldStop(Arc<AtomicBool>);

impl FoldStop {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `Break` once it was told to stop.
    pub(super) fn flow(&self) -> ControlFlow<()> {
        if self.is_told() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A state in the middle of its folding.
pub(super) struct FoldRun {
    state: State,
    governing: u64,
    reached: u64,
    stop: FoldStop,
    bar: EventBar,
}

/// Returns the states at these places, which rise. Where a progress file is named, a stopped folding saves its
/// progress, and the next one resumes from there.
pub(super) fn states(
    ledger: &Ledger,
    places: &[Position],
    begin: &Begin,
    stop: FoldStop,
) -> Result<Vec<FoldResult>, ReplayFailure> {
    let began = Instant::now();
    let bar = EventBar::new("replaying", places.last().map_or(0, |last| last.get()));
    let mut run = FoldRun { state: State::default(), governing: 0, reached: 0, stop, bar };
    let first = places.first().copied().unwrap_or(Position::FIRST);
    let progress = match begin {
        Begin::WhereItWasKept(file) => Some(file.as_path()),
        Begin::AtTheFirstEvent | Begin::InArchives => None,
    };
    let began_after = match begin {
        Begin::AtTheFirstEvent => None,
        Begin::WhereItWasKept(file) => run.go_on_from(ledger, file, first)?.map(Earlier::Replay),
        Begin::InArchives => Some(Earlier::Archive(run.begin_in_archives(ledger, first)?)),
    };
    let mut folded = Vec::with_capacity(places.len());
    let mut after = began_after.map_or(After::START, |earlier| After::new(earlier.position().get()));
    for place in places {
        ledger.fold(after, *place, &mut run)?;
        if let Some(file) = progress.filter(|_| run.stop.is_told()) {
            run.keep(ledger, file)?;
            return Ok(folded);
        }
        after = After::new(place.get());
        folded.push(FoldResult {
            position: *place,
            state: run.state.clone(),
            governing: run.governing,
            took: began.elapsed(),
            began_after,
        });
    }
    if let Some(file) = progress.filter(|_| began_after.is_some()) {
        ledger.remove_replay(file)?;
    }
    Ok(folded)
}

impl FoldRun {
    /// Resumes from an earlier replay's progress, unless that is beyond the target. Returns the last event that it folded.
    fn go_on_from(
        &mut self,
        ledger: &Ledger,
        file: &Path,
        to: Position,
    ) -> Result<Option<Position>, ReplayFailure> {
        let Some(kept) = ledger.saved_replay(file, REACTOR_VERSION)?.filter(|kept| kept.position <= to)
        else {
            return Ok(None);
        };
        self.state.restore(kept.position, &kept.state).map_err(ReplayFailure::Kept)?;
        self.reached = kept.position.get();
        self.bar.advance(self.reached);
        Ok(Some(kept.position))
    }

    /// Starts from an archived state. Returns the last event that is folded in it.
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
        match ledger.save_replay(file, REACTOR_VERSION, position, &state) {
            // It has just come to its end.
            Err(ReplayProgressError::WithinFrame(_)) => Ok(()),
            kept => Ok(kept?),
        }
    }
}

impl Fold for FoldRun {
    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn reads(&self, kind: &str) -> bool {
        State::reads(kind)
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.governing += frame.len() as u64;
        self.state.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.bar.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        self.stop.flow()
    }
}

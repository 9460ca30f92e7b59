//! Folding of a log into the state that decides.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Position};
use bitacora_governance::{ObservedEvent, REACTOR_VERSION, ReactorState, State};
use bitacora_ledger::{Fold, Ledger, READABLE_STATES, ReadError, ReplayProgressError, state_rests_on};

use crate::cursor::ReplayCursor;
use crate::error::ReplayError;
use crate::expired_content::{ExpiredContent, begin_behind};

/// A state with the statistics of its folding.
pub struct FoldResult {
    /// The position of the last event that it may rest on.
    pub position: Position,
    /// The state.
    pub state: State,
    /// The number of events that concerned it.
    pub governing: u64,
    /// The duration of the folding, from the first event or from where it resumed.
    pub took: Duration,
    /// The state that it resumed from, if it did not begin at the first event.
    pub origin: Option<FoldOrigin>,
    /// Content that expired before that state, so that the folding had to begin there.
    pub expired: Option<ExpiredContent>,
}

/// A state that was folded before, by its last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldOrigin {
    /// The state of an interrupted replay.
    Replay(Position),
    /// A state that the service archived.
    Archive(Position),
}

impl FoldOrigin {
    /// Returns the position of the last event that was folded.
    #[must_use]
    pub fn position(self) -> Position {
        match self {
            Self::Replay(position) | Self::Archive(position) => position,
        }
    }
}

/// The start of a replay.
pub enum ReplayStart {
    /// The first event.
    FirstEvent,
    /// The progress in this file, if it holds any.
    Progress(PathBuf),
    /// The newest archived state.
    Archives,
}

/// A state in the middle of its folding.
struct FoldRun {
    state: State,
    governing: u64,
    cursor: ReplayCursor,
}

/// Returns the states at these positions, which rise. Where a progress file is named, a stopped folding saves its
/// progress, and the next one resumes from there. Where content of events expired, it begins again at the first state that is kept behind
/// them, and the results say so.
///
/// # Errors
/// [`ReplayError`], but for policies.
pub fn fold_states(
    ledger: &Ledger,
    positions: &[Position],
    start: &ReplayStart,
    cursor: ReplayCursor,
) -> Result<Vec<FoldResult>, ReplayError> {
    let mut run = FoldRun { state: State::default(), governing: 0, cursor };
    run.fold_from(ledger, positions, start)
}

impl FoldRun {
    /// Folds up to each of the positions.
    fn fold_from(
        &mut self,
        ledger: &Ledger,
        positions: &[Position],
        start: &ReplayStart,
    ) -> Result<Vec<FoldResult>, ReplayError> {
        let began = Instant::now();
        let first = positions.first().copied().unwrap_or(Position::FIRST);
        let progress = match start {
            ReplayStart::Progress(file) => Some(file.as_path()),
            ReplayStart::FirstEvent | ReplayStart::Archives => None,
        };
        let mut origin = match start {
            ReplayStart::FirstEvent => None,
            ReplayStart::Progress(file) => self.resume(ledger, file, first)?.map(FoldOrigin::Replay),
            ReplayStart::Archives => Some(FoldOrigin::Archive(self.start_in_archives(ledger, first)?)),
        };
        let mut folded = Vec::with_capacity(positions.len());
        let mut after = origin.map_or(After::START, |origin| After::new(origin.position().get()));
        let mut expired = None;
        for position in positions {
            match ledger.fold(after, *position, self) {
                Err(ReadError::Expired { .. }) => {
                    let content = self.fold_behind(ledger, *position)?;
                    origin = Some(FoldOrigin::Archive(content.begins_after));
                    expired = Some(content);
                }
                folded => folded?,
            }
            if let Some(file) = progress.filter(|_| self.cursor.is_stopped()) {
                self.save(ledger, file)?;
                return Ok(folded);
            }
            after = After::new(position.get());
            folded.push(FoldResult {
                position: *position,
                state: self.state.clone(),
                governing: self.governing,
                took: began.elapsed(),
                origin,
                expired: expired.clone(),
            });
        }
        if let Some(file) = progress.filter(|_| origin.is_some()) {
            ledger.remove_replay(file)?;
        }
        Ok(folded)
    }

    /// Resumes from an earlier replay's progress, unless that is beyond the target. Returns the last event that it folded.
    fn resume(
        &mut self,
        ledger: &Ledger,
        file: &Path,
        to: Position,
    ) -> Result<Option<Position>, ReplayError> {
        let Some(kept) = ledger.saved_replay(file, REACTOR_VERSION)?.filter(|kept| kept.position <= to)
        else {
            return Ok(None);
        };
        self.state.restore(kept.position, &kept.state).map_err(ReplayError::Kept)?;
        self.cursor.skip_to(kept.position.get());
        Ok(Some(kept.position))
    }

    /// Begins again behind content that expired, and folds up to a position.
    fn fold_behind(&mut self, ledger: &Ledger, to: Position) -> Result<ExpiredContent, ReplayError> {
        let (state, content) = begin_behind(ledger, to, state_rests_on)?;
        self.state.restore(state.position, &state.bytes).map_err(ReplayError::Archived)?;
        self.governing = 0;
        self.cursor.skip_to(state.position.get());
        ledger.fold(After::new(state.position.get()), to, self)?;
        Ok(content)
    }

    /// Starts from an archived state. Returns the last event that is folded in it.
    fn start_in_archives(&mut self, ledger: &Ledger, to: Position) -> Result<Position, ReplayError> {
        let state = ledger.kept_state(to, &READABLE_STATES)?;
        let state = state.ok_or(ReplayError::NoneArchived(to))?;
        self.state.restore(state.position, &state.bytes).map_err(ReplayError::Archived)?;
        self.cursor.skip_to(state.position.get());
        Ok(state.position)
    }

    fn save(&self, ledger: &Ledger, file: &Path) -> Result<(), ReplayError> {
        let Some(position) = Position::new(self.cursor.reached()) else { return Ok(()) };
        let Some(state) = self.state.save().map_err(ReplayError::Kept)? else { return Ok(()) };
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

    fn skips_expired_content(&self) -> bool {
        false
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.governing += frame.len() as u64;
        self.state.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.cursor.reach(position)
    }
}

//! Sessions: their agents and programs, their beginnings and ends, their requests and results.
//!
//! A session is whatever events name as theirs. One that never says that it begins is there from its first event on; one that
//! never says that it ends stays open, and shows when it was seen last.

mod fold;
mod session_rows;

use std::ops::RangeInclusive;

use bitacora_formats::Position;
use serde::{Deserialize, Serialize};

use crate::call_state::CallState;
use crate::import_times::{HappenedBetween, ImportOrigin, KnownImports, Outside};
use crate::limits::{LOOKED_AT_SESSIONS, SHOWN_RUNS};
use crate::models::{Model as _, ModelError, ReadModels, View};
use crate::spending::SpendingSums;
pub(crate) use fold::SessionsModel;
use session_rows::{COUNTS, IMPORTS, Label, NAMED, RUNS, SESSION, SessionTally};

/// The told facts of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its id.
    pub session: String,
    /// The position at which it is first named.
    pub position: u64,
    /// The time of that, microseconds since 1970; for an accepted import, the time that the imported event states.
    pub time: u64,
    /// The time of its recording.
    #[serde(skip)]
    pub recorded: u64,
    /// The import that brought it, and when it says that it began.
    pub brought: Option<ImportOrigin>,
    /// The position at which it first said that it began; `None` if it never did.
    pub started: Option<u64>,
    /// The program that runs the agent.
    pub harness: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The model that it began with, else the first one that is named in it.
    pub model: Option<String>,
    /// The working directory that it began in.
    pub cwd: Option<String>,
    /// The first agent that is named in it.
    pub agent: Option<String>,
    /// The actor that first wrote an event of it.
    pub actor: Option<String>,
    /// `true` if it, or anything of it, was recorded elsewhere and brought here.
    pub imported: bool,
    /// Its end, unless it goes on, or never said so.
    pub end: Option<SessionEnd>,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The position of the event that says so.
    pub position: u64,
    /// The time of the end, microseconds since 1970.
    pub time: u64,
    /// The import that brought it, and when it says that it happened.
    pub brought: Option<ImportOrigin>,
    /// The reason, in the harness's word.
    pub reason: String,
    /// The totals that the harness tells.
    pub totals: Option<SessionTotals>,
}

/// The totals of a session, as its harness tells them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTotals {
    /// Turns.
    pub turns: Option<u64>,
    /// Calls of tools.
    pub calls: Option<u64>,
    /// Events.
    pub events: Option<u64>,
    /// Tokens that models read.
    pub tokens_in: Option<u64>,
    /// Tokens that they wrote.
    pub tokens_out: Option<u64>,
    /// Micro-USD.
    pub cost_micro_usd: Option<u64>,
    /// Milliseconds.
    pub duration_ms: Option<u64>,
}

/// The state of a session: going on, or over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It goes on, as far as is known.
    Open,
    /// It said that it ended.
    Ended,
}

/// The counts of a session. Ends of its calls and answers to its approvals count in it whether they name it or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Its last event.
    pub last: u64,
    /// The time of that, microseconds since 1970.
    pub last_time: u64,
    /// The import that brought it, and when it says that it happened.
    pub last_brought: Option<ImportOrigin>,
    /// Its events.
    pub events: u64,
    /// Turns that began.
    pub turns: u64,
    /// Calls of tools, each once however often it was asked for.
    pub calls: u64,
    /// Those of which `allow` was said last.
    pub allowed: u64,
    /// `review`.
    pub reviewed: u64,
    /// `deny`.
    pub denied: u64,
    /// Calls that went well.
    pub ok: u64,
    /// Those that failed.
    pub errors: u64,
    /// Those that took too long.
    pub timeouts: u64,
    /// Those that were broken off.
    pub interrupted: u64,
    /// Those that a person kept from being made.
    pub rejected: u64,
    /// Those that a rule or a program kept from being made, as their ends say.
    pub blocked: u64,
    /// Those without an end that wait for a person.
    pub waiting: u64,
    /// Those without an end that were denied, where that holds.
    pub stopped: u64,
    /// Those without an end whose approval nobody gave in time, or which was taken back.
    pub lapsed: u64,
    /// Approvals that were asked for.
    pub approvals_asked: u64,
    /// Those that were given, also for other arguments.
    pub approvals_given: u64,
    /// Those that were refused.
    pub approvals_refused: u64,
    /// Those that nobody answered in time, or that were taken back.
    pub approvals_lapsed: u64,
    /// Calls of which half of the record is missing.
    pub gaps: u64,
    /// Runs that are named in it.
    pub runs: u64,
    /// The spending of models and tools.
    pub spending: SpendingSums,
}

/// A run that is named in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOfSession {
    /// Its id.
    pub run: String,
    /// The position at which the session first names it.
    pub position: u64,
}

/// A session with what is counted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWhole {
    /// The told facts.
    pub session: SessionFacts,
    /// The counts.
    pub counts: SessionCounts,
}

/// A query of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those that this program ran.
    pub harness: Option<String>,
    /// Only those that are over, or are not.
    pub state: Option<SessionState>,
    /// Only those whose first event happened in this time.
    pub between: Option<HappenedBetween>,
    /// Only those named first from this position on.
    pub from: Option<Position>,
    /// Only those named first before this position.
    pub before: Option<Position>,
    /// Only those behind the page that ends here: before this position.
    pub page_end: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, those that were named first last first.
    pub sessions: Vec<SessionWhole>,
    /// The next page has those before this position; `None` at the end. A page may be short and go on all the same: one looks at
    /// [`LOOKED_AT_SESSIONS`] sessions at most.
    pub next: Option<Position>,
    /// The sessions outside of the time asked about, if none lie in it: those that agree with all else.
    pub outside: Option<Outside>,
    /// Every event up to here is in it.
    pub position: Position,
}

impl SessionState {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Open, Self::Ended];

    /// The state in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended => "ended",
        }
    }
}

impl SessionCounts {
    /// Calls that may run, or do: their end is still to come.
    #[must_use]
    pub fn open_calls(&self) -> u64 {
        let Self { ok, errors, timeouts, interrupted, rejected, blocked, waiting, stopped, lapsed, .. } =
            self;
        let ended = ok + errors + timeouts + interrupted + rejected + blocked;
        self.calls.saturating_sub(ended + waiting + stopped + lapsed)
    }

    /// Counts calls without an end where they stand now, and no more where they stood.
    fn move_call(&mut self, before: CallState, now: CallState) {
        if let Some(count) = self.of_state(before) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.of_state(now) {
            *count += 1;
        }
    }

    /// Returns the count of calls in this state; `None` for open ones, which are all that are left.
    const fn of_state(&mut self, state: CallState) -> Option<&mut u64> {
        match state {
            CallState::Open => None,
            CallState::Waiting => Some(&mut self.waiting),
            CallState::Denied => Some(&mut self.stopped),
            CallState::Rejected => Some(&mut self.rejected),
            CallState::Expired | CallState::Withdrawn => Some(&mut self.lapsed),
        }
    }

    /// Approvals without an answer.
    #[must_use]
    pub fn waiting_approvals(&self) -> u64 {
        let Self { approvals_given, approvals_refused, approvals_lapsed, .. } = self;
        self.approvals_asked.saturating_sub(approvals_given + approvals_refused + approvals_lapsed)
    }
}

impl SessionFacts {
    /// Returns the state of the session.
    #[must_use]
    pub const fn state(&self) -> SessionState {
        if self.end.is_some() { SessionState::Ended } else { SessionState::Open }
    }

    /// Sets its times as they are believed now.
    fn settle(mut self, imports: &KnownImports) -> Self {
        self.recorded = self.time;
        self.time = imports.happened(self.recorded, self.brought.as_ref());
        if let Some(end) = &mut self.end {
            end.time = imports.happened(end.time, end.brought.as_ref());
        }
        self
    }
}

impl SessionQuery {
    /// Returns the labels that the query asks for; the label that names the fewest sessions comes first.
    fn labels(&self) -> impl Iterator<Item = (Label, &str)> {
        let labels = [
            (Label::Agent, self.agent.as_deref()),
            (Label::Harness, self.harness.as_deref()),
            (Label::State, self.state.map(SessionState::as_str)),
        ];
        labels.into_iter().filter_map(|(label, value)| Some((label, value?)))
    }

    fn matches(&self, session: &SessionFacts) -> bool {
        self.between.as_ref().is_none_or(|between| between.contains(session.time))
            && self.labels().all(|(label, value)| label.of(session) == Some(value))
    }

    fn positions(&self) -> RangeInclusive<u64> {
        let end = [self.before, self.page_end].into_iter().flatten().min();
        let last = end.map_or(u64::MAX, |before| before.get() - 1);
        self.from.map_or(0, Position::get)..=last
    }

    /// The same question about all times, where one is asked about.
    fn of_all_times(&self) -> Option<Self> {
        let is_of_a_time = self.between.is_some() || self.from.is_some() || self.before.is_some();
        let all = Self { between: None, from: None, before: None, page_end: None, ..self.clone() };
        is_of_a_time.then_some(all)
    }
}

impl ReadModels {
    /// Sessions, those that were named first last first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, ModelError> {
        let view = self.view(SessionsModel.name())?;
        let imports = IMPORTS.read(&view)?;
        let mut page =
            SessionPage { sessions: Vec::new(), next: None, outside: None, position: view.position() };
        let mut at = None;
        for (looked_at, found) in found(&view, query, &imports).enumerate() {
            if page.sessions.len() == query.limit || looked_at == LOOKED_AT_SESSIONS {
                page.next = at;
                break;
            }
            let session = found?.settle(&imports);
            at = Position::new(session.position);
            if query.matches(&session) {
                page.sessions.push(whole(&view, session, &imports)?);
            }
        }
        if page.sessions.is_empty() && page.next.is_none() {
            page.outside = query.of_all_times().map(|all| count(&view, &all)).transpose()?;
        }
        Ok(page)
    }

    /// One session with the newest [`SHOWN_RUNS`] runs in it, and up to where it is known.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    #[expect(clippy::type_complexity, reason = "an answer of three parts that go different ways")]
    pub fn session(
        &self,
        session: &str,
    ) -> Result<(Option<(SessionWhole, Vec<RunOfSession>)>, Position), ModelError> {
        let view = self.view(SessionsModel.name())?;
        let Some(known) = view.row::<SessionFacts>(&view.key(SESSION, &[session]))? else {
            return Ok((None, view.position()));
        };
        let runs = view.rows::<String>(view.key(RUNS, &[session]), 0..=u64::MAX).rev().take(SHOWN_RUNS);
        let runs = runs.map(|row| row.map(|(position, run)| RunOfSession { run, position }));
        let runs = runs.collect::<Result<_, _>>()?;
        let imports = IMPORTS.read(&view)?;
        Ok((Some((whole(&view, known.settle(&imports), &imports)?, runs)), view.position()))
    }
}

/// Sessions that a question is about, as far as one page looks.
fn count(view: &View, query: &SessionQuery) -> Result<Outside, ModelError> {
    let mut outside = Outside { count: 0, is_more: false };
    for (looked_at, session) in found(view, query, &KnownImports::default()).enumerate() {
        if looked_at == LOOKED_AT_SESSIONS {
            outside.is_more = true;
            break;
        }
        outside.count += u64::from(query.matches(&session?));
    }
    Ok(outside)
}

/// Sessions that may be asked for, those that were named first last first.
fn found<'v>(
    view: &'v View,
    query: &SessionQuery,
    imports: &KnownImports,
) -> Box<dyn Iterator<Item = Result<SessionFacts, ModelError>> + 'v> {
    let named = view.key(NAMED, &[]);
    let ranges = imports.ranges(query.between.as_ref(), &query.positions());
    let Some((label, value)) = query.labels().next() else {
        let rows = ranges.into_iter().flat_map(move |range| view.rows::<String>(named, range).rev());
        return Box::new(rows.filter_map(move |row| {
            row.and_then(|(_, session)| view.row(&view.key(SESSION, &[&session]))).transpose()
        }));
    };
    let key = view.key(label as u8, &[value]);
    let positions = ranges.into_iter().flat_map(move |range| view.posted(key, range));
    Box::new(positions.filter_map(move |position| {
        let session = position.and_then(|position| view.row::<String>(&named.at(position)));
        let session = session.map(|session| session.map(|session| view.key(SESSION, &[&session])));
        session.and_then(|key| key.map_or(Ok(None), |key| view.row(&key))).transpose()
    }))
}

fn whole(view: &View, session: SessionFacts, imports: &KnownImports) -> Result<SessionWhole, ModelError> {
    let tally = view.row::<SessionTally>(&view.key(COUNTS, &[&session.session]))?.unwrap_or_default();
    let mut counts = tally.counts;
    counts.last_time = imports.happened(counts.last_time, counts.last_brought.as_ref());
    Ok(SessionWhole { session, counts })
}

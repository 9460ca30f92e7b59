//! One session: its row of told facts, and its answer in the HTTP interface.

use bitacora_api::{SessionAnswer, SessionEndAnswer, SessionRunAnswer, SessionTotalsAnswer};
use bitacora_formats::{Micros, format_time, format_usd};
use serde::{Deserialize, Serialize};

use super::SessionCounts;
use crate::import_times::{ImportOrigin, KnownImports};

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

impl SessionFacts {
    /// Returns the state of the session.
    #[must_use]
    pub const fn state(&self) -> SessionState {
        if self.end.is_some() { SessionState::Ended } else { SessionState::Open }
    }

    /// Sets its times as they are believed now.
    pub(super) fn settle(mut self, imports: &KnownImports) -> Self {
        self.recorded = self.time;
        self.time = imports.happened(self.recorded, self.brought.as_ref());
        if let Some(end) = &mut self.end {
            end.time = imports.happened(end.time, end.brought.as_ref());
        }
        self
    }
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

impl From<SessionEnd> for SessionEndAnswer {
    fn from(end: SessionEnd) -> Self {
        Self {
            position: end.position.to_string(),
            time: format_time(Micros(end.time)),
            reason: end.reason,
            totals: end.totals.map(Into::into),
        }
    }
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

impl From<SessionTotals> for SessionTotalsAnswer {
    fn from(totals: SessionTotals) -> Self {
        let SessionTotals { turns, calls, events, tokens_in, tokens_out, cost_micro_usd, duration_ms } =
            totals;
        let cost_usd = cost_micro_usd.map(|cost| format_usd(cost.into()));
        Self { turns, calls, events, tokens_in, tokens_out, cost_usd, duration_ms }
    }
}

/// The state of a session: going on, or over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It goes on, as far as is known.
    Open,
    /// It said that it ended.
    Ended,
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

/// A run that is named in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOfSession {
    /// Its id.
    pub run: String,
    /// The position at which the session first names it.
    pub position: u64,
}

impl From<RunOfSession> for SessionRunAnswer {
    fn from(RunOfSession { run, position }: RunOfSession) -> Self {
        Self { run, position: position.to_string() }
    }
}

/// A session with what is counted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWhole {
    /// The told facts.
    pub session: SessionFacts,
    /// The counts.
    pub counts: SessionCounts,
}

impl From<SessionWhole> for SessionAnswer {
    fn from(SessionWhole { session, counts }: SessionWhole) -> Self {
        Self {
            state: session.state().as_str().to_owned(),
            session: session.session,
            position: session.position.to_string(),
            time: format_time(Micros(session.time)),
            recorded: format_time(Micros(session.recorded)),
            started: session.started.map(|position| position.to_string()),
            ended: session.end.map(Into::into),
            last: counts.last.to_string(),
            last_time: format_time(Micros(counts.last_time)),
            harness: session.harness,
            version: session.version,
            model: session.model,
            cwd: session.cwd,
            agent: session.agent,
            actor: session.actor,
            imported: session.imported,
            events: counts.events,
            turns: counts.turns,
            runs: counts.runs,
            gaps: counts.gaps,
            calls: (&counts).into(),
            approvals: (&counts).into(),
            spending: (&counts.spending).into(),
        }
    }
}

//! Sessions: their agents and programs, their beginnings and ends, their requests and results.
//!
//! A session is whatever events name as theirs. One that never says that it begins is there from its first event on; one that
//! never says that it ends stays open, and shows when it was seen last.

mod counts;
mod fold;
mod session;
mod session_rows;

use std::ops::RangeInclusive;

use bitacora_formats::Position;

use crate::import_times::{HappenedBetween, KnownImports, Outside};
use crate::limits::{LOOKED_AT_SESSIONS, SHOWN_RUNS};
use crate::models::{Model as _, ModelError, ReadModels, View};
pub use counts::SessionCounts;
pub(crate) use fold::SessionsModel;
pub use session::{RunOfSession, SessionEnd, SessionFacts, SessionState, SessionTotals, SessionWhole};
use session_rows::{COUNTS, IMPORTS, Label, NAMED, RUNS, SESSION, SessionTally};

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
        match session {
            Ok(found) => outside.count += u64::from(query.matches(&found)),
            // It left the store, and so may those behind it: they are not brought back for a number.
            Err(ModelError::Recalling { .. }) => {
                outside.is_more = true;
                break;
            }
            Err(error) => return Err(error),
        }
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

//! A session's rows on their way from one event to the next.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{SessionCounts, SessionFacts};
use crate::import_times::{ImportOrigin, ImportTables};
use crate::models::{AssuranceMarker, FoldError, FoldEvent, Live, RowKey, Rows};

/// The told facts of a session, by its id: they change seldom.
pub(super) const SESSION: u8 = 1;
/// The counts of a session: they change with each of its events.
pub(super) const COUNTS: u8 = 2;
/// The ids of sessions, by where they are named first.
pub(super) const NAMED: u8 = 3;
/// The runs of a session, by where it names them first.
pub(super) const RUNS: u8 = 4;
/// The note that a session names a run.
const NAMES_RUN: u8 = 5;
/// The imports that brought sessions, and those of them that are accepted.
pub(super) const IMPORTS: ImportTables = ImportTables { under_way: 14, imports: 15, numbers: 16 };

/// The labels that sessions are found by; the number is that of the table that has the positions of their first naming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Label {
    State = 9,
    Agent = 10,
    Harness = 11,
}

/// The part of a session that its events change, all in one row that is quickly written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionTally {
    pub(super) counts: SessionCounts,
    imported: bool,
    /// The import that brought its first event, and the time that the event states. It counts once the session is known to be recorded
    /// elsewhere.
    first_brought: Option<ImportOrigin>,
    has_agent: bool,
    has_actor: bool,
    pub(super) has_model: bool,
    /// The run that was named last.
    run: Option<String>,
    /// Calls that ended in the newest frame before anything was said of them: that comes in the same frame, if at all.
    ended_first: EarlyEnds,
}

/// Calls that ended before anything was said of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct EarlyEnds {
    /// The time of their frame.
    frame: u64,
    /// The names of these calls.
    calls: BTreeSet<[String; 2]>,
}

impl Label {
    const ALL: [Self; 3] = [Self::State, Self::Agent, Self::Harness];

    pub(super) fn of(self, session: &SessionFacts) -> Option<&str> {
        match self {
            Self::State => Some(session.state().as_str()),
            Self::Agent => session.agent.as_deref(),
            Self::Harness => session.harness.as_deref(),
        }
    }
}

/// A session on its way from one event to the next.
pub(super) struct SessionRows<'a> {
    session: &'a str,
    key: RowKey,
    pub(super) tally: Box<SessionTally>,
}

impl Live for SessionTally {
    fn held(&self) -> usize {
        let ended = self.ended_first.calls.iter().flatten();
        self.run.iter().chain(ended).map(|text| size_of::<String>() + text.len()).sum()
    }
}

impl<'a> SessionRows<'a> {
    /// The session with this event counted.
    pub(super) fn at(
        event: &FoldEvent<'_>,
        rows: &mut Rows<'_>,
        session: &'a str,
        assurance: Option<AssuranceMarker>,
        run: Option<&str>,
    ) -> Result<Self, FoldError> {
        let key = rows.key(COUNTS, &[session]);
        let known = rows.take_live::<SessionTally>(&key)?;
        let is_new = known.is_none();
        let mut tally = known.unwrap_or_default();
        let is_marked = assurance.is_some() && !tally.imported;
        tally.imported |= is_marked;
        // Not every event of what was brought here says so.
        let brought = if tally.imported || is_new { IMPORTS.brought(event, rows)? } else { None };
        let (time, position) = (event.time.0, event.position.get());
        let (counts, record) = (&mut tally.counts, event.record);
        counts.events += 1;
        (counts.last, counts.last_time) = (position, time);
        counts.last_brought = brought.filter(|_| tally.imported);
        if tally.ended_first.frame != event.time.0 {
            tally.ended_first = EarlyEnds::default();
        }
        let mut place = Self { session, key, tally };
        if is_new {
            place.tally.first_brought = brought;
            let named =
                SessionFacts { session: session.to_owned(), position, time, ..SessionFacts::default() };
            rows.add(&rows.key(NAMED, &[]).at(position), &session)?;
            rows.post(rows.key(Label::State as u8, &[named.state().as_str()]), position)?;
            rows.put(&rows.key(SESSION, &[session]), &named)?;
        }
        let gains = |has: bool, text: &Option<Cow<'_, str>>| !has && text.is_some();
        let gains_one =
            gains(place.tally.has_agent, &record.agent) || gains(place.tally.has_actor, &record.actor);
        let brought = place.tally.first_brought.filter(|_| is_marked);
        if gains_one || is_marked {
            let named = place.tell(rows, |session| {
                let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
                session.agent = session.agent.take().or_else(|| owned(&record.agent));
                session.actor = session.actor.take().or_else(|| owned(&record.actor));
                session.imported |= is_marked;
                session.brought = brought.or(session.brought);
            })?;
            if let Some(brought) = brought {
                IMPORTS.note(rows, named, brought)?;
            }
            place.tally.has_agent |= record.agent.is_some();
            place.tally.has_actor |= record.actor.is_some();
        }
        if let Some(run) = record.run.as_deref().or(run) {
            place.names(rows, run, position)?;
        }
        Ok(place)
    }

    /// Changes what is told of the session, and by what it is found; where it is named first.
    pub(super) fn tell(
        &self,
        rows: &mut Rows<'_>,
        tell: impl FnOnce(&mut SessionFacts),
    ) -> Result<u64, FoldError> {
        let key = rows.key(SESSION, &[self.session]);
        let before = rows.row::<SessionFacts>(&key)?;
        let before = before.ok_or(FoldError::Contradiction("a session is counted and has no row"))?;
        let mut session = before.clone();
        tell(&mut session);
        for label in Label::ALL {
            let (was, is) = (label.of(&before), label.of(&session));
            if was == is {
                continue;
            }
            if let Some(was) = was {
                rows.unpost(rows.key(label as u8, &[was]), session.position)?;
            }
            if let Some(is) = is {
                rows.post(rows.key(label as u8, &[is]), session.position)?;
            }
        }
        rows.put(&key, &session)?;
        Ok(session.position)
    }

    fn names(&mut self, rows: &mut Rows<'_>, run: &str, position: u64) -> Result<(), FoldError> {
        // Mostly it is the same one again.
        if self.tally.run.as_deref() == Some(run) {
            return Ok(());
        }
        let key = rows.key(NAMES_RUN, &[self.session, run]);
        if rows.row::<()>(&key)?.is_none() {
            rows.put(&key, &())?;
            rows.put(&rows.key(RUNS, &[self.session]).at(position), &run)?;
            self.tally.counts.runs += 1;
        }
        self.tally.run = Some(run.to_owned());
        Ok(())
    }

    /// The first model that is named, where the session did not begin with one.
    pub(super) fn uses(&mut self, rows: &mut Rows<'_>, model: Option<&str>) -> Result<(), FoldError> {
        let Some(model) = model.filter(|_| !self.tally.has_model) else { return Ok(()) };
        self.tally.has_model = true;
        self.tell(rows, |session| session.model = Some(model.to_owned())).map(drop)
    }

    /// Notes that a call ended of which nothing was said yet.
    pub(super) fn end_first(&mut self, event: &FoldEvent<'_>, call: [&str; 2]) {
        self.tally.ended_first.frame = event.time.0;
        self.tally.ended_first.calls.insert(call.map(str::to_owned));
    }

    /// Returns `true` if a call ended before its decision, which is recorded once; the call is forgotten then.
    pub(super) fn has_ended_first(&mut self, call: [&str; 2]) -> bool {
        // Mostly there is none.
        let calls = &mut self.tally.ended_first.calls;
        !calls.is_empty() && calls.remove(&call.map(str::to_owned))
    }

    pub(super) fn store(self, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        Ok(rows.put_live(&self.key, self.tally)?)
    }
}

/// Changes what is counted of a session by what is no event of its own.
pub(super) fn count_in(
    rows: &mut Rows<'_>,
    session: &str,
    count: impl FnOnce(&mut SessionCounts),
) -> Result<(), FoldError> {
    let key = rows.key(COUNTS, &[session]);
    let Some(mut tally) = rows.take_live::<SessionTally>(&key)? else { return Ok(()) };
    count(&mut tally.counts);
    Ok(rows.put_live(&key, tally)?)
}

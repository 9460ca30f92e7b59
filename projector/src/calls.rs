//! The audit table of calls, one row for each call of a tool: request, verdict, reason, end, approver.
//! Calls are found by call, run, session, agent, actor, tool, outcome and verdict, the newest first.

mod call;
mod fold;

use std::ops::RangeInclusive;

use bitacora_formats::Position;

use crate::import_times::{HappenedBetween, KnownImports, Outside};
use crate::limits::LOOKED_AT_CALLS;
use crate::models::{Model as _, ModelError, ReadModels, View};
pub use call::{CallApproval, CallArtifact, CallDecision, CallOutcome, CallSummary, outcome_word};
pub(crate) use fold::CallsModel;
use fold::{IMPORTS, Label, OF_ID, OfId, ROWS};

/// The outcomes of a call that a query can name: its end, else its state.
pub const CALL_OUTCOMES: [&str; 11] = [
    "open",
    "waiting",
    "ok",
    "error",
    "timeout",
    "interrupted",
    "rejected",
    "blocked",
    "denied",
    "expired",
    "withdrawn",
];
/// The verdicts on a call that a query can name; `none` for a call without one.
pub const CALL_VERDICTS: [&str; 4] = ["none", "allow", "review", "deny"];

/// A query of calls: those that agree with every member that is set.
#[derive(Debug, Clone, Default)]
pub struct CallQuery {
    /// Its id.
    pub call: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The actor that wrote the request.
    pub actor: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The outcome: one of [`CALL_OUTCOMES`].
    pub outcome: Option<String>,
    /// The verdict; `none` for calls without one.
    pub verdict: Option<String>,
    /// The reason of its last decision, in one word.
    pub reason: Option<String>,
    /// Only those that happened in this time.
    pub between: Option<HappenedBetween>,
    /// Only those asked for from this position on.
    pub from: Option<Position>,
    /// Only those asked for before this position.
    pub before: Option<Position>,
    /// Only those behind the page that ends here: before this position.
    pub page_end: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A page of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPage {
    /// The calls, the newest first.
    pub calls: Vec<CallSummary>,
    /// The next page has those before this position; `None` at the end. A page may be short and go on all the same: one looks at
    /// [`LOOKED_AT_CALLS`] calls at most.
    pub next: Option<Position>,
    /// The calls outside of the time asked about, if none lie in it: those that agree with all else.
    pub outside: Option<Outside>,
    /// Every event up to here is in it.
    pub position: Position,
}

impl CallQuery {
    /// Everything by which calls are found, with what is asked: what names the fewest calls first.
    fn labels(&self) -> impl Iterator<Item = (Label, &str)> {
        let labels = [
            (Label::Run, &self.run),
            (Label::Session, &self.session),
            (Label::Outcome, &self.outcome),
            (Label::Verdict, &self.verdict),
            (Label::Tool, &self.tool),
            (Label::Agent, &self.agent),
            (Label::Actor, &self.actor),
        ];
        labels.into_iter().filter_map(|(label, value)| Some((label, value.as_deref()?)))
    }

    fn matches(&self, call: &CallSummary) -> bool {
        self.between.as_ref().is_none_or(|between| between.contains(call.time))
            && self.labels().all(|(label, value)| label.of(call) == Some(value))
            && self.reason.as_deref().is_none_or(|reason| {
                call.decision.as_ref().is_some_and(|decision| decision.reason_code == reason)
            })
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
    /// Calls, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn calls(&self, query: &CallQuery) -> Result<CallPage, ModelError> {
        let view = self.view(CallsModel.name())?;
        let imports = IMPORTS.read(&view)?;
        let mut page = CallPage { calls: Vec::new(), next: None, outside: None, position: view.position() };
        let mut at = None;
        for (looked_at, found) in found(&view, query, &imports).enumerate() {
            if page.calls.len() == query.limit || looked_at == LOOKED_AT_CALLS {
                page.next = at;
                break;
            }
            let call = found?.settle(&imports);
            at = Position::new(call.position);
            page.calls.extend(Some(call).filter(|call| query.matches(call)));
        }
        if page.calls.is_empty() && page.next.is_none() {
            page.outside = query.of_all_times().map(|all| count(&view, &all)).transpose()?;
        }
        Ok(page)
    }

    /// The call that has this id now, or had it last.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn call(&self, call: &str) -> Result<(Option<CallSummary>, Position), ModelError> {
        let view = self.view(CallsModel.name())?;
        let latest = view.row::<OfId>(&view.key(OF_ID, &[call]))?.and_then(|of_id| of_id.latest);
        let found = latest.map_or(Ok(None), |position| call_at(&view, position))?;
        let imports = IMPORTS.read(&view)?;
        Ok((found.map(|call| call.settle(&imports)), view.position()))
    }
}

/// Calls that a question is about, as far as one page looks.
fn count(view: &View, query: &CallQuery) -> Result<Outside, ModelError> {
    let mut outside = Outside { count: 0, is_more: false };
    for (looked_at, call) in found(view, query, &KnownImports::default()).enumerate() {
        if looked_at == LOOKED_AT_CALLS {
            outside.is_more = true;
            break;
        }
        match call {
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

/// Calls that may be asked for, the newest first.
fn found<'v>(
    view: &'v View,
    query: &CallQuery,
    imports: &KnownImports,
) -> Box<dyn Iterator<Item = Result<CallSummary, ModelError>> + 'v> {
    let ranges = imports.ranges(query.between.as_ref(), &query.positions());
    if let Some(call) = &query.call {
        return Box::new(with_id(view, call, ranges));
    }
    let Some((label, value)) = query.labels().next() else {
        let key = view.key(ROWS, &[]);
        let rows = ranges.into_iter().flat_map(move |range| view.rows(key, range).rev());
        return Box::new(rows.map(|row| row.map(|(_, call)| call)));
    };
    let key = view.key(label as u8, &[value]);
    let positions = ranges.into_iter().flat_map(move |range| view.posted(key, range));
    Box::new(
        positions.filter_map(|position| position.and_then(|position| call_at(view, position)).transpose()),
    )
}

/// Calls that had an id one after another, the last one first.
fn with_id<'v>(
    view: &'v View,
    call: &str,
    ranges: Vec<RangeInclusive<u64>>,
) -> impl Iterator<Item = Result<CallSummary, ModelError>> + 'v {
    let of_id = view.row::<OfId>(&view.key(OF_ID, &[call]));
    let mut next = of_id.map(|of_id| of_id.and_then(|of_id| of_id.latest)).transpose();
    let all = std::iter::from_fn(move || {
        let found = next.take()?.and_then(|position| call_at(view, position)).transpose()?;
        next = found.as_ref().ok().and_then(|call| call.earlier).map(Ok);
        Some(found)
    });
    let is_wanted = move |found: &Result<CallSummary, ModelError>| {
        found.as_ref().map_or(true, |call| ranges.iter().any(|range| range.contains(&call.position)))
    };
    all.filter(is_wanted)
}

fn call_at(view: &View, position: u64) -> Result<Option<CallSummary>, ModelError> {
    view.row(&fold::row_key(|table| view.key(table, &[]), position))
}

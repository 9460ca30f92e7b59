//! The fold of events into sums of calls.
//!
//! The facts known of a call grow event by event, and with them changes the cell that it counts in. Its context and role come with the
//! decision, its end after that, or before it for a call that was recorded elsewhere. So a call is taken off the cell in which it counted
//! and counted anew, until none of its facts can change.

use bitacora_vocabulary::{
    DecisionMade, EventData as _, ToolBlocked, ToolCompleted, ToolFailed, ToolRequested, Verdict,
};
use serde::{Deserialize, Serialize};

use super::{ToolCounts, ToolSum, minutes};
use crate::day::DAY;
use crate::import_times::{IMPORT_KINDS, ImportOrigin, ImportTables};
use crate::models::{AssuranceMarker, FoldError, FoldEvent, Live, Model, RowKey, Rows, ToolRequestView};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct ToolsModel;

/// Sums of what happened here, by day and then by the other four.
pub(super) const CELLS: u8 = 1;
/// The sums of an import, by its number: by the days that it tells of itself, which count once it is accepted.
pub(super) const BROUGHT: u8 = 2;
/// The same by the day of its recording, which counts until then.
pub(super) const BROUGHT_ON: u8 = 3;
/// Calls of which something may still change.
const CALLS: u8 = 4;
/// The imports that brought calls, and those of them that are accepted.
pub(super) const IMPORTS: ImportTables = ImportTables { under_way: 5, imports: 6, numbers: 7 };

/// Decisions, by the minute of their recording.
pub(super) const MINUTES: u8 = 8;

/// Stands for what is not known.
const UNKNOWN: &str = "-";
/// The status of a call that was given up: what really came of it may be told later.
const TIMEOUT: &str = "timeout";

/// Calls of one day, tool, context, role and agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) tool: String,
    pub(super) context: String,
    pub(super) role: String,
    pub(super) agent: String,
    pub(super) sum: ToolSum,
}

/// The known facts of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CallProgress {
    /// The time of its recording, microseconds since 1970.
    recorded: u64,
    brought: Option<ImportOrigin>,
    tool: String,
    agent: String,
    context: Option<String>,
    role: Option<String>,
    /// The last verdict.
    verdict: Option<Verdict>,
    was_reviewed: bool,
    was_denied: bool,
    end: Option<End>,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    status: String,
    duration_ms: Option<u64>,
}

impl Live for Cell {
    fn held(&self) -> usize {
        let texts = [&self.tool, &self.context, &self.role, &self.agent];
        texts.map(String::len).iter().sum::<usize>() + self.sum.took.held()
    }
}

impl Cell {
    /// `true`: all that counted in it counts elsewhere now.
    pub(super) fn is_empty(&self) -> bool {
        self.sum.counts == ToolCounts::default()
    }
}

impl Model for ToolsModel {
    fn name(&self) -> &'static str {
        "tools"
    }

    fn version(&self) -> u32 {
        2
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            ToolRequested::KIND,
            DecisionMade::KIND,
            ToolCompleted::KIND,
            ToolFailed::KIND,
            ToolBlocked::KIND,
            IMPORT_KINDS[0],
            IMPORT_KINDS[1],
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows),
            DecisionMade::KIND => decided(event, rows),
            kind if IMPORT_KINDS.contains(&kind) => IMPORTS.fold(event, rows),
            _ => ended(event, rows),
        }
    }
}

fn requested(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    // Sealed data is not known here; the call's id stands outside.
    let sealed = event.record.call.as_deref().map(ToolRequestView::of_sealed);
    let Some(payload) = event.requested()?.or(sealed.as_ref()) else { return Ok(()) };
    let key = rows.key(CALLS, &event.call_values(&payload.call, payload.assurance.is_some()));
    // Asked for again before its end it is the same call.
    if rows.row::<CallProgress>(&key)?.is_some_and(|known| known.end.is_none()) {
        return Ok(());
    }
    let known = begun(event, rows, &payload.tool, payload.assurance)?;
    change(rows, &key, None, &known)
}

fn begun(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    tool: &str,
    assurance: Option<AssuranceMarker>,
) -> Result<CallProgress, FoldError> {
    let brought = assurance.map_or(Ok(None), |_| IMPORTS.brought(event, rows))?;
    if let Some(brought) = brought {
        IMPORTS.note(rows, event.position.get(), brought)?;
    }
    Ok(CallProgress {
        recorded: event.time.0,
        brought,
        tool: tool.to_owned(),
        agent: event.record.agent.as_deref().unwrap_or(UNKNOWN).to_owned(),
        context: None,
        role: None,
        verdict: None,
        was_reviewed: false,
        was_denied: false,
        end: None,
    })
}

fn decided(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.decided()? else { return Ok(()) };
    if !payload.inputs.imported {
        minutes::count(rows, event.time.0, payload.verdict)?;
    }
    let key = rows.key(CALLS, &event.call_values(&payload.call, payload.inputs.imported));
    let Some(before) = rows.row::<CallProgress>(&key)? else { return Ok(()) };
    let mut known = before.clone();
    known.verdict = Some(payload.verdict);
    known.was_reviewed |= payload.verdict == Verdict::Review;
    known.was_denied |= payload.verdict == Verdict::Deny;
    known.context = payload.inputs.dimension.context.as_deref().map(str::to_owned).or(known.context);
    known.role = payload.inputs.role.as_deref().map(str::to_owned).or(known.role);
    change(rows, &key, Some(&before), &known)
}

fn ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.outcome()? else { return Ok(()) };
    let (Some(call), Some(status)) = (&payload.call, &payload.status) else {
        return Err(FoldError::Contradiction("a call ended without an id or a status"));
    };
    let key = rows.key(CALLS, &event.call_values(call, payload.assurance.is_some()));
    let goes_on = |known: &CallProgress| known.end.as_ref().is_none_or(|end| end.status == TIMEOUT);
    let before = rows.row::<CallProgress>(&key)?.filter(goes_on);
    let known = before.clone().map_or_else(|| begun(event, rows, UNKNOWN, payload.assurance), Ok)?;
    let end = End { status: status.clone().into_owned(), duration_ms: payload.duration_ms };
    change(rows, &key, before.as_ref(), &CallProgress { end: Some(end), ..known })
}

/// Counts a call as what is known of it now, and no more as what was known before. One of which nothing was said yet and that has not
/// ended counts nowhere: mostly a decision follows at once.
fn change(
    rows: &mut Rows<'_>,
    key: &RowKey,
    before: Option<&CallProgress>,
    now: &CallProgress,
) -> Result<(), FoldError> {
    let before = before.filter(|before| before.is_counted());
    match before {
        Some(before) if before.of() == now.of() => count(rows, now, &|sum| {
            before.take_off(sum);
            now.count_in(sum);
        })?,
        Some(before) => {
            count(rows, before, &|sum| before.take_off(sum))?;
            count(rows, now, &|sum| now.count_in(sum))?;
        }
        None if now.is_counted() => count(rows, now, &|sum| now.count_in(sum))?,
        None => {}
    }
    let is_settled = now.verdict.is_some() && now.end.as_ref().is_some_and(|end| end.status != TIMEOUT);
    if is_settled {
        rows.remove(key)?;
    } else {
        rows.put(key, now)?;
    }
    Ok(())
}

/// Changes the sums that a call counts in: one, or, of what an import brought, one of either day.
fn count(rows: &mut Rows<'_>, call: &CallProgress, change: &dyn Fn(&mut ToolSum)) -> Result<(), FoldError> {
    let recorded = call.recorded / DAY;
    let Some(brought) = call.brought else {
        let day = rows.key(CELLS, &[]).at(recorded);
        return count_on(rows, day, call, change);
    };
    let import = brought.import.to_string();
    for (table, day) in [(BROUGHT, brought.own_time / DAY), (BROUGHT_ON, recorded)] {
        let day = rows.key(table, &[&import]).at(day);
        count_on(rows, day, call, change)?;
    }
    Ok(())
}

fn count_on(
    rows: &mut Rows<'_>,
    day: RowKey,
    call: &CallProgress,
    change: &dyn Fn(&mut ToolSum),
) -> Result<(), FoldError> {
    let of = call.of();
    let key = day.at(rows.key(CELLS, &of).group_number());
    let mut cell = rows.take_live::<Cell>(&key)?.unwrap_or_else(|| {
        let [tool, context, role, agent] = of.map(str::to_owned);
        Box::new(Cell { tool, context, role, agent, sum: ToolSum::default() })
    });
    if [&*cell.tool, &cell.context, &cell.role, &cell.agent] != of {
        return Err(FoldError::Contradiction("two tools, contexts, roles and agents have one key"));
    }
    change(&mut cell.sum);
    Ok(rows.put_live(&key, cell)?)
}

impl CallProgress {
    /// Returns the cell that it counts in, within its day.
    fn of(&self) -> [&str; 4] {
        let [context, role] = [&self.context, &self.role].map(|text| text.as_deref().unwrap_or(UNKNOWN));
        [&self.tool, context, role, &self.agent]
    }

    fn is_counted(&self) -> bool {
        self.verdict.is_some() || self.end.is_some()
    }

    fn count_in(&self, sum: &mut ToolSum) {
        let counts = self.counts();
        sum.counts.each(&counts, |sum, one| sum + one);
        if let Some(took) = self.took() {
            sum.took.count(took);
        }
    }

    fn take_off(&self, sum: &mut ToolSum) {
        let counts = self.counts();
        sum.counts.each(&counts, u64::saturating_sub);
        if let Some(took) = self.took() {
            sum.took.discount(took);
        }
    }

    fn took(&self) -> Option<u64> {
        self.end.as_ref().and_then(|end| end.duration_ms)
    }

    /// Returns its counts, each 0 or 1.
    fn counts(&self) -> ToolCounts {
        let status = self.end.as_ref().map(|end| end.status.as_str());
        let is = |expected: &str| u64::from(status == Some(expected));
        ToolCounts {
            calls: 1,
            allowed: u64::from(self.verdict == Some(Verdict::Allow)),
            reviewed: u64::from(self.was_reviewed),
            denied: u64::from(self.was_denied),
            ok: is("ok"),
            errors: is("error"),
            timeouts: is(TIMEOUT),
            interrupted: is("interrupted"),
            rejected: is("rejected"),
            blocked: is("blocked"),
        }
    }
}

//! The fold of events into costs.

use std::borrow::Cow;

use bitacora_vocabulary::{
    DecisionMade, EventData as _, ModelCalled, RunStarted, ToolBlocked, ToolCompleted, ToolFailed,
    ToolRequested,
};
use serde::{Deserialize, Serialize};

use super::{Cell, Of};
use crate::day::DAY;
use crate::import_times::{IMPORT_KINDS, ImportTables};
use crate::models::{AssuranceMarker, FoldError, FoldEvent, Model, RowKey, Rows, Tokens, lenient};
use crate::spending::{News, SpendingSums, news_of_answer};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct CostsModel;

/// The tables of sums, by day and then by everything else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables {
    /// Of what happened here.
    pub(super) spent: u8,
    /// The sums of an import, by its number: by the days that it tells of itself, which count once it is accepted.
    pub(super) brought: u8,
    /// The same by the day of its recording, which counts until then.
    pub(super) brought_on: u8,
}

/// Sums without runs, sessions and cases.
const FEW: Tables = Tables { spent: 1, brought: 5, brought_on: 6 };
/// Sums with them.
const MANY: Tables = Tables { spent: 10, brought: 11, brought_on: 12 };
/// The number of a cell's texts that those of [`FEW`] have.
const FEW_PARTS: usize = 5;

/// The task type that a session last worked on, as its calls said.
const TASK_OF_SESSION: u8 = 2;
/// The request of a call without an outcome.
const OPEN_CALL: u8 = 3;
/// Answers of models that a log of calls told of, by their requests.
const COUNTED_ANSWER: u8 = 4;
/// The imports that tell of costs, and those of them that are accepted.
pub(super) const IMPORTS: ImportTables = ImportTables { under_way: 7, imports: 8, numbers: 9 };
/// The role that a session's last decision named.
const ROLE_OF_SESSION: u8 = 13;
/// The case that a run is about.
const CASE_OF_RUN: u8 = 14;

/// Stands for what is not known.
const UNKNOWN: &str = "-";

/// A call that has no outcome yet.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OpenCostCall {
    model: Option<String>,
    task: Option<String>,
    agent: Option<String>,
    tool: Option<String>,
    role: Option<String>,
    run: Option<String>,
    session: Option<String>,
}

#[derive(Deserialize)]
struct RunStartView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    run: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    case: Option<Cow<'a, str>>,
}

impl Tables {
    pub(super) const fn of(is_of_work: bool) -> Self {
        if is_of_work { MANY } else { FEW }
    }
}

impl Model for CostsModel {
    fn name(&self) -> &'static str {
        "costs"
    }

    fn version(&self) -> u32 {
        6
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            ModelCalled::KIND,
            ToolRequested::KIND,
            DecisionMade::KIND,
            ToolCompleted::KIND,
            ToolFailed::KIND,
            ToolBlocked::KIND,
            RunStarted::KIND,
            IMPORT_KINDS[0],
            IMPORT_KINDS[1],
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows),
            ModelCalled::KIND => model_called(event, rows),
            DecisionMade::KIND => decided(event, rows),
            RunStarted::KIND => run_started(event, rows),
            kind if IMPORT_KINDS.contains(&kind) => IMPORTS.fold(event, rows),
            _ => ended(event, rows),
        }
    }
}

fn owned(text: &Option<Cow<'_, str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

/// Returns the attributes of an event outside of its data.
fn named(event: &FoldEvent<'_>) -> OpenCostCall {
    let record = event.record;
    OpenCostCall {
        agent: owned(&record.agent),
        run: owned(&record.run),
        session: owned(&record.session),
        ..OpenCostCall::default()
    }
}

fn requested(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(requested) = event.requested()? else { return Ok(()) };
    let named = named(event);
    if let (Some(session), Some(task)) = (&named.session, &requested.task_type) {
        rows.put(&rows.key(TASK_OF_SESSION, &[session]), task)?;
    }
    let open = OpenCostCall {
        model: owned(&requested.model),
        task: owned(&requested.task_type),
        tool: Some(requested.tool.clone().into_owned()),
        run: named.run.or_else(|| owned(&requested.run)),
        ..named
    };
    let key = rows.key(OPEN_CALL, &event.call_values(&requested.call, requested.assurance.is_some()));
    rows.put(&key, &open)?;
    match (requested.tokens, requested.assurance) {
        (Some(tokens), Some(_)) => {
            let answer = requested.request.as_deref().unwrap_or(&requested.call);
            let news = news_of_answer(rows, COUNTED_ANSWER, answer, &tokens)?;
            // They are the model's that asked for the call, and not the tool's.
            spend_news(event, rows, OpenCostCall { tool: None, ..open }, requested.assurance, &news)
        }
        _ => Ok(()),
    }
}

fn decided(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.decided()? else { return Ok(()) };
    let Some(role) = payload.inputs.role.as_deref() else { return Ok(()) };
    if let Some(session) = event.record.session.as_deref() {
        let key = rows.key(ROLE_OF_SESSION, &[session]);
        if rows.row::<String>(&key)?.as_deref() != Some(role) {
            rows.put(&key, &role)?;
        }
    }
    let key = rows.key(OPEN_CALL, &event.call_values(&payload.call, payload.inputs.imported));
    if let Some(open) = rows.row::<OpenCostCall>(&key)? {
        rows.put(&key, &OpenCostCall { role: Some(role.to_owned()), ..open })?;
    }
    Ok(())
}

fn run_started(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<RunStartView<'_>>()? else { return Ok(()) };
    let run = payload.run.as_deref().or(event.record.run.as_deref());
    if let (Some(run), Some(case)) = (run, payload.case) {
        rows.put(&rows.key(CASE_OF_RUN, &[run]), &case)?;
    }
    Ok(())
}

fn model_called(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.outcome()? else { return Ok(()) };
    let named = named(event);
    let task = match &named.session {
        Some(session) => rows.row::<String>(&rows.key(TASK_OF_SESSION, &[session]))?,
        None => None,
    };
    let of = OpenCostCall { model: owned(&payload.model), task, ..named };
    if let (Some(tokens), Some(request), Some(_), None) =
        (&payload.tokens, payload.request.as_deref(), payload.assurance, payload.cost_micro_usd)
    {
        let news = news_of_answer(rows, COUNTED_ANSWER, request, tokens)?;
        return spend_news(event, rows, of, payload.assurance, &news);
    }
    let position = event.position.get();
    spend(event, rows, of, payload.assurance, |spending| spending.count(position, payload, true))
}

fn spend_news(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    of: OpenCostCall,
    assurance: Option<AssuranceMarker>,
    news: &News,
) -> Result<(), FoldError> {
    if !news.is_first && news.tokens == Tokens::default() {
        return Ok(());
    }
    let position = event.position.get();
    spend(event, rows, of, assurance, |spending| spending.count_news(position, news))
}

fn ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.outcome()? else { return Ok(()) };
    let Some(call) = payload.call.as_deref() else { return Ok(()) };
    let key = rows.key(OPEN_CALL, &event.call_values(call, payload.assurance.is_some()));
    let open = rows.row::<OpenCostCall>(&key)?;
    rows.remove(&key)?;
    if !payload.is_spending() {
        return Ok(());
    }
    let position = event.position.get();
    let of = open.unwrap_or_else(|| named(event));
    spend(event, rows, of, payload.assurance, |spending| spending.count(position, payload, false))
}

fn spend(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    of: OpenCostCall,
    assurance: Option<AssuranceMarker>,
    count: impl Fn(&mut SpendingSums),
) -> Result<(), FoldError> {
    let role = match (of.role, &of.session) {
        (None, Some(session)) => rows.row::<String>(&rows.key(ROLE_OF_SESSION, &[session]))?,
        (role, _) => role,
    };
    let case = match &of.run {
        Some(run) => rows.row::<String>(&rows.key(CASE_OF_RUN, &[run]))?,
        None => None,
    };
    let many = [of.model, of.task, of.agent, of.tool, role, of.run, of.session, case];
    let many = many.map(|text| text.unwrap_or_else(|| UNKNOWN.to_owned()));
    let mut few = many.clone();
    few.iter_mut().skip(FEW_PARTS).for_each(|text| UNKNOWN.clone_into(text));
    let recorded = event.time.0 / DAY;
    let brought = assurance.map_or(Ok(None), |_| IMPORTS.brought(event, rows))?;
    if let Some(brought) = brought {
        IMPORTS.note(rows, event.position.get(), brought)?;
    }
    for (tables, of) in [(FEW, few), (MANY, many)] {
        let Some(brought) = brought else {
            let day = rows.key(tables.spent, &[]).at(recorded);
            spend_in(event, rows, day, &of, &count)?;
            continue;
        };
        let import = brought.import.to_string();
        for (table, day) in [(tables.brought, brought.own_time / DAY), (tables.brought_on, recorded)] {
            let day = rows.key(table, &[&import]).at(day);
            spend_in(event, rows, day, &of, &count)?;
        }
    }
    Ok(())
}

/// Counts in the cell of a day, whose key is given.
fn spend_in(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    day: RowKey,
    of: &Of<String>,
    count: &impl Fn(&mut SpendingSums),
) -> Result<(), FoldError> {
    let key = day.at(rows.key(FEW.spent, &of.each_ref().map(String::as_str)).group_number());
    let mut cell = rows.row::<Cell>(&key)?.unwrap_or_else(|| Cell {
        of: of.clone(),
        spending: SpendingSums { first: event.position.get(), ..SpendingSums::default() },
    });
    if cell.of != *of {
        return Err(FoldError::Contradiction("two of what costs are summed up by have one key"));
    }
    count(&mut cell.spending);
    rows.put(&key, &cell)?;
    Ok(())
}

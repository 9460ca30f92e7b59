//! Costs: what models and tools took, by day, model, task and agent.
//!
//! One row for each of these four that came together, so that any of them can be summed up, and any picked out. What runs and
//! steps tell of themselves is not counted: it was counted where it arose.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bitacora_formats::Position;
use bitacora_formats::vocabulary::{
    EventData as _, ModelCalled, ToolBlocked, ToolCompleted, ToolFailed, ToolRequested,
};
use serde::{Deserialize, Serialize};

use crate::models::{FoldError, Folded, Imported, Model, ModelError, ReadModels, Rows, Tokens};
use crate::spending::{News, Spending, news_of_answer};

/// The model, as [`ReadModels`] keep it.
pub(crate) struct Costs;

/// What was spent, by day and then by the other three.
const SPENT: u8 = 1;
/// What a session last worked on, as its calls said.
const TASK_OF_SESSION: u8 = 2;
/// What a call without an outcome was asked for.
const OPEN_CALL: u8 = 3;

/// Answers of models that a log of calls told of, by their requests.
const COUNTED_ANSWER: u8 = 4;

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;
/// Stands for what is not known.
const UNKNOWN: &str = "-";

/// What was spent on one day for one model, task and agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    model: String,
    task: String,
    agent: String,
    spending: Spending,
}

/// A call that has no outcome yet.
#[derive(Debug, Serialize, Deserialize)]
struct OpenCall {
    model: String,
    task: String,
    agent: String,
}

/// What is summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostsBy {
    /// The model.
    Model,
    /// The task type.
    Task,
    /// The agent.
    Agent,
    /// The day, UTC.
    Day,
}

/// Which costs are asked for.
#[derive(Debug, Clone, Default)]
pub struct CostQuery {
    /// What they are summed up by; by several, each combination is one sum.
    pub by: Vec<CostsBy>,
    /// Only those from this day on, days since 1970.
    pub since: Option<u64>,
    /// Only those before this day.
    pub before: Option<u64>,
    /// Only those of this model.
    pub model: Option<String>,
    /// Only those of this task type.
    pub task: Option<String>,
    /// Only those of this agent.
    pub agent: Option<String>,
}

/// One sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// What it is of, in the order that was asked for; days since 1970 as a number.
    pub of: Vec<(CostsBy, String)>,
    /// What was spent.
    pub spending: Spending,
}

/// All sums that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostAnswer {
    /// In the order of what they are of.
    pub costs: Vec<Cost>,
    /// All together.
    pub total: Spending,
    /// Every event up to here is in them.
    pub position: Position,
}

impl Model for Costs {
    fn name(&self) -> &'static str {
        "costs"
    }

    fn version(&self) -> u32 {
        4
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[ModelCalled::KIND, ToolRequested::KIND, ToolCompleted::KIND, ToolFailed::KIND, ToolBlocked::KIND]
    }

    fn fold(&self, event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            ToolRequested::KIND => requested(event, rows),
            ModelCalled::KIND => model_called(event, rows),
            _ => ended(event, rows),
        }
    }
}

fn requested(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(requested) = event.requested()? else { return Ok(()) };
    let session = event.record.session.as_deref();
    if let (Some(session), Some(task)) = (session, &requested.task_type) {
        rows.put(&rows.key(TASK_OF_SESSION, &[session]), task)?;
    }
    let or_unknown = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or(UNKNOWN).to_owned();
    let open = OpenCall {
        model: or_unknown(&requested.model),
        task: or_unknown(&requested.task_type),
        agent: or_unknown(&event.record.agent),
    };
    let key = rows.key(OPEN_CALL, &event.call_values(&requested.call, requested.assurance.is_some()));
    rows.put(&key, &open)?;
    match (requested.tokens, requested.assurance) {
        (Some(tokens), Some(_)) => {
            let answer = requested.request.as_deref().unwrap_or(&requested.call);
            let news = news_of_answer(rows, COUNTED_ANSWER, answer, &tokens)?;
            let of = [&*open.model, &open.task, &open.agent];
            spend_news(event, rows, of, requested.assurance, &news)
        }
        _ => Ok(()),
    }
}

fn model_called(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.told()? else { return Ok(()) };
    let session = event.record.session.as_deref();
    let task = match session {
        Some(session) => rows.row::<String>(&rows.key(TASK_OF_SESSION, &[session]))?,
        None => None,
    };
    let model = told.model.as_deref().unwrap_or(UNKNOWN);
    let task = task.as_deref().unwrap_or(UNKNOWN);
    let agent = event.record.agent.as_deref().unwrap_or(UNKNOWN);
    let of = [model, task, agent];
    if let (Some(tokens), Some(request), Some(_), None) =
        (&told.tokens, told.request.as_deref(), told.assurance, told.cost_micro_usd)
    {
        let news = news_of_answer(rows, COUNTED_ANSWER, request, tokens)?;
        return spend_news(event, rows, of, told.assurance, &news);
    }
    let position = event.position.get();
    spend(event, rows, of, told.assurance, |spending| spending.count(position, told, true))
}

fn spend_news(
    event: &Folded<'_>,
    rows: &mut Rows<'_>,
    of: [&str; 3],
    assurance: Option<Imported>,
    news: &News,
) -> Result<(), FoldError> {
    if !news.is_first && news.tokens == Tokens::default() {
        return Ok(());
    }
    let position = event.position.get();
    spend(event, rows, of, assurance, |spending| spending.count_news(position, news))
}

fn ended(event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(told) = event.told()? else { return Ok(()) };
    let Some(call) = told.call.as_deref() else { return Ok(()) };
    let key = rows.key(OPEN_CALL, &event.call_values(call, told.assurance.is_some()));
    let open = rows.row::<OpenCall>(&key)?;
    rows.remove(&key)?;
    if !told.is_spending() {
        return Ok(());
    }
    let agent = event.record.agent.as_deref().unwrap_or(UNKNOWN);
    let of = match &open {
        Some(open) => [&*open.model, &open.task, &open.agent],
        None => [UNKNOWN, UNKNOWN, agent],
    };
    let position = event.position.get();
    spend(event, rows, of, told.assurance, |spending| spending.count(position, told, false))
}

fn spend(
    event: &Folded<'_>,
    rows: &mut Rows<'_>,
    of: [&str; 3],
    assurance: Option<Imported>,
    count: impl FnOnce(&mut Spending),
) -> Result<(), FoldError> {
    let [model, task, agent] = of;
    let day = event.happened(assurance).0 / DAY;
    let key = rows.key(SPENT, &[]).at(day).at(rows.key(SPENT, &of).group_number());
    let cell = rows.row::<Cell>(&key)?;
    let mut cell = cell.unwrap_or_else(|| Cell {
        model: model.to_owned(),
        task: task.to_owned(),
        agent: agent.to_owned(),
        spending: Spending { first: event.position.get(), ..Spending::default() },
    });
    if [&cell.model, &cell.task, &cell.agent] != of {
        return Err(FoldError::Contradiction("two models, tasks and agents have one key"));
    }
    count(&mut cell.spending);
    rows.put(&key, &cell)?;
    Ok(())
}

impl ReadModels {
    /// Costs, summed up.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn costs(&self, query: &CostQuery) -> Result<CostAnswer, ModelError> {
        let view = self.view(Costs.name())?;
        let mut sums: BTreeMap<Vec<String>, Spending> = BTreeMap::new();
        let mut total = Spending::default();
        let is = |asked: &Option<String>, found: &str| asked.as_deref().is_none_or(|asked| asked == found);
        let last = query.before.map_or(Some(u64::MAX), |before| before.checked_sub(1));
        let group = view.key(SPENT, &[]);
        let days = last.map(|last| (group.at(query.since.unwrap_or(0)), group.at(last).at(u64::MAX)));
        for row in days.into_iter().flat_map(|(first, last)| view.between::<Cell>(first, last)) {
            let (key, cell) = row?;
            if !is(&query.model, &cell.model)
                || !is(&query.task, &cell.task)
                || !is(&query.agent, &cell.agent)
            {
                continue;
            }
            let of = query.by.iter().map(|by| match by {
                CostsBy::Model => cell.model.clone(),
                CostsBy::Task => cell.task.clone(),
                CostsBy::Agent => cell.agent.clone(),
                // In as many digits as there can be, so that days are in their order.
                CostsBy::Day => format!("{:020}", key.first_number()),
            });
            sums.entry(of.collect()).or_default().add(&cell.spending);
            total.add(&cell.spending);
        }
        let costs = sums.into_iter().map(|(of, spending)| Cost { of: named(&query.by, of), spending });
        Ok(CostAnswer { costs: costs.collect(), total, position: view.position() })
    }
}

fn named(by: &[CostsBy], of: Vec<String>) -> Vec<(CostsBy, String)> {
    let tell = |by: CostsBy, text: String| match by {
        CostsBy::Day => text.parse::<u64>().map_or(text, |day| day.to_string()),
        _ => text,
    };
    by.iter().zip(of).map(|(by, text)| (*by, tell(*by, text))).collect()
}

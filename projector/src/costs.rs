//! Costs of models and tools, by day, model, task, agent, tool, role, run, session and case.
//!
//! One row for each of these that came together, so that any of them can be summed up, and any picked out. There is one without runs,
//! sessions and cases, of which there are many, and one with them for questions that name one. Costs that runs and steps tell of
//! themselves are not counted: they were counted where they arose.

mod fold;

use std::collections::BTreeMap;

use bitacora_formats::Position;
use serde::{Deserialize, Serialize};

use crate::day::day_text;
use crate::models::{Model as _, ModelError, ReadModels, View};
use crate::spending::SpendingSums;
pub(crate) use fold::CostsModel;
use fold::{IMPORTS, Tables};

/// The properties that costs are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostsBy {
    /// The model.
    Model,
    /// The task type.
    Task,
    /// The agent.
    Agent,
    /// The tool; `-` for answers of models.
    Tool,
    /// The role of the agent that asked, as the last decision before in the session said it.
    Role,
    /// The run.
    Run,
    /// The session.
    Session,
    /// The case that the run is about.
    Case,
    /// The day, UTC.
    Day,
}

/// The properties of costs besides their day, in the order of a cell's texts.
const PARTS: [CostsBy; 8] = [
    CostsBy::Model,
    CostsBy::Task,
    CostsBy::Agent,
    CostsBy::Tool,
    CostsBy::Role,
    CostsBy::Run,
    CostsBy::Session,
    CostsBy::Case,
];

/// The texts of a cell, one for each of [`PARTS`].
type Of<T> = [T; PARTS.len()];

/// The spending on one day for one of each of [`PARTS`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    of: Of<String>,
    spending: SpendingSums,
}

/// A query of costs.
#[derive(Debug, Clone, Default)]
pub struct CostQuery {
    /// The properties that costs are summed up by; with several, each combination is one sum.
    pub by: Vec<CostsBy>,
    /// Only those from this day on, days since 1970.
    pub since: Option<u64>,
    /// Only those before this day.
    pub before: Option<u64>,
    /// Only those of these.
    pub only: Vec<(CostsBy, String)>,
}

/// One sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The properties of the sum, in the order that was asked for; days since 1970 as a number.
    pub of: Vec<(CostsBy, String)>,
    /// The spending.
    pub spending: SpendingSums,
}

impl From<Cost> for bitacora_api::CostAnswer {
    fn from(cost: Cost) -> Self {
        let mut answer = Self {
            model: None,
            task: None,
            agent: None,
            tool: None,
            role: None,
            run: None,
            session: None,
            case: None,
            day: None,
            spending: (&cost.spending).into(),
        };
        for (by, of) in cost.of {
            match by {
                CostsBy::Model => answer.model = Some(of),
                CostsBy::Task => answer.task = Some(of),
                CostsBy::Agent => answer.agent = Some(of),
                CostsBy::Tool => answer.tool = Some(of),
                CostsBy::Role => answer.role = Some(of),
                CostsBy::Run => answer.run = Some(of),
                CostsBy::Session => answer.session = Some(of),
                CostsBy::Case => answer.case = Some(of),
                CostsBy::Day => answer.day = Some(day_text(&of)),
            }
        }
        answer
    }
}

/// All sums that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostAnswer {
    /// In the order of what they are of.
    pub costs: Vec<Cost>,
    /// All together.
    pub total: SpendingSums,
    /// The number of answers and calls on other days, if nothing was spent on the days asked about.
    pub outside: Option<u64>,
    /// Every event up to here is in them.
    pub position: Position,
}

impl CostsBy {
    /// `true`: there are as many of it as there is work, so that questions without it look at other rows.
    const fn is_of_work(self) -> bool {
        matches!(self, Self::Run | Self::Session | Self::Case)
    }
}

impl Cell {
    fn text(&self, by: CostsBy) -> &str {
        let of = PARTS.iter().position(|part| *part == by).and_then(|index| self.of.get(index));
        of.map_or("", String::as_str)
    }
}

impl CostQuery {
    fn picks(&self, cell: &Cell) -> bool {
        self.only.iter().all(|(by, text)| cell.text(*by) == text)
    }

    fn tables(&self) -> Tables {
        let named = self.by.iter().chain(self.only.iter().map(|(by, _)| by));
        Tables::of(named.copied().any(CostsBy::is_of_work))
    }

    /// The same about all days, where some are asked about.
    fn of_all_days(&self) -> Option<Self> {
        let is_of_days = self.since.is_some() || self.before.is_some();
        is_of_days.then(|| Self { since: None, before: None, ..self.clone() })
    }
}

impl ReadModels {
    /// Returns the spending from a day on, days since 1970.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn spent_since(&self, day: u64) -> Result<SpendingSums, ModelError> {
        let query = CostQuery { since: Some(day), ..CostQuery::default() };
        let mut total = SpendingSums::default();
        each_cell(&self.view(CostsModel.name())?, &query, |_, cell| total.add(&cell.spending))?;
        Ok(total)
    }

    /// Costs, summed up.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn costs(&self, query: &CostQuery) -> Result<CostAnswer, ModelError> {
        let view = self.view(CostsModel.name())?;
        let mut sums: BTreeMap<Vec<String>, SpendingSums> = BTreeMap::new();
        let mut total = SpendingSums::default();
        each_cell(&view, query, |day, cell| {
            let of = query.by.iter().map(|by| match by {
                // In as many digits as there can be, so that days are in their order.
                CostsBy::Day => format!("{day:020}"),
                part => cell.text(*part).to_owned(),
            });
            sums.entry(of.collect()).or_default().add(&cell.spending);
            total.add(&cell.spending);
        })?;
        let mut outside = None;
        if let Some(all) = query.of_all_days().filter(|_| sums.is_empty()) {
            let mut counted = 0;
            each_cell(&view, &all, |_, cell| {
                counted += cell.spending.model_calls + cell.spending.tool_calls;
            })?;
            outside = Some(counted);
        }
        let costs = sums.into_iter().map(|(of, spending)| Cost { of: named(&query.by, of), spending });
        Ok(CostAnswer { costs: costs.collect(), total, outside, position: view.position() })
    }
}

/// Visits the cells that a question is about, and their days.
fn each_cell(view: &View, query: &CostQuery, mut visit: impl FnMut(u64, &Cell)) -> Result<(), ModelError> {
    let Some(last) = query.before.map_or(Some(u64::MAX), |before| before.checked_sub(1)) else {
        return Ok(());
    };
    let (tables, imports) = (query.tables(), IMPORTS.read(view)?);
    let brought = imports.iter().map(|(import, is_accepted)| {
        let table = if is_accepted { tables.brought } else { tables.brought_on };
        view.key(table, &[&import.to_string()])
    });
    for group in [view.key(tables.spent, &[])].into_iter().chain(brought) {
        for row in view.between::<Cell>(group.at(query.since.unwrap_or(0)), group.at(last).at(u64::MAX)) {
            let (key, cell) = row?;
            if query.picks(&cell) {
                visit(key.first_number(), &cell);
            }
        }
    }
    Ok(())
}

fn named(by: &[CostsBy], of: Vec<String>) -> Vec<(CostsBy, String)> {
    let tell = |by: CostsBy, text: String| match by {
        CostsBy::Day => text.parse::<u64>().map_or(text, |day| day.to_string()),
        _ => text,
    };
    by.iter().zip(of).map(|(by, text)| (*by, tell(*by, text))).collect()
}

//! Runs: their beginnings, their progress step by step, their costs and their ends.

mod content;
mod fold;

use std::ops::RangeInclusive;

use bitacora_api::{RunAnswer, RunStepAnswer, StepContentAnswer};
use bitacora_formats::{Micros, Position, format_time, format_usd};
use serde::{Deserialize, Serialize};

use crate::ListPage;
use crate::limits::LOOKED_AT_RUNS;
use crate::models::{Model as _, ModelError, ReadModels, View};
pub(crate) use fold::RunsModel;
use fold::{BEGUN, BY_AGENT, BY_CASE, BY_STATE, RUN, STEPS};

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its id.
    pub run: String,
    /// The position at which it is first named.
    pub position: u64,
    /// The time at which it began, microseconds since 1970.
    pub time: u64,
    /// The kind of run; `-` where its beginning is not recorded.
    pub kind: String,
    /// The graph.
    pub graph: Option<String>,
    /// The agent that runs it.
    pub agent: Option<String>,
    /// The case it is about.
    pub case: Option<String>,
    /// The part of the case.
    pub subtask: Option<String>,
    /// The state of the run.
    pub state: RunState,
    /// `true` where it has told no end for the time that the policy gives it.
    pub overdue: bool,
    /// The reason for its state, as far as somebody said so: a reason, the kind of an error, or that the end was the wanted one or not.
    pub why: Option<String>,
    /// The node that it stands at, as the last event that named one says.
    pub node: Option<String>,
    /// Steps that were recorded.
    pub steps: u64,
    /// Steps among them that ended with an error or took too long.
    pub failed_steps: u64,
    /// Steps among them that try a node again.
    pub retries: u64,
    /// Calls of tools.
    pub calls: u64,
    /// The cost in micro-USD: as it was told at its end, else the sum that its steps told.
    pub cost_micro_usd: u128,
    /// Tokens that models read for it, likewise.
    pub tokens_in: u128,
    /// Tokens that they wrote, likewise.
    pub tokens_out: u128,
    /// The last event of it.
    pub last: u64,
    /// The time of that, microseconds since 1970.
    pub last_time: u64,
    /// The duration in milliseconds, as it was told.
    pub duration_ms: Option<u64>,
}

impl From<RunSummary> for RunAnswer {
    fn from(run: RunSummary) -> Self {
        Self {
            state: run.state.as_str().to_owned(),
            run: run.run,
            overdue: run.overdue,
            why: run.why,
            position: run.position.to_string(),
            time: format_time(Micros(run.time)),
            last: run.last.to_string(),
            last_time: format_time(Micros(run.last_time)),
            kind: run.kind,
            graph: run.graph,
            agent: run.agent,
            case: run.case,
            subtask: run.subtask,
            node: run.node,
            steps: run.steps,
            failed_steps: run.failed_steps,
            retries: run.retries,
            calls: run.calls,
            cost_usd: format_usd(run.cost_micro_usd),
            tokens_in: run.tokens_in.to_string(),
            tokens_out: run.tokens_out.to_string(),
            duration_ms: run.duration_ms,
        }
    }
}

/// The state of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// It goes on, as far as is known.
    #[default]
    Running,
    /// It waits.
    Paused,
    /// It came to its end.
    Completed,
    /// An error ended it.
    Failed,
    /// Somebody ended it.
    Aborted,
}

impl RunState {
    /// The state in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }
}

/// One try of one node of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// The position at which it is first named.
    pub position: u64,
    /// The time of that, microseconds since 1970.
    pub time: u64,
    /// The node.
    pub node: String,
    /// The kind of node.
    pub node_type: String,
    /// The number of the attempt, from 1.
    pub attempt: u64,
    /// The round of the graph's loop that it belongs to.
    pub iteration: Option<u64>,
    /// The action that the node took.
    pub action: Option<String>,
    /// `started`, `ok`, `error`, `skipped` or `timeout`.
    pub status: String,
    /// The position of the event that says so.
    pub last: u64,
    /// The kind of error that ended it.
    pub error_type: Option<String>,
    /// The step's input.
    pub input: StepContent,
    /// The step's output.
    pub output: StepContent,
    /// The model it used.
    pub model: Option<String>,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// The cost in micro-USD.
    pub cost_micro_usd: Option<u64>,
    /// Tokens that a model read for it.
    pub tokens_in: u64,
    /// Tokens that it wrote.
    pub tokens_out: u64,
}

impl From<RunStep> for RunStepAnswer {
    fn from(step: RunStep) -> Self {
        Self {
            position: step.position.to_string(),
            time: format_time(Micros(step.time)),
            node: step.node,
            node_type: step.node_type,
            attempt: step.attempt,
            status: step.status,
            last: step.last.to_string(),
            iteration: step.iteration,
            action: step.action,
            error_type: step.error_type,
            input: step.input.answer(),
            output: step.output.answer(),
            model: step.model,
            duration_ms: step.duration_ms,
            cost_usd: step.cost_micro_usd.map(|cost| format_usd(cost.into())),
            tokens_in: step.tokens_in,
            tokens_out: step.tokens_out,
        }
    }
}

/// Contents that went into a step or came out of it, as far as they were told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepContent {
    /// The digest, in hex.
    pub sha256: Option<String>,
    /// The length in bytes.
    pub bytes: Option<u64>,
    /// The contents in words.
    pub summary: Option<String>,
}

impl StepContent {
    /// Returns the contents as they are answered; `None` where nothing was told of them.
    fn answer(self) -> Option<StepContentAnswer> {
        let Self { sha256, bytes, summary } = self;
        let is_told = sha256.is_some() || bytes.is_some() || summary.is_some();
        is_told.then_some(StepContentAnswer { sha256, bytes, summary })
    }
}

/// A query of runs.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// Only those that stand so.
    pub state: Option<String>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those about this case.
    pub case: Option<String>,
    /// Only those that began at this time or later.
    pub since: Option<Micros>,
    /// Only those that began before this time.
    pub begun_before: Option<Micros>,
    /// Only those that are named first from this position on.
    pub from: Option<Position>,
    /// Only those that begin before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, those that began last first.
    pub runs: Vec<RunSummary>,
    /// The next page has those before this position; `None` at the end. A page may be short and go on all the same: one looks at
    /// [`LOOKED_AT_RUNS`] runs at most.
    pub next: Option<Position>,
    /// Every event up to here is in it.
    pub position: Position,
}

impl RunQuery {
    fn matches(&self, run: &RunSummary) -> bool {
        let is = |asked: &Option<String>, found: Option<&str>| asked.is_none() || asked.as_deref() == found;
        is(&self.case, run.case.as_deref())
            && is(&self.state, Some(run.state.as_str()))
            && is(&self.agent, run.agent.as_deref())
            && self.since.is_none_or(|since| run.time >= since.0)
            && self.begun_before.is_none_or(|before| run.time < before.0)
    }

    /// The positions of runs that may match. A run is recorded no earlier than it began.
    fn positions(&self) -> RangeInclusive<u64> {
        self.from.map_or(0, Position::get)..=*up_to(self.before).end()
    }
}

fn up_to(before: Option<Position>) -> RangeInclusive<u64> {
    0..=before.map_or(u64::MAX, |before| before.get() - 1)
}

impl ReadModels {
    /// Runs, those that began last first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn runs(&self, query: &RunQuery) -> Result<RunPage, ModelError> {
        let view = self.view(RunsModel.name())?;
        let begun = query.positions();
        if begun.is_empty() {
            return Ok(RunPage { runs: Vec::new(), next: None, position: view.position() });
        }
        // The label that names the fewest comes first.
        let label = [(BY_CASE, &query.case), (BY_STATE, &query.state), (BY_AGENT, &query.agent)]
            .into_iter()
            .find_map(|(table, value)| Some((table, value.as_deref()?)));
        let positions: Box<dyn Iterator<Item = Result<u64, ModelError>>> = match label {
            Some((table, value)) => Box::new(view.posted(view.key(table, &[value]), begun)),
            None => {
                let rows = view.rows::<String>(view.key(BEGUN, &[]), begun).rev();
                Box::new(rows.map(|row| row.map(|(position, _)| position)))
            }
        };
        let mut page = RunPage { runs: Vec::new(), next: None, position: view.position() };
        let mut at = None;
        for (looked_at, position) in positions.enumerate() {
            if page.runs.len() == query.limit || looked_at == LOOKED_AT_RUNS {
                page.next = at;
                break;
            }
            let position = position?;
            at = Position::new(position);
            page.runs.extend(run_at(&view, position)?.filter(|run| query.matches(run)));
        }
        Ok(page)
    }

    /// One run, and up to where it is known.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn run(&self, run: &str) -> Result<(Option<RunSummary>, Position), ModelError> {
        let view = self.view(RunsModel.name())?;
        Ok((view.row(&view.key(RUN, &[run]))?, view.position()))
    }

    /// The steps of a run, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn run_steps(
        &self,
        run: &str,
        before: Option<Position>,
        limit: usize,
    ) -> Result<ListPage<RunStep>, ModelError> {
        let view = self.view(RunsModel.name())?;
        let rows = view.rows(view.key(STEPS, &[run]), up_to(before)).rev();
        ListPage::take(rows.map(|row| row.map(|(_, step)| step)), limit, view.position())
    }
}

fn run_at(view: &View, position: u64) -> Result<Option<RunSummary>, ModelError> {
    let Some(run) = view.row::<String>(&view.key(BEGUN, &[]).at(position))? else { return Ok(None) };
    view.row(&view.key(RUN, &[&run]))
}

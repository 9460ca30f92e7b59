//! `trust`: the trust in dimensions, and an operator's changes to it.

pub(crate) mod suggested;

use bitacora_api::{
    BreakerStateAnswer, ImportList, OutcomeRecord, TrustAnswer, TrustCountsRequest, TrustDimension,
    TrustHistory, TrustList, TrustMonthAnswer, TrustMonthList, TrustProbeRequest, TrustRecordAnswer,
    TrustRecordOrSum, TrustSetRequest, TrustSumAnswer,
};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};

use self::suggested::{AcceptArguments, AnswerArguments, SuggestArguments};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceUse;
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::optional_command::OptionalCommand;
use crate::options::time::EndTime;
use crate::rows::{Row, RowTable};
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells, to_the_second};

pub(crate) type TrustArguments = OptionalCommand<TrustCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List dimensions (a tool with context, model and task type) by score, the best first (default).
    Top(ListArguments),
    /// List dimensions by score, the worst first.
    Bottom(ListArguments),
    /// List the recorded outcomes of one dimension, the newest first.
    History(HistoryArguments),
    /// Show one dimension.
    Show(DimensionArguments),
    /// Replace the counts of a dimension.
    Set(SetArguments),
    /// List suggested rules, each with positions to look at.
    Suggest(SuggestArguments),
    /// Accept a suggestion: publish the next policy version with its rule, behind all rules that forbid the same calls.
    Accept(AcceptArguments),
    /// Reject a suggestion; it returns once twice as much evidence supports it.
    Reject(AnswerArguments),
    /// Send a blocked dimension's calls to review for a time, so that it can regain trust.
    Probe(ProbeArguments),
}

#[derive(Debug, Default, Args, Serialize)]
pub(crate) struct ListArguments {
    /// The tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The context.
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// The model.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The task type.
    #[arg(long, value_name = "NAME")]
    task_type: Option<String>,
    /// The workspace; empty selects the counts of all workspaces together.
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<String>,
    /// Show at most this many dimensions. [default: 100]
    #[arg(long, value_name = "DIMENSIONS")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    #[command(flatten)]
    dimension: DimensionArguments,
    /// Only outcomes up to this position.
    #[arg(long, value_name = "POSITION")]
    until: Option<u64>,
    /// Show at most this many outcomes. [default: 100]
    #[arg(long, value_name = "OUTCOMES")]
    limit: Option<u32>,
    /// Show sums by month instead of single outcomes.
    #[arg(long, conflicts_with_all = ["until", "limit"])]
    months: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    #[command(flatten)]
    dimension: DimensionArguments,
    /// The number of calls that succeeded.
    #[arg(long, value_name = "CALLS")]
    approvals: u64,
    /// The number of calls that a person rejected.
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    rejections: u64,
    /// The number of calls that failed.
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    failures: u64,
    /// The number of successful calls since the last other one.
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    streak: u64,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    #[command(flatten)]
    dimension: DimensionArguments,
    /// The duration, or its end: `2h`; at most `7d`.
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    end: EndTime,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

pub(crate) fn run(arguments: TrustArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or_else(|| TrustCommand::Top(ListArguments::default())) {
        TrustCommand::Top(arguments) => list("top", &arguments, context),
        TrustCommand::Bottom(arguments) => list("bottom", &arguments, context),
        TrustCommand::History(arguments) if arguments.months => months(&arguments.dimension, context),
        TrustCommand::History(arguments) => history(&arguments, context),
        TrustCommand::Show(dimension) => show(&dimension, context),
        TrustCommand::Suggest(arguments) => suggested::suggest(&arguments, context),
        TrustCommand::Accept(arguments) => suggested::accept(arguments, context),
        TrustCommand::Reject(arguments) => suggested::reject(arguments, context),
        TrustCommand::Set(SetArguments { dimension, approvals, rejections, failures, streak, reason }) => {
            let counts = TrustCountsRequest { approvals, rejections, failures, streak };
            let dimension = dimension.to_request();
            context.post("trust:set", &TrustSetRequest { dimension, counts, reason })
        }
        TrustCommand::Probe(ProbeArguments { dimension, end, reason }) => {
            let (dimension, expires) = (dimension.to_request(), end.text());
            context.post("trust:probe", &TrustProbeRequest { dimension, expires, reason })
        }
    }
}

fn list(order: &str, arguments: &ListArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let answer = context.get(&with_query(&with_query("trust", arguments), &json!({"order": order})))?;
    if context.is_json() {
        return context.raw(&answer);
    }
    let list: TrustList = answer.read()?;
    let waits = list.dimensions.is_empty() && an_import_waits(context)?;
    let imports =
        if waits { "; an import waits, which does not count yet: see `bitacora imports`" } else { "" };
    let empty = format!("nothing has been observed there{imports}");
    TextTable::of(&list.dimensions).write(&empty, &mut context.output)?;
    if list.next.is_some() {
        context.say("and more: ask for them with --limit, or for fewer with --tool or --context")?;
    }
    Ok(Exit::Done)
}

/// Returns `true` if a completed import does not count yet.
fn an_import_waits(context: &mut CommandContext) -> Result<bool, CommandError> {
    let list: ImportList = context.read("imports")?;
    Ok(list.imports.iter().any(|import| import.accepted.is_none()))
}

impl Row for TrustDimension {
    const HEADINGS: &'static [&'static str] =
        &["score", "standing", "approvals", "rejections", "failures", "streak", "last", "dimension"];
    const DISPENSABLE: &'static [&'static str] = &["last", "streak", "rejections"];

    fn cells(&self) -> Vec<Cell> {
        let trust = &self.trust;
        cells![
            Cell::id(score_words(trust)),
            Cell::id(&trust.standing),
            trust.approvals,
            trust.rejections,
            trust.failures,
            trust.streak,
            Cell::maybe_time(trust.last_updated.as_ref()),
            dimension_words(&self.dimension),
        ]
    }
}

/// Formats a score with the threshold that it is compared with: `0.72 of 0.80`.
pub(crate) fn score_words(trust: &TrustAnswer) -> String {
    match &trust.threshold {
        Some(threshold) => format!("{} of {threshold}", trust.score),
        None => trust.score.clone(),
    }
}

fn months(dimension: &DimensionArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("trust/months", &dimension.parameters());
    context.asking(ServiceUse::ReadModels).show(&path, |list: &TrustMonthList, output| {
        let empty = format!("nothing was recorded of it{}", others(dimension));
        TextTable::of(&list.months).write(&empty, output)
    })
}

impl Row for TrustMonthAnswer {
    const HEADINGS: &'static [&'static str] = &[
        "month",
        "approved",
        "by itself",
        "rejected",
        "failed",
        "too long",
        "exit codes",
        "check failed",
        "imported",
        "not accepted",
        "positions",
    ];
    const DISPENSABLE: &'static [&'static str] =
        &["not accepted", "imported", "check failed", "exit codes", "too long"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::id(&self.month),
            self.approved,
            self.auto_approved,
            self.rejected,
            self.errors,
            self.timeouts,
            self.exit_codes,
            self.failed_checks,
            self.imported,
            self.not_accepted,
            Cell::id(format!("{}-{}", self.first, self.last)),
        ]
    }
}

fn history(arguments: &HistoryArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let HistoryArguments { dimension, until, limit, .. } = arguments;
    let path = with_query("trust/history", &dimension.parameters());
    let path = with_query(&path, &json!({"until": until, "limit": limit}));
    context.show(&path, |history: &TrustHistory, output| {
        let empty = format!("nothing was recorded of it up to there{}", others(dimension));
        TextTable::of(&history.outcomes).write(&empty, output)?;
        match &history.next {
            Some(next) => output.line(printable(&format!("older ones: --until {next}"))),
            None => Ok(()),
        }
    })
}

impl Row for OutcomeRecord {
    const HEADINGS: &'static [&'static str] = &["position", "time", "recorded", "what", "by", "about"];
    const DISPENSABLE: &'static [&'static str] = &["recorded"];

    fn cells(&self) -> Vec<Cell> {
        let (what, about) = in_words(self);
        let (time, recorded) = (Cell::time(&self.time), Cell::time(&self.recorded));
        cells![Cell::id(&self.position), time, recorded, what, &self.actor, about]
    }
}

/// Returns a remark for a dimension without records: another dimension, named in full, may have been counted.
fn others(dimension: &DimensionArguments) -> String {
    if dimension.is_whole() {
        return String::new();
    }
    let tool = &dimension.tool;
    printable(&format!(
        "; what is left out is unknown there, see `bitacora trust top --tool {tool}` for others"
    ))
}

/// Describes a record: the outcome of a call, or the counts that somebody set.
fn in_words(record: &OutcomeRecord) -> (String, String) {
    let data: Value = serde_json::from_str(record.data.get()).unwrap_or_default();
    let text = |member: &str| data.get(member).and_then(Value::as_str).map(str::to_owned);
    if let Some(counts) = data.get("counts") {
        let count = |member: &str| counts.get(member).and_then(Value::as_u64).unwrap_or_default();
        let [approvals, rejections, failures, streak] =
            ["approvals", "rejections", "failures", "streak"].map(count);
        let set = format!("set to {approvals}, {rejections}, {failures}, streak {streak}");
        return (set, text("reason").unwrap_or_else(|| "-".to_owned()));
    }
    let check = match data.get("post_check_passed").and_then(Value::as_bool) {
        Some(true) => ", its check passed",
        Some(false) => ", its check failed",
        None => "",
    };
    let imported = match record.counts {
        Some(true) => ", imported",
        Some(false) => ", imported, not accepted",
        None => "",
    };
    let outcome = text("outcome").unwrap_or_else(|| record.r#type.clone());
    let call = text("call").map_or("-".to_owned(), |call| format!("call {call}"));
    (format!("{outcome}{check}{imported}"), call)
}

fn show(dimension: &DimensionArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("trust/record", &dimension.parameters());
    context.show(&path, |answer: &TrustRecordOrSum, output| match answer {
        TrustRecordOrSum::Record(record) => write(record, output),
        TrustRecordOrSum::Sum(sum) => write_sum(sum, output),
    })
}

fn write_sum(sum: &TrustSumAnswer, output: &mut Output) -> Result<(), OutputError> {
    FieldLines::new()
        .with("dimension", dimension_words(&sum.dimension))
        .with("dimensions", sum.dimensions)
        .with("approvals", format!("{}, {} of them without a person", sum.approvals, sum.auto_approvals))
        .with("rejections", sum.rejections)
        .with("failures", sum.failures)
        .with("breakers", format!("{} not closed", sum.breakers_not_closed))
        .time("last", sum.last_updated.as_ref())
        .with("as of", to_the_second(&sum.evaluated_at))
        .write(output)
}

fn write(answer: &TrustRecordAnswer, output: &mut Output) -> Result<(), OutputError> {
    let TrustDimension { dimension, trust, auto_approvals } = &answer.record;
    let failures =
        format!("{}, {} of them among the last 50 outcomes", trust.failures, trust.recent_failures);
    FieldLines::new()
        .with("dimension", dimension_words(dimension))
        .with("score", score_words(trust))
        .with("standing", format!("{} ({})", trust.standing, trust.standing_reason))
        .with("approvals", format!("{}, {auto_approvals} of them without a person", trust.approvals))
        .with("rejections", trust.rejections)
        .with("failures", failures)
        .with("streak", trust.streak)
        .time("last", trust.last_updated.as_ref())
        .with("breaker", breaker_words(&answer.breaker))
        .with("as of", to_the_second(&answer.evaluated_at))
        .write(output)
}

/// Describes a breaker: `open, 5 of the last 6 outcomes bad, tried again from 2026-11-22T10:14:47Z`.
fn breaker_words(breaker: &BreakerStateAnswer) -> String {
    let until = breaker.cooldown_until.as_deref().map(to_the_second);
    let until = until.map_or_else(String::new, |until| format!(", tried again from {until}"));
    match breaker.bad.zip(breaker.outcomes) {
        Some((bad, outcomes)) => {
            format!("{}, {bad} of the last {outcomes} outcomes bad{until}", breaker.state)
        }
        None => format!("{}{until}", breaker.state),
    }
}

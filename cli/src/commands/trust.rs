//! `trust`: the trust in dimensions, and an operator's changes to it.

pub(crate) mod suggested;

use bitacora_api::{
    BreakerStateAnswer, ImportList, OutcomeRecord, TrustDimension, TrustHistory, TrustList, TrustMonthList,
    TrustRecordAnswer, TrustRecordOrSum, TrustSumAnswer,
};
use bitacora_formats::{Micros, format_time};
use bitacora_ledger::{Clock, SystemClock};
use clap::{Args, Subcommand};
use serde_json::Value;

use self::suggested::{AcceptArguments, AnswerArguments, SuggestArguments};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::service::{ServiceClient, with_query, with_read_models, with_service};
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use crate::ttl::ttl;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TrustArguments {
    #[command(subcommand)]
    command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List dimensions by score, the best first (default).
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
    /// Accept a suggestion: publish the next version of the policy, with its rule behind all rules that forbid the same calls.
    Accept(AcceptArguments),
    /// Reject a suggestion; it is made again once twice as much evidence supports it.
    Reject(AnswerArguments),
    /// Send the calls of a blocked dimension to review for a while, so that it can earn trust again.
    Probe(ProbeArguments),
}

#[derive(Debug, Default, Args)]
struct ListArguments {
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
    /// The workspace; an empty text selects the counts of all workspaces together.
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<String>,
    /// The most dimensions to show. [default: 100]
    #[arg(long, value_name = "DIMENSIONS")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
struct HistoryArguments {
    #[command(flatten)]
    dimension: DimensionArguments,
    /// Only outcomes up to this position.
    #[arg(long, value_name = "POSITION")]
    until: Option<u64>,
    /// The most outcomes to show. [default: 100]
    #[arg(long, value_name = "OUTCOMES")]
    limit: Option<u32>,
    /// Show sums by month instead of single outcomes.
    #[arg(long, conflicts_with_all = ["until", "limit"])]
    months: bool,
}

#[derive(Debug, Args)]
struct SetArguments {
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
    /// The number of calls that succeeded since the last one that did not.
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    streak: u64,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

#[derive(Debug, Args)]
struct ProbeArguments {
    #[command(flatten)]
    dimension: DimensionArguments,
    /// The duration: `2h`; at most `7d`.
    #[arg(long = "for", value_name = "TIME", value_parser = ttl, default_value = "1h")]
    ttl: Micros,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

pub(crate) fn run(
    arguments: &TrustArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match &arguments.command {
        None => list("top", &ListArguments::default(), global, output)?,
        Some(TrustCommand::Top(arguments)) => list("top", arguments, global, output)?,
        Some(TrustCommand::Bottom(arguments)) => list("bottom", arguments, global, output)?,
        Some(TrustCommand::History(arguments)) => history(arguments, global, output)?,
        Some(TrustCommand::Show(dimension)) => show(dimension, global, output)?,
        Some(TrustCommand::Suggest(arguments)) => suggested::suggest(arguments, global, output)?,
        Some(TrustCommand::Accept(arguments)) => suggested::accept(arguments, global, output)?,
        Some(TrustCommand::Reject(arguments)) => suggested::reject(arguments, global, output)?,
        Some(TrustCommand::Set(arguments)) => {
            let body = arguments.body();
            with_service(global, |service| service.post("trust:set", Some(body))?.write_act(global, output))?;
        }
        Some(TrustCommand::Probe(arguments)) => {
            let body = arguments.body();
            with_service(global, |service| {
                service.post("trust:probe", Some(body))?.write_act(global, output)
            })?;
        }
    }
    Ok(Exit::Done)
}

impl ProbeArguments {
    fn body(&self) -> String {
        let expires = SystemClock.now().0.saturating_add(self.ttl.0);
        JsonObject::new()
            .raw("dimension", self.dimension.to_json())
            .text("expires", &format_time(Micros(expires)))
            .text("reason", &self.reason)
            .end()
    }
}

impl SetArguments {
    fn body(&self) -> String {
        let counts = JsonObject::new()
            .raw("approvals", self.approvals)
            .raw("rejections", self.rejections)
            .raw("failures", self.failures)
            .raw("streak", self.streak)
            .end();
        JsonObject::new()
            .raw("dimension", self.dimension.to_json())
            .raw("counts", counts)
            .text("reason", &self.reason)
            .end()
    }
}

fn list(
    order: &str,
    arguments: &ListArguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let limit = arguments.limit.map(|limit| limit.to_string());
    let path = with_query(
        "trust",
        &[
            ("tool", arguments.tool.as_deref()),
            ("context", arguments.context.as_deref()),
            ("model", arguments.model.as_deref()),
            ("task_type", arguments.task_type.as_deref()),
            ("workspace", arguments.workspace.as_deref()),
            ("order", Some(order)),
            ("limit", limit.as_deref()),
        ],
    );
    with_service(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let list: TrustList = answer.read()?;
        let heading =
            ["score", "standing", "approvals", "rejections", "failures", "streak", "last", "dimension"];
        let mut table = TextTable::new(&heading);
        for TrustDimension { dimension, trust, .. } in &list.dimensions {
            table.row(&[
                &trust.score,
                &trust.standing,
                &trust.approvals.to_string(),
                &trust.rejections.to_string(),
                &trust.failures.to_string(),
                &trust.streak.to_string(),
                &trust.last_updated.as_deref().map_or("-".to_owned(), to_the_second),
                &dimension_words(dimension),
            ]);
        }
        let waits = table.is_empty() && an_import_waits(service)?;
        let imports =
            if waits { "; an import waits, which does not count yet: see `bitacora imports`" } else { "" };
        table.write(&format!("nothing has been observed there{imports}"), output)?;
        if list.next.is_some() {
            output.line("and more: ask for them with --limit, or for fewer with --tool or --context")?;
        }
        Ok(())
    })
}

/// Returns `true` if a completed import does not count yet.
fn an_import_waits(service: &mut ServiceClient) -> Result<bool, CommandError> {
    let list: ImportList = service.get("imports")?.read()?;
    Ok(list.imports.iter().any(|import| import.accepted.is_none()))
}

fn months(dimension: &DimensionArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = with_query("trust/months", &dimension.parameters());
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let list: TrustMonthList = answer.read()?;
        let heading = [
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
        let mut table = TextTable::new(&heading);
        for month in &list.months {
            let counts = [
                month.approved,
                month.auto_approved,
                month.rejected,
                month.errors,
                month.timeouts,
                month.exit_codes,
                month.failed_checks,
                month.imported,
                month.not_accepted,
            ];
            let counts = counts.map(|count| count.to_string());
            let positions = format!("{}-{}", month.first, month.last);
            let cells = [month.month.as_str()].into_iter().chain(counts.iter().map(String::as_str));
            table.row(&cells.chain([positions.as_str()]).collect::<Vec<_>>());
        }
        Ok(table.write(&format!("nothing was recorded of it{}", others(dimension)), output)?)
    })
}

fn history(arguments: &HistoryArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    if arguments.months {
        return months(&arguments.dimension, global, output);
    }
    let (until, limit) =
        (arguments.until.map(|until| until.to_string()), arguments.limit.map(|limit| limit.to_string()));
    let mut asked = arguments.dimension.parameters().to_vec();
    asked.extend([("until", until.as_deref()), ("limit", limit.as_deref())]);
    let path = with_query("trust/history", &asked);
    with_service(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let history: TrustHistory = answer.read()?;
        let mut table = TextTable::new(&["position", "time", "recorded", "what", "by", "about"]);
        for record in &history.outcomes {
            let (what, about) = in_words(record);
            let by = record.actor.as_deref().unwrap_or("-");
            let (time, recorded) = (to_the_second(&record.time), to_the_second(&record.recorded));
            table.row(&[&record.position, &time, &recorded, &what, by, &about]);
        }
        table.write(
            &format!("nothing was recorded of it up to there{}", others(&arguments.dimension)),
            output,
        )?;
        if let Some(next) = &history.next {
            output.line(printable(&format!("older ones: --until {next}")))?;
        }
        Ok(())
    })
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
    let text = |member: &str| record.data.get(member).and_then(Value::as_str).map(str::to_owned);
    if let Some(counts) = record.data.get("counts") {
        let count = |member: &str| counts.get(member).and_then(Value::as_u64).unwrap_or_default();
        let [approvals, rejections, failures, streak] =
            ["approvals", "rejections", "failures", "streak"].map(count);
        let set = format!("set to {approvals}, {rejections}, {failures}, streak {streak}");
        return (set, text("reason").unwrap_or_else(|| "-".to_owned()));
    }
    let check = match record.data.get("post_check_passed").and_then(Value::as_bool) {
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

fn show(dimension: &DimensionArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = with_query("trust/record", &dimension.parameters());
    with_service(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        match answer.read()? {
            TrustRecordOrSum::Record(record) => write(&record, output)?,
            TrustRecordOrSum::Sum(sum) => write_sum(&sum, output)?,
        }
        Ok(())
    })
}

fn write_sum(sum: &TrustSumAnswer, output: &mut Output) -> Result<(), OutputError> {
    let approvals = format!("{}, {} of them without a person", sum.approvals, sum.auto_approvals);
    write_fields(
        &[
            ("dimension", Some(dimension_words(&sum.dimension).as_str())),
            ("dimensions", Some(&sum.dimensions.to_string())),
            ("approvals", Some(&approvals)),
            ("rejections", Some(&sum.rejections.to_string())),
            ("failures", Some(&sum.failures.to_string())),
            ("breakers", Some(&format!("{} not closed", sum.breakers_not_closed))),
            ("last", sum.last_updated.as_deref().map(to_the_second).as_deref()),
            ("as of", Some(&to_the_second(&sum.evaluated_at))),
        ],
        output,
    )
}

fn write(answer: &TrustRecordAnswer, output: &mut Output) -> Result<(), OutputError> {
    let TrustDimension { dimension, trust, auto_approvals } = &answer.record;
    let approvals = format!("{}, {auto_approvals} of them without a person", trust.approvals);
    let failures =
        format!("{}, {} of them among the last 50 outcomes", trust.failures, trust.recent_failures);
    let at = to_the_second(&answer.evaluated_at);
    write_fields(
        &[
            ("dimension", Some(dimension_words(dimension).as_str())),
            ("score", Some(&trust.score)),
            ("standing", Some(&format!("{} ({})", trust.standing, trust.standing_reason))),
            ("approvals", Some(&approvals)),
            ("rejections", Some(&trust.rejections.to_string())),
            ("failures", Some(&failures)),
            ("streak", Some(&trust.streak.to_string())),
            ("last", trust.last_updated.as_deref().map(to_the_second).as_deref()),
            ("breaker", Some(&breaker_words(&answer.breaker))),
            ("as of", Some(&at)),
        ],
        output,
    )
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

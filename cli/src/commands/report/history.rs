//! Reports of a day, of work, of tools and of reviews: a service's answers, summed page by page.

use bitacora_api::{AnsweredList, CallList, DecisionMinuteList, GapList, SessionList};
use bitacora_ledger::{Clock, SystemClock};
use bitacora_report::{
    DayLists, DaySums, HistoryReport, ReportSpan, ReviewSums, SpanError, ToolAnswers, WorkSums,
};
use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::commands::report::section;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::each_page;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::{ServiceClient, ServiceUse};
use crate::options::time::PastTime;

/// The page size of lists that are only summed.
const PAGE_ITEMS: u32 = 1_000;

/// The span of a report.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Span {
    /// Only from this time on: 7d, yesterday, 2026-11-20, 2026-11-20T13:00:00Z. Without it, from the beginning.
    #[arg(long, value_name = "TIME")]
    from: Option<PastTime>,
    /// Only before this time; a date is the beginning of that day (UTC).
    #[arg(long, value_name = "TIME")]
    to: Option<PastTime>,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Format {
    /// Print CSV: one table as it is, several with one value a line; the same as --format csv.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    csv: bool,
    /// Print in this format; html is one page to print or send. [default: text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<FormatName>,
}

/// The name of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    Text,
    Csv,
    Html,
}

impl Span {
    fn read(self) -> Result<ReportSpan, SpanError> {
        ReportSpan::between(self.from.map(|from| from.0), self.to.map(|to| to.0))
    }
}

pub(super) fn day(
    date: PastTime,
    format: &Format,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let span = ReportSpan::day(date.0, SystemClock.now())?;
    let by_name = format.is_for_people(context);
    let service = context.asking(ServiceUse::ReadModels).service()?;
    let lists = DayLists {
        tools: of_days(service, "tool-usage?by=tool", &span)?,
        agents: of_days(service, "tool-usage?by=agent", &span)?,
        models: of_days(service, "costs?by=model", &span)?,
    };
    let mut sums = DaySums::default();
    let times = json!({"since": span.from(), "before": span.before(), "limit": PAGE_ITEMS});
    each_page(service, &with_query("decisions", &times), |_, page: DecisionMinuteList| {
        page.minutes.iter().for_each(|minute| sums.add_minute(minute));
        Ok(())
    })?;
    each_page(service, &with_query("sessions", &times), |_, page: SessionList| {
        page.sessions.iter().for_each(|session| sums.add_session(session));
        Ok(())
    })?;
    each_page(service, &of_all("gaps"), |_, page: GapList| {
        page.gaps.iter().for_each(|gap| sums.add_gap(gap, &span));
        Ok(())
    })?;
    answered(service, &span, &mut sums.reviews)?;
    let people = by_name.then(|| KnownPeople::of(service)).transpose()?;
    let report = sums.report(&lists, span, |actor| named(people.as_ref(), actor));
    write(&report, format, context)
}

pub(super) fn who_did_what(
    span: &Span,
    format: &Format,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let span = span.read()?;
    let service = context.asking(ServiceUse::ReadModels).service()?;
    let mut sums = WorkSums::default();
    let times = json!({"since": span.from(), "before": span.before(), "limit": PAGE_ITEMS});
    each_page(service, &with_query("calls", &times), |_, page: CallList| {
        page.calls.iter().for_each(|call| sums.add(call));
        Ok(())
    })?;
    write(&sums.report(span), format, context)
}

pub(super) fn tools(
    span: &Span,
    format: &Format,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let span = span.read()?.whole_days();
    let service = context.asking(ServiceUse::ReadModels).service()?;
    let answers = ToolAnswers {
        by_tool: of_days(service, "tool-usage?by=tool", &span)?,
        by_agent: of_days(service, "tool-usage?by=tool,agent", &span)?,
        costs: of_days(service, "costs?by=tool", &span)?,
    };
    write(&answers.report(span), format, context)
}

pub(super) fn reviews(
    span: &Span,
    format: &Format,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let span = span.read()?;
    let by_name = format.is_for_people(context);
    let service = context.asking(ServiceUse::ReadModels).service()?;
    let mut sums = ReviewSums::default();
    answered(service, &span, &mut sums)?;
    let people = by_name.then(|| KnownPeople::of(service)).transpose()?;
    write(&sums.report(span, |actor| named(people.as_ref(), actor)), format, context)
}

/// Asks for sums by day.
fn of_days<T: DeserializeOwned>(
    service: &mut ServiceClient,
    path: &str,
    span: &ReportSpan,
) -> Result<T, CommandError> {
    let days = json!({"since": span.from_date(), "before": span.before_date()});
    Ok(service.get(&with_query(path, &days))?.read()?)
}

/// Counts the answers to approvals. The list takes no times, so each of its pages is looked at.
fn answered(
    service: &mut ServiceClient,
    span: &ReportSpan,
    sums: &mut ReviewSums,
) -> Result<(), CommandError> {
    each_page(service, &of_all("resolutions"), |_, page: AnsweredList| {
        page.resolutions.iter().for_each(|answered| sums.add(answered, span));
        Ok(())
    })
}

fn of_all(list: &str) -> String {
    with_query(list, &json!({"limit": PAGE_ITEMS}))
}

fn named(people: Option<&KnownPeople>, actor: &str) -> String {
    people.map_or_else(|| actor.to_owned(), |people| people.named(actor))
}

impl Format {
    fn is_for_people(self, context: &CommandContext) -> bool {
        self.name() != FormatName::Csv && !context.is_json()
    }

    fn name(self) -> FormatName {
        if self.csv { FormatName::Csv } else { self.format.unwrap_or(FormatName::Text) }
    }
}

fn write(
    report: &HistoryReport,
    format: &Format,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    if format.name() == FormatName::Csv {
        context.output.bytes(report.csv().as_bytes())?;
        return Ok(Exit::Done);
    }
    let position = context.service()?.at_least().unwrap_or("-").to_owned();
    let ledger = context.global.ledger.to_string();
    if context.is_json() {
        return context.print(&report.json(&ledger, &position));
    }
    let title = format!("ledger {ledger} {}, up to position {position}", report.span.words());
    let sections = report.sections();
    if format.name() == FormatName::Html {
        context.output.bytes(section::page(&title, &sections).as_bytes())?;
        return Ok(Exit::Done);
    }
    section::write(&title, &sections, &mut context.output)?;
    Ok(Exit::Done)
}

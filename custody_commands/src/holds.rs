//! `holds`: legal holds, which win over erasures and the retention policy.

use bitacora_api::{
    HoldAnswer, HoldList, HoldPlacedAnswer, HoldReleaseRequest, HoldRequest, HoldScopeAnswer,
};
use clap::{Args, Subcommand};
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::named;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::printable;
use crate::terminal::table::{Cell, TextTable, cells};

/// The arguments of `holds`.
pub type HoldsArguments = OptionalCommand<HoldsCommand>;

/// The commands of `holds`.
#[derive(Debug, Subcommand)]
pub enum HoldsCommand {
    /// List the holds in force (default).
    List,
    /// Place a hold on events that match all of these; without any, on all. They are neither erased nor removed.
    Place(PlaceArguments),
    /// Release a hold.
    Release {
        /// The hold's id.
        hold: String,
        /// The words that are recorded.
        #[command(flatten)]
        words: HoldWords,
    },
}

/// The words that are recorded with a change of holds.
#[derive(Debug, Args)]
pub struct HoldWords {
    /// The reason; recorded for good, so without a subject's name.
    #[arg(long, value_name = "WORDS")]
    reason: String,
    /// The person on whose behalf it is done; recorded for good.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// The arguments of `holds place`.
#[derive(Debug, Args)]
pub struct PlaceArguments {
    /// The hold's id.
    hold: String,
    /// The data subject, as events name it in `datasubject`; the name is not recorded.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// The position of the first event.
    #[arg(long, value_name = "POSITION")]
    from_position: Option<String>,
    /// The position of the last event, which is recorded already. [default: events to come as well]
    #[arg(long, value_name = "POSITION")]
    to_position: Option<String>,
    /// The stream.
    #[arg(long, value_name = "STREAM")]
    stream: Option<String>,
    #[command(flatten)]
    words: HoldWords,
}

/// Runs `holds`.
pub fn run(arguments: HoldsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(HoldsCommand::List) {
        HoldsCommand::List => list(context),
        HoldsCommand::Place(arguments) => place(arguments, context),
        HoldsCommand::Release { hold, words: HoldWords { reason, by } } => {
            let released = HoldReleaseRequest { reason, by };
            context.act(&Method::DELETE, &named("holds", &hold), Some(&released))
        }
    }
}

fn list(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<HoldList>("holds")? else { return Ok(Exit::Done) };
    let mut table = TextTable::new(&["hold", "since", "covers", "by", "reason"]);
    for HoldAnswer { hold, scope, time, by, reason, .. } in pages.iter().flat_map(|page| &page.holds) {
        table.add(cells![Cell::id(hold), Cell::time(time), Cell::whole(scope_words(scope)), by, reason]);
    }
    table.write("no hold is in force", &mut context.output)?;
    Ok(Exit::Done)
}

fn place(arguments: PlaceArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let PlaceArguments { hold, subject, from_position, to_position, stream, words } = arguments;
    let HoldWords { reason, by } = words;
    let request = HoldRequest { hold, subject, first: from_position, last: to_position, stream, reason, by };
    let answer = context.send(&Method::POST, "holds", Some(&request))?;
    context.answer(&answer, |placed: &HoldPlacedAnswer, output| {
        let words = format!("hold {} is in force, recorded at position {}", placed.hold, placed.position);
        output.line(printable(&words))?;
        placed
            .warning
            .iter()
            .try_for_each(|warning| output.line(format_args!("warning: {}", printable(warning))))
    })
}

/// Formats a scope: `positions 1 to 20, stream orders`.
fn scope_words(scope: &HoldScopeAnswer) -> String {
    let HoldScopeAnswer { key, first, last, stream } = scope;
    let range = match (first, last) {
        (None, None) => None,
        (Some(first), None) => Some(format!("from position {first}")),
        (None, Some(last)) => Some(format!("up to position {last}")),
        (Some(first), Some(last)) => Some(format!("positions {first} to {last}")),
    };
    let key = key.as_ref().map(|key| format!("subject's key {key}"));
    let stream = stream.as_ref().map(|stream| format!("stream {stream}"));
    let parts: Vec<_> = [key, range, stream].into_iter().flatten().collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

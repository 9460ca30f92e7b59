//! `approvals`: calls that are pending, and the answers of people.

mod answered;
mod asked_for;

use std::path::PathBuf;

use bitacora_api::{ApprovalAnswer, ApprovalList, ResolutionRequest};
use clap::{Args, Subcommand};
use hyper::Method;
use serde::Serialize;

use self::answered::AnsweredArguments;
use self::asked_for::asked_for;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::{Document, WithArgs};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::query::named;
use crate::ledger_access::service::ServiceAnswer;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells, to_the_second};

/// The number of approvals in a list whose request is shown; for the others, only the tool is.
const MAX_ASKED_FOR: usize = 50;

pub(crate) type ApprovalsArguments = OptionalCommand<ApprovalsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending approvals (default).
    List {
        /// Include approvals whose call has ended meanwhile.
        #[arg(long)]
        all: bool,
    },
    /// Show one approval, answered or not.
    Show {
        /// The approval's id.
        approval: String,
    },
    /// Let the call run once, with exactly these arguments.
    Approve(AnswerArguments),
    /// Reject the call.
    Reject(AnswerArguments),
    /// Let the call run once, with other arguments.
    Edit {
        #[command(flatten)]
        answer: AnswerArguments,
        /// The approved arguments, as JSON.
        #[arg(
            long,
            value_name = "JSON",
            required_unless_present = "args_file",
            conflicts_with = "args_file"
        )]
        args: Option<Document>,
        /// The file with the approved arguments; `-` is stdin.
        #[arg(long, value_name = "FILE")]
        args_file: Option<PathBuf>,
        /// The folder that paths in the arguments are relative to. [default: that of the request]
        #[arg(long, value_name = "FOLDER")]
        cwd: Option<String>,
    },
    /// Withdraw the request for approval.
    Withdraw(AnswerArguments),
    /// List answered approvals: answer, actor and waiting time.
    Answered(AnsweredArguments),
    /// Show the people who answer: their answers and response times.
    People,
}

/// A person's answer to an approval. The first answer holds.
#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The approval's id.
    approval: String,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

pub(crate) fn run(arguments: ApprovalsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(ApprovalsCommand::List { all: false }) {
        ApprovalsCommand::List { all } => list(all, context),
        ApprovalsCommand::Show { approval } => {
            let answer = context.get(&named("approvals", &approval))?;
            show(&answer, context)
        }
        ApprovalsCommand::Answered(arguments) => answered::answered(&arguments, context),
        ApprovalsCommand::People => answered::people(context),
        ApprovalsCommand::Approve(answer) => answer.say("approve", context),
        ApprovalsCommand::Reject(answer) => answer.say("reject", context),
        ApprovalsCommand::Withdraw(answer) => answer.say("withdraw", context),
        ApprovalsCommand::Edit { answer: AnswerArguments { approval, note }, args, args_file, cwd } => {
            let args = Document::of_call(args, args_file.as_deref())?;
            let rest = ResolutionRequest { note, args: None, cwd, action_digest: None };
            resolve(&approval, "edit", &WithArgs { rest, args }, context)
        }
    }
}

fn list(all: bool, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<ApprovalList>("approvals")? else { return Ok(Exit::Done) };
    let has_parts = pages.iter().flat_map(|page| &page.approvals).any(|one| one.parts.is_some());
    let heading = ["approval", "since", "until", "agent", "call", "what it asks for", "parts"];
    let table = TextTable::new(if has_parts { &heading } else { &heading[..6] });
    let mut table = table.dispensing(&["since", "agent"]);
    let is_over = |approval: &&ApprovalAnswer| approval.call_ended == Some(true);
    let (over, pending): (Vec<_>, Vec<_>) = pages.iter().flat_map(|page| &page.approvals).partition(is_over);
    let left_out = if all { 0 } else { over.len() };
    let shown = pending.into_iter().chain(over.into_iter().filter(|_| all));
    for (index, approval) in shown.enumerate() {
        let what = match &approval.unread {
            Some(_) => Some(format!("{}: what it would do cannot be read", approval.tool)),
            None if index < MAX_ASKED_FOR => asked_for(context.service()?, approval),
            None => None,
        };
        let mut row = cells![
            Cell::id(&approval.id),
            Cell::time(&approval.asked),
            Cell::time(&approval.expires),
            &approval.agent,
            Cell::id(&approval.call),
            what.as_deref().unwrap_or(&approval.tool),
        ];
        // Whole, where the command beside them is cut: nobody says yes to the beginning of a command alone.
        row.extend(parts_of(approval).map(Cell::whole));
        table.add(row);
    }
    table.write("no approval is pending", &mut context.output)?;
    if left_out > 0 {
        context.say(format_args!(
            "{left_out} more of calls that have ended meanwhile: `bitacora approvals list --all`"
        ))?;
    }
    Ok(Exit::Done)
}

/// Returns all parts of a command, in words.
fn parts_of(approval: &ApprovalAnswer) -> Option<String> {
    let parts = approval.parts.as_ref()?.join(" · ");
    Some(match approval.more_parts {
        Some(more) => format!("{parts} · and {more} more"),
        None => parts,
    })
}

impl AnswerArguments {
    fn say(self, act: &str, context: &mut CommandContext) -> Result<Exit, CommandError> {
        let Self { approval, note } = self;
        let request = ResolutionRequest { note, args: None, cwd: None, action_digest: None };
        resolve(&approval, act, &request, context)
    }
}

/// Sends a person's answer, and shows its effect.
fn resolve(
    approval: &str,
    act: &str,
    request: &impl Serialize,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let path = format!("{}:{act}", named("approvals", approval));
    let answer = context.send(&Method::POST, &path, Some(request))?;
    show(&answer, context)
}

fn show(answer: &ServiceAnswer, context: &mut CommandContext) -> Result<Exit, CommandError> {
    if context.is_json() {
        return context.raw(answer);
    }
    let approval: ApprovalAnswer = answer.read()?;
    let service = context.service()?;
    let what = asked_for(service, &approval);
    let people = KnownPeople::of(service)?;
    write(&approval, what.as_deref().unwrap_or(&approval.tool), &people, &mut context.output)?;
    Ok(Exit::Done)
}

fn write(
    approval: &ApprovalAnswer,
    what: &str,
    people: &KnownPeople,
    output: &mut Output,
) -> Result<(), OutputError> {
    let answer = approval.resolution.as_ref();
    let said = answer.map(|answer| {
        let at = answer.at.as_deref().map(|at| format!(", {}", to_the_second(at)));
        format!("{} by {}{}", answer.resolution, people.named(&answer.by), at.unwrap_or_default())
    });
    let used = approval.consumed.as_ref();
    let used = used.map(|used| format!("by call {}, {}", used.call, to_the_second(&used.at)));
    let ended = if approval.call_ended == Some(true) { ", which has ended meanwhile" } else { "" };
    FieldLines::new()
        .with("approval", &approval.id)
        .with("status", &approval.status)
        .with("call", format!("{}{ended}", approval.call))
        .maybe("not read", approval.unread.as_ref())
        .with("asks for", what)
        .maybe("parts", parts_of(approval))
        .maybe("agent", approval.agent.as_ref())
        .maybe("asked by", approval.requested_by.as_ref())
        .maybe("approvers", (!approval.approvers.is_empty()).then(|| approval.approvers.join(", ")))
        .with("since", to_the_second(&approval.asked))
        .with("until", to_the_second(&approval.expires))
        .maybe("said", said)
        .maybe("note", answer.and_then(|answer| answer.note.as_ref()))
        .maybe("used", used)
        .maybe("action", approval.action_digest.as_ref())
        .maybe("policy", approval.policy_version.as_ref())
        .write(output)
}

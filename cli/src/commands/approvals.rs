//! `approvals`: calls that wait for a person, and the person's answers.

mod answered;
mod asked_for;

use std::path::PathBuf;

use bitacora_api::{ApprovalAnswer, ApprovalList};
use clap::{Args, Subcommand};

use self::answered::AnsweredArguments;
use self::asked_for::asked_for;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::service::{ServiceClient, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

/// The number of approvals in a list whose request is shown; for the others, only the tool is.
const MAX_ASKED_FOR: usize = 50;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArguments {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
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
struct AnswerArguments {
    /// The approval's id.
    approval: String,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

pub(crate) fn run(
    arguments: &ApprovalsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ApprovalsCommand::List { all: false }) {
        ApprovalsCommand::List { all } => list(*all, global, output)?,
        ApprovalsCommand::Show { approval } => {
            with_service(global, |service| {
                let answer = service.get(&path_of(approval, ""))?;
                show(service, answer.text(), &answer.read()?, global, output)
            })?;
        }
        ApprovalsCommand::Answered(arguments) => answered::answered(arguments, global, output)?,
        ApprovalsCommand::People => answered::people(global, output)?,
        ApprovalsCommand::Approve(answer) => say("approve", answer, JsonObject::new(), global, output)?,
        ApprovalsCommand::Reject(answer) => say("reject", answer, JsonObject::new(), global, output)?,
        ApprovalsCommand::Withdraw(answer) => say("withdraw", answer, JsonObject::new(), global, output)?,
        ApprovalsCommand::Edit { answer, args, args_file, cwd } => {
            let brought = args_file.as_deref().map(Document::read).transpose()?;
            let args = brought.as_ref().or(args.as_ref()).map_or("{}", Document::text);
            let body = JsonObject::new().raw("args", args).maybe("cwd", cwd.as_deref());
            say("edit", answer, body, global, output)?;
        }
    }
    Ok(Exit::Done)
}

fn path_of(approval: &str, act: &str) -> String {
    format!("approvals/{}{act}", percent_encoded(approval))
}

fn list(all: bool, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<ApprovalList>(service, "approvals", global, output)? else {
            return Ok(());
        };
        let has_parts = pages.iter().flat_map(|page| &page.approvals).any(|one| one.parts.is_some());
        let heading = ["approval", "since", "until", "agent", "call", "what it asks for", "parts"];
        let mut table = TextTable::new(if has_parts { &heading } else { &heading[..6] });
        let is_over = |approval: &&ApprovalAnswer| approval.call_ended == Some(true);
        let (over, waiting): (Vec<_>, Vec<_>) =
            pages.iter().flat_map(|page| &page.approvals).partition(is_over);
        let left_out = if all { 0 } else { over.len() };
        let shown = waiting.into_iter().chain(over.into_iter().filter(|_| all));
        for (index, approval) in shown.enumerate() {
            let what = match &approval.unread {
                Some(_) => Some(format!("{}: what it would do cannot be read", approval.tool)),
                None if index < MAX_ASKED_FOR => asked_for(service, approval),
                None => None,
            };
            let cells = [
                &approval.id,
                &*to_the_second(&approval.asked),
                &to_the_second(&approval.expires),
                approval.agent.as_deref().unwrap_or("-"),
                &approval.call,
                what.as_deref().unwrap_or(&approval.tool),
            ];
            // Whole, where the command beside them is cut: nobody says yes to the beginning of a command alone.
            match parts_of(approval) {
                Some(parts) => table.row_ending_in(&cells, &parts),
                None => table.row(&cells),
            }
        }
        table.write("nothing waits for a person", output)?;
        if left_out > 0 {
            output.line(format_args!(
                "{left_out} more of calls that have ended meanwhile: `bitacora approvals list --all`"
            ))?;
        }
        Ok(())
    })
}

/// Returns all parts of a command, in words.
fn parts_of(approval: &ApprovalAnswer) -> Option<String> {
    let parts = approval.parts.as_ref()?.join(" · ");
    Some(match approval.more_parts {
        Some(more) => format!("{parts} · and {more} more"),
        None => parts,
    })
}

/// Sends a person's answer, and shows its effect.
fn say(
    act: &str,
    answer: &AnswerArguments,
    body: JsonObject,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let body = body.maybe("note", answer.note.as_deref()).end();
    with_service(global, |service| {
        let answer = service.post(&path_of(&answer.approval, &format!(":{act}")), Some(body))?;
        show(service, answer.text(), &answer.read()?, global, output)
    })
}

fn show(
    service: &mut ServiceClient,
    text: &str,
    approval: &ApprovalAnswer,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    if global.json {
        return Ok(output.json_text(text)?);
    }
    let what = asked_for(service, approval);
    let people = KnownPeople::of(service)?;
    Ok(write(approval, what.as_deref().unwrap_or(&approval.tool), &people, output)?)
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
    let call = format!("{}{ended}", approval.call);
    let approvers = (!approval.approvers.is_empty()).then(|| approval.approvers.join(", "));
    let (asked, expires) = (to_the_second(&approval.asked), to_the_second(&approval.expires));
    write_fields(
        &[
            ("approval", Some(approval.id.as_str())),
            ("status", Some(&approval.status)),
            ("call", Some(&call)),
            ("not read", approval.unread.as_deref()),
            ("asks for", Some(what)),
            ("parts", parts_of(approval).as_deref()),
            ("agent", approval.agent.as_deref()),
            ("asked by", approval.requested_by.as_deref()),
            ("approvers", approvers.as_deref()),
            ("since", Some(&asked)),
            ("until", Some(&expires)),
            ("said", said.as_deref()),
            ("note", answer.and_then(|answer| answer.note.as_deref())),
            ("used", used.as_deref()),
            ("action", approval.action_digest.as_deref()),
            ("policy", approval.policy_version.as_deref()),
        ],
        output,
    )
}

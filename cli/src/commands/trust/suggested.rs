//! `trust suggest`, `accept` and `reject`: rules suggested from the history, and a person's answers.

use bitacora_api::{
    SuggestionAccepted, SuggestionAnswer, SuggestionAnswerRequest, SuggestionList, SuggestionsMade,
};
use bitacora_report::{position_words, suggestion_subject};
use clap::{Args, ValueEnum};
use hyper::Method;
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage, each_page};
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::{ServiceAnswer, ServiceUse};
use crate::rows::{Row, RowTable};
use crate::terminal::output::printable;
use crate::terminal::table::{Cell, TextTable, cells};

#[derive(Debug, Args)]
pub(crate) struct SuggestArguments {
    /// Only suggestions in this state. [default: made and possible ones, without an answer]
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Make new suggestions first, so that they can be answered.
    #[arg(long)]
    make: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Candidate,
    Open,
    Accepted,
    Rejected,
    Imported,
}

impl State {
    fn path(self) -> String {
        with_query("suggestions", &json!({"state": self}))
    }
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The suggestion's id.
    suggestion: String,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AcceptArguments {
    #[command(flatten)]
    answer: AnswerArguments,
    /// The working folders of the rule, as a glob; `**` for all. Needed where calls name their files relative to their working folder.
    #[arg(long, value_name = "GLOB")]
    cwd: Vec<String>,
}

/// The remark where only imports that do not count yet support rules.
const IMPORTS_WOULD: &str = "; imports that do not count yet would: see `bitacora trust suggest --state imported` and `bitacora imports`";

pub(super) fn suggest(
    arguments: &SuggestArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    let states = arguments.state.map_or(vec![State::Open, State::Candidate], |state| vec![state]);
    let mut made = None;
    if arguments.make {
        made = Some(context.send(&Method::POST, "suggestions:refresh", None::<&()>)?);
        // The answers below include the suggestions made just now.
        context.service()?.wait_for_now()?;
    }
    if context.is_json() {
        return write_json(made.as_ref(), &states, context);
    }
    let made: Option<SuggestionsMade> = made.map(|answer| answer.read()).transpose()?;
    if let Some(made) = made.filter(|made| !made.made.is_empty()) {
        let more = if made.more { "; the same again makes more" } else { "" };
        context.say(format_args!("{} made{more}", made.made.len()))?;
    }
    let mut found = Vec::new();
    for state in &states {
        found.extend(context.items::<SuggestionList>(&state.path())?);
    }
    found.sort_by_key(urgency);
    let waits = arguments.state.is_none() && found.is_empty() && something_waits(context)?;
    let empty = format!("what was observed speaks for no rule{}", if waits { IMPORTS_WOULD } else { "" });
    TextTable::of(&found).write(&empty, &mut context.output)?;
    Ok(Exit::Done)
}

/// Returns the rank of a kind: rules that stop calls come before rules that allow them.
fn urgency(suggestion: &SuggestionAnswer) -> usize {
    let kinds = ["block", "review", "better_model", "cheaper_model", "promote"];
    kinds.iter().position(|kind| suggestion.kind.as_deref() == Some(kind)).unwrap_or(kinds.len())
}

impl Row for SuggestionAnswer {
    const HEADINGS: &'static [&'static str] = &["suggestion", "state", "what for", "why", "positions"];

    fn cells(&self) -> Vec<Cell> {
        let positions = position_words(&self.evidence);
        cells![
            Cell::id(&self.suggestion),
            Cell::id(&self.state),
            suggestion_subject(self),
            &self.reason,
            positions
        ]
    }
}

/// Writes the suggestions in these states as one list, with those just made where that was asked for.
fn write_json(
    made: Option<&ServiceAnswer>,
    states: &[State],
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let mut document = MergedPages::new(SuggestionList::LISTS);
    for state in states {
        each_page(context.service()?, &state.path(), |text, _: SuggestionList| Ok(document.take(text)?))?;
    }
    let mut told = MergedPages::new(&[]);
    made.map(|made| told.take(made.text())).transpose()?;
    document.prepend("made", told.member("made"));
    context.output.json_text(&document.to_json())?;
    Ok(Exit::Done)
}

/// Returns `true` if imports that do not count yet would support a suggestion.
fn something_waits(context: &mut CommandContext) -> Result<bool, CommandError> {
    let path = with_query("suggestions", &json!({"state": "imported", "limit": 1}));
    Ok(!context.read::<SuggestionList>(&path)?.suggestions.is_empty())
}

pub(super) fn accept(arguments: AcceptArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let AcceptArguments { answer: AnswerArguments { suggestion, note }, cwd } = arguments;
    let path = format!("{}:accept", named("suggestions", &suggestion));
    let request = answer_request(note, cwd);
    let answer = context.asking(ServiceUse::ReadModels).send(&Method::POST, &path, request.as_ref())?;
    context.answer(&answer, |accepted: &SuggestionAccepted, output| {
        let SuggestionAccepted { version, position, place, rules, .. } = accepted;
        let behind = accepted.behind.as_deref().map(|rule| format!(", behind `{rule}`")).unwrap_or_default();
        output.line(printable(&format!(
            "accepted at position {position}; version {version} of the policy has its rule in place {place} of {rules}{behind}",
        )))?;
        if !accepted.decided_before.is_empty() {
            let rules = printable(&accepted.decided_before.join("`, `"));
            output.line(format_args!(
                "rules before it may match the same calls, and then decide: `{rules}`"
            ))?;
        }
        let version = printable(version);
        output.line(format_args!("calls are judged by it after `bitacora policy activate {version}`"))
    })
}

pub(super) fn reject(
    AnswerArguments { suggestion, note }: AnswerArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let path = format!("{}:reject", named("suggestions", &suggestion));
    let request = answer_request(note, Vec::new());
    context.asking(ServiceUse::ReadModels).act(&Method::POST, &path, request.as_ref())
}

fn answer_request(note: Option<String>, cwd: Vec<String>) -> Option<SuggestionAnswerRequest> {
    let cwd = (!cwd.is_empty()).then_some(cwd);
    (note.is_some() || cwd.is_some()).then_some(SuggestionAnswerRequest { note, cwd })
}

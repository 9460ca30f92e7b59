//! `trust suggest`, `accept` and `reject`: rules suggested from the history, and a person's answers.

use bitacora_api::{SuggestionAccepted, SuggestionAnswer, SuggestionList, SuggestionsMade};
use clap::{Args, ValueEnum};

use crate::error::CommandError;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage, each_page};
use crate::ledger_access::service::{ServiceAnswer, ServiceClient, with_query, with_read_models};
use crate::options::dimension::dimension_words;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::TextTable;
use bitacora_client::percent_encoded;
use bitacora_import::{JsonObject, json_array};

/// The numbers of positions that are shown from the beginning and from the end.
const SHOWN_POSITIONS: [usize; 2] = [2, 3];

#[derive(Debug, Args)]
pub(crate) struct SuggestArguments {
    /// Only suggestions in this state. [default: made and possible ones, without an answer]
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Make new suggestions first, so that they can be answered.
    #[arg(long)]
    make: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Candidate,
    Open,
    Accepted,
    Rejected,
    Imported,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Imported => "imported",
        }
    }

    fn path(self) -> String {
        with_query("suggestions", &[("state", Some(self.name()))])
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
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let states = arguments.state.map_or(vec![State::Open, State::Candidate], |state| vec![state]);
    with_read_models(global, |service| {
        let mut made = None;
        if arguments.make {
            made = Some(service.post("suggestions:refresh", None)?);
            // The answers below include the suggestions made just now.
            service.wait_for_now()?;
        }
        if global.json {
            return write_json(made.as_ref(), &states, service, output);
        }
        let made: Option<SuggestionsMade> = made.map(|answer| answer.read()).transpose()?;
        if let Some(made) = made.filter(|made| !made.made.is_empty()) {
            let more = if made.more { "; the same again makes more" } else { "" };
            output.line(format_args!("{} made{more}", made.made.len()))?;
        }
        let mut found = Vec::new();
        for state in &states {
            each_page(service, &state.path(), |_, page: SuggestionList| {
                found.extend(page.suggestions);
                Ok(())
            })?;
        }
        found.sort_by_key(urgency);
        let mut table = TextTable::new(&["suggestion", "state", "what for", "why", "positions"]);
        found.iter().for_each(|suggestion| row(&mut table, suggestion));
        let is_asked_of_all = arguments.state.is_none();
        let waits = is_asked_of_all && table.is_empty() && something_waits(service)?;
        let imports = if waits { IMPORTS_WOULD } else { "" };
        Ok(table.write(&format!("what was observed speaks for no rule{imports}"), output)?)
    })
}

/// Returns the rank of a kind: rules that stop calls come before rules that allow them.
fn urgency(suggestion: &SuggestionAnswer) -> usize {
    let kinds = ["block", "review", "better_model", "cheaper_model", "promote"];
    kinds.iter().position(|kind| suggestion.kind.as_deref() == Some(kind)).unwrap_or(kinds.len())
}

fn row(table: &mut TextTable, suggestion: &SuggestionAnswer) {
    let [what, positions] = [what_for(suggestion), positions(&suggestion.evidence)];
    table.row(&[&suggestion.suggestion, &suggestion.state, &what, &suggestion.reason, &positions]);
}

/// Writes the suggestions in these states as one list, with those just made where that was asked for.
fn write_json(
    made: Option<&ServiceAnswer>,
    states: &[State],
    service: &mut ServiceClient,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut document = MergedPages::new(SuggestionList::LISTS);
    for state in states {
        each_page(service, &state.path(), |text, _: SuggestionList| Ok(document.take(text)?))?;
    }
    let mut told = MergedPages::new(&[]);
    made.map(|made| told.take(made.text())).transpose()?;
    let made = JsonObject::new().maybe_raw("made", told.member("made"));
    Ok(output.json_text(&document.add_to(made).end())?)
}

/// Returns `true` if imports that do not count yet would support a suggestion.
fn something_waits(service: &mut ServiceClient) -> Result<bool, CommandError> {
    let path = with_query("suggestions", &[("state", Some("imported")), ("limit", Some("1"))]);
    Ok(!service.get(&path)?.read::<SuggestionList>()?.suggestions.is_empty())
}

pub(super) fn accept(
    arguments: &AcceptArguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    with_read_models(global, |service| {
        let answer = service.post(&arguments.answer.path("accept"), arguments.body())?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let accepted: SuggestionAccepted = answer.read()?;
        let version = printable(&accepted.version);
        let behind = accepted.behind.as_deref().map(|rule| format!(", behind `{}`", printable(rule)));
        output.line(format_args!(
            "accepted at position {}; version {version} of the policy has its rule in place {} of {}{}",
            printable(&accepted.position),
            accepted.place,
            accepted.rules,
            behind.unwrap_or_default(),
        ))?;
        if !accepted.decided_before.is_empty() {
            let rules = accepted.decided_before.join("`, `");
            output.line(format_args!(
                "rules before it may match the same calls, and then decide: `{}`",
                printable(&rules)
            ))?;
        }
        Ok(output.line(format_args!("calls are judged by it after `bitacora policy activate {version}`"))?)
    })
}

pub(super) fn reject(
    arguments: &AnswerArguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    with_read_models(global, |service| {
        service.post(&arguments.path("reject"), arguments.body())?.write_act(global, output)
    })
}

impl AcceptArguments {
    fn body(&self) -> Option<String> {
        let note = self.answer.note.as_deref();
        let cwd = (!self.cwd.is_empty()).then(|| {
            json_array(self.cwd.iter().map(|glob| serde_json::Value::from(glob.as_str()).to_string()))
        });
        let body = JsonObject::new().maybe("note", note).maybe_raw("cwd", cwd.as_ref());
        (note.is_some() || cwd.is_some()).then(|| body.end())
    }
}

impl AnswerArguments {
    fn path(&self, verb: &str) -> String {
        format!("suggestions/{}:{verb}", percent_encoded(&self.suggestion))
    }

    fn body(&self) -> Option<String> {
        self.note.as_deref().map(|note| JsonObject::new().text("note", note).end())
    }
}

/// Describes the subject of a suggestion, with the tags that people gave it.
pub(crate) fn what_for(suggestion: &SuggestionAnswer) -> String {
    let mut words = suggestion.dimension.as_ref().map_or("-".to_owned(), dimension_words);
    if !suggestion.tags.is_empty() {
        words.push_str(&format!(" [{}]", suggestion.tags.join(", ")));
    }
    words
}

/// Shortens positions: the first and the last ones, and their number.
pub(crate) fn positions(all: &[String]) -> String {
    let [first, last] = SHOWN_POSITIONS;
    if all.len() <= first + last {
        return all.join(", ");
    }
    let beginning = all.get(..first).unwrap_or_default().join(", ");
    let end = all.get(all.len() - last..).unwrap_or_default().join(", ");
    format!("{beginning} … {end} ({})", all.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_positions_the_first_and_the_last_are_shown() {
        let all = |count: usize| positions(&(1..=count).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(all(0), "");
        assert_eq!(all(5), "1, 2, 3, 4, 5");
        assert_eq!(all(6), "1, 2 … 4, 5, 6 (6)");
    }
}

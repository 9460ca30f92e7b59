//! `imports`: external recordings, the change that each would make, and their acceptance.

use bitacora_api::{ImportAnswer, ImportList, ImportListed, ImportedAnswer, NoteRequest, StandingsAnswer};
use clap::Subcommand;
use serde_json::json;

use crate::commands::trust::score_words;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::ServiceUse;
use crate::options::dimension::dimension_words;
use crate::options::optional_command::OptionalCommand;
use crate::options::usage::UsageError;
use crate::rows::{Row, RowList, RowTable};
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells};

/// The fewest characters that may stand for a digest.
const MIN_BEGINNING: usize = 8;
/// The characters of a whole digest: SHA-256 in hexadecimal digits.
const DIGEST_CHARACTERS: usize = 64;

pub(crate) type ImportsArguments = OptionalCommand<ImportsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportsCommand {
    /// List completed imports, the latest first (default).
    List,
    /// Show what an import would change: its counts, the ledger's, and the trust after acceptance.
    Show {
        /// The import: its digest, or the first 8 or more characters if no other import shares them.
        digest: String,
        /// Show at most this many dimensions. [default: 100]
        #[arg(long, value_name = "DIMENSIONS")]
        limit: Option<u32>,
    },
    /// Accept an import: its outcomes count towards trust from now on.
    Accept {
        /// The import: its digest, or the first 8 or more characters if no other import shares them.
        digest: String,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        note: Option<String>,
    },
}

pub(crate) fn run(arguments: ImportsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(ImportsCommand::List) {
        ImportsCommand::List => context.asking(ServiceUse::ReadModels).list::<ImportList>(
            "imports",
            "no import came to its end; one that was interrupted does when it is made again",
        ),
        ImportsCommand::Show { digest, limit } => {
            context.asking(ServiceUse::ReadModels);
            let path = named("imports", &whole_digest(&digest, context)?);
            context.show(&with_query(&path, &json!({"limit": limit})), write)
        }
        ImportsCommand::Accept { digest, note } => {
            let path = format!("{}:accept", named("imports", &whole_digest(&digest, context)?));
            match note {
                Some(note) => context.post(&path, &NoteRequest { note }),
                None => context.post(&path, &json!({})),
            }
        }
    }
}

/// Returns the digest of the one import that begins with this text. A text that begins none is returned as it is, and names no import.
fn whole_digest(beginning: &str, context: &mut CommandContext) -> Result<String, CommandError> {
    if !(MIN_BEGINNING..DIGEST_CHARACTERS).contains(&beginning.len()) {
        return Ok(beginning.to_owned());
    }
    let mut found = context.items::<ImportList>("imports")?;
    found.retain(|import| import.digest.starts_with(beginning));
    match found.as_slice() {
        [] => Ok(beginning.to_owned()),
        [one] => Ok(one.digest.clone()),
        several => {
            let (beginning, count) = (beginning.to_owned(), several.len());
            Err(UsageError::ImportBeginning { beginning, count }.into())
        }
    }
}

impl Row for ImportListed {
    const HEADINGS: &'static [&'static str] =
        &["position", "counts", "dimensions", "approvals", "rejections", "failures", "import"];
    const DISPENSABLE: &'static [&'static str] = &["dimensions", "failures", "rejections", "approvals"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::id(&self.position),
            Cell::id(self.accepted.as_deref().unwrap_or("no")),
            self.dimensions,
            self.approvals,
            self.rejections,
            self.failures,
            Cell::id(&self.digest),
        ]
    }
}

fn write(answer: &ImportAnswer, output: &mut Output) -> Result<(), OutputError> {
    let import = &answer.import;
    let [dimensions, approvals, rejections, failures] = counts(import);
    let showed = format!(
        "{dimensions} dimensions: {approvals} approvals, {rejections} rejections, {failures} failures"
    );
    let waits = import.accepted.is_none();
    FieldLines::new()
        .with("import", &import.digest)
        .with("position", &import.position)
        .maybe("counts since", import.accepted.as_ref())
        .with("showed", showed)
        .maybe("now", waits.then(|| standings(&answer.now)))
        .maybe("accepted", waits.then(|| standings(&answer.once_accepted)))
        .write(output)?;
    TextTable::of(&answer.changes).write("nothing of it waits", output)?;
    if answer.next.is_some() {
        output.line("and more: ask for them with --limit")?;
    }
    Ok(())
}

impl Row for ImportedAnswer {
    const HEADINGS: &'static [&'static str] =
        &["approvals", "rejections", "failures", "now", "once accepted", "score", "dimension"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            self.imported.approvals,
            self.imported.rejections,
            self.imported.failures,
            Cell::id(&self.now.standing),
            Cell::id(&self.once_accepted.standing),
            Cell::id(score_words(&self.once_accepted)),
            dimension_words(&self.dimension),
        ]
    }
}

/// Formats an import's counts, in the order of the columns; `-` where they are not known.
fn counts(import: &ImportListed) -> [String; 4] {
    [import.dimensions, import.approvals, import.rejections, import.failures]
        .map(|count| count.map_or_else(|| "-".to_owned(), |count| count.to_string()))
}

fn standings(of: &StandingsAnswer) -> String {
    format!("{} auto_approve, {} require_review, {} blocked", of.auto_approve, of.require_review, of.blocked)
}

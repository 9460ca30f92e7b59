//! `imports`: external recordings, the change that each would make, and their acceptance.

use bitacora_api::{ImportAnswer, ImportList, ImportListed, StandingsAnswer};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{each_page, pages_to_show};
use crate::ledger_access::service::{ServiceClient, with_query, with_read_models, with_service};
use crate::options::dimension::dimension_words;
use crate::options::global::Global;
use crate::options::usage::UsageError;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, write_fields};
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

/// The fewest characters that may stand for a digest.
const MIN_BEGINNING: usize = 8;
/// The characters of a whole digest: SHA-256 in hexadecimal digits.
const DIGEST_CHARACTERS: usize = 64;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ImportsArguments {
    #[command(subcommand)]
    command: Option<ImportsCommand>,
}

#[derive(Debug, Subcommand)]
enum ImportsCommand {
    /// List completed imports, the latest first (default).
    List,
    /// Show the change that an import would make: its counts, those of the ledger, and the trust after acceptance.
    Show {
        /// The import: its digest, or the first 8 or more characters if no other import shares them.
        digest: String,
        /// The most dimensions to show. [default: 100]
        #[arg(long, value_name = "DIMENSIONS")]
        limit: Option<u32>,
    },
    /// Accept an import, so that it counts.
    Accept {
        /// The import: its digest, or the first 8 or more characters if no other import shares them.
        digest: String,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        note: Option<String>,
    },
}

pub(crate) fn run(
    arguments: &ImportsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ImportsCommand::List) {
        ImportsCommand::List => list(global, output)?,
        ImportsCommand::Show { digest, limit } => show(digest, *limit, global, output)?,
        ImportsCommand::Accept { digest, note } => {
            let body = JsonObject::new().maybe("note", note.as_deref()).end();
            with_service(global, |service| {
                let digest = whole_digest(digest, service)?;
                let path = format!("imports/{}:accept", percent_encoded(&digest));
                service.post(&path, Some(body))?.write_act(global, output)
            })?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the digest of the one import that begins with this text. A text that begins none is returned as it is, and names no import.
fn whole_digest(beginning: &str, service: &mut ServiceClient) -> Result<String, CommandError> {
    if !(MIN_BEGINNING..DIGEST_CHARACTERS).contains(&beginning.len()) {
        return Ok(beginning.to_owned());
    }
    let mut found = Vec::new();
    each_page(service, "imports", |_, page: ImportList| {
        let digests = page.imports.into_iter().map(|import| import.digest);
        found.extend(digests.filter(|digest| digest.starts_with(beginning)));
        Ok(())
    })?;
    match found.as_slice() {
        [] => Ok(beginning.to_owned()),
        [one] => Ok(one.clone()),
        several => {
            let (beginning, count) = (beginning.to_owned(), several.len());
            Err(UsageError::ImportBeginning { beginning, count }.into())
        }
    }
}

fn list(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_read_models(global, |service| {
        let Some(pages) = pages_to_show::<ImportList>(service, "imports", global, output)? else {
            return Ok(());
        };
        let heading = ["position", "counts", "dimensions", "approvals", "rejections", "failures", "import"];
        let mut table = TextTable::new(&heading);
        for import in pages.iter().flat_map(|page| &page.imports) {
            let [dimensions, approvals, rejections, failures] = counts(import);
            table.row(&[
                &import.position,
                import.accepted.as_deref().unwrap_or("no"),
                &dimensions,
                &approvals,
                &rejections,
                &failures,
                &import.digest,
            ]);
        }
        Ok(table.write(
            "no import came to its end; one that was interrupted does when it is made again",
            output,
        )?)
    })
}

fn show(digest: &str, limit: Option<u32>, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let limit = limit.map(|limit| limit.to_string());
    with_read_models(global, |service| {
        let digest = whole_digest(digest, service)?;
        let path =
            with_query(&format!("imports/{}", percent_encoded(&digest)), &[("limit", limit.as_deref())]);
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let answer: ImportAnswer = answer.read()?;
        let import = &answer.import;
        let [dimensions, approvals, rejections, failures] = counts(import);
        let showed = format!(
            "{dimensions} dimensions: {approvals} approvals, {rejections} rejections, {failures} failures"
        );
        let waits = import.accepted.is_none();
        let (now, accepted) = (standings(&answer.now), standings(&answer.once_accepted));
        let fields = [
            ("import", Some(import.digest.as_str())),
            ("position", Some(&import.position)),
            ("counts since", import.accepted.as_deref()),
            ("showed", Some(&showed)),
            ("now", waits.then_some(&now)),
            ("accepted", waits.then_some(&accepted)),
        ];
        write_fields(&fields, output)?;
        let heading = ["approvals", "rejections", "failures", "now", "once accepted", "score", "dimension"];
        let mut table = TextTable::new(&heading);
        for change in &answer.changes {
            table.row(&[
                &change.imported.approvals.to_string(),
                &change.imported.rejections.to_string(),
                &change.imported.failures.to_string(),
                &change.now.standing,
                &change.once_accepted.standing,
                &change.once_accepted.score,
                &dimension_words(&change.dimension),
            ]);
        }
        table.write("nothing of it waits", output)?;
        if answer.next.is_some() {
            output.line("and more: ask for them with --limit")?;
        }
        Ok(())
    })
}

/// Formats an import's counts, in the order of the columns; `-` where they are not known.
fn counts(import: &ImportListed) -> [String; 4] {
    [import.dimensions, import.approvals, import.rejections, import.failures]
        .map(|count| count.map_or_else(|| "-".to_owned(), |count| count.to_string()))
}

fn standings(of: &StandingsAnswer) -> String {
    format!("{} auto_approve, {} require_review, {} blocked", of.auto_approve, of.require_review, of.blocked)
}

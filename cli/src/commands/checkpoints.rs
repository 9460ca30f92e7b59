//! `checkpoints`: the saved state of threads, step by step.

use std::path::PathBuf;

use bitacora_api::{
    CheckpointActAnswer, CheckpointAnswer, CheckpointCopyRequest, CheckpointForkRequest, CheckpointList,
    CheckpointWriteAnswer, ContentValue, SavedCheckpoint,
};
use clap::{Args, Subcommand};
use hyper::Method;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::{ServiceAnswer, ServiceUse};
use crate::options::optional_command::OptionalCommand;
use crate::rows::{Row, RowList, RowTable};
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells, to_the_second};

pub(crate) type CheckpointsArguments = OptionalCommand<CheckpointsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointsCommand {
    /// List checkpoints, the newest first (default).
    List(ListArguments),
    /// Show a thread's newest or named checkpoint, with its channels and the later writes of tasks.
    Show {
        /// The thread.
        thread: String,
        #[command(flatten)]
        which: Which,
    },
    /// Save a checkpoint in the service's JSON: `checkpoint`, `step`, `source`, `channelVersions`, `values` and so on.
    Save {
        /// The thread.
        thread: String,
        /// The file with the JSON; `-` is stdin.
        file: PathBuf,
    },
    /// Save a task's writes after a checkpoint in the service's JSON: `checkpoint`, `task` and `writes`.
    Write {
        /// The thread.
        thread: String,
        /// The file with the JSON; `-` is stdin.
        file: PathBuf,
    },
    /// Fork a thread: save a new checkpoint with the contents of its parent.
    Fork {
        /// The thread.
        thread: String,
        /// The id of the new checkpoint.
        #[arg(long = "as", value_name = "ID")]
        as_checkpoint: String,
        #[command(flatten)]
        which: Which,
    },
    /// Copy a thread, or the history of one of its checkpoints, to an empty thread.
    Copy {
        /// The thread.
        thread: String,
        /// The thread to copy to.
        to: String,
        #[command(flatten)]
        which: Which,
    },
    /// Delete a thread, one of its checkpoints, or all but the newest; their events stay in the log.
    Delete {
        /// The thread.
        thread: String,
        #[command(flatten)]
        which: Which,
        /// Keep the newest checkpoint of each subgraph.
        #[arg(long, conflicts_with = "checkpoint")]
        keep_newest: bool,
    },
}

#[derive(Debug, Default, Args, Serialize)]
pub(crate) struct ListArguments {
    /// Only checkpoints of this thread.
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Only checkpoints of this subgraph; empty is the outermost one.
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Only checkpoints with a smaller id.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Only checkpoints whose metadata has these members: a JSON object.
    #[arg(long, value_name = "JSON")]
    #[serde(serialize_with = "json_text")]
    filter: Option<Document>,
}

/// A choice of checkpoints of a thread.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Which {
    /// The checkpoint's id.
    #[arg(long, value_name = "ID")]
    checkpoint: Option<String>,
    /// The subgraph; empty is the outermost one.
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
}

fn json_text<S: Serializer>(document: &Option<Document>, serializer: S) -> Result<S::Ok, S::Error> {
    document.as_ref().map(Document::text).serialize(serializer)
}

pub(crate) fn run(
    arguments: CheckpointsArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    use CheckpointsCommand::{Copy, Delete, Fork, List, Save, Show, Write};
    context.asking(ServiceUse::ReadModels);
    let answer = match arguments.command.unwrap_or_else(|| List(ListArguments::default())) {
        List(asked) => return list(&asked, context),
        Show { thread, which } => {
            return context.show(&with_query(&named("checkpoints", &thread), &which), write);
        }
        Save { thread, file } => send(&thread, "save", &Document::read(&file)?, context)?,
        Write { thread, file } => send(&thread, "writes", &Document::read(&file)?, context)?,
        Fork { thread, as_checkpoint, which: Which { checkpoint, namespace } } => {
            let request =
                CheckpointForkRequest { checkpoint, namespace, as_checkpoint, metadata: None, id: None };
            send(&thread, "fork", &request, context)?
        }
        Copy { thread, to, which: Which { checkpoint, namespace } } => {
            let request = CheckpointCopyRequest { to, namespace, checkpoint, id: None };
            send(&thread, "copy", &request, context)?
        }
        Delete { thread, which, keep_newest } => {
            let path = with_query(&named("checkpoints", &thread), &which);
            let path = with_query(&path, &json!({"keep": keep_newest.then_some("newest")}));
            context.send(&Method::DELETE, &path, None::<&()>)?
        }
    };
    context.answer(&answer, |act: &CheckpointActAnswer, output| {
        let when = if act.repeated { "was recorded before" } else { "recorded" };
        let rests = if act.found == Some(false) { "; what it follows is not there" } else { "" };
        output.line(format_args!("{when} at position {}{rests}", printable(&act.position)))
    })
}

fn send(
    thread: &str,
    verb: &str,
    body: &impl Serialize,
    context: &mut CommandContext,
) -> Result<ServiceAnswer, CommandError> {
    context.send(&Method::POST, &format!("{}:{verb}", named("checkpoints", thread)), Some(body))
}

fn list(asked: &ListArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("checkpoints", asked);
    let is_asked = path != "checkpoints";
    let empty = if is_asked { "there is no such checkpoint" } else { "no checkpoint is saved" };
    context.list::<CheckpointList>(&path, empty)
}

impl Row for SavedCheckpoint {
    const HEADINGS: &'static [&'static str] =
        &["saved", "position", "thread", "step", "source", "channels", "subgraph", "checkpoint"];
    const DISPENSABLE: &'static [&'static str] = &["channels", "source", "subgraph"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::time(&self.time),
            Cell::id(&self.position),
            Cell::id(&self.thread),
            self.step,
            &self.source,
            self.channel_versions.len(),
            if self.namespace.is_empty() { "-" } else { &self.namespace },
            Cell::id(&self.checkpoint),
        ]
    }
}

fn write(found: &CheckpointAnswer, output: &mut Output) -> Result<(), OutputError> {
    let saved = &found.saved;
    let lost = if found.parent_found == Some(false) { ", which is not there" } else { "" };
    FieldLines::new()
        .with("thread", &saved.thread)
        .maybe("subgraph", Some(&saved.namespace).filter(|name| !name.is_empty()))
        .with("checkpoint", &saved.checkpoint)
        .maybe("parent", saved.parent.as_ref().map(|parent| format!("{parent}{lost}")))
        .with("step", format!("{}, {}", saved.step, saved.source))
        .with("saved", to_the_second(&saved.time))
        .with("position", &saved.position)
        .maybe("agent", saved.agent.as_ref())
        .maybe("run", saved.run.as_ref())
        .maybe("metadata", saved.metadata.as_ref())
        .write(output)?;
    let mut channels = TextTable::new(&["channel", "version", "holds"]);
    for (name, version) in &saved.channel_versions {
        let version = serde_json::to_string(version).unwrap_or_default();
        let holds = found.values.get(name).map(content_words);
        channels.add(cells![Cell::id(name), Cell::id(version.trim_matches('"')), holds]);
    }
    channels.write("it has no channels", output)?;
    if found.writes.is_empty() {
        return Ok(());
    }
    TextTable::of(&found.writes).write("", output)
}

impl Row for CheckpointWriteAnswer {
    const HEADINGS: &'static [&'static str] = &["task", "place", "channel", "wrote"];

    fn cells(&self) -> Vec<Cell> {
        cells![Cell::id(&self.task), self.index, Cell::id(&self.channel), content_words(&self.value)]
    }
}

/// Formats a content for people: JSON itself, the size of anything else.
fn content_words(value: &ContentValue) -> String {
    if let Some(json) = &value.json {
        return json.get().to_owned();
    }
    let what = match (value.erased, value.missing) {
        (Some(true), _) => ", erased",
        (_, Some(true)) => ", not recorded",
        _ => "",
    };
    let encoding = value.encoding.as_deref().unwrap_or("bytes");
    format!("{encoding}, {} bytes{what}", value.bytes.unwrap_or_default())
}

//! `checkpoints`: the saved state of threads, step by step.

use std::path::{Path, PathBuf};

use bitacora_api::{CheckpointActAnswer, CheckpointAnswer, CheckpointList, ContentValue};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::{ServiceAnswer, ServiceClient, with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CheckpointsArguments {
    #[command(subcommand)]
    command: Option<CheckpointsCommand>,
}

#[derive(Debug, Subcommand)]
enum CheckpointsCommand {
    /// List checkpoints, the newest first (default).
    List(ListArguments),
    /// Show one checkpoint of a thread, or its newest, with its channels and the writes of tasks behind it.
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
    /// Save the writes of a task behind a checkpoint in the service's JSON: `checkpoint`, `task` and `writes`.
    Write {
        /// The thread.
        thread: String,
        /// The file with the JSON; `-` is stdin.
        file: PathBuf,
    },
    /// Fork a thread: save a new checkpoint that has another for its parent, with all that it holds.
    Fork {
        /// The thread.
        thread: String,
        /// The id of the new checkpoint.
        #[arg(long = "as", value_name = "ID")]
        as_checkpoint: String,
        #[command(flatten)]
        which: Which,
    },
    /// Copy a thread, or the history of one of its checkpoints, to a thread that holds nothing yet.
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

#[derive(Debug, Default, Args)]
struct ListArguments {
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
    filter: Option<Document>,
}

/// A choice of checkpoints of a thread.
#[derive(Debug, Args)]
struct Which {
    /// The checkpoint's id.
    #[arg(long, value_name = "ID")]
    checkpoint: Option<String>,
    /// The subgraph; empty is the outermost one.
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
}

pub(crate) fn run(
    arguments: &CheckpointsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    use CheckpointsCommand::{Copy, Delete, Fork, List, Save, Show, Write};
    with_read_models(global, |service| {
        let answer = match &arguments.command {
            None => return list(&ListArguments::default(), service, global, output),
            Some(List(asked)) => return list(asked, service, global, output),
            Some(Show { thread, which }) => return show(thread, which, service, global, output),
            Some(Save { thread, file }) => service.post(&path(thread, "save"), Some(read(file)?))?,
            Some(Write { thread, file }) => service.post(&path(thread, "writes"), Some(read(file)?))?,
            Some(Fork { thread, as_checkpoint, which }) => {
                service.post(&path(thread, "fork"), Some(which.json().text("as", as_checkpoint).end()))?
            }
            Some(Copy { thread, to, which }) => {
                service.post(&path(thread, "copy"), Some(which.json().text("to", to).end()))?
            }
            Some(Delete { thread, which, keep_newest }) => {
                let [checkpoint, namespace] = which.parameters();
                let asked = [checkpoint, namespace, ("keep", keep_newest.then_some("newest"))];
                service.delete(&with_query(&of_thread(thread), &asked), None)?
            }
        };
        write_act(&answer, global, output)
    })?;
    Ok(Exit::Done)
}

fn of_thread(thread: &str) -> String {
    format!("checkpoints/{}", percent_encoded(thread))
}

fn path(thread: &str, verb: &str) -> String {
    format!("{}:{verb}", of_thread(thread))
}

fn read(file: &Path) -> Result<String, CommandError> {
    Ok(Document::read(file)?.text().to_owned())
}

impl Which {
    fn json(&self) -> JsonObject {
        let of = self.checkpoint.as_deref();
        JsonObject::new().maybe("checkpoint", of).maybe("namespace", self.namespace.as_deref())
    }

    fn parameters(&self) -> [(&'static str, Option<&str>); 2] {
        [("checkpoint", self.checkpoint.as_deref()), ("namespace", self.namespace.as_deref())]
    }
}

fn write_act(answer: &ServiceAnswer, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    if global.json {
        return Ok(output.json_text(answer.text())?);
    }
    let act: CheckpointActAnswer = answer.read()?;
    let when = if act.repeated { "was recorded before" } else { "recorded" };
    let rests = if act.found == Some(false) { "; what it follows is not there" } else { "" };
    Ok(output.line(format_args!("{when} at position {}{rests}", printable(&act.position)))?)
}

fn list(
    asked: &ListArguments,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let parameters = [
        ("thread", asked.thread.as_deref()),
        ("namespace", asked.namespace.as_deref()),
        ("before", asked.before.as_deref()),
        ("filter", asked.filter.as_ref().map(Document::text)),
    ];
    let path = with_query("checkpoints", &parameters);
    let Some(pages) = pages_to_show::<CheckpointList>(service, &path, global, output)? else { return Ok(()) };
    let mut table = TextTable::new(&[
        "saved",
        "position",
        "thread",
        "step",
        "source",
        "channels",
        "subgraph",
        "checkpoint",
    ]);
    for found in pages.iter().flat_map(|page| &page.checkpoints) {
        table.row(&[
            &to_the_second(&found.time),
            &found.position,
            &found.thread,
            &found.step.to_string(),
            &found.source,
            &found.channel_versions.len().to_string(),
            if found.namespace.is_empty() { "-" } else { &found.namespace },
            &found.checkpoint,
        ]);
    }
    let is_asked = parameters.iter().any(|(_, part)| part.is_some());
    Ok(table
        .write(if is_asked { "there is no such checkpoint" } else { "no checkpoint is saved" }, output)?)
}

fn show(
    thread: &str,
    which: &Which,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let answer = service.get(&with_query(&of_thread(thread), &which.parameters()))?;
    if global.json {
        return Ok(output.json_text(answer.text())?);
    }
    let found: CheckpointAnswer = answer.read()?;
    let saved = &found.saved;
    let parent = saved.parent.as_ref().map(|parent| {
        format!("{parent}{}", if found.parent_found == Some(false) { ", which is not there" } else { "" })
    });
    write_fields(
        &[
            ("thread", Some(&saved.thread)),
            ("subgraph", Some(&saved.namespace).filter(|name| !name.is_empty()).map(String::as_str)),
            ("checkpoint", Some(&saved.checkpoint)),
            ("parent", parent.as_deref()),
            ("step", Some(&format!("{}, {}", saved.step, saved.source))),
            ("saved", Some(&to_the_second(&saved.time))),
            ("position", Some(&saved.position)),
            ("agent", saved.agent.as_deref()),
            ("run", saved.run.as_deref()),
            ("metadata", saved.metadata.as_ref().map(ToString::to_string).as_deref()),
        ],
        output,
    )?;
    let mut channels = TextTable::new(&["channel", "version", "holds"]);
    for (name, version) in &saved.channel_versions {
        let version = serde_json::to_string(version).unwrap_or_default();
        let holds = found.values.get(name).map_or_else(|| "-".to_owned(), content_words);
        channels.row(&[name, version.trim_matches('"'), &holds]);
    }
    channels.write("it has no channels", output)?;
    if found.writes.is_empty() {
        return Ok(());
    }
    let mut writes = TextTable::new(&["task", "place", "channel", "wrote"]);
    for write in &found.writes {
        writes.row(&[&write.task, &write.index.to_string(), &write.channel, &content_words(&write.value)]);
    }
    Ok(writes.write("", output)?)
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

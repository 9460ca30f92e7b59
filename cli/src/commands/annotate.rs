//! `annotate`: notes on an event, a call or a dimension, and tags to find them by.

use bitacora_api::{AnnotationAnswer, AnnotationList};
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::{with_query, with_read_models, with_service};
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::global::Global;
use crate::options::usage::UsageError;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second};
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
pub(crate) struct AnnotateArguments {
    /// The text of the note; without it, existing notes are shown.
    text: Option<String>,
    /// Annotate the event at this position.
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["call", "tool"])]
    position: Option<u64>,
    /// Annotate this call.
    #[arg(long, value_name = "CALL", conflicts_with = "tool")]
    call: Option<String>,
    /// Annotate the dimension of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The dimension's context. [default: -]
    #[arg(long, value_name = "CONTEXT", requires = "tool")]
    context: Option<String>,
    /// The dimension's model. [default: -]
    #[arg(long, value_name = "NAME", requires = "tool")]
    model: Option<String>,
    /// The dimension's task type. [default: -]
    #[arg(long, value_name = "NAME", requires = "tool")]
    task_type: Option<String>,
    /// The dimension's workspace. [default: -]
    #[arg(long, value_name = "FOLDER", requires = "tool")]
    workspace: Option<String>,
    /// A tag to find the note by; repeatable.
    #[arg(long = "tag", value_name = "WORD", requires = "text")]
    tags: Vec<String>,
}

pub(crate) fn run(
    arguments: &AnnotateArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match &arguments.text {
        Some(_) if arguments.is_on_nothing() => return Err(UsageError::NoteOnNothing.into()),
        Some(text) => {
            let body = arguments.body(text);
            with_service(global, |service| {
                service.post("annotations", Some(body))?.write_act(global, output)
            })?;
        }
        None => list(arguments, global, output)?,
    }
    Ok(Exit::Done)
}

impl AnnotateArguments {
    fn is_on_nothing(&self) -> bool {
        self.position.is_none() && self.call.is_none() && self.tool.is_none()
    }

    fn dimension(&self) -> Option<DimensionArguments> {
        Some(DimensionArguments {
            tool: self.tool.clone()?,
            context: self.context.clone(),
            model: self.model.clone(),
            task_type: self.task_type.clone(),
            workspace: self.workspace.clone(),
            all_workspaces: false,
        })
    }

    fn body(&self, text: &str) -> String {
        let on = JsonObject::new()
            .maybe("position", self.position.map(|position| position.to_string()).as_deref())
            .maybe("call", self.call.as_deref())
            .maybe_raw("dimension", self.dimension().map(|dimension| dimension.to_json()));
        let tags = serde_json::Value::from(self.tags.clone());
        let body = JsonObject::new().raw("on", on.end()).text("text", text);
        if self.tags.is_empty() { body.end() } else { body.raw("tags", tags).end() }
    }
}

fn list(arguments: &AnnotateArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let position = arguments.position.map(|position| position.to_string());
    let path = with_query(
        "annotations",
        &[
            ("position", position.as_deref()),
            ("call", arguments.call.as_deref()),
            ("tool", arguments.tool.as_deref()),
            ("context", arguments.context.as_deref()),
            ("model", arguments.model.as_deref()),
            ("task_type", arguments.task_type.as_deref()),
            ("workspace", arguments.workspace.as_deref()),
        ],
    );
    with_read_models(global, |service| {
        let Some(pages) = pages_to_show::<AnnotationList>(service, &path, global, output)? else {
            return Ok(());
        };
        if let Some(tags) = pages.first().and_then(|page| page.tags.as_ref()).filter(|tags| !tags.is_empty())
        {
            let words = tags.iter().map(|tag| format!("{} ({})", printable(&tag.tag), printable(&tag.count)));
            output.line(format_args!("tags: {}", words.collect::<Vec<_>>().join(", ")))?;
        }
        let mut table = TextTable::new(&["position", "time", "by", "on", "tags", "note"]);
        for annotation in pages.iter().flat_map(|page| &page.annotations) {
            let by = annotation.by.as_deref().unwrap_or("-");
            let tags = annotation.tags.join(", ");
            let time = to_the_second(&annotation.time);
            table.row(&[&annotation.position, &time, by, &on_words(annotation), &tags, &annotation.text]);
        }
        Ok(table.write("nobody noted anything there", output)?)
    })
}

fn on_words(annotation: &AnnotationAnswer) -> String {
    let text = |name: &str| annotation.on.get(name).and_then(serde_json::Value::as_str);
    if let Some(position) = text("position") {
        return format!("event {position}");
    }
    if let Some(call) = text("call") {
        return format!("call {call}");
    }
    let dimension =
        annotation.on.get("dimension").cloned().and_then(|value| serde_json::from_value(value).ok());
    dimension.map_or("-".to_owned(), |dimension| dimension_words(&dimension))
}

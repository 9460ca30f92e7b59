//! `annotate`: notes on an event, a call or a dimension, and tags to find them by.

use bitacora_api::{AnnotationAnswer, AnnotationList, AnnotationRequest};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceUse;
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::usage::UsageError;
use crate::rows::{Row, RowTable};
use crate::terminal::table::{Cell, TextTable, cells};

#[derive(Debug, Args, Serialize)]
pub(crate) struct AnnotateArguments {
    /// The text of the note; without it, existing notes are shown.
    #[serde(skip)]
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
    #[serde(skip)]
    tags: Vec<String>,
}

pub(crate) fn run(
    mut arguments: AnnotateArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    match arguments.text.take() {
        Some(_) if arguments.is_on_nothing() => Err(UsageError::NoteOnNothing.into()),
        Some(text) => {
            let tags = (!arguments.tags.is_empty()).then(|| std::mem::take(&mut arguments.tags));
            context.post("annotations", &AnnotationRequest { on: arguments.on(), text, tags })
        }
        None => list(&arguments, context),
    }
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

    /// Returns the subject of the note.
    fn on(&self) -> Value {
        if let Some(position) = self.position {
            return json!({"position": position.to_string()});
        }
        match (&self.call, self.dimension()) {
            (Some(call), _) => json!({"call": call}),
            (None, Some(dimension)) => json!({"dimension": dimension.to_request()}),
            (None, None) => json!({}),
        }
    }
}

fn list(arguments: &AnnotateArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("annotations", arguments);
    let pages = context.asking(ServiceUse::ReadModels).pages::<AnnotationList>(&path)?;
    let Some(pages) = pages else { return Ok(Exit::Done) };
    if let Some(tags) = pages.first().and_then(|page| page.tags.as_ref()).filter(|tags| !tags.is_empty()) {
        let words: Vec<_> = tags.iter().map(|tag| format!("{} ({})", tag.tag, tag.count)).collect();
        context.say(format_args!("tags: {}", words.join(", ")))?;
    }
    let table = TextTable::of(pages.iter().flat_map(|page| &page.annotations));
    table.write("nobody noted anything there", &mut context.output)?;
    Ok(Exit::Done)
}

impl Row for AnnotationAnswer {
    const HEADINGS: &'static [&'static str] = &["position", "time", "by", "on", "tags", "note"];

    fn cells(&self) -> Vec<Cell> {
        let tags = self.tags.join(", ");
        cells![Cell::id(&self.position), Cell::time(&self.time), &self.by, on_words(self), tags, &self.text]
    }
}

fn on_words(annotation: &AnnotationAnswer) -> String {
    let text = |name: &str| annotation.on.get(name).and_then(Value::as_str);
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

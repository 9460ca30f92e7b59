//! A dimension of trust: on the command line, in requests, and in words.

use bitacora_api::DimensionAnswer;
use clap::Args;
use serde_json::{Value, json};

pub use bitacora_report::dimension_words;

/// The mark of an unknown part.
const UNKNOWN: &str = "-";

/// A dimension on the command line. Parts that are left out are unknown.
#[derive(Debug, Args)]
pub struct DimensionArguments {
    /// The tool.
    #[arg(long, value_name = "NAME")]
    pub tool: String,
    /// The context, as decisions show it. [default: -]
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// The model. [default: -]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The task type. [default: -]
    #[arg(long, value_name = "NAME")]
    pub task_type: Option<String>,
    /// The workspace, as decisions show it. [default: -]
    #[arg(long, value_name = "FOLDER", conflicts_with = "all_workspaces")]
    pub workspace: Option<String>,
    /// Use the counts of all workspaces together, as policies that combine them and older ledgers do.
    #[arg(long)]
    pub all_workspaces: bool,
}

impl DimensionArguments {
    /// Returns the dimension of a request.
    pub fn to_request(&self) -> DimensionAnswer {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let [context, model, task_type] = [&self.context, &self.model, &self.task_type].map(part);
        let workspace = self.workspace().map(str::to_owned);
        DimensionAnswer { tool: self.tool.clone(), context, model, task_type, workspace }
    }

    /// Returns the workspace; `None` stands for all of them together.
    pub fn workspace(&self) -> Option<&str> {
        (!self.all_workspaces).then(|| self.workspace.as_deref().unwrap_or(UNKNOWN))
    }

    /// Returns `true` if nothing is left out but the task type, which few calls name.
    pub fn is_whole(&self) -> bool {
        self.context.is_some() && self.model.is_some()
    }

    /// Returns the parameters of a query.
    pub fn parameters(&self) -> Value {
        let Self { tool, context, model, task_type, .. } = self;
        json!({"tool": tool, "context": context, "model": model, "task_type": task_type, "workspace": self.workspace()})
    }
}

//! `decide`: asks for a decision on a tool call, as an executor does.

mod text;

use std::path::PathBuf;

use bitacora_api::DecisionAnswer;
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::service::{with_query, with_service_for_agents};
use crate::options::global::Global;
use crate::terminal::output::Output;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
pub(crate) struct DecideArguments {
    /// The call's id, of your choice; a repeated request gets the first answer.
    #[arg(long, value_name = "ID")]
    call: String,
    /// The tool to call.
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The server that the tool belongs to.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// The arguments of the call, as JSON. [default: {}]
    #[arg(long, value_name = "JSON", conflicts_with = "args_file")]
    args: Option<Document>,
    /// The file with the arguments of the call; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    args_file: Option<PathBuf>,
    /// The agent that calls.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model that asked for the call.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The task type.
    #[arg(long, value_name = "NAME")]
    task_type: Option<String>,
    /// The call's session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The call's run.
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// The folder that paths in the arguments are relative to.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    /// The approval that a person gave for this call.
    #[arg(long, value_name = "ID")]
    approval: Option<String>,
    /// The idempotency key; a repeated call with it gets the result of the first.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// The estimated cost in US dollars: 0.0023.
    #[arg(long, value_name = "DOLLARS")]
    estimate: Option<String>,
    /// The damage that this call may do, if more than registered: low, medium, high, critical.
    #[arg(long, value_name = "RADIUS")]
    blast_radius: Option<String>,
    /// The time that its outcome may take, in milliseconds.
    #[arg(long, value_name = "MS")]
    deadline_ms: Option<u64>,
    /// Declare that a person is present to be asked.
    #[arg(long)]
    interactive: bool,
    /// Show the result of each step, and the inputs of trust.
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(
    arguments: &DecideArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let body = arguments.body()?;
    let path = with_query("decide", &[("explain", arguments.explain.then_some("true"))]);
    with_service_for_agents(global, |service| {
        let answer = service.post(&path, Some(body))?;
        let decision: DecisionAnswer = answer.read()?;
        if global.json {
            output.json_text(answer.text())?;
        } else {
            text::write(&decision, output)?;
        }
        // Every other verdict is a no.
        Ok(if decision.verdict == "allow" { Exit::Done } else { Exit::Refused })
    })
}

impl DecideArguments {
    fn body(&self) -> Result<String, CommandError> {
        let brought = self.args_file.as_deref().map(Document::read).transpose()?;
        let args = brought.as_ref().or(self.args.as_ref()).map_or("{}", Document::text);
        Ok(JsonObject::new()
            .text("call", &self.call)
            .text("tool", &self.tool)
            .maybe("server", self.server.as_deref())
            .raw("args", args)
            .maybe("agent", self.agent.as_deref())
            .maybe("model", self.model.as_deref())
            .maybe("task_type", self.task_type.as_deref())
            .maybe("session", self.session.as_deref())
            .maybe("run", self.run.as_deref())
            .maybe("cwd", self.cwd.as_deref())
            .maybe("approval", self.approval.as_deref())
            .maybe("idempotencyKey", self.idempotency_key.as_deref())
            .maybe("estimate", self.estimate.as_deref())
            .maybe("blastRadius", self.blast_radius.as_deref())
            .maybe_raw("deadlineMs", self.deadline_ms)
            .maybe_raw("interactive", self.interactive.then_some(true))
            .end())
    }
}

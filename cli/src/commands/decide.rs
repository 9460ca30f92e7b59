//! `decide`: asks for a decision on a tool call, as an executor does.

mod text;

use std::path::PathBuf;

use bitacora_api::{DecideRequest, DecisionAnswer};
use clap::Args;
use hyper::Method;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::{Document, WithArgs};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::{ServiceFailure, ServiceUse};

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

pub(crate) fn run(arguments: DecideArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("decide", &json!({"explain": arguments.explain}));
    let request = arguments.request()?;
    let answer = context.asking(ServiceUse::Agent).send(&Method::POST, &path, Some(&request))?;
    let decision: DecisionAnswer = answer.read()?;
    // A cache between client and service may return the decision about another call.
    if decision.call != request.rest.call {
        return Err(ServiceFailure::Strange.into());
    }
    context.answer(&answer, text::write)?;
    // Every other verdict is a no.
    Ok(if decision.verdict == "allow" { Exit::Done } else { Exit::Refused })
}

impl DecideArguments {
    fn request(self) -> Result<WithArgs<DecideRequest>, CommandError> {
        let args = Document::of_call(self.args, self.args_file.as_deref())?;
        let rest = DecideRequest {
            call: self.call,
            tool: self.tool,
            server: self.server,
            args: None,
            args_digest: None,
            model: self.model,
            task_type: self.task_type,
            run: self.run,
            session: self.session,
            agent: self.agent,
            cwd: self.cwd,
            idempotency_key: self.idempotency_key,
            approval: self.approval,
            interactive: self.interactive.then_some(true),
            deadline_ms: self.deadline_ms,
            estimate: self.estimate,
            blast_radius: self.blast_radius,
        };
        Ok(WithArgs { rest, args })
    }
}

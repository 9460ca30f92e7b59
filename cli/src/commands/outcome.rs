//! `outcome`: reports the end of a call, once.

use bitacora_api::OutcomeAnswer;
use clap::{Args, ValueEnum};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::service::with_service_for_agents;
use crate::options::dimension::dimension_words;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::write_fields;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
pub(crate) struct OutcomeArguments {
    /// The call's id, as in its decision.
    #[arg(long, value_name = "ID")]
    call: String,
    /// The status with which it ended.
    #[arg(long, value_enum)]
    status: Status,
    /// The kind of error.
    #[arg(long, value_name = "NAME")]
    error_type: Option<String>,
    /// The exit code of its process.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// The duration, in milliseconds.
    #[arg(long, value_name = "MS")]
    duration_ms: Option<u64>,
    /// The cost in US dollars: 0.0023.
    #[arg(long, value_name = "DOLLARS")]
    cost_usd: Option<String>,
    /// The result of the check afterwards: `true` if the effect was right.
    #[arg(long, value_name = "BOOL")]
    post_check_passed: Option<bool>,
    /// The end of its output, at most 256 bytes.
    #[arg(long, value_name = "WORDS")]
    output_tail: Option<String>,
    /// The agent, as in the decision.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The session, as in the decision.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The run, as in the decision.
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
}

/// The status of an ended call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    /// The call did what it was called for.
    Ok,
    /// The call failed.
    Error,
    /// The call took too long.
    Timeout,
    /// The call was interrupted.
    Interrupted,
    /// A person rejected the call.
    Rejected,
    /// Something other than a person blocked the call.
    Blocked,
}

pub(crate) fn run(
    arguments: &OutcomeArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    with_service_for_agents(global, |service| {
        let answer = service.post("outcome", Some(arguments.body()))?;
        let outcome: OutcomeAnswer = answer.read()?;
        if global.json {
            output.json_text(answer.text())?;
        } else {
            write(&outcome, output)?;
        }
        Ok(Exit::Done)
    })
}

impl OutcomeArguments {
    fn body(&self) -> String {
        let tail = self.output_tail.as_deref().map(|tail| JsonObject::new().text("tail", tail).end());
        JsonObject::new()
            .text("call", &self.call)
            .text("status", self.status.name())
            .maybe("errorType", self.error_type.as_deref())
            .maybe_raw("exitCode", self.exit_code)
            .maybe_raw("durationMs", self.duration_ms)
            .maybe("costUsd", self.cost_usd.as_deref())
            .maybe_raw("postCheckPassed", self.post_check_passed)
            .maybe_raw("output", tail)
            .maybe("agent", self.agent.as_deref())
            .maybe("session", self.session.as_deref())
            .maybe("run", self.run.as_deref())
            .end()
    }
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Rejected => "rejected",
            Self::Blocked => "blocked",
        }
    }
}

fn write(outcome: &OutcomeAnswer, output: &mut Output) -> Result<(), OutputError> {
    let recorded = format!("{} at position {}", outcome.r#type, outcome.position);
    let counted = outcome.trust.as_ref().map_or("nothing".to_owned(), |observed| {
        let (dimension, trust) = (dimension_words(&observed.dimension), &observed.trust);
        format!("{} for {dimension}: score {}, {}", observed.outcome, trust.score, trust.standing)
    });
    let turned = outcome
        .transition
        .as_ref()
        .map(|turned| format!(", {} at position {}", turned.r#type, turned.position));
    let breaker = outcome.breaker.as_ref().map(|state| format!("{state}{}", turned.unwrap_or_default()));
    let fields =
        [("recorded", Some(recorded.as_str())), ("counted", Some(&counted)), ("breaker", breaker.as_deref())];
    write_fields(&fields, output)
}

//! `outcome`: reports the end of a call, once.

use bitacora_api::{ContentRequest, OutcomeAnswer, OutcomeRequest};
use clap::{Args, ValueEnum};
use hyper::Method;
use serde::Serialize;

use crate::commands::trust::score_words;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::service::ServiceUse;
use crate::options::dimension::dimension_words;
use crate::options::words::word;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::FieldLines;

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
#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
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

pub(crate) fn run(arguments: OutcomeArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let request = arguments.request();
    let answer = context.asking(ServiceUse::Agent).send(&Method::POST, "outcome", Some(&request))?;
    context.answer(&answer, write)
}

impl OutcomeArguments {
    fn request(self) -> OutcomeRequest {
        let tail = |tail| ContentRequest { digest: None, bytes: None, tail: Some(tail) };
        OutcomeRequest {
            call: self.call,
            status: word(self.status),
            error_type: self.error_type,
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            tokens: None,
            cost_usd: self.cost_usd,
            input: None,
            output: self.output_tail.map(tail),
            artifacts: None,
            post_check_passed: self.post_check_passed,
            session: self.session,
            run: self.run,
            agent: self.agent,
        }
    }
}

fn write(outcome: &OutcomeAnswer, output: &mut Output) -> Result<(), OutputError> {
    let counted = outcome.trust.as_ref().map_or("nothing".to_owned(), |observed| {
        let (dimension, score) = (dimension_words(&observed.dimension), score_words(&observed.trust));
        format!("{} for {dimension}: score {score}, {}", observed.outcome, observed.trust.standing)
    });
    let turned = outcome
        .transition
        .as_ref()
        .map(|turned| format!(", {} at position {}", turned.r#type, turned.position))
        .unwrap_or_default();
    FieldLines::new()
        .with("recorded", format!("{} at position {}", outcome.r#type, outcome.position))
        .with("counted", counted)
        .maybe("breaker", outcome.breaker.as_ref().map(|state| format!("{state}{turned}")))
        .write(output)
}

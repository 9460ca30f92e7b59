//! `outcome`: how a call ended, told once.

use bitacora_server::answers::OutcomeAnswer;
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::dimension::dimension_words;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json_text::JsonObject;
use crate::output::{Output, OutputError};
use crate::service::with_service_for_agents;
use crate::table::write_fields;

#[derive(Debug, Args)]
pub(crate) struct OutcomeArguments {
    /// The call's id, as it was decided.
    #[arg(long, value_name = "ID")]
    call: String,
    /// How it ended.
    #[arg(long, value_enum)]
    status: Status,
    /// What it failed with.
    #[arg(long, value_name = "NAME")]
    error_type: Option<String>,
    /// What its process returned.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// How long it took, in milliseconds.
    #[arg(long, value_name = "MS")]
    duration_ms: Option<u64>,
    /// What it cost, in US dollars: 0.0023.
    #[arg(long, value_name = "DOLLARS")]
    cost_usd: Option<String>,
    /// Whether what it did was found to be right afterwards.
    #[arg(long, value_name = "BOOL")]
    post_check_passed: Option<bool>,
    /// The last of what it put out, in at most 256 bytes.
    #[arg(long, value_name = "WORDS")]
    output_tail: Option<String>,
    /// The agent that called, as it was decided.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The session, as it was decided.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The run, as it was decided.
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    /// It did what it was called for.
    Ok,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
    /// It was broken off.
    Interrupted,
    /// A person did not let it run.
    Rejected,
    /// Something else did not let it run.
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

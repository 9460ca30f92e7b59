//! `clock`: the state of the ledger's clock, and an operator's acceptance of its time.

use bitacora_api::ClockAnswer;
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::service::{ServiceFailure, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use bitacora_import::JsonObject;

const MICROS_A_SECOND: u64 = 1_000_000;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ClockArguments {
    #[command(subcommand)]
    command: Option<ClockCommand>,
}

#[derive(Debug, Subcommand)]
enum ClockCommand {
    /// Show whether the clock jumped (default).
    Show,
    /// Accept the clock's time, and decide calls again.
    Accept {
        /// The reason why the time is right.
        #[arg(long, value_name = "WORDS")]
        reason: String,
    },
}

pub(crate) fn run(
    arguments: &ClockArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ClockCommand::Show) {
        ClockCommand::Show => with_service(global, |service| {
            let answer = service.get("clock")?;
            if global.json {
                return Ok(output.json_text(answer.text())?);
            }
            let clock: Result<ClockAnswer, ServiceFailure> = answer.read();
            Ok(write(&clock?, output)?)
        })?,
        ClockCommand::Accept { reason } => {
            let body = JsonObject::new().text("reason", reason).end();
            with_service(global, |service| {
                service.post("clock:accept", Some(body))?.write_act(global, output)
            })?;
        }
    }
    Ok(Exit::Done)
}

fn write(clock: &ClockAnswer, output: &mut Output) -> Result<(), crate::terminal::output::OutputError> {
    match &clock.jump {
        None => output.line("trusted: calls are decided by it")?,
        Some(jump) => {
            let said = format!(
                "jumped {} from {} to {} (position {})",
                jump.direction, jump.from, jump.to, jump.position
            );
            output.line(printable(&said))?;
            output.line("calls are denied, and nothing ends by time, until the time is accepted")?;
        }
    }
    output.line(printable(&format!("governed time  {}", clock.governed_time)))?;
    if clock.offset_us > 0 {
        let seconds = clock.offset_us / MICROS_A_SECOND;
        output.line(format_args!(
            "offset         {seconds} s ahead of the clock, since a correction was accepted"
        ))?;
    }
    Ok(())
}

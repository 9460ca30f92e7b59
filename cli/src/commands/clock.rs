//! `clock`: the state of the ledger's clock, and an operator's acceptance of its time.

use bitacora_api::{ClockAnswer, StopRequest};
use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::{Output, OutputError, printable};

const MICROS_A_SECOND: u64 = 1_000_000;

pub(crate) type ClockArguments = OptionalCommand<ClockCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ClockCommand {
    /// Show whether the clock jumped (default).
    Show,
    /// Accept the clock's time, and decide calls again.
    Accept {
        /// The reason why the time is right.
        #[arg(long, value_name = "WORDS")]
        reason: String,
    },
}

pub(crate) fn run(arguments: ClockArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(ClockCommand::Show) {
        ClockCommand::Show => context.show("clock", write),
        ClockCommand::Accept { reason } => context.post("clock:accept", &StopRequest { reason }),
    }
}

fn write(clock: &ClockAnswer, output: &mut Output) -> Result<(), OutputError> {
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

//! `erase`: a data subject is erased, for good.

use bitacora_api::{ErasureAnswer, ErasureMemoryAnswer, ErasureRequest};
use bitacora_formats::Position;
use clap::Args;
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::terminal::output::{Output, OutputError, printable};

/// The copies that no erasure reaches, for the person who has to look after them.
const NOT_REACHED: &str =
    "not reached  copies of `subjects/` and of the data folder elsewhere, exports, logs of other programs";

/// The arguments of `erase`.
#[derive(Debug, Args)]
pub struct EraseArguments {
    /// The subject's name, as events give it in `datasubject`; it is not recorded.
    #[arg(required_unless_present = "event")]
    subject: Option<String>,
    /// Erase the subject of the event at this position, whatever its name leads to. With SUBJECT the event has to name it.
    #[arg(long, value_name = "POSITION")]
    event: Option<Position>,
    /// The authority for the erasure, such as a ticket; recorded for good, so without the subject's name.
    #[arg(long, value_name = "WORDS")]
    authority: String,
    /// The person who asked for it; recorded for good.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The reason; recorded for good.
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
}

/// Runs `erase`.
pub fn run(arguments: EraseArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let EraseArguments { subject, event, authority, by, reason } = arguments;
    let event = event.map(|position| position.to_string());
    let erasure = ErasureRequest { subject, event, authority, by, reason };
    let answer = context.send(&Method::POST, "erasures", Some(&erasure))?;
    context.answer(&answer, write)
}

fn write(erased: &ErasureAnswer, output: &mut Output) -> Result<(), OutputError> {
    let ErasureAnswer { position, key, anchor } = erased;
    output.line(format_args!("erased       key {}, which is destroyed", printable(key)))?;
    output.line(format_args!("recorded     position {}", printable(position)))?;
    output.line(format_args!("anchor       {}", memory(*anchor)))?;
    output.line(NOT_REACHED)
}

const fn memory(anchor: ErasureMemoryAnswer) -> &'static str {
    match anchor {
        ErasureMemoryAnswer::None => "none; an older copy of the data folder does not know of the erasure",
        ErasureMemoryAnswer::Remembered => {
            "remembers the erasure; an older copy of the data folder that comes back here is erased again"
        }
        ErasureMemoryAnswer::Pending => {
            "out of reach; it is told with the next tree head, or at the next start"
        }
    }
}

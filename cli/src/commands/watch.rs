//! `watch`: finds calls of connected harnesses that dodged the gate.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitacora_connect::Places;
use bitacora_watch::{GRACE, POLL, WatchError, WatchReport, Watches};
use clap::Args;

use super::connect::{ConnectFailure, HarnessArgument, ScopeArguments, Target};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::access::{AccessError, event_loop};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::interrupt::Interrupts;
use crate::options::time::Wait;

/// The time by which `--once` outlasts the grace period of the last call.
const MARGIN: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// The harness. [default: every connected one of this user]
    harness: Option<HarnessArgument>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Read what is there, decide about it, and end.
    #[arg(long)]
    once: bool,
    /// The time that the gate has to record a call after its transcript shows it. [default: 20s]
    #[arg(long, value_name = "TIME")]
    grace: Option<Wait>,
}

/// The failure of a watch.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct WatchFailure(#[from] WatchError);

impl CommandFailure for WatchFailure {}

/// The command ends because nothing is there to watch.
#[derive(Debug, thiserror::Error)]
#[error("no harness is connected; `bitacora connect claude` connects one")]
struct NothingToWatch;

impl CommandFailure for NothingToWatch {}

pub(crate) fn run(arguments: &WatchArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let variable = |name: &str| env::var(name).ok();
    let places = Places::of_user(variable).map_err(ConnectFailure::from)?;
    let home = variable("HOME").map(PathBuf::from).ok_or(ConnectFailure::NoHome)?;
    let only = arguments.harness.map(|harness| Target::of(harness, &arguments.scope)).transpose()?;
    let grace = arguments.grace.as_ref().map_or(GRACE, |grace| grace.0);
    let mut watches = Watches::new(places, home, variable, grace, only.map(|target| target.file));
    let done = event_loop()?.block_on(watch(arguments.once, grace, &mut watches, context));
    // What was read is kept even where nobody reads the output any more.
    let saved = watches.save();
    let exit = done?;
    saved.map_err(WatchFailure::from)?;
    Ok(exit)
}

async fn watch(
    once: bool,
    grace: Duration,
    watches: &mut Watches,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
    let began = Instant::now();
    loop {
        let told = tokio::select! {
            told = watches.look() => told,
            () = interrupts.next() => return Ok(Exit::Done),
        };
        tell(&told, context)?;
        if once && watches.is_empty() {
            return Err(NothingToWatch.into());
        }
        let is_over = began.elapsed() >= grace.saturating_add(MARGIN);
        if once && (watches.is_settled() || is_over) {
            return Ok(if watches.is_settled() && !watches.is_failing() { Exit::Done } else { Exit::Failed });
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            () = interrupts.next() => return Ok(Exit::Done),
        }
    }
}

fn tell(told: &[WatchReport], context: &mut CommandContext) -> Result<(), CommandError> {
    for told in told {
        context.say(told)?;
        if context.is_json() {
            context.print(told)?;
        }
    }
    context.output.flush()?;
    Ok(())
}

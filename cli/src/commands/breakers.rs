//! `breakers`: circuit breakers of dimensions, and their thresholds.

use bitacora_api::BreakerList;
use bitacora_vocabulary::BreakerSettings;
use clap::{Args, Subcommand, ValueEnum};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::{with_query, with_service};
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second};
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BreakersArguments {
    #[command(subcommand)]
    command: Option<BreakersCommand>,
}

#[derive(Debug, Subcommand)]
enum BreakersCommand {
    /// List the circuit breakers (default).
    List {
        /// Only breakers in this state.
        #[arg(long, value_enum)]
        state: Option<BreakerState>,
    },
    /// Close the breaker of this dimension, so that its calls pass again.
    Close {
        #[command(flatten)]
        dimension: DimensionArguments,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        reason: Option<String>,
    },
    /// Set the thresholds of this dimension's breaker; those left out get their defaults.
    Configure {
        #[command(flatten)]
        dimension: DimensionArguments,
        /// The number of last outcomes that it looks at.
        #[arg(long, value_name = "OUTCOMES")]
        window: Option<u32>,
        /// The number of bad outcomes among them that opens it.
        #[arg(long, value_name = "OUTCOMES")]
        failure_threshold: Option<u32>,
        /// The number of good probes that closes it.
        #[arg(long, value_name = "PROBES")]
        recovery_probes: Option<u32>,
        /// The time that it stays open before a request may be a probe, in seconds.
        #[arg(long, value_name = "SECONDS")]
        cooldown_s: Option<u32>,
    },
}

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum BreakerState {
    /// Calls pass.
    Closed,
    /// Calls are denied.
    Open,
    /// Calls are probed, one after the other.
    HalfOpen,
}

impl BreakerState {
    fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

pub(crate) fn run(
    arguments: &BreakersArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&BreakersCommand::List { state: None }) {
        BreakersCommand::List { state } => list(*state, global, output)?,
        BreakersCommand::Close { dimension, reason } => {
            let body = JsonObject::new().raw("dimension", dimension.to_json());
            act("breakers:close", body.maybe("reason", reason.as_deref()), global, output)?;
        }
        BreakersCommand::Configure { dimension, window, failure_threshold, recovery_probes, cooldown_s } => {
            let shipped = BreakerSettings::default();
            let body = JsonObject::new()
                .raw("dimension", dimension.to_json())
                .raw("window", window.unwrap_or(shipped.window.into()))
                .raw("failureThreshold", failure_threshold.unwrap_or(shipped.failure_threshold.into()))
                .raw("recoveryProbes", recovery_probes.unwrap_or(shipped.recovery_probes.into()))
                .raw("cooldownS", cooldown_s.unwrap_or(shipped.cooldown_s.into()));
            act("breakers:configure", body, global, output)?;
        }
    }
    Ok(Exit::Done)
}

fn act(path: &str, body: JsonObject, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| service.post(path, Some(body.end()))?.write_act(global, output))
}

fn list(state: Option<BreakerState>, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = with_query("breakers", &[("state", state.map(BreakerState::name))]);
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<BreakerList>(service, &path, global, output)? else {
            return Ok(());
        };
        let mut table = TextTable::new(&["state", "bad", "of the last", "tried again from", "dimension"]);
        for breaker in pages.iter().flat_map(|page| &page.breakers) {
            table.row(&[
                &breaker.state,
                &breaker.bad.to_string(),
                &breaker.outcomes.to_string(),
                &breaker.cooldown_until.as_deref().map_or("-".to_owned(), to_the_second),
                &dimension_words(&breaker.dimension),
            ]);
        }
        Ok(table.write("there is no such breaker: where none is shown, calls pass", output)?)
    })
}

//! `breakers`: circuit breakers of dimensions, and their thresholds.

use bitacora_api::{BreakerAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest};
use bitacora_vocabulary::BreakerSettings;
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::options::dimension::{DimensionArguments, dimension_words};
use crate::options::optional_command::OptionalCommand;
use crate::rows::{Row, RowList};
use crate::terminal::table::{Cell, cells};

pub(crate) type BreakersArguments = OptionalCommand<BreakersCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum BreakersCommand {
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
    /// Set the thresholds of this dimension's breaker; omitted ones get their defaults.
    Configure {
        #[command(flatten)]
        dimension: DimensionArguments,
        /// The number of last outcomes that count.
        #[arg(long, value_name = "OUTCOMES")]
        window: Option<u32>,
        /// The number of bad outcomes among them that opens it.
        #[arg(long, value_name = "OUTCOMES")]
        failure_threshold: Option<u32>,
        /// The number of good probes that closes it.
        #[arg(long, value_name = "PROBES")]
        recovery_probes: Option<u32>,
        /// The time before an open breaker lets a probe through, in seconds.
        #[arg(long, value_name = "SECONDS")]
        cooldown_s: Option<u32>,
    },
}

/// The state of a breaker.
#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[value(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum BreakerState {
    /// Calls pass.
    Closed,
    /// Calls are denied.
    Open,
    /// Calls are probed, one after the other.
    HalfOpen,
}

pub(crate) fn run(arguments: BreakersArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(BreakersCommand::List { state: None }) {
        BreakersCommand::List { state } => {
            let path = with_query("breakers", &json!({"state": state}));
            context.list::<BreakerList>(&path, "there is no such breaker: where none is shown, calls pass")
        }
        BreakersCommand::Close { dimension, reason } => {
            let request = BreakerCloseRequest { dimension: dimension.to_request(), reason };
            context.post("breakers:close", &request)
        }
        BreakersCommand::Configure { dimension, window, failure_threshold, recovery_probes, cooldown_s } => {
            let shipped = BreakerSettings::default();
            let request = BreakerSettingsRequest {
                dimension: dimension.to_request(),
                window: window.unwrap_or(shipped.window.into()),
                failure_threshold: failure_threshold.unwrap_or(shipped.failure_threshold.into()),
                recovery_probes: recovery_probes.unwrap_or(shipped.recovery_probes.into()),
                cooldown_s: cooldown_s.unwrap_or(shipped.cooldown_s.into()),
            };
            context.post("breakers:configure", &request)
        }
    }
}

impl Row for BreakerAnswer {
    const HEADINGS: &'static [&'static str] =
        &["state", "bad", "of the last", "tried again from", "dimension"];

    fn cells(&self) -> Vec<Cell> {
        let tried_from = Cell::maybe_time(self.cooldown_until.as_ref());
        cells![Cell::id(&self.state), self.bad, self.outcomes, tried_from, dimension_words(&self.dimension)]
    }
}

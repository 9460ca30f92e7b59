//! A command whose subcommand may be left out.

use clap::{Args, Subcommand};

/// The subcommand, or none: the command then shows what it is about.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct OptionalCommand<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: Option<C>,
}

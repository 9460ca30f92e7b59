//! A command whose subcommand may be left out.

use clap::{Args, Subcommand};

/// The subcommand, or none: the command then shows what it is about.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OptionalCommand<C: Subcommand> {
    /// The subcommand, if one is given.
    #[command(subcommand)]
    pub command: Option<C>,
}

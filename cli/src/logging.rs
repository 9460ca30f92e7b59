//! The program's log, on stderr: what the rooms below have to say that is no result.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes what RUST_LOG asks for, and without it everything from `level` up.
pub(crate) fn start(form: LogForm, level: LevelFilter) {
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let started = match form {
        LogForm::Text => subscriber.try_init(),
        LogForm::Json => subscriber.json().try_init(),
    };
    // It fails only where there is a log already, as in a test that starts the program twice.
    let _already = started.is_err();
}

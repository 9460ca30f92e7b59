//! The service's own log, on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::LogForm;

/// Writes what RUST_LOG asks for, and without it what an operator should know.
pub(super) fn start(form: LogForm) {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
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

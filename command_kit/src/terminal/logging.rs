//! The program's log, on stderr: messages of the crates below that are no results.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The filter for dependencies whose messages below a warning are noise.
const QUIET: &str = "lsm_tree=warn,fjall=warn";

/// Starts the log with the filter in RUST_LOG; without it, with everything from `level` up.
pub fn start(form: LogForm, level: LevelFilter) {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let filter = filter(&asked, level);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // It would tell of a log that takes no line by printing to the same place, and a thread that cannot print panics.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    let started = match form {
        LogForm::Text => subscriber.try_init(),
        LogForm::Json => subscriber.json().try_init(),
    };
    // It fails only where there is a log already, as in a test that starts the program twice.
    let _already = started.is_err();
}

fn filter(asked: &str, level: LevelFilter) -> EnvFilter {
    let builder = EnvFilter::builder().with_default_directive(level.into());
    if asked.is_empty() {
        builder.parse_lossy(format!("{level},{QUIET}"))
    } else {
        builder.parse_lossy(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_tells_of_itself_is_shown_only_where_it_is_asked_for() {
        let quiet = filter("", LevelFilter::INFO).to_string();
        assert!(quiet.contains("lsm_tree=warn") && quiet.contains("info"), "{quiet}");
        let asked = filter("lsm_tree=debug", LevelFilter::INFO).to_string();
        assert!(asked.contains("lsm_tree=debug") && !asked.contains("warn"), "{asked}");
    }
}

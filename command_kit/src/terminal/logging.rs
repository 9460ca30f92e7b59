//! The program's log, on stderr: messages of the crates below that are no results.

use std::io::{self, IsTerminal};
use std::str::FromStr;

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

/// A filter of the log, in the words of RUST_LOG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

/// The text is no filter of the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write it as `info` or `warn,bitacora_server=debug`")]
pub struct LogFilterError(String);

impl FromStr for LogFilter {
    type Err = LogFilterError;

    fn from_str(text: &str) -> Result<Self, LogFilterError> {
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(LogFilterError(error.to_string())),
        }
    }
}

/// The log of a running program, whose filter can be replaced.
pub struct RunningLog {
    level: LevelFilter,
    replace: Box<dyn Fn(EnvFilter) -> bool + Send + Sync>,
}

impl RunningLog {
    /// Replaces the filter; `None` is that in RUST_LOG, or the level that the log began with.
    pub fn set_filter(&self, chosen: Option<&LogFilter>) {
        // It fails only where another log was there before.
        let _other_log = (self.replace)(chosen_filter(chosen, self.level));
    }
}

/// The filter for dependencies whose messages below a warning are noise.
const QUIET: &str = "lsm_tree=warn,fjall=warn";

/// Starts the log with the filter in RUST_LOG; without it, with everything from `level` up.
pub fn start(form: LogForm, level: LevelFilter) {
    let _unchanged = start_with(form, level, None);
}

/// Starts the log with this filter. Without one, as [`start`].
pub fn start_with(form: LogForm, level: LevelFilter, chosen: Option<&LogFilter>) -> RunningLog {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(chosen_filter(chosen, level))
        .with_writer(io::stderr)
        // It would tell of a log that takes no line by printing to the same place, and a thread that cannot print panics.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    // Starting fails only where there is a log already, as in a test that starts the program twice.
    let replace: Box<dyn Fn(EnvFilter) -> bool + Send + Sync> = match form {
        LogForm::Text => {
            let subscriber = subscriber.with_filter_reloading();
            let filter = subscriber.reload_handle();
            let _already = subscriber.try_init().is_err();
            Box::new(move |new| filter.reload(new).is_ok())
        }
        LogForm::Json => {
            let subscriber = subscriber.json().with_filter_reloading();
            let filter = subscriber.reload_handle();
            let _already = subscriber.try_init().is_err();
            Box::new(move |new| filter.reload(new).is_ok())
        }
    };
    RunningLog { level, replace }
}

fn chosen_filter(chosen: Option<&LogFilter>, level: LevelFilter) -> EnvFilter {
    match chosen {
        Some(LogFilter(text)) => filter(text, level),
        None => filter(&std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default(), level),
    }
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

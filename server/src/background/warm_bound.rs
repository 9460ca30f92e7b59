//! The bound of warm data: once a day the service records up to which position rows of read models leave this disk.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bitacora_ledger::{AppendError, ReadError};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{MAX_KEEP_DAYS, MIN_WARM_DAYS, WarmDays};

use crate::api::Api;
use crate::background::ticks::{Ticks, open_ledgers};
use crate::limits::{FIRST_WARM_PAUSE, WARM_PAUSE};

/// The age up to which rows of read models stay on this disk, and the pause between two looks for older ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmBound {
    /// Days from the recording of the event that wrote a row last.
    pub keep_days: WarmDays,
    /// The pause after the start.
    pub first: Duration,
    /// The pause between two looks.
    pub between: Duration,
}

/// The reasons for which a time is no bound of warm data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarmBoundError {
    /// It is no number with a unit.
    #[error("`{0}` is no time; write days, weeks or months: `365d`, `52w` or `12mo`")]
    Form(String),
    /// It is too short or too long.
    #[error("{0} is {days} days; rows stay warm for {MIN_WARM_DAYS} to {MAX_KEEP_DAYS} days", days = .1)]
    Days(String, u64),
}

impl FromStr for WarmBound {
    type Err = WarmBoundError;

    fn from_str(text: &str) -> Result<Self, WarmBoundError> {
        let no_time = || WarmBoundError::Form(text.to_owned());
        let unit = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(no_time)?;
        let (number, unit) = text.split_at_checked(unit).ok_or_else(no_time)?;
        let number: u64 = number.parse::<u32>().map_err(|_| no_time())?.into();
        let days = match unit {
            "d" => number,
            "w" => number * 7,
            // So that 12 months are a year.
            "mo" => number * 365 / 12,
            _ => return Err(no_time()),
        };
        let keep_days = u32::try_from(days).ok().and_then(|days| WarmDays::try_from(days).ok());
        let keep_days = keep_days.ok_or_else(|| WarmBoundError::Days(text.to_owned(), days))?;
        Ok(Self { keep_days, first: FIRST_WARM_PAUSE, between: WARM_PAUSE })
    }
}

/// The reasons for which rows stay for now.
#[derive(Debug, thiserror::Error)]
enum WarmCutError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// Looks at every ledger with read models, until the service ends.
pub(crate) async fn run(api: Arc<Api>, bound: WarmBound) {
    let mut ticks = Ticks::new(&api, bound.first, bound.between);
    while ticks.next().await {
        for (name, ledger) in open_ledgers(&api) {
            if ledger.read_models().is_none() {
                continue;
            }
            // It reads the log and waits for a sync.
            match tokio::task::spawn_blocking(move || cut(&ledger, bound.keep_days)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(ledger = %name, %error, "warm data was not cut; it is tried again later");
                }
                Err(error) => tracing::error!(ledger = %name, %error, "warm data was not cut"),
            }
        }
    }
}

fn cut(ledger: &IndexedLedger, keep_days: WarmDays) -> Result<(), WarmCutError> {
    let log = ledger.ledger();
    if let Some(cut) = log.due_warm_cut(keep_days, |query| ledger.read(query))? {
        log.record_warm_cut(&cut)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_days_weeks_or_months_of_at_least_thirty_days() {
        let days = |text: &str| text.parse::<WarmBound>().map(|bound| bound.keep_days.get());
        for (text, expected) in
            [("12mo", 365), ("365d", 365), ("52w", 364), ("1mo", 30), ("30d", 30), ("6mo", 182)]
        {
            assert_eq!(days(text), Ok(expected), "{text}");
        }
        for text in ["", "12", "mo", "1y", "12 mo", "-12mo", "1.5mo", "99999999999d", "12MO", "１２mo"] {
            assert_eq!(days(text), Err(WarmBoundError::Form(text.to_owned())), "{text}");
        }
        for (text, found) in
            [("29d", 29), ("4w", 28), ("0mo", 0), ("36501d", 36_501), ("4294967295w", 30_064_771_065)]
        {
            let error = days(text).unwrap_err();
            assert_eq!(error, WarmBoundError::Days(text.to_owned(), found), "{text}");
            assert!(error.to_string().contains("30 to 36500 days"), "{error}");
        }
    }
}

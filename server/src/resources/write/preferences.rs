//! Preferences of an append: to wait for a signed or a witnessed tree head over it.
//!
//! The header `Prefer` of RFC 7240. A preference is no condition: the events are durable either way, and
//! `Preference-Applied` says that it was met.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_ledger::Ledger;
use tokio::time::{Instant, sleep};

use crate::api::Api;
use crate::limits::{MAX_PREFERENCE_WAIT, PREFERENCE_POLL, PREFERENCE_WAIT};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The assurance that an answer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Assurance {
    Signed,
    Witnessed,
}

/// The preference of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preference {
    assurance: Option<Assurance>,
    wait: Duration,
}

impl Preference {
    /// Reads it. A preference that is not known, or not well written, is none.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut preference = Self { assurance: None, wait: PREFERENCE_WAIT };
        let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        for one in values.flat_map(|value| value.split(',')) {
            let one = one.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            match one.split_once('=').map_or((&*one, ""), |(name, value)| (name.trim(), value.trim())) {
                ("signed", "") if preference.assurance.is_none() => {
                    preference.assurance = Some(Assurance::Signed);
                }
                ("witnessed", "") => preference.assurance = Some(Assurance::Witnessed),
                ("wait", seconds) => {
                    let seconds = seconds.trim_matches('"').parse().map(Duration::from_secs);
                    preference.wait = seconds.unwrap_or(PREFERENCE_WAIT).min(MAX_PREFERENCE_WAIT);
                }
                _ => {}
            }
        }
        preference
    }

    /// Waits until a tree head covers the events up to `last` as preferred, the time is over, or the service ends. Says in the
    /// answer that it was met.
    pub(crate) async fn apply(self, api: &Api, ledger: &Ledger, last: Position, answer: &mut Response) {
        let Some(assurance) = self.assurance else { return };
        let until = Instant::now() + self.wait;
        while !assurance.covers(ledger, last) {
            if Instant::now() >= until || api.is_ending() || !assurance.is_possible(ledger) {
                return;
            }
            sleep(PREFERENCE_POLL).await;
        }
        let met = match assurance {
            Assurance::Signed => HeaderValue::from_static("signed"),
            Assurance::Witnessed => HeaderValue::from_static("witnessed"),
        };
        answer.headers_mut().insert(PREFERENCE_APPLIED, met);
    }
}

impl Assurance {
    fn covers(self, ledger: &Ledger, last: Position) -> bool {
        let status = ledger.status();
        let size = match self {
            Self::Signed => status.heads.size,
            Self::Witnessed => status.witnessed.map_or(0, |witnessed| witnessed.size),
        };
        size >= last.get()
    }

    /// `false`: no waiting brings it about.
    fn is_possible(self, ledger: &Ledger) -> bool {
        let status = ledger.status();
        let is_asked_for = match self {
            Self::Signed => ledger.verifier_key().is_some(),
            Self::Witnessed => status.witnessed.is_some(),
        };
        is_asked_for && !status.writer.is_final()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&'static str]) -> Preference {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(PREFER, HeaderValue::from_static(value));
        }
        Preference::read(&headers)
    }

    #[test]
    fn the_strongest_assurance_counts_and_what_is_unknown_does_not() {
        let of = |assurance, seconds| Preference { assurance, wait: Duration::from_secs(seconds) };
        let usual = PREFERENCE_WAIT.as_secs();
        for (values, expected) in [
            (&[][..], of(None, usual)),
            (&["signed"], of(Some(Assurance::Signed), usual)),
            (&["Signed, wait=3"], of(Some(Assurance::Signed), 3)),
            (&["signed", "witnessed; x=y"], of(Some(Assurance::Witnessed), usual)),
            (&["witnessed, signed"], of(Some(Assurance::Witnessed), usual)),
            (&["wait=\"7\", signed"], of(Some(Assurance::Signed), 7)),
            (&["signed, wait=99999999"], of(Some(Assurance::Signed), MAX_PREFERENCE_WAIT.as_secs())),
            (&["signed=yes", "return=minimal, wait=soon"], of(None, usual)),
        ] {
            assert_eq!(read(values), expected, "{values:?}");
        }
    }
}

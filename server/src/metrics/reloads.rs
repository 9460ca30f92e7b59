//! Metrics of reloads of the settings.

use bitacora_formats::Micros;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::OutcomeLabel;

const MICROS_A_SECOND: u64 = 1_000_000;

/// The counters of reloads.
pub(crate) struct ReloadMetrics {
    tries: Family<OutcomeLabel, Counter>,
    /// The time of the settings in effect.
    succeeded: Gauge,
}

impl ReloadMetrics {
    pub(super) fn registered(registry: &mut Registry) -> Self {
        let (tries, succeeded) = (Family::<OutcomeLabel, Counter>::default(), Gauge::default());
        for outcome in ["done", "failed"] {
            // A rate of something that never was is 0, and not unknown.
            let _zero = tries.get_or_create(&OutcomeLabel { outcome });
        }
        registry.register(
            "settings_reloads",
            "Times the settings were read again, by outcome",
            tries.clone(),
        );
        registry.register(
            "settings_read_timestamp_seconds",
            "When the settings were last read with success, in seconds since 1970",
            succeeded.clone(),
        );
        Self { tries, succeeded }
    }

    /// One more try: `done` or `failed`.
    pub(crate) fn count(&self, outcome: &'static str) {
        self.tries.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// The settings were read at this time.
    pub(crate) fn read_at(&self, now: Micros) {
        self.succeeded.set(i64::try_from(now.0 / MICROS_A_SECOND).unwrap_or(i64::MAX));
    }
}

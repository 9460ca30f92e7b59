//! Metrics of the scrub over archives.

use bitacora_archiver::ArchiveScrubStatus;
use bitacora_formats::LedgerName;
use prometheus_client::registry::Registry;

use super::{Counters, Gauges, LedgerLabel};

/// A counter's name, its help, and how it is read.
type ScrubMetric = (&'static str, &'static str, fn(&ArchiveScrubStatus) -> u64);

const COUNTERS: [ScrubMetric; 3] = [
    ("archive_scrub_rounds", "Rounds of the scrub that found every archive whole", |status| status.rounds),
    ("archive_scrub_bytes", "Bytes of archives that the scrub's rounds read", |status| status.bytes),
    ("archive_scrub_faults", "Archives found damaged or missing, in each round anew", |status| status.faults),
];

/// Registers the metrics of the scrub over the archives of each ledger.
pub(super) fn register_archive_scrubs(registry: &mut Registry, scrubs: &[(LedgerName, ArchiveScrubStatus)]) {
    let label = |name: &LedgerName| LedgerLabel { ledger: name.to_string() };
    let (ages, faulty) = (Gauges::default(), Gauges::default());
    for (ledger, status) in scrubs {
        let named = i64::try_from(status.faulty.len()).unwrap_or(i64::MAX);
        faulty.get_or_create(&label(ledger)).set(named);
        // A ledger has an age once a round has ended.
        if let Some(age) = status.age {
            ages.get_or_create(&label(ledger)).set(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        }
    }
    registry.register(
        "archive_scrub_age_seconds",
        "For how long the last round of the scrub, which found every archive whole, is over",
        ages,
    );
    registry.register("archive_faulty", "Archives now known to be damaged or missing; 16 at most", faulty);
    for (name, help, read) in COUNTERS {
        let counters = Counters::default();
        for (ledger, status) in scrubs {
            counters.get_or_create(&label(ledger)).inc_by(read(status));
        }
        registry.register(name, help, counters);
    }
}

//! Metrics of the service, in Prometheus' text format.

mod archive_scrubs;
pub(crate) mod archive_tallies;
pub(crate) mod collections;
mod governing;
mod ledgers;
mod models;
mod process;
mod reloads;
mod tallies;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::StatusCode;
use bitacora_archiver::ProgressCounts;
use bitacora_formats::LedgerName;
use bitacora_governance::REACTOR_VERSION;
use bitacora_ledger::{AppendReceipt, Ledger, ReceiptStatus};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::ledgers::Ledgers;
use crate::metrics::archive_scrubs::register_archive_scrubs;
use crate::metrics::archive_tallies::Tallies;
use crate::metrics::collections::{Collections, MetricsScope};
use crate::metrics::governing::register_governing;
use crate::metrics::ledgers::ledger_registry;
use crate::metrics::process::{process_registry, register_build};
use crate::metrics::reloads::ReloadMetrics;
use crate::metrics::tallies::LedgerTallies;

/// The prefix of every metric's name.
const PREFIX: &str = "bitacora";

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    answers: Family<StatusLabel, Counter>,
    events: Family<OutcomeLabel, Counter>,
    /// Connections now open.
    pub(crate) connections: Gauge,
    /// Connections turned away because too many were open.
    pub(crate) connections_refused: Counter,
    followers: Gauge,
    ingests: Gauge,
    handshakes: Family<OutcomeLabel, Counter>,
    notices: Family<OutcomeLabel, Counter>,
    exports: Family<OutcomeLabel, Counter>,
    /// Followers that were too slow.
    pub(crate) lagged: Counter,
    /// Of the settings.
    pub(crate) reloads: ReloadMetrics,
    /// Of ledgers that are archived in the background.
    pub(crate) archives: Tallies,
    /// Of governed ledgers.
    governed: LedgerTallies,
    /// The collections of these metrics.
    pub(crate) collections: Collections,
}

/// Counts one more of something for as long as it is held.
pub(crate) struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn one_more(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// The outcome of a record of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportOutcome {
    /// It is an event.
    Recorded,
    /// It was one before.
    Duplicate,
    /// It tells nothing about an agent.
    Skipped,
    /// It has a fault.
    Rejected,
}

impl ExportOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Duplicate => "duplicate",
            Self::Skipped => "skipped",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LedgerLabel {
    ledger: String,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let answers = Family::default();
        let events = Family::default();
        let connections = Gauge::default();
        let connections_refused = Counter::default();
        registry.register("http_answers", "Requests answered, by status", answers.clone());
        registry.register("http_events", "Events acknowledged over HTTP, by outcome", events.clone());
        let followers = Gauge::default();
        let ingests = Gauge::default();
        let lagged = Counter::default();
        registry.register("http_ingests", "Uploads under way", ingests.clone());
        registry.register("http_followers", "Followers of event streams now", followers.clone());
        registry.register(
            "http_followers_lagged",
            "Followers whose stream was ended because they were too slow",
            lagged.clone(),
        );
        registry.register("http_connections", "Connections now open", connections.clone());
        registry.register(
            "http_connections_refused",
            "Connections turned away because too many were open",
            connections_refused.clone(),
        );
        let handshakes = Family::default();
        registry.register("tls_handshakes", "TLS handshakes, by what came of them", handshakes.clone());
        let notices = Family::<OutcomeLabel, Counter>::default();
        for outcome in ["delivered", "failed", "given_up"] {
            // A rate of something that never was is 0, and not unknown.
            let _zero = notices.get_or_create(&OutcomeLabel { outcome });
        }
        let exports = Family::default();
        let of_exports = "Records of OpenTelemetry exports, by what became of them";
        registry.register("otlp_records", of_exports, exports.clone());
        registry.register("notices", "Tries to tell of something, by what came of them", notices.clone());
        let reloads = ReloadMetrics::registered(&mut registry);
        Self {
            registry,
            answers,
            events,
            connections,
            connections_refused,
            followers,
            ingests,
            handshakes,
            notices,
            exports,
            lagged,
            reloads,
            archives: Tallies::default(),
            governed: LedgerTallies::default(),
            collections: Collections::default(),
        }
    }

    pub(crate) fn count_answer(&self, status: StatusCode) {
        self.answers.get_or_create(&StatusLabel { status: status.as_u16() }).inc();
    }

    /// One more handshake: `done`, or the reason why the connection ended with it.
    pub(crate) fn count_handshake(&self, outcome: &'static str) {
        self.handshakes.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// One more try to tell of something: `delivered`, `failed`, or `given_up` for good.
    pub(crate) fn count_notice(&self, outcome: &'static str) {
        self.notices.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// So many records of exports with this outcome.
    pub(crate) fn count_export(&self, outcome: ExportOutcome, records: u64) {
        if records > 0 {
            self.exports.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc_by(records);
        }
    }

    /// One more follower, until what is returned is dropped.
    pub(crate) fn follower(&self) -> GaugeGuard {
        GaugeGuard::one_more(&self.followers)
    }

    /// One more upload, until what is returned is dropped.
    pub(crate) fn ingest(&self) -> GaugeGuard {
        GaugeGuard::one_more(&self.ingests)
    }

    /// Counts an append to this ledger, and the events that governing derived for it.
    pub(crate) fn count_append(&self, ledger: &Ledger, appended: &AppendReceipt) {
        // Of a request that repeats some of its events, the answer names what was derived for those too.
        let derived = appended.new_derived().count() as u64;
        if derived > 0 {
            self.governed.of(ledger.id()).count(appended);
        }
        let all = appended.results.len() as u64;
        let created =
            appended.results.iter().filter(|result| result.status == ReceiptStatus::Created).count() as u64;
        let outcomes = [("created", created), ("duplicate", all - created), ("derived", derived)];
        for (outcome, events) in outcomes.into_iter().filter(|(_, events)| *events > 0) {
            self.events.get_or_create(&OutcomeLabel { outcome }).inc_by(events);
        }
    }

    /// A decision took this long to become durable.
    pub(crate) fn observe_decision(&self, ledger: &Ledger, took: Duration) {
        self.governed.of(ledger.id()).observe_decision(took);
    }

    /// An append took this long to become durable.
    pub(crate) fn observe_append(&self, ledger: &Ledger, took: Duration) {
        self.governed.of(ledger.id()).observe_append(took);
    }

    /// The counters of the service, the end of its certificate if it has one, and the state of each ledger and of the process. It looks at entries of every ledger's state.
    pub(crate) fn to_openmetrics(
        &self,
        certificate_end: Option<u64>,
        ledgers: &Ledgers,
        scope: &MetricsScope,
    ) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &process_registry())?;
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &certificate_registry(certificate_end))?;
        encode_registry(&mut text, &ledger_registry(&ledgers.all()))?;
        let mut governing = Registry::with_prefix(PREFIX);
        register_build(&mut governing, REACTOR_VERSION);
        register_disk(&mut governing, ledgers);
        register_governing(&mut governing, (ledgers, scope), &self.governed);
        encode_registry(&mut text, &governing)?;
        encode_registry(&mut text, &archive_registry(&self.archives))?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Returns the metric of the service's certificate; a service without TLS has none, lest its end were in 1970.
fn certificate_registry(end: Option<u64>) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    if let Some(end) = end {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(end).unwrap_or(i64::MAX));
        let help = "The time from which clients refuse the service's certificate, seconds since 1970";
        registry.register("tls_certificate_expiry_timestamp_seconds", help, gauge);
    }
    registry
}

type Gauges = Family<LedgerLabel, Gauge>;
type FloatGauges<L> = Family<L, Gauge<f64, AtomicU64>>;
type Counters = Family<LedgerLabel, Counter>;

/// A metric's name, its help, and how it is read from the progress of archiving in the background.
type ArchiveMetric = (&'static str, &'static str, fn(&ProgressCounts) -> u64);

/// The gauges of archiving.
const ARCHIVE_GAUGES: &[ArchiveMetric] = &[
    ("archive_position", "The last position that is archived", |tally| tally.archived),
    ("archive_due_events", "Events that are due to be archived and are not yet", |tally| tally.due),
    ("archive_failing", "1 where the last try to archive failed", |tally| tally.is_failing.into()),
];

/// Totals since the service began.
const ARCHIVE_COUNTERS: &[ArchiveMetric] = &[
    ("archive_archives", "Archives that were read back and recorded", |tally| tally.archives),
    ("archive_bytes", "Bytes of them", |tally| tally.bytes),
    ("archive_packed_events", "Events that were packed", |tally| tally.packed),
    ("archive_read_back_events", "Events that were read back and compared", |tally| tally.read_back),
    ("archive_released_bytes", "Bytes of segments that were released", |tally| tally.released_bytes),
    ("archive_failures", "Tries to archive that failed", |tally| tally.failures),
];

/// Returns the value of a gauge, which holds no more than this.
fn gauge_value(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Registers the room on the disk of the data folder, where the system tells it.
fn register_disk(registry: &mut Registry, ledgers: &Ledgers) {
    let Some(free) = ledgers.free_disk_bytes() else { return };
    let gauge: Gauge = Gauge::default();
    gauge.set(gauge_value(free));
    registry.register("data_disk_free_bytes", "Bytes that are free on the disk of the data folder", gauge);
}

/// Returns the metrics of ledgers that are archived in the background; the others have none.
fn archive_registry(archives: &Tallies) -> Registry {
    let (tallies, mut registry) = (archives.now(), Registry::with_prefix(PREFIX));
    if tallies.is_empty() {
        return registry;
    }
    let label = |name: &LedgerName| LedgerLabel { ledger: name.to_string() };
    for (name, help, read) in ARCHIVE_GAUGES {
        let gauges = Gauges::default();
        for (ledger, tally) in &tallies {
            gauges.get_or_create(&label(ledger)).set(gauge_value(read(tally)));
        }
        registry.register(*name, *help, gauges);
    }
    for (name, help, read) in ARCHIVE_COUNTERS {
        let counters = Counters::default();
        for (ledger, tally) in &tallies {
            counters.get_or_create(&label(ledger)).inc_by(read(tally));
        }
        registry.register(*name, *help, counters);
    }
    register_archive_scrubs(&mut registry, &archives.scrubs());
    registry
}

//! Metrics of the service, in Prometheus' text format.

mod archive_scrubs;
pub(crate) mod archive_tallies;
mod models;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::StatusCode;
use bitacora_archiver::ProgressCounts;
use bitacora_formats::{LedgerName, Position};
use bitacora_ledger::{AppendReceipt, ReceiptStatus, Status};
use bitacora_projector::{IndexState, IndexStatus};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::ledgers::slot::Slot;
use crate::metrics::archive_scrubs::register_archive_scrubs;
use crate::metrics::archive_tallies::Tallies;
use crate::metrics::models::register_models;

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
    /// Of ledgers that are archived in the background.
    pub(crate) archives: Tallies,
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
struct WitnessLabel {
    ledger: String,
    witness: String,
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
        let notices = Family::default();
        let exports = Family::default();
        let of_exports = "Records of OpenTelemetry exports, by what became of them";
        registry.register("otlp_records", of_exports, exports.clone());
        registry.register("notices", "Tries to tell of something, by what came of them", notices.clone());
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
            archives: Tallies::default(),
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

    pub(crate) fn count_append(&self, appended: &AppendReceipt) {
        let all = appended.results.len() as u64;
        let created =
            appended.results.iter().filter(|result| result.status == ReceiptStatus::Created).count() as u64;
        let outcomes =
            [("created", created), ("duplicate", all - created), ("derived", appended.derived.len() as u64)];
        for (outcome, events) in outcomes.into_iter().filter(|(_, events)| *events > 0) {
            self.events.get_or_create(&OutcomeLabel { outcome }).inc_by(events);
        }
    }

    /// The counters of the service, the end of its certificate if it has one, and the state of each ledger.
    pub(crate) fn to_openmetrics(
        &self,
        certificate_end: Option<u64>,
        ledgers: &BTreeMap<LedgerName, Slot>,
    ) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &certificate_registry(certificate_end))?;
        encode_registry(&mut text, &ledger_registry(ledgers))?;
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
type Counters = Family<LedgerLabel, Counter>;

/// A metric's name, its help, and how it is read from a ledger's status.
type LedgerMetric = (&'static str, &'static str, fn(&Status) -> u64);

/// As a [`LedgerMetric`], of the ledger's index.
type IndexMetric = (&'static str, &'static str, fn(&IndexStatus) -> u64);

/// The gauges of a ledger.
const GAUGES: &[LedgerMetric] = &[
    ("ledger_ready", "1 where an append could be made durable now", |status| status.writer.is_ready().into()),
    ("ledger_position", "The last durable position", |status| status.head.position.get()),
    ("ledger_queue_bytes", "Bytes waiting to be sequenced", |status| status.queue_bytes as u64),
    ("ledger_queue_requests", "Requests waiting to be sequenced", |status| status.queue_requests as u64),
    ("ledger_segments", "Segment files that hold events", |status| status.segments as u64),
];

/// The gauges of a ledger's tree heads.
const HEAD_GAUGES: &[LedgerMetric] = &[
    ("ledger_tree_head_size", "Events under the last signed tree head", |status| status.heads.size),
    ("ledger_unsigned_events", "Durable events that no signed tree head covers yet", |status| {
        status.head.position.get().saturating_sub(status.heads.size)
    }),
    ("ledger_anchored_size", "Events that the anchor remembers; 0 where there is none", |status| {
        status.heads.anchored.unwrap_or(0)
    }),
    ("ledger_unanchored_seconds", "For how long the anchor could not be moved", |status| {
        status.heads.unanchored_for.map_or(0, |time| time.as_secs())
    }),
];

/// A gauge of the scrub's rounds. A ledger has it once a round has ended.
const SCRUB_AGE: (&str, &str) = (
    "ledger_scrub_age_seconds",
    "For how long the last round of the scrub, which found everything whole, is over",
);

/// The gauges of a ledger's index.
const INDEX_GAUGES: &[IndexMetric] = &[
    ("index_ok", "1 where the index follows the head", |status| (status.state == IndexState::Ok).into()),
    ("index_position", "The last position up to which the index knows every event", |status| {
        status.position.map_or(0, Position::get)
    }),
    ("index_lag", "Durable events that the index does not know yet", |status| status.lag),
    ("index_blocks", "Blocks of the index on the disk", |status| status.blocks as u64),
    ("index_doubts", "Blocks that were not believed and had to be made again", |status| status.doubts),
];

/// Totals since the ledger was opened.
const COUNTERS: &[LedgerMetric] = &[
    ("ledger_events", "Events made durable", |status| status.counters.events),
    ("ledger_frames", "Frames synced", |status| status.counters.frames),
    ("ledger_stored_bytes", "Bytes written to segments", |status| status.counters.stored_bytes),
    ("ledger_body_bytes", "Bytes of the same frames before compression", |status| status.counters.body_bytes),
    ("ledger_duplicates", "Events answered as duplicates", |status| status.counters.duplicates),
    ("ledger_refused", "Requests refused while sequencing", |status| status.counters.refused),
    ("ledger_tree_heads", "Tree heads signed and published", |status| status.heads.published),
    ("ledger_tree_heads_failed", "Tree heads that could not be signed or kept", |status| status.heads.failed),
    ("ledger_scrub_rounds", "Rounds of the scrub that found every frame on this disk whole", |status| {
        status.scrub.rounds
    }),
    ("ledger_scrub_bytes", "Bytes that the scrub's rounds read", |status| status.scrub.bytes),
    ("ledger_redactions", "Secrets replaced before an append", |status| status.counters.redactions),
];

/// As a [`LedgerMetric`], of archiving in the background.
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
            gauges.get_or_create(&label(ledger)).set(i64::try_from(read(tally)).unwrap_or(i64::MAX));
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

fn ledger_registry(ledgers: &BTreeMap<LedgerName, Slot>) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    let of_each = |slot: &Slot| match slot {
        Slot::Open(ledger) => (Some(ledger.status()), Some(ledger.index_status())),
        Slot::Failed(_) | Slot::Waiting(_) => (None, None),
    };
    let (mut states, mut indexes) = (Vec::new(), Vec::new());
    for (name, slot) in ledgers {
        let label = LedgerLabel { ledger: name.to_string() };
        let (status, index) = of_each(slot);
        states.push((label.clone(), status));
        indexes.push((label, index));
    }
    let failed = Gauges::default();
    for (label, status) in &states {
        failed.get_or_create(label).set(status.is_none().into());
    }
    registry.register("ledger_failed", "1 where the ledger did not open", failed);
    for (name, help, read) in GAUGES.iter().chain(HEAD_GAUGES) {
        let gauges = Gauges::default();
        for (label, status) in &states {
            let value = status.as_ref().map_or(0, read);
            gauges.get_or_create(label).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        registry.register(*name, *help, gauges);
    }
    register_witnesses(&mut registry, &states);
    register_clocks(&mut registry, ledgers);
    for (name, help, read) in INDEX_GAUGES {
        let gauges = Gauges::default();
        for (label, status) in &indexes {
            let value = status.as_ref().map_or(0, read);
            gauges.get_or_create(label).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        registry.register(*name, *help, gauges);
    }
    register_models(&mut registry, ledgers);
    let ages = Gauges::default();
    for (label, status) in &states {
        if let Some(age) = status.as_ref().and_then(|status| status.scrub.age) {
            ages.get_or_create(label).set(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        }
    }
    registry.register(SCRUB_AGE.0, SCRUB_AGE.1, ages);
    for (name, help, read) in COUNTERS {
        let counters = Counters::default();
        for (label, status) in &states {
            counters.get_or_create(label).inc_by(status.as_ref().map_or(0, read));
        }
        registry.register(*name, *help, counters);
    }
    let synced = Family::<LedgerLabel, Counter<f64, AtomicU64>>::default();
    for (label, status) in &states {
        let micros = status.as_ref().map_or(0, |status| status.counters.sync_us);
        synced.get_or_create(label).inc_by(Duration::from_micros(micros).as_secs_f64());
    }
    registry.register("ledger_sync_seconds", "Time spent waiting for the disk to sync", synced);
    registry
}

/// Registers the metrics of governed ledgers' clocks.
fn register_clocks(registry: &mut Registry, ledgers: &BTreeMap<LedgerName, Slot>) {
    let trusted = Gauges::default();
    for (name, slot) in ledgers {
        let Slot::Open(ledger) = slot else { continue };
        let Some(governance) = ledger.ledger().governance() else { continue };
        let is_trusted = governance.read(|state| state.clock_trust().jump().is_none());
        trusted.get_or_create(&LedgerLabel { ledger: name.to_string() }).set(is_trusted.into());
    }
    registry.register(
        "ledger_clock_trusted",
        "0 where the clock jumped and nobody has accepted it: calls are denied",
        trusted,
    );
}

/// Registers the metrics of witnesses; ledgers without witnesses have none.
fn register_witnesses(registry: &mut Registry, states: &[(LedgerLabel, Option<Status>)]) {
    let [size, unwitnessed, unmet] = [(); 3].map(|()| Gauges::default());
    let cosigned = Family::<WitnessLabel, Gauge>::default();
    let failures = Family::<WitnessLabel, Counter>::default();
    let set = |gauges: &Gauges, label: &LedgerLabel, value: u64| {
        gauges.get_or_create(label).set(i64::try_from(value).unwrap_or(i64::MAX));
    };
    for (label, status) in states {
        let Some((status, witnessed)) = status.as_ref().and_then(|it| Some((it, it.witnessed.as_ref()?)))
        else {
            continue;
        };
        set(&size, label, witnessed.size);
        set(&unwitnessed, label, status.head.position.get().saturating_sub(witnessed.size));
        set(&unmet, label, witnessed.unmet_for.map_or(0, |time| time.as_secs()));
        for witness in &witnessed.witnesses {
            let label = WitnessLabel { ledger: label.ledger.clone(), witness: witness.name.clone() };
            cosigned.get_or_create(&label).set(i64::try_from(witness.size).unwrap_or(i64::MAX));
            failures.get_or_create(&label).inc_by(witness.failures);
        }
    }
    registry.register(
        "ledger_witnessed_size",
        "Events under the last tree head that a quorum cosigned",
        size,
    );
    registry.register(
        "ledger_unwitnessed_events",
        "Durable events that no tree head covers which a quorum of the witnesses cosigned",
        unwitnessed,
    );
    registry.register(
        "ledger_unwitnessed_seconds",
        "For how long no tree head could be brought to a quorum of the witnesses",
        unmet,
    );
    registry.register(
        "ledger_witness_size",
        "Events that the witness has cosigned, as far as is known",
        cosigned,
    );
    registry.register("ledger_witness_failures", "How often the witness did not cosign", failures);
}

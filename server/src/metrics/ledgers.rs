//! Metrics of each ledger: its writer, its tree heads, its index, its clock and its witnesses.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bitacora_formats::{LedgerName, Position};
use bitacora_ledger::Status;
use bitacora_projector::{IndexState, IndexStatus};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::models::register_models;
use super::{Counters, Gauges, LedgerLabel, PREFIX, gauge_value};
use crate::ledgers::slot::Slot;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WitnessLabel {
    ledger: String,
    witness: String,
}

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

/// Returns the metrics of every ledger, open or not.
pub(super) fn ledger_registry(ledgers: &BTreeMap<LedgerName, Slot>) -> Registry {
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
            gauges.get_or_create(label).set(gauge_value(value));
        }
        registry.register(*name, *help, gauges);
    }
    register_witnesses(&mut registry, &states);
    register_clocks(&mut registry, ledgers);
    for (name, help, read) in INDEX_GAUGES {
        let gauges = Gauges::default();
        for (label, status) in &indexes {
            let value = status.as_ref().map_or(0, read);
            gauges.get_or_create(label).set(gauge_value(value));
        }
        registry.register(*name, *help, gauges);
    }
    register_models(&mut registry, ledgers);
    let ages = Gauges::default();
    for (label, status) in &states {
        if let Some(age) = status.as_ref().and_then(|status| status.scrub.age) {
            ages.get_or_create(label).set(gauge_value(age.as_secs()));
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
        gauges.get_or_create(label).set(gauge_value(value));
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
            cosigned.get_or_create(&label).set(gauge_value(witness.size));
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

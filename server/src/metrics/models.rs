//! Metrics of read models, for Prometheus.

use std::collections::BTreeMap;

use bitacora_formats::{LedgerName, Position};
use bitacora_projector::{ModelState, ModelStatus, ReadModels};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::ledgers::slot::Slot;

/// The labels: a ledger, and its model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabel {
    ledger: String,
    model: String,
}

/// A metric's name, its help, and how it is read from a model's status.
type ModelMetric = (&'static str, &'static str, fn(&ModelStatus) -> u64);

const GAUGES: &[ModelMetric] = &[
    ("model_ok", "1 where the read model answers and follows the head", |status| {
        (status.state == ModelState::Ok).into()
    }),
    ("model_stopped", "1 where the read model cannot take in an event", |status| {
        matches!(status.state, ModelState::Stopped(_)).into()
    }),
    ("model_position", "The last event that is folded into the read model", |status| {
        status.position.map_or(0, Position::get)
    }),
    ("model_lag", "Durable events that are not folded into the read model yet", |status| status.lag),
    ("model_rows", "Rows of the read model", |status| status.digest.map_or(0, |(_, rows, _)| rows)),
    ("model_doubts", "How often rows of the read model were not believed and were folded again", |status| {
        status.doubts
    }),
];

/// Adds what the models of open ledgers tell.
pub(crate) fn register_models(registry: &mut Registry, ledgers: &BTreeMap<LedgerName, Slot>) {
    let mut models = Vec::new();
    for (name, slot) in ledgers {
        let Slot::Open(ledger) = slot else { continue };
        for status in ledger.read_models().map(ReadModels::status).unwrap_or_default() {
            models.push((ModelLabel { ledger: name.to_string(), model: status.name.to_owned() }, status));
        }
    }
    for (name, help, read) in GAUGES {
        let gauges = Family::<ModelLabel, Gauge>::default();
        for (label, status) in &models {
            gauges.get_or_create(label).set(i64::try_from(read(status)).unwrap_or(i64::MAX));
        }
        registry.register(*name, *help, gauges);
    }
}

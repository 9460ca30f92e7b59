//! The ticks of work that is done now and again from the start of the service to its end, and the ledgers that it is done for.

use std::time::Duration;

use bitacora_formats::LedgerName;
use bitacora_projector::IndexedLedger;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::api::Api;
use crate::http::phase::Phase;
use crate::ledgers::slot::Slot;

/// Ticks up to the end of the service.
pub(super) struct Ticks {
    interval: Interval,
    phase: watch::Receiver<Phase>,
}

impl Ticks {
    /// Ticks after the first pause, and after each further one. A tick that comes late moves those behind it.
    pub(super) fn new(api: &Api, first: Duration, between: Duration) -> Self {
        let mut interval = interval_at(Instant::now() + first, between);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { interval, phase: api.phase() }
    }

    /// Waits for the next tick. Returns `false` once the service ends.
    pub(super) async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interval.tick() => true,
            _ = self.phase.wait_for(|phase| *phase > Phase::Serving) => false,
        }
    }
}

/// Returns the ledgers that are open.
pub(super) fn open_ledgers(api: &Api) -> Vec<(LedgerName, IndexedLedger)> {
    let slots = api.ledgers.all();
    let open = slots.iter().filter_map(|(name, slot)| match slot {
        Slot::Open(ledger) => Some((name.clone(), ledger.clone())),
        _ => None,
    });
    open.collect()
}

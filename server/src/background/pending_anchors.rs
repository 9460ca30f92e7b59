//! Ledgers, and lists of ledgers, that wait for an anchor that did not answer at the start.
//! The anchor of each is asked again until it answers.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::http::phase::Phase;
use crate::ledgers::Ledgers;
use crate::limits::{FIRST_ANCHOR_PAUSE, MAX_ANCHOR_PAUSE};

/// Opens what waits for its anchor, until the service ends.
pub(crate) async fn open_when_anchored(ledgers: Arc<Ledgers>, mut phase: watch::Receiver<Phase>) {
    loop {
        let mut pause = FIRST_ANCHOR_PAUSE;
        while ledgers.has_waiting() {
            tokio::select! {
                () = sleep(pause) => (),
                _ = phase.changed() => return,
            }
            ledgers.ask_anchor().await;
            ledgers.open_waiting().await;
            pause = (pause * 2).min(MAX_ANCHOR_PAUSE);
        }
        tokio::select! {
            () = ledgers.one_waits() => (),
            _ = phase.changed() => return,
        }
    }
}

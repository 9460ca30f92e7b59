//! A ledger with its index on a simulated machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_projector::{IndexOptions, IndexState, IndexedLedger};
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, keyring, open};

/// Blocks so small that a short run stores many.
pub(crate) const OPTIONS: IndexOptions = IndexOptions { block_events: 16, read_models: false, recalls: None };

/// The ledger of the machine, opened with its index.
pub(crate) fn index_of(machine: &Simulation) -> IndexedLedger {
    let ledger = open(machine).unwrap();
    IndexedLedger::open(ledger, &machine.environment(), Path::new(FOLDER), &keyring(), &OPTIONS)
}

/// Waits until the index knows every durable event.
pub(crate) fn wait_until_caught_up(ledger: &IndexedLedger) {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let status = ledger.index_status();
        if status.lag == 0 && status.state == IndexState::Ok {
            return;
        }
        assert!(Instant::now() < patience, "the index does not catch up: {status:?}");
        std::thread::yield_now();
    }
}

/// The files of the index.
pub(crate) fn files(machine: &Simulation) -> Vec<PathBuf> {
    let folder = Path::new(FOLDER).join("projections/index");
    machine.disk.paths().into_iter().filter(|path| path.parent() == Some(&*folder)).collect()
}

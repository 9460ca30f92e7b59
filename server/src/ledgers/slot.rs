//! The slot of a ledger in the process: open, failed, or waiting for its anchor.

use bitacora_ledger::Ledger;
use bitacora_projector::IndexedLedger;

/// A ledger's place in the process.
#[derive(Clone)]
pub(crate) enum Slot {
    Open(IndexedLedger),
    /// It did not open, and why.
    Failed(String),
    /// It is not opened before the anchor that it requires answers; what that said. Nothing of it was changed.
    Waiting(String),
}

/// Returns `true` if the ledger is used with tokens alone.
pub(crate) fn is_closed(ledger: &Ledger) -> bool {
    ledger.governance().is_some_and(|governance| governance.read(|state| state.principals().is_closed()))
}

//! The slot of a ledger in the process: open, failed, or waiting for its anchor.

use bitacora_formats::LedgerName;
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

impl Slot {
    /// The place of a ledger whose anchor or archives are not there now.
    pub(super) fn waiting(name: &LedgerName, error: &dyn std::fmt::Display) -> Self {
        tracing::warn!(ledger = %name, %error, "a ledger waits for its anchor or archives; it is tried again");
        Self::Waiting(error.to_string())
    }
}

/// Returns `true` if the ledger is used with tokens alone.
pub(crate) fn is_closed(ledger: &Ledger) -> bool {
    ledger.governance().is_some_and(|governance| governance.read(|state| state.principals().is_closed()))
}

//! The doubt that a service has about the ledger of an answer.

use std::sync::{Arc, Mutex, PoisonError};

/// The header of an answer that rests on less than there was.
pub(crate) const LEDGER_DOUBT: &str = "ledger-doubt";

/// The reason why answers rest on less than the ledger held: damage, or a newer history that others remember. Copies share it.
#[derive(Debug, Clone, Default)]
pub struct LedgerDoubt(Arc<Mutex<Option<String>>>);

impl LedgerDoubt {
    /// Returns the reason that an answer named last; `None` while no answer named one.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a reason.
    pub fn note(&self, reason: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }
}

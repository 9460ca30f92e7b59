//! Damage found while the ledger is open, by the proof or by a read.
//! The ledger takes no appends from then on, and every answer says so.

use std::sync::Arc;

use crate::log_fault::LogFault;
use crate::shared_state::SharedState;
use crate::writer_state::{ReadOnlyReason, WriterState};

impl SharedState {
    /// Hears from now on of damage that reads find.
    pub(crate) fn hear_of_damage(self: &Arc<Self>) {
        let ledger = Arc::downgrade(self);
        self.segments.reports().connect(move |fault| {
            if let Some(shared) = ledger.upgrade() {
                shared.is_damaged_by(fault);
            }
        });
    }

    /// Stops taking appends because of damage to stored bytes, and has the next opening read all of the log. The first damage that was
    /// found stays the reason. The proof and every read call it when they find damage; an error that may pass is none.
    pub(crate) fn is_damaged_by(&self, fault: &LogFault) {
        self.found.get_or_init(|| fault.clone());
        if self.set_writer_once(WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault.clone()))) {
            tracing::error!(%fault, "the log is damaged; nothing more is taken until the file is restored");
            self.table_writer.distrust();
        }
    }
}

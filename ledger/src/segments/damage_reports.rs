//! The channel through which segments report damage that reads find in them.

use std::sync::OnceLock;

use crate::log_fault::LogFault;

/// The receiver of a report of damage.
type DamageReceiver = Box<dyn Fn(&LogFault) + Send + Sync>;

/// The channel to the ledger from its segments. Before the ledger stands nobody hears it: an opening sees damage by itself.
#[derive(Default)]
pub(crate) struct DamageReports {
    to: OnceLock<DamageReceiver>,
}

impl DamageReports {
    pub(crate) fn report(&self, fault: &LogFault) {
        if let Some(receive) = self.to.get() {
            receive(fault);
        }
    }

    /// Has damage told to `receive` from now on, unless it is told to another already.
    pub(crate) fn connect(&self, receive: impl Fn(&LogFault) + Send + Sync + 'static) {
        // A second time it is the same ledger.
        let _connected = self.to.set(Box::new(receive));
    }
}

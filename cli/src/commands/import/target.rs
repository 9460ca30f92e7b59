//! The ledger that an import appends to: through the service or in its folder.

use bitacora_formats::LedgerName;
use bitacora_import::ImportTarget;

use crate::ledger_access::access::Access;
use crate::ledger_access::append_retry::Delivery;

/// An opened ledger.
pub(super) struct OpenedTarget<'a> {
    pub(super) access: &'a Access,
    pub(super) ledger: &'a LedgerName,
    /// Set when the service has answered before.
    pub(super) has_answered: bool,
}

impl ImportTarget for OpenedTarget<'_> {
    type Channel = Delivery;

    fn channel(&self) -> Delivery {
        Delivery::new(self.access, self.ledger, None).known_to_answer(self.has_answered)
    }

    async fn counts_since(&self, digest: &str) -> Option<String> {
        self.access.import_counts_since(self.ledger, digest).await
    }
}

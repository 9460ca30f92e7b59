//! The sums of the ledger's answers to an import.

use crate::import::RejectedEvent;

/// The ledger's answers to the import, summed up.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) created: u64,
    pub(super) duplicates: u64,
    pub(super) derived: u64,
    /// Events whose identity stands in the ledger with other content.
    pub(super) differing: u64,
    /// All events that the ledger refused because of their content, the differing ones included.
    pub(super) rejected: u64,
    pub(super) rejected_listed: Vec<RejectedEvent>,
    /// Requests acknowledged, and their bytes.
    pub(super) requests: u64,
    pub(super) sent_bytes: u64,
    pub(super) retries: u64,
    /// Set when requests were in flight at an interruption and their answers never came.
    pub(super) unheard: bool,
    pub(super) head: Option<(String, String)>,
    /// Bytes written to the ledger's segments meanwhile.
    pub(super) stored: Option<u64>,
    /// The import's digest, where there was anything to import.
    pub(super) digest: Option<String>,
    /// Set when the import itself is recorded, now or before.
    pub(super) recorded: bool,
    /// Set when it counts towards trust, by this command or an earlier one.
    pub(super) accepted: bool,
    /// The position from which on it counted before.
    pub(super) counts_since: Option<String>,
}

//! The sums of the ledger's answers to an import.

use super::lane::RejectedEvent;

/// The ledger's answers to the import, summed up.
#[derive(Debug, Default)]
pub struct ImportTotals {
    /// Events that are new.
    pub created: u64,
    /// Events that were there before.
    pub duplicates: u64,
    /// Events derived from them.
    pub derived: u64,
    /// Events whose identity stands in the ledger with other content.
    pub differing: u64,
    /// All events that the ledger refused because of their content, the differing ones included.
    pub rejected: u64,
    /// The first of them.
    pub rejected_listed: Vec<RejectedEvent>,
    /// Requests acknowledged.
    pub requests: u64,
    /// The size of these requests in bytes.
    pub sent_bytes: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Set when requests were in flight at an interruption and their answers never came.
    pub unheard: bool,
    /// The position and chain hash of the ledger's head.
    pub head: Option<(String, String)>,
    /// Bytes written to the ledger's segments meanwhile.
    pub stored: Option<u64>,
    /// The import's digest, where there was anything to import.
    pub digest: Option<String>,
    /// Set when the import itself is recorded, now or before.
    pub recorded: bool,
    /// Set when it counts towards trust, by this command or an earlier one.
    pub accepted: bool,
    /// The position from which on it counted before.
    pub counts_since: Option<String>,
}

//! The sealed parts of records about a data subject: they open while the subject's key is there.

use bitacora_formats::Record;

use super::fault::FaultKind;

/// How the sealed parts fared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartCounts {
    /// Opened, and what their records' seals were made of.
    pub opened: u64,
    /// Not opened: the subject's key is not in the ledger's store, because the subject was erased or the store is elsewhere.
    pub without_key: u64,
}

/// The keys of data subjects.
pub(super) struct Parts;

impl Parts {
    /// Checks the part that lies beside a record against it.
    pub(super) fn check(
        &self,
        record: &Record<'_>,
        part: Option<&[u8]>,
        counts: &mut PartCounts,
    ) -> Result<(), FaultKind> {
        match (record.seal(), part) {
            (None, None) => Ok(()),
            (Some(_), Some(_)) => {
                counts.without_key += 1;
                Ok(())
            }
            (Some(_), None) => Err(FaultKind::PartPresence {
                expected: "the sealed part that the record names",
                found: "none",
            }),
            (None, Some(_)) => {
                Err(FaultKind::PartPresence { expected: "no sealed part beside the record", found: "one" })
            }
        }
    }
}

impl PartCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.opened += other.opened;
        self.without_key += other.without_key;
    }
}

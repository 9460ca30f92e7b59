//! Imports: histories that were recorded elsewhere, each kept apart until it is accepted.
//!
//! Events are gathered until an `import.batch` ends the import; from there on its contents do not change. So an acceptance by
//! digest takes exactly the contents that the report showed, and nothing that was brought meanwhile.

use bitacora_vocabulary::Dimension;
use serde::{Deserialize, Serialize};

use crate::trust::record::TrustRecord;
use crate::trust::rules::{Assessment, TrustInputs};

/// An import that came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The position of its `import.batch`.
    pub position: u64,
    /// The position of its `import.accepted`, if it counts.
    pub accepted: Option<u64>,
    /// Its observations, in the order of the dimensions; empty once it counts.
    pub(crate) records: Vec<(Dimension, TrustRecord)>,
}

/// A dimension of an import that waits, beside this ledger's own observations.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedDimension {
    /// The dimension.
    pub dimension: Dimension,
    /// The import's observations.
    pub record: TrustRecord,
    /// The counts of the observations made here.
    pub inputs_now: TrustInputs,
    /// The assessment of those.
    pub now: Assessment,
    /// The counts after the import is accepted.
    pub inputs_accepted: TrustInputs,
    /// The assessment of those.
    pub accepted: Assessment,
}

impl Import {
    /// Returns its observations that do not count yet, in the order of the dimensions.
    pub fn records(&self) -> impl ExactSizeIterator<Item = (&Dimension, &TrustRecord)> {
        self.records.iter().map(|(dimension, record)| (dimension, record))
    }
}

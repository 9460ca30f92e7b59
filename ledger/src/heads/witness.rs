//! Witnesses: holders of keys who sign a tree head only if it extends the last one that they signed.
//!
//! The anchor is the ledger's own memory. A witness is somebody else's: an auditor with a head that enough of them cosigned need not
//! believe the ledger that it shows everybody the same history.

pub(crate) mod client;
pub(crate) mod handle;
pub(crate) mod poll;
pub(crate) mod recovery;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{NoteSignature, TreeHash, WitnessKey, WitnessPolicy};

use crate::limits::WITNESS_EVERY;

/// The reasons for which a witness did not cosign a tree head.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// No meaningful answer. The witness may have cosigned or not.
    #[error("witness {witness}: {source}; the tree head stays without its cosignature until it answers")]
    Unreachable {
        /// The name of the witness.
        witness: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The tree head that it cosigned last has another size than it was told, or the same size and another root.
    #[error("witness {witness} has cosigned {size} events")]
    Conflict {
        /// The name of the witness.
        witness: String,
        /// The number of events that its last head covers.
        size: u64,
    },
    /// The tree head does not go on from the one that it cosigned last.
    #[error("witness {witness} has cosigned another history of this ledger")]
    Inconsistent {
        /// The name of the witness.
        witness: String,
    },
    /// It takes no tree heads of this ledger.
    #[error("witness {witness} refuses: {what}; have it configured for this ledger and its key")]
    Refused {
        /// The name of the witness.
        witness: String,
        /// The witness's answer.
        what: String,
    },
}

/// One witness, as c2sp.org/tlog-witness describes it. Every method may block until its own deadline; each call is made on a
/// thread of its own.
pub trait Witness: fmt::Debug + Send + Sync + 'static {
    /// The key that it cosigns with.
    fn key(&self) -> &WitnessKey;

    /// Asks it to cosign the tree head in `note`, with a proof that this goes on from the first `old` events: the
    /// signatures that it answers with, which are not verified yet.
    ///
    /// # Errors
    /// A [`WitnessError`]; after [`WitnessError::Unreachable`] it may have cosigned all the same.
    fn add(&self, old: u64, proof: &[TreeHash], note: &str) -> Result<Vec<NoteSignature>, WitnessError>;
}

/// The witnesses to which a ledger's tree heads are brought.
#[derive(Debug, Clone)]
pub struct Witnesses {
    /// The policy that says whose cosignatures make a quorum.
    pub policy: WitnessPolicy,
    /// Those who are asked.
    pub witnesses: Vec<Arc<dyn Witness>>,
    /// The interval between questions while new heads are signed. Witnesses are asked once more when the ledger closes.
    pub every: Duration,
}

impl Witnesses {
    /// These witnesses, asked as often as the service asks them.
    #[must_use]
    pub fn new(policy: WitnessPolicy, witnesses: Vec<Arc<dyn Witness>>) -> Self {
        Self { policy, witnesses, every: WITNESS_EVERY }
    }
}

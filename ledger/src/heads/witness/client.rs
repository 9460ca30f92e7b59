//! One witness of a ledger: what is known of it, and what its answers may mean.

use std::sync::Arc;

use bitacora_formats::{CosignatureError, Position};

use crate::heads::rollback::Rollback;
use crate::heads::witness::{Witness, WitnessError};

/// One witness, and what is known of it.
pub(crate) struct WitnessClient {
    pub(crate) witness: Arc<dyn Witness>,
    /// Events that it has cosigned.
    pub(crate) size: u64,
    /// The question without an answer yet: the size it goes on from, and the size it asks about.
    pub(crate) asked: Option<(u64, u64)>,
    /// `true` if it is to be asked in this turn.
    pub(crate) is_due: bool,
    pub(crate) is_failing: bool,
}

impl WitnessClient {
    pub(crate) fn new(witness: Arc<dyn Witness>) -> Self {
        Self { witness, size: 0, asked: None, is_due: false, is_failing: false }
    }

    /// The witness stands elsewhere than was thought, on this history as far as is known: it is asked again from there.
    pub(crate) fn catch_up(
        &mut self,
        witness: String,
        size: u64,
        (old, asked): (u64, u64),
    ) -> Result<u64, CosignFailure> {
        if size == old || size > asked {
            return Err(CosignFailure::Nonsense { witness, size });
        }
        self.is_due = true;
        Ok(size)
    }
}

/// The reasons for which a witness's answer holds no cosignature.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CosignFailure {
    #[error(transparent)]
    Witness(#[from] WitnessError),
    #[error("witness {witness}: {source}; its answer is not believed")]
    False { witness: String, source: CosignatureError },
    #[error("witness {witness}: its answer has no cosignature by the key that is known of it")]
    Missing { witness: String },
    #[error(
        "witness {witness}: it says that it has cosigned {size} events, which makes no sense; its answer is not believed"
    )]
    Nonsense { witness: String, size: u64 },
}

/// Returns the contradiction between an answer and the ledger; `None` if the answer shows nothing of that kind.
pub(crate) fn contradiction(
    witness: &str,
    size: u64,
    (old, asked): (u64, u64),
    head: Position,
) -> Option<Rollback> {
    let witness = witness.to_owned();
    if size > head.get() {
        return Some(Rollback::Witnessed { witness, known: size, found: head.get() });
    }
    (size == old && size == asked).then_some(Rollback::WitnessedHistory { witness, size })
}

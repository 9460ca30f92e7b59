//! The memory that witnesses have of a ledger that is being opened.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::Position;

use super::client::contradiction;
use super::poll::{WitnessPoll, WitnessQuestion};
use crate::heads::rollback::Rollback;
use crate::heads::witness::{WitnessError, Witnesses};
use crate::limits::WITNESS_OPENING_PATIENCE;

/// The answers of the witnesses.
#[derive(Default)]
pub(crate) struct WitnessFindings {
    /// The number of events that each has cosigned; `None` where it is not known.
    pub(crate) sizes: Vec<Option<u64>>,
    /// The difference between the ledger and what one of them has cosigned.
    pub(crate) differs: Option<Rollback>,
}

impl WitnessFindings {
    /// Shows each witness a head that the ledger has, as if it had cosigned that one last: so nothing changes there, and a
    /// witness that has cosigned another says which. One that does not answer says nothing: what has to answer is the anchor.
    pub(crate) fn ask(witnesses: &Witnesses, (note, size): (&str, u64), head: Position) -> Self {
        let poll = Arc::new(WitnessPoll::default());
        for (place, witness) in witnesses.witnesses.iter().enumerate() {
            let (witness, note) = (Arc::clone(witness), note.to_owned());
            poll.ask(WitnessQuestion { place, witness, old: size, proof: Vec::new(), note });
        }
        let mut memory = Self { sizes: vec![None; witnesses.witnesses.len()], differs: None };
        let answers = poll.gather(WITNESS_OPENING_PATIENCE);
        if answers.len() < witnesses.witnesses.len() {
            let silent = witnesses.witnesses.len() - answers.len();
            report_silent_witnesses(silent, WITNESS_OPENING_PATIENCE);
        }
        for answer in answers {
            let said = match answer.outcome {
                Ok(_) => Ok(size),
                Err(WitnessError::Conflict { witness, size: cosigned }) => {
                    contradiction(&witness, cosigned, (size, size), head).map_or(Ok(cosigned), Err)
                }
                Err(WitnessError::Inconsistent { witness }) => {
                    Err(Rollback::WitnessedHistory { witness, size })
                }
                Err(error) => {
                    tracing::warn!(%error, "the ledger opens without being compared with this witness");
                    continue;
                }
            };
            match said {
                Ok(cosigned) => {
                    if let Some(size) = memory.sizes.get_mut(answer.place) {
                        *size = Some(cosigned);
                    }
                }
                Err(rollback) => memory.remember(rollback),
            }
        }
        memory
    }

    /// Of several contradictions the one of the largest head is told.
    fn remember(&mut self, rollback: Rollback) {
        let size = |rollback: &Rollback| match rollback {
            Rollback::Witnessed { known, .. } => *known,
            Rollback::WitnessedHistory { size, .. } => *size,
            _ => 0,
        };
        if self.differs.as_ref().is_none_or(|known| size(known) < size(&rollback)) {
            self.differs = Some(rollback);
        }
    }
}

fn report_silent_witnesses(silent: usize, patience: Duration) {
    tracing::warn!(
        silent,
        seconds = patience.as_secs(),
        "witnesses did not answer in time; the ledger opens without being compared with them"
    );
}

//! Questions to witnesses, side by side on a thread each, with a bounded wait for answers.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use bitacora_formats::{NoteSignature, TreeHash};

use crate::heads::witness::{Witness, WitnessError};
use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};
use crate::host::threads::LedgerThread;

/// A question to one witness.
pub(crate) struct WitnessQuestion {
    /// Its place among the witnesses.
    pub(crate) place: usize,
    pub(crate) witness: Arc<dyn Witness>,
    pub(crate) old: u64,
    pub(crate) proof: Vec<TreeHash>,
    pub(crate) note: String,
}

/// A witness's answer.
pub(crate) struct WitnessAnswer {
    pub(crate) place: usize,
    pub(crate) outcome: Result<Vec<NoteSignature>, WitnessError>,
}

/// Questions to witnesses that are open, and their answers, late ones included.
#[derive(Default)]
pub(crate) struct WitnessPoll {
    state: OrderedMutex<PollState>,
    wake: Condvar,
}

#[derive(Default)]
struct PollState {
    arrived: Vec<WitnessAnswer>,
    /// Questions without an answer.
    open: usize,
    /// Until when a ledger that closes waits for answers.
    closing: Option<Instant>,
}

impl WitnessPoll {
    /// Asks without waiting. An answer arrives in every case, at the latest after the witness's own deadline.
    pub(crate) fn ask(self: &Arc<Self>, question: WitnessQuestion) {
        self.lock().open += 1;
        let (place, name) = (question.place, question.witness.key().name().to_owned());
        let (poll, asked) = (Arc::clone(self), name.clone());
        let spawned = LedgerThread::WitnessPoll.builder().spawn(move || {
            let WitnessQuestion { witness, old, proof, note, .. } = question;
            let answered = catch_unwind(AssertUnwindSafe(|| witness.add(old, &proof, &note)));
            let panicked = || Err(unreachable(asked, io::Error::other("its thread panicked")));
            poll.arrive(WitnessAnswer { place, outcome: answered.unwrap_or_else(|_| panicked()) });
        });
        if let Err(error) = spawned {
            self.arrive(WitnessAnswer { place, outcome: Err(unreachable(name, error)) });
        }
    }

    /// Returns the answers that have arrived. Waits for the rest until `patience` has passed, or for the time that a close leaves.
    pub(crate) fn gather(&self, patience: Duration) -> Vec<WitnessAnswer> {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while state.open > 0 {
            let until = state.closing.map_or(until, |closing| closing.min(until));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = state.wait_timeout(&self.wake, left).0;
        }
        std::mem::take(&mut state.arrived)
    }

    /// Waits for the next turn; whether it is the last.
    pub(crate) fn rest(&self, every: Duration) -> bool {
        let open = |state: &mut PollState| state.closing.is_none();
        self.lock().wait_timeout_while(&self.wake, every, open).closing.is_some()
    }

    /// From now on answers are waited for no longer than this, all in all.
    pub(crate) fn close(&self, patience: Duration) {
        self.lock().closing.get_or_insert(Instant::now() + patience);
        self.wake.notify_all();
    }

    fn arrive(&self, answer: WitnessAnswer) {
        let mut state = self.lock();
        state.open = state.open.saturating_sub(1);
        state.arrived.push(answer);
        drop(state);
        self.wake.notify_all();
    }

    fn lock(&self) -> OrderedMutexGuard<'_, PollState> {
        self.state.lock()
    }
}

fn unreachable(witness: String, source: io::Error) -> WitnessError {
    WitnessError::Unreachable { witness, source }
}

//! The thread that brings tree heads to the witnesses, and keeps what they cosigned.
//!
//! In this order: each witness is asked, all of them side by side; a cosignature is verified before it is believed; the note with
//! all of them is durable beside its segment; then, if they make a quorum, it is published. No append waits for any of it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{
    LedgerOrigin, NoteSignature, Position, SignedTreeHead, TreeHash, TreeHeadError, UnverifiedTreeHead,
    WitnessKey, WitnessPolicy,
};

use crate::heads::cosigned::{self, CosignedExtent, CosignedFile};
use crate::heads::rollback::Rollback;
use crate::heads::signer_handle::PublishedHead;
use crate::heads::witness::WitnessError;
use crate::heads::witness::client::{CosignFailure, WitnessClient, contradiction};
use crate::heads::witness::handle::{WitnessPublisherStart, WitnessStatus, WitnessedStatus};
use crate::heads::witness::poll::{WitnessAnswer, WitnessQuestion};
use crate::limits::{WITNESS_CATCH_UPS, WITNESS_PATIENCE};
use crate::read::proofs::{ConsistencyProof, TreeReader};
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// Brings one head after the other round.
pub(crate) struct WitnessPublisher {
    every: Duration,
    origin: LedgerOrigin,
    policy: WitnessPolicy,
    keys: Vec<WitnessKey>,
    clients: Vec<WitnessClient>,
    carried: Option<PendingHead>,
    kept: Option<CosignedExtent>,
    is_unmet: bool,
}

impl WitnessPublisher {
    /// Begins where the opening found the witnesses, and what was kept before it.
    pub(crate) fn begin(shared: &SharedState, start: WitnessPublisherStart) -> Self {
        let WitnessPublisherStart { witnesses, origin, kept, sizes } = start;
        let keys: Vec<WitnessKey> = witnesses.witnesses.iter().map(|witness| witness.key().clone()).collect();
        let mut publisher = Self {
            every: witnesses.every,
            origin,
            policy: witnesses.policy,
            clients: witnesses.witnesses.into_iter().map(WitnessClient::new).collect(),
            keys,
            carried: None,
            kept: None,
            is_unmet: false,
        };
        let names = publisher
            .keys
            .iter()
            .map(|key| WitnessStatus { name: key.name().to_owned(), ..WitnessStatus::default() });
        shared.heads.witnesses.lock().status =
            Some(WitnessedStatus { witnesses: names.collect(), ..WitnessedStatus::default() });
        if let Some(kept) = kept {
            publisher.resume(shared, kept);
        }
        for (client, size) in publisher.clients.iter_mut().zip(sizes) {
            client.size = size.unwrap_or(client.size);
        }
        publisher
    }

    /// Takes up what was kept before the opening, if its cosignatures hold.
    fn resume(&mut self, shared: &SharedState, kept: CosignedFile) {
        let (file, head) = (kept.file(), kept.head);
        let cosignatures = match head.note().cosigned_by(&self.keys) {
            Ok(cosignatures) => cosignatures,
            Err(error) => {
                tracing::warn!(file, %error, "what was cosigned before is not believed");
                return;
            }
        };
        let size = head.head().size;
        for client in &mut self.clients {
            if cosignatures.iter().any(|cosignature| cosignature.key == *client.witness.key()) {
                client.size = size;
            }
        }
        let (is_met, cosigned) = (self.is_met(&head), cosignatures.len());
        self.kept = Some(CosignedExtent { segment: kept.segment, size, cosigned, is_met });
        if is_met {
            shared.heads.witnesses.publish((&head).into());
        }
        self.carried = Some(PendingHead { head, cosigned });
    }

    fn take_turn(&mut self, shared: &SharedState) {
        // Answers that came too late for the turn before.
        for answer in shared.heads.witnesses.poll.gather(Duration::ZERO) {
            self.hear(shared, answer);
        }
        let Some(latest) = shared.heads.signer.latest().filter(|_| is_right(shared)) else { return };
        match self.carry(shared, &latest) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::error!(%error, "the last tree head is not the ledger's own; it is not brought to witnesses");
                return;
            }
        }
        for _ in 0..WITNESS_CATCH_UPS {
            if !self.ask(shared, &latest) {
                break;
            }
            for answer in shared.heads.witnesses.poll.gather(WITNESS_PATIENCE) {
                self.hear(shared, answer);
            }
            if !is_right(shared) {
                return;
            }
        }
        self.keep(shared);
    }

    /// Takes up a head, unless it is carried already, and has those asked who did not cosign it. `false` for a head of another
    /// generation.
    fn carry(&mut self, shared: &SharedState, latest: &PublishedHead) -> Result<bool, TreeHeadError> {
        if self.carried.as_ref().is_none_or(|carried| carried.head.head().size != latest.size) {
            let head = UnverifiedTreeHead::parse(&latest.note)?;
            let head = head.verify_with_chain(shared.keyring.signing_chain())?;
            if head.head().origin != self.origin {
                return Ok(false);
            }
            self.carried = Some(PendingHead { head, cosigned: 0 });
        }
        let cosigned = self.carried.as_ref().map(|carried| cosigned_by(&carried.head, &self.keys));
        let cosigned = cosigned.unwrap_or_default();
        for client in &mut self.clients {
            client.is_due = client.asked.is_none() && !cosigned.contains(client.witness.key());
        }
        Ok(true)
    }

    /// Asks all that are due; whether there were any.
    fn ask(&mut self, shared: &SharedState, latest: &PublishedHead) -> bool {
        let mut has_asked = false;
        for (place, client) in self.clients.iter_mut().enumerate() {
            if !std::mem::take(&mut client.is_due) || client.size > latest.size {
                continue;
            }
            let old = client.size;
            let proof = match proof(shared, old, latest) {
                Ok(proof) => proof,
                Err(error) => {
                    tracing::warn!(%error, old, "a witness could not be asked; it is tried again");
                    continue;
                }
            };
            client.asked = Some((old, latest.size));
            has_asked = true;
            let (witness, note) = (Arc::clone(&client.witness), latest.note.clone());
            shared.heads.witnesses.poll.ask(WitnessQuestion { place, witness, old, proof, note });
        }
        has_asked
    }

    fn hear(&mut self, shared: &SharedState, answer: WitnessAnswer) {
        let place = answer.place;
        let Some(client) = self.clients.get_mut(place) else { return };
        let Some(asked) = client.asked.take() else { return };
        let heard = match answer.outcome {
            Ok(lines) => {
                let key = client.witness.key().clone();
                self.believe(&key, asked.1, &lines)
            }
            Err(WitnessError::Conflict { witness, size }) => {
                match contradiction(&witness, size, asked, shared.read.head().position) {
                    Some(rollback) => return diverge(shared, &rollback),
                    None => client.catch_up(witness, size, asked),
                }
            }
            Err(WitnessError::Inconsistent { witness }) => {
                return diverge(shared, &Rollback::WitnessedHistory { witness, size: asked.0 });
            }
            Err(error) => Err(error.into()),
        };
        self.note(shared, place, heard);
    }

    /// Adds a cosignature to the head that it is for, once it is verified; how many events the witness has cosigned then.
    fn believe(
        &mut self,
        key: &WitnessKey,
        size: u64,
        lines: &[NoteSignature],
    ) -> Result<u64, CosignFailure> {
        let witness = || key.name().to_owned();
        let Some(carried) = self.carried.as_mut().filter(|carried| carried.head.head().size == size) else {
            // A late answer to a head that is carried no more: what it says of the witness's size is found out by asking.
            return Ok(size);
        };
        let keys = std::slice::from_ref(key);
        let head = carried.head.clone().with_cosignatures(lines, keys);
        let head = head.map_err(|source| CosignFailure::False { witness: witness(), source })?;
        if cosigned_by(&head, keys).is_empty() {
            return Err(CosignFailure::Missing { witness: witness() });
        }
        carried.cosigned = cosigned_by(&head, &self.keys).len();
        carried.head = head;
        Ok(size)
    }

    fn note(&mut self, shared: &SharedState, place: usize, heard: Result<u64, CosignFailure>) {
        let Some(client) = self.clients.get_mut(place) else { return };
        let mut state = shared.heads.witnesses.lock();
        let status = state.status.as_mut().and_then(|status| status.witnesses.get_mut(place));
        match heard {
            Ok(size) => {
                client.size = size;
                client.is_failing = false;
                if let Some(status) = status {
                    status.size = size;
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut client.is_failing, true) {
                    tracing::warn!(%error, "a witness did not cosign; it is asked again");
                }
                if let Some(status) = status {
                    status.failures += 1;
                }
            }
        }
    }

    /// Keeps what was cosigned, and publishes it where it makes a quorum.
    fn keep(&mut self, shared: &SharedState) {
        let Some(is_met) = self.carried.as_ref().map(|carried| self.is_met(&carried.head)) else { return };
        self.report_quorum(shared, is_met);
        let Some(carried) = &self.carried else { return };
        let size = carried.head.head().size;
        let Some(segment) = Position::new(size).and_then(|last| shared.read.segments.holding(last)) else {
            return;
        };
        let new = CosignedExtent { segment: segment.number, size, cosigned: carried.cosigned, is_met };
        if !new.displaces(self.kept.as_ref()) {
            return;
        }
        let disk = &*shared.environment.disk;
        let kept = cosigned::keep(disk, &shared.folder, new.segment, &carried.head.note().to_string());
        match kept {
            Ok(()) => {
                self.kept = Some(new);
                if is_met {
                    shared.heads.witnesses.publish((&carried.head).into());
                }
            }
            Err(error) => report_unstored(&error),
        }
    }

    fn report_quorum(&mut self, shared: &SharedState, is_met: bool) {
        let passed = shared.environment.clock.passed();
        let mut state = shared.heads.witnesses.lock();
        if is_met {
            state.unmet_since = None;
        } else {
            state.unmet_since.get_or_insert(passed);
        }
        let was_unmet = std::mem::replace(&mut self.is_unmet, !is_met);
        if was_unmet && is_met {
            tracing::info!("a quorum of the witnesses has cosigned the last tree head again");
        } else if !was_unmet && !is_met {
            tracing::warn!(
                "no quorum of the witnesses has cosigned the last tree head; they are asked again"
            );
        }
    }

    fn is_met(&self, head: &SignedTreeHead) -> bool {
        self.policy.is_met(&cosigned_by(head, &self.keys))
    }
}

/// The body of the thread; ends after the turn that follows the close.
pub(crate) fn run(shared: &SharedState, mut publisher: WitnessPublisher) {
    loop {
        let is_last = shared.heads.witnesses.poll.rest(publisher.every);
        publisher.take_turn(shared);
        if is_last {
            return;
        }
    }
}

/// A head on its way round the witnesses.
struct PendingHead {
    head: SignedTreeHead,
    cosigned: usize,
}

/// The reasons for which a witness gets no proof that a head goes on from what it cosigned.
#[derive(Debug, thiserror::Error)]
enum ProofFailure {
    #[error(transparent)]
    Tree(#[from] ReadError),
    #[error("the tree has another root at {size} events than the signed one")]
    Root { size: u64 },
}

fn diverge(shared: &SharedState, rollback: &Rollback) {
    tracing::error!(%rollback, "a witness has seen another history; nothing more is taken or signed");
    shared.write.set_writer(WriterState::ReadOnly(ReadOnlyReason::Diverged(rollback.to_string())));
}

fn report_unstored(error: &io::Error) {
    tracing::error!(%error, "a cosigned tree head could not be kept; it is not given out, and tried again");
}

/// Returns `true` if the ledger is right as far as is known; otherwise witnesses are shown nothing.
fn is_right(shared: &SharedState) -> bool {
    let writer = shared.write.writer();
    !matches!(writer, WriterState::Poisoned(_)) && !writer.is_wrong()
}

fn proof(shared: &SharedState, old: u64, latest: &PublishedHead) -> Result<Vec<TreeHash>, ProofFailure> {
    of_the_signed(TreeReader::new(shared).consistency(old, latest.size)?, latest)
}

/// A witness takes a proof of another root than the signed one for another history.
fn of_the_signed(proof: ConsistencyProof, latest: &PublishedHead) -> Result<Vec<TreeHash>, ProofFailure> {
    if proof.new_root == latest.root {
        Ok(proof.hashes)
    } else {
        Err(ProofFailure::Root { size: latest.size })
    }
}

/// Returns the keys that cosigned the head; none if a line is not what it claims to be.
fn cosigned_by(head: &SignedTreeHead, keys: &[WitnessKey]) -> Vec<WitnessKey> {
    let cosignatures = head.note().cosigned_by(keys).unwrap_or_default();
    cosignatures.into_iter().map(|cosignature| cosignature.key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_is_shown_no_proof_of_another_root_than_the_signed_one() {
        let (root, hashes) = (TreeHash([1; 32]), vec![TreeHash([2; 32])]);
        let proof =
            ConsistencyProof { from: 2, to: 5, old_root: root, new_root: root, hashes: hashes.clone() };
        let signed = |root| PublishedHead { size: 5, root, note: String::new() };
        assert_eq!(of_the_signed(proof.clone(), &signed(root)).ok(), Some(hashes));
        let error = of_the_signed(proof, &signed(TreeHash([3; 32]))).unwrap_err();
        assert!(matches!(error, ProofFailure::Root { size: 5 }), "{error}");
    }
}

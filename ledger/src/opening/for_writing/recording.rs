//! The last steps of an opening for writing: the log says what the opening did, and tree heads begin.

use std::io;

use bitacora_formats::{Epoch, SegmentEnd};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::erasure::recall;
use crate::heads::witness::handle::WitnessPublisherStart;
use crate::loss::DeclaredLoss;
use crate::open_error::OpenError;
use crate::opening::for_writing::threads::{HeadsStart, RunningLedger, RunningParts};
use crate::opening::loss_record;
use crate::opening::open_ledger::OpenLedger;
use crate::opening::put_back;
use crate::options::HeadOptions;
use crate::segments::quarantine::{self, CutRecord};
use crate::shared_state::SharedState;
use crate::signing::head_signer::HeadSignerStart;
use crate::signing::known_heads::KnownHeads;

/// A running ledger whose log says what the opening found and did; of a damaged one nothing is said.
pub(super) struct RecordedOpening {
    running: RunningParts,
}

impl RecordedOpening {
    pub(super) fn record(running: RunningLedger) -> Result<Self, OpenError> {
        let running = running.into_parts();
        if running.is_damaged {
            return Ok(Self { running });
        }
        let shared = &running.ledger.shared;
        shared.read.tree.store_at_opening();
        // The loss first: an anchor that is moved on later never stands before it.
        if let Some(loss) = &running.loss {
            record_loss(shared, loss)?;
        }
        record_opening(shared, &running.cuts, running.epoch, running.reactor_version);
        put_back::record(shared);
        recall::finish(shared)?;
        Ok(Self { running })
    }
}

/// Has the log say a loss. Where it cannot, the ledger does not open: its owner tries again.
fn record_loss(shared: &SharedState, loss: &DeclaredLoss) -> Result<(), OpenError> {
    let recorded = append_own(shared, &ServiceEvent::Recovered(loss));
    recorded.map_err(|error| OpenError::Unrecorded {
        what: format!("recording the loss of {}", shared.folder.display()),
        generation: loss.generation,
        source: io::Error::other(error),
    })?;
    // Only now: without the file, a crash before the event would have the loss forgotten.
    if let Err(error) = loss_record::forget(&*shared.environment.disk, &shared.folder) {
        tracing::warn!(%error, "a loss that the log says could not be marked as such");
    }
    Ok(())
}

/// The first words of an epoch: what was cut, and that it began. Where the disk is full they stay unsaid; cuts are then
/// recorded by a later opening.
fn record_opening(shared: &SharedState, cuts: &[CutRecord], epoch: Epoch, reactor: u32) {
    for cut in cuts {
        match append_own(shared, &ServiceEvent::TailCut(cut)) {
            Ok(()) => {
                if let Err(error) = quarantine::mark_recorded(&*shared.environment.disk, &shared.folder, cut)
                {
                    tracing::warn!(%error, file = cut.file, "a recorded cut could not be marked as such");
                }
            }
            Err(error) => tracing::warn!(%error, file = cut.file, "a cut could not be recorded"),
        }
    }
    let opened = ServiceEvent::Opened { epoch, reactor, version: env!("CARGO_PKG_VERSION") };
    if let Err(error) = append_own(shared, &opened) {
        tracing::warn!(%error, "the opening could not be recorded");
    }
}

/// A ledger that is open to the end, with the threads that sign its heads and bring them to witnesses.
pub(super) struct SigningLedger {
    ledger: OpenLedger,
    loss: Option<DeclaredLoss>,
}

impl SigningLedger {
    pub(super) fn start(RecordedOpening { running }: RecordedOpening) -> Result<Self, OpenError> {
        let RunningParts { ledger, loss, heads, is_damaged, .. } = running;
        let Some(start) = heads.filter(|_| !is_damaged) else { return Ok(Self { ledger, loss }) };
        let failed = |what: &str| {
            let what = format!("{what} of {}", ledger.shared.folder.display());
            move |source| OpenError::Disk { what, source }
        };
        let HeadsStart { options, mut known_heads, first, before } = start;
        known_heads.begin_anchor(&options, &ledger.shared.keyring, first.as_slice());
        let (head_signer, witness_publisher) = start_of_heads(options, known_heads, before);
        ledger.start_head_signer(head_signer).map_err(failed("starting the head signer"))?;
        if let Some(witness_publisher) = witness_publisher {
            let started = ledger.start_witness_publisher(witness_publisher);
            started.map_err(failed("starting the witness publisher"))?;
        }
        Ok(Self { ledger, loss })
    }

    pub(super) fn into_parts(self) -> (OpenLedger, Option<DeclaredLoss>) {
        (self.ledger, self.loss)
    }
}

/// Returns the initial state of the threads that make tree heads and bring them to witnesses.
fn start_of_heads(
    options: HeadOptions,
    known_heads: KnownHeads,
    before: SegmentEnd,
) -> (HeadSignerStart, Option<WitnessPublisherStart>) {
    let latest = known_heads.latest();
    let may_begin_anchor = options.anchor_is_new || !known_heads.has_heads;
    let KnownHeads { origin, anchored, cosigned, witnessed, .. } = known_heads;
    let witness_publisher = options.witnesses.clone().map(|witnesses| WitnessPublisherStart {
        witnesses,
        origin: origin.clone(),
        kept: cosigned,
        sizes: witnessed.sizes,
    });
    (HeadSignerStart { options, before, latest, origin, anchored, may_begin_anchor }, witness_publisher)
}

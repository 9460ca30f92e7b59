//! The shared state of a ledger's threads, by owner: what readers use, what appends use, and its heads.

pub(crate) mod counters;
pub(crate) mod read_side;
pub(crate) mod write_side;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_formats::{Keyring, LedgerId};
use bitacora_governance::Governance;

use self::read_side::{ReadParts, ReadSide};
use self::write_side::{WriteParts, WriteSide};
use crate::erasure::kept::Erasures;
use crate::heads::signer_handle::HeadSignerHandle;
use crate::heads::witness::handle::WitnessPublisherHandle;
use crate::host::background_pace::BackgroundPace;
use crate::host::disk::Disk;
use crate::host::environment::Environment;
use crate::host::lock_order::OrderedMutex;
use crate::host::scrub_progress::{ScrubProgress, ScrubStatus};
use crate::retention::counted_time::OpeningTime;

/// Shared by a ledger's threads and every handle.
pub(crate) struct SharedState {
    pub(crate) id: LedgerId,
    pub(crate) folder: PathBuf,
    /// Its disk is the ledger's folder.
    pub(crate) environment: Environment,
    /// Files outside of the folder.
    pub(crate) anywhere: Arc<dyn Disk>,
    pub(crate) keyring: Arc<Keyring>,
    /// The part that governs it; `None` without governance.
    pub(crate) governance: Option<Arc<Governance>>,
    /// The pace of background work.
    pub(crate) pace: Arc<BackgroundPace>,
    is_proven: AtomicBool,
    scrub: OrderedMutex<ScrubProgress>,
    pub(crate) read: ReadSide,
    pub(crate) write: WriteSide,
    pub(crate) heads: HeadHandles,
    pub(crate) erasures: Erasures,
    /// Of an opening for writing.
    pub(crate) opening_time: OpeningTime,
}

/// The threads that sign tree heads and bring them to witnesses, as others see them.
#[derive(Default)]
pub(crate) struct HeadHandles {
    pub(crate) signer: HeadSignerHandle,
    pub(crate) witnesses: WitnessPublisherHandle,
}

/// The parts a [`SharedState`] is put together from.
pub(crate) struct SharedParts {
    pub(crate) id: LedgerId,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) anywhere: Arc<dyn Disk>,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) governance: Option<Arc<Governance>>,
    pub(crate) read: ReadParts,
    pub(crate) write: WriteParts,
}

impl SharedState {
    pub(crate) fn new(parts: SharedParts) -> Self {
        let SharedParts { id, folder, environment, anywhere, keyring, governance, read, write } = parts;
        let last = read.head.position;
        Self {
            id,
            folder,
            environment,
            anywhere,
            keyring,
            governance,
            pace: write.ids.pace(),
            is_proven: AtomicBool::new(false),
            scrub: OrderedMutex::default(),
            read: ReadSide::new(read),
            write: WriteSide::new(write, last),
            heads: HeadHandles::default(),
            erasures: Erasures::default(),
            opening_time: OpeningTime::default(),
        }
    }

    /// Returns `true` if every byte that the opening found was walked over.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Acquire)
    }

    pub(crate) fn set_proven(&self) {
        self.is_proven.store(true, Ordering::Release);
    }

    /// Returns the progress of the scrub's rounds.
    pub(crate) fn scrub(&self) -> ScrubStatus {
        self.scrub.lock().status(self.environment.clock.passed())
    }

    pub(crate) fn change_scrub(&self, change: impl FnOnce(&mut ScrubProgress)) {
        change(&mut self.scrub.lock());
    }

    /// Hears from now on of damage that reads find.
    pub(crate) fn hear_of_damage(self: &Arc<Self>) {
        let ledger = Arc::downgrade(self);
        self.read.segments.reports().connect(move |fault| {
            if let Some(shared) = ledger.upgrade() {
                shared.write.is_damaged_by(fault);
            }
        });
    }
}

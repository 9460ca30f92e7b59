//! The shared state of a ledger's threads: the durable state, and the way to each other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bitacora_formats::{Keyring, LedgerId, StreamKey};
use tokio::sync::watch;

use bitacora_governance::Governance;

use crate::archive_tier::ColdTier;
use crate::decompressors::DecompressorPool;
use crate::dedup::id_tables::IdTables;
use crate::host::background_pace::BackgroundPace;
use crate::host::disk::Disk;
use crate::host::environment::Environment;
use crate::host::lock_order::OrderedMutex;
use crate::log_fault::LogFault;
use crate::receipt::Head;
use crate::recent::{RecentFrames, RevisitedFrames};
use crate::segment_preallocator::{Outlook, SegmentPreallocator};
use crate::segments::Segments;
use crate::signer_handle::HeadSignerHandle;
use crate::stream_tips::{DurableTips, Tip};
use crate::submission::inbox::Inbox;
use crate::submission::prepare::Preparer;
use crate::tables::table_writer::TableWriter;
use crate::tree::Tree;
use crate::unproven_writes::UnprovenWrites;
use crate::witness::handle::WitnessPublisherHandle;
use crate::writer_state::{Counters, ReadOnlyReason, WriterState};

/// Shared by the sequencer, the committer, the preallocator and every handle.
pub(crate) struct SharedState {
    pub(crate) id: LedgerId,
    pub(crate) folder: PathBuf,
    /// Its disk is the ledger's folder.
    pub(crate) environment: Environment,
    /// Files outside of the folder.
    pub(crate) anywhere: Arc<dyn Disk>,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) preparer: Arc<Preparer>,
    pub(crate) inbox: Inbox,
    pub(crate) preallocator: SegmentPreallocator,
    pub(crate) segments: Segments,
    /// The archives of released segments' frames.
    pub(crate) tier: Arc<dyn ColdTier>,
    pub(crate) recent: RecentFrames,
    pub(crate) revisited: RevisitedFrames,
    pub(crate) tips: DurableTips,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) table_writer: TableWriter,
    pub(crate) tree: Tree,
    pub(crate) head_signer: HeadSignerHandle,
    /// Bytes that were given to the disk and not read back yet.
    pub(crate) unproven: UnprovenWrites,
    pub(crate) witness_publisher: WitnessPublisherHandle,
    /// The pace of background work.
    pub(crate) pace: Arc<BackgroundPace>,
    pub(crate) decompressors: DecompressorPool,
    pub(crate) counters: SharedCounters,
    /// The last position before the sequencer's condition window.
    pub(crate) window_after: AtomicU64,
    /// The part that governs it; `None` without governance.
    pub(crate) governance: Option<Arc<Governance>>,
    head: OrderedMutex<Head>,
    heads: watch::Sender<Head>,
    writer: OrderedMutex<WriterState>,
    is_proven: AtomicBool,
    /// The damage behind the head, of a ledger that is damaged before it too.
    lost_end: Option<LogFault>,
    /// The first damage that was found since the opening.
    pub(crate) found: OnceLock<LogFault>,
}

/// The parts a [`SharedState`] is put together from.
pub(crate) struct SharedParts {
    pub(crate) id: LedgerId,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) anywhere: Arc<dyn Disk>,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) preparer: Arc<Preparer>,
    pub(crate) inbox: Inbox,
    pub(crate) preallocator: SegmentPreallocator,
    pub(crate) segments: Segments,
    pub(crate) tier: Arc<dyn ColdTier>,
    pub(crate) tips: DurableTips,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) table_writer: TableWriter,
    pub(crate) tree: Tree,
    pub(crate) unproven: UnprovenWrites,
    pub(crate) head: Head,
    pub(crate) writer: WriterState,
    pub(crate) lost_end: Option<LogFault>,
    pub(crate) governance: Option<Arc<Governance>>,
}

impl SharedState {
    pub(crate) fn new(parts: SharedParts) -> Self {
        let SharedParts { id, folder, environment, anywhere, keyring, preparer, inbox, preallocator, .. } =
            parts;
        let SharedParts {
            segments,
            tier,
            tips,
            ids,
            table_writer,
            tree,
            unproven,
            head,
            writer,
            lost_end,
            governance,
            ..
        } = parts;
        Self {
            id,
            folder,
            environment,
            anywhere,
            keyring,
            preparer,
            inbox,
            preallocator,
            segments,
            tier,
            recent: RecentFrames::default(),
            revisited: RevisitedFrames::default(),
            tips,
            table_writer,
            tree,
            unproven,
            head_signer: HeadSignerHandle::default(),
            witness_publisher: WitnessPublisherHandle::default(),
            pace: ids.pace(),
            ids,
            decompressors: DecompressorPool::default(),
            counters: SharedCounters::default(),
            window_after: AtomicU64::new(head.position.get()),
            governance,
            head: OrderedMutex::inner(head),
            heads: watch::Sender::new(head),
            writer: OrderedMutex::inner(writer),
            is_proven: AtomicBool::new(false),
            lost_end,
            found: OnceLock::new(),
        }
    }

    pub(crate) fn head(&self) -> Head {
        *self.head.lock()
    }

    /// Only the committer calls this, after a good sync.
    pub(crate) fn set_head(&self, head: Head) {
        *self.head.lock() = head;
    }

    /// Tells subscribers of the head, after the acknowledgements.
    pub(crate) fn announce(&self) {
        self.heads.send_replace(self.head());
    }

    pub(crate) fn watch_head(&self) -> watch::Receiver<Head> {
        self.heads.subscribe()
    }

    pub(crate) fn publish_tips(&self, tips: impl Iterator<Item = (StreamKey, Tip)>) {
        self.tips.write().extend(tips);
    }

    /// The tip of a stream among durable events.
    pub(crate) fn tip(&self, stream: &StreamKey) -> Option<Tip> {
        self.tips.read().get(stream).copied()
    }

    /// Returns the state of the writer: ready if an append could be made durable now. A want of space is over as soon as a segment is
    /// ready.
    pub(crate) fn writer(&self) -> WriterState {
        let state = self.writer.lock().clone();
        match state {
            WriterState::ReadOnly(ReadOnlyReason::DiskFull | ReadOnlyReason::NoSegment(_))
                if matches!(self.preallocator.outlook(), Outlook::Ready) =>
            {
                WriterState::Ready
            }
            WriterState::ReadOnly(ReadOnlyReason::NoIdTable(_)) if self.table_writer.is_keeping_up() => {
                WriterState::Ready
            }
            other => other,
        }
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        matches!(self.writer(), WriterState::ReadOnly(ReadOnlyReason::Corrupt(_)))
    }

    /// The damage that was found behind the head when the ledger was opened.
    pub(crate) fn lost_behind(&self) -> Option<&LogFault> {
        self.lost_end.as_ref()
    }

    /// Changes the state unless that is for good: damaged, dead or closed.
    pub(crate) fn set_writer(&self, state: WriterState) {
        let finality = |state: &WriterState| match state {
            WriterState::Ready | WriterState::ReadOnly(_) | WriterState::Closing if !state.is_wrong() => 0,
            WriterState::Closed => 3,
            WriterState::Poisoned(_) => 2,
            _ => 1,
        };
        let mut writer = self.writer.lock();
        let is_first_poison = !matches!(*writer, WriterState::Poisoned(_)) || finality(&state) == 3;
        if finality(&state) >= finality(&writer) && is_first_poison {
            *writer = state;
        }
    }

    /// Changes the state to a reason that is for good, unless there is one already. Returns `true` where it was changed.
    pub(crate) fn set_writer_once(&self, state: WriterState) -> bool {
        let mut writer = self.writer.lock();
        let is_new = !writer.is_wrong() && !matches!(*writer, WriterState::Poisoned(_) | WriterState::Closed);
        if is_new {
            *writer = state;
        }
        is_new
    }

    /// The anchor answers again: if that was all that was missing, appends are taken.
    pub(crate) fn anchor_is_back(&self) {
        let mut writer = self.writer.lock();
        if matches!(*writer, WriterState::ReadOnly(ReadOnlyReason::NoAnchor(_))) {
            *writer = WriterState::Ready;
        }
    }

    /// Returns `true` if every byte that the opening found was walked over.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Acquire)
    }

    pub(crate) fn set_proven(&self) {
        self.is_proven.store(true, Ordering::Release);
    }

    /// `true`: nothing is acknowledged any more.
    pub(crate) fn is_poisoned(&self) -> bool {
        let writer = self.writer.lock();
        matches!(*writer, WriterState::Poisoned(_))
    }

    pub(crate) fn poison(&self, what: String) {
        self.set_writer(WriterState::Poisoned(what));
    }
}

/// Counters that several threads add to.
#[derive(Default)]
pub(crate) struct SharedCounters {
    events: AtomicU64,
    frames: AtomicU64,
    stored_bytes: AtomicU64,
    body_bytes: AtomicU64,
    sync_us: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) redactions: AtomicU64,
}

impl SharedCounters {
    pub(crate) fn frame_synced(&self, events: u64, stored: usize, body: usize) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.stored_bytes.fetch_add(stored as u64, Ordering::Relaxed);
        self.body_bytes.fetch_add(body as u64, Ordering::Relaxed);
    }

    pub(crate) fn sync_took(&self, time: Duration) {
        self.sync_us.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            events: load(&self.events),
            frames: load(&self.frames),
            stored_bytes: load(&self.stored_bytes),
            body_bytes: load(&self.body_bytes),
            sync_us: load(&self.sync_us),
            duplicates: load(&self.duplicates),
            refused: load(&self.refused),
            redactions: load(&self.redactions),
        }
    }
}

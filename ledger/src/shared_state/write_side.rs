//! The part of the shared state that appends use: the queue before the sequencer, what it draws on, and the writer's state.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use bitacora_formats::Position;

use crate::dedup::id_tables::IdTables;
use crate::host::lock_order::OrderedMutex;
use crate::log_fault::LogFault;
use crate::segment_preallocator::{NextSegment, SegmentPreallocator};
use crate::shared_state::counters::SharedCounters;
use crate::submission::inbox::Inbox;
use crate::submission::prepare::Preparer;
use crate::tables::table_writer::TableWriter;
use crate::unproven_writes::UnprovenWrites;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// The state between callers, the sequencer and the committer.
pub(crate) struct WriteSide {
    pub(crate) preparer: Arc<Preparer>,
    pub(crate) inbox: Inbox,
    pub(crate) preallocator: SegmentPreallocator,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) table_writer: TableWriter,
    /// Bytes that were given to the disk and not read back yet.
    pub(crate) unproven: UnprovenWrites,
    pub(crate) counters: SharedCounters,
    /// The last position before the sequencer's condition window.
    pub(crate) window_after: AtomicU64,
    /// The first damage that was found since the opening.
    pub(crate) found: OnceLock<LogFault>,
    writer: OrderedMutex<WriterState>,
}

/// The parts of a [`WriteSide`] that an opening gives.
pub(crate) struct WriteParts {
    pub(crate) preparer: Arc<Preparer>,
    pub(crate) inbox: Inbox,
    pub(crate) preallocator: SegmentPreallocator,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) table_writer: TableWriter,
    pub(crate) unproven: UnprovenWrites,
    pub(crate) writer: WriterState,
}

impl WriteSide {
    /// `last` is the last durable position.
    pub(crate) fn new(parts: WriteParts, last: Position) -> Self {
        let WriteParts { preparer, inbox, preallocator, ids, table_writer, unproven, writer } = parts;
        Self {
            preparer,
            inbox,
            preallocator,
            ids,
            table_writer,
            unproven,
            counters: SharedCounters::default(),
            window_after: AtomicU64::new(last.get()),
            found: OnceLock::new(),
            writer: OrderedMutex::inner(writer),
        }
    }

    /// Returns the state of the writer: ready if an append could be made durable now. A want of space is over as soon as a segment is
    /// ready.
    pub(crate) fn writer(&self) -> WriterState {
        let state = self.writer.lock().clone();
        match state {
            WriterState::ReadOnly(ReadOnlyReason::DiskFull | ReadOnlyReason::NoSegment(_))
                if matches!(self.preallocator.outlook(), NextSegment::Ready) =>
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

    /// `true`: nothing is acknowledged any more.
    pub(crate) fn is_poisoned(&self) -> bool {
        let writer = self.writer.lock();
        matches!(*writer, WriterState::Poisoned(_))
    }

    pub(crate) fn poison(&self, what: String) {
        self.set_writer(WriterState::Poisoned(what));
    }

    /// Stops taking appends because of damage to stored bytes, and has the next opening read all of the log. The first damage that was
    /// found stays the reason. The proof and every read call it when they find damage; an error that may pass is none.
    pub(crate) fn is_damaged_by(&self, fault: &LogFault) {
        self.found.get_or_init(|| fault.clone());
        if self.set_writer_once(WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault.clone()))) {
            tracing::error!(%fault, "the log is damaged; nothing more is taken until the file is restored");
            self.table_writer.distrust();
        }
    }
}

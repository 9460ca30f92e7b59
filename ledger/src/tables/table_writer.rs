//! The thread that writes tables and snapshots, so that a later opening reads and folds less.
//! It writes and merges tables of ended segments, and takes snapshots of the state that decides.
//!
//! Nothing waits for it but a sequencer that is [`MAX_UNWRITTEN_IDS`] ahead. Its files can be made again from the log, so a disk that
//! refuses them costs memory and time, never an event.

use std::io;
use std::sync::{Arc, Condvar};
use std::time::Duration;

use bitacora_formats::{After, ChainHash, SegmentEnd, SegmentNumber};

use crate::dedup::id_tables::IdTables;
use crate::host::background_pace::BackgroundPace;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard};
use crate::limits::{
    FILE_RETRY_MS, LAST_SNAPSHOT_BYTES_AN_EVENT, MAX_UNWRITTEN_IDS, SNAPSHOT_BYTES_AN_EVENT,
};
use crate::tables::reactor_state::ReactorProjection;
use crate::tables::snapshots::{Snapshots, StateAtEnd, StoredSnapshot};
use crate::tables::tip_tables::{EndedState, TipTables};

/// Writes tables in the background.
pub(crate) struct TableWriter {
    ids: Arc<IdTables>,
    pace: Arc<BackgroundPace>,
    tips: OrderedMutex<TipTables>,
    /// `None` where no reactor has a state.
    snapshots: Option<Snapshots>,
    state: OrderedMutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    news: bool,
    /// The newest end of a segment that no tip table holds yet.
    unsaved: Option<EndedState>,
    /// The newest snapshot that there is.
    newest: Option<StoredSnapshot>,
    /// One that is to be written.
    snapshot: Option<StateAtEnd>,
    /// The log is damaged: nothing that was derived of it is kept.
    distrusted: bool,
    closing: bool,
    /// The error of the last try.
    failed: Option<String>,
}

/// The room in memory for the identities of one more segment.
pub(crate) enum Backlog {
    /// They can.
    Short,
    /// Not before some are written, and they cannot be.
    Stuck(String),
}

impl TableWriter {
    /// Begins with what the opening has read and no table tells yet.
    pub(crate) fn new(
        ids: Arc<IdTables>,
        tips: TipTables,
        unsaved: Option<EndedState>,
        snapshots: Option<Snapshots>,
    ) -> Self {
        let state = State { news: unsaved.is_some() || ids.unwritten() > 0, unsaved, ..State::default() };
        let (pace, tips) = (ids.pace(), OrderedMutex::new(LockRank::TipTables, tips));
        Self { ids, pace, tips, snapshots, state: OrderedMutex::inner(state), wake: Condvar::new() }
    }

    /// Puts the newest snapshot that fits the log into `projection`: after which event the log is still to be folded.
    pub(crate) fn restore(
        &self,
        projection: &mut ReactorProjection,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> After {
        let newest = self.snapshots.as_ref().and_then(|snapshots| snapshots.restore(projection, end_of));
        self.lock().newest = newest;
        newest.map_or(After::START, |kept| After::new(kept.position.get()))
    }

    /// Returns `true` if the state at the end of this segment is worth a snapshot. Its cost is that of its bytes, and it spares the next
    /// opening the folding of the events since the one before. `is_last` is set where nothing comes after the segment.
    pub(crate) fn wants_snapshot(&self, end: &SegmentEnd, is_last: bool) -> bool {
        let state = self.lock();
        if self.snapshots.is_none() || state.distrusted {
            return false;
        }
        let Some(newest) = state.newest else { return true };
        let events = end.next_position.get().saturating_sub(newest.position.get() + 1);
        let bytes_for_one = if is_last { LAST_SNAPSHOT_BYTES_AN_EVENT } else { SNAPSHOT_BYTES_AN_EVENT };
        events.saturating_mul(bytes_for_one) >= newest.bytes
    }

    /// Has this state written in place of the snapshots before it.
    pub(crate) fn keep_snapshot(&self, snapshot: StateAtEnd) {
        self.lock().snapshot = Some(snapshot);
    }

    fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }

    /// A segment ended, and its end is durable.
    pub(crate) fn segment_ended(&self, ended: EndedState) {
        let mut state = self.lock();
        state.news = true;
        match &mut state.unsaved {
            Some(unsaved) => unsaved.absorb(ended),
            None => state.unsaved = Some(ended),
        }
        drop(state);
        self.wake.notify_all();
    }

    /// Something of the tree is to be stored, or to be made again.
    pub(crate) fn tree_changed(&self) {
        self.lock().news = true;
        self.wake.notify_all();
    }

    /// The log is damaged: the next opening has to read all of it. Where tables are being worked on, they are removed behind that, so that
    /// nobody who reads waits for it.
    pub(crate) fn distrust(&self) {
        self.lock().distrusted = true;
        let Some(mut tips) = self.tips.try_lock() else { return };
        tips.remove_all();
        self.snapshots.iter().for_each(Snapshots::remove_all);
    }

    /// No more segments end: what is unwritten is written, nothing is merged any more.
    pub(crate) fn close(&self) {
        self.pace.stop();
        self.lock().closing = true;
        self.wake.notify_all();
    }

    /// Returns `true` if few enough identities are in memory.
    pub(crate) fn is_keeping_up(&self) -> bool {
        self.ids.unwritten() <= MAX_UNWRITTEN_IDS
    }

    /// Waits until the identities in memory are few enough, unless they cannot be written. Rare: a segment's table is
    /// written many times faster than the segment fills.
    pub(crate) fn backlog(&self) -> Backlog {
        if self.is_keeping_up() {
            return Backlog::Short;
        }
        self.pace.hurry(true);
        self.lock().news = true;
        self.wake.notify_all();
        let long = |state: &mut State| !self.is_keeping_up() && state.failed.is_none() && !state.closing;
        let state = self.lock().wait_while(&self.wake, long);
        self.pace.hurry(false);
        match &state.failed {
            Some(what) if !self.is_keeping_up() => Backlog::Stuck(what.clone()),
            _ => Backlog::Short,
        }
    }

    /// The body of the thread. `settle_tree` makes the leaves of ended segments durable.
    pub(crate) fn run(&self, settle_tree: &dyn Fn()) {
        loop {
            let closing = self.wait();
            // Before the tables: what they spare an opening from reading has its leaves beside it then.
            settle_tree();
            self.write_snapshot();
            let written = self.write();
            if let Err(error) = &written {
                // Only identities that cannot be written stop the writer; tips are a matter of the next opening.
                tracing::warn!(%error, "tables of ended segments could not be written; the log has what is in them");
            }
            let has_failed = written.is_err();
            self.lock().failed = written.err().map(|error| error.to_string());
            self.wake.notify_all();
            if closing {
                return;
            }
            match if has_failed { Ok(()) } else { self.merge() } {
                // The ledger closes: a merge is never needed, so nobody waits for one.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "tables could not be merged; they stay as they are");
                }
                Ok(()) => {}
            }
        }
    }

    /// Waits for news, after a failure for the time between two tries; whether it is the end.
    fn wait(&self) -> bool {
        let nothing = |state: &mut State| !state.news && !state.closing;
        let state = self.lock();
        let mut state = if state.failed.is_some() {
            let pause = Duration::from_millis(FILE_RETRY_MS);
            state.wait_timeout_while(&self.wake, pause, nothing)
        } else {
            state.wait_while(&self.wake, nothing)
        };
        state.news = false;
        state.closing
    }

    /// The thread is gone: nothing waits for it any more.
    pub(crate) fn give_up(&self) {
        self.lock().failed = Some("the thread that writes them panicked; restart the service".to_owned());
        self.wake.notify_all();
    }

    /// One that fails is not tried again: the next one is newer.
    fn write_snapshot(&self) {
        let (Some(snapshots), Some(snapshot)) = (&self.snapshots, self.lock().snapshot.take()) else {
            return;
        };
        let written = self.with_tips(|_| {
            if let Some(kept) = snapshots.write(&snapshot)? {
                self.lock().newest = Some(kept);
            }
            Ok(true)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "a snapshot of the state could not be written; the next opening folds more events");
        }
    }

    fn write(&self) -> io::Result<()> {
        self.write_ids()?;
        let Some(unsaved) = self.lock().unsaved.take() else { return Ok(()) };
        let written = self.with_tips(|tips| tips.write(&unsaved).map(|()| true));
        if written.is_err() {
            let mut state = self.lock();
            let later = state.unsaved.take();
            let mut unsaved = unsaved;
            later.into_iter().for_each(|later| unsaved.absorb(later));
            state.unsaved = Some(unsaved);
        }
        written.map(|_| ())
    }

    /// Writes the identities that are in memory, and lets waiting threads go on.
    fn write_ids(&self) -> io::Result<()> {
        while self.ids.write_next()? {
            self.wake.notify_all();
        }
        Ok(())
    }

    /// Merges what is worth it. A segment that ends meanwhile does not wait: its identities take far more memory than
    /// their table does.
    fn merge(&self) -> io::Result<()> {
        let between = || {
            self.pace.rest_or_stop()?;
            self.write_ids()
        };
        while self.ids.merge_next(&between)? {}
        while self.with_tips(|tips| tips.merge_next(&between))? {}
        Ok(())
    }

    /// Works on the tip tables unless the log is damaged.
    fn with_tips(&self, work: impl FnOnce(&mut TipTables) -> io::Result<bool>) -> io::Result<bool> {
        let mut tips = self.tips.lock();
        if self.lock().distrusted {
            return Ok(false);
        }
        let worked = work(&mut tips);
        drop(tips);
        // Damage that was found meanwhile did not wait for the tables.
        if self.lock().distrusted {
            self.distrust();
        }
        worked
    }
}

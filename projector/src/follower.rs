//! The thread that keeps the index: it reads what became durable, and notes the labels of every event.

use std::io;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bitacora_formats::{After, Position};
use bitacora_ledger::{Head, ReadError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::index::Index;
use crate::limits::{FOLLOW_EVENTS, FOLLOW_PAUSE, PUBLISH_EVENTS, RETRY_PAUSE};
use crate::open_block::{BlockBounds, EntryBatch, OpenBlock};
use crate::stored_block::BlockIntegrityError;

/// The reasons for which the index does not go on for now.
#[derive(Debug, thiserror::Error)]
enum IndexRunError {
    /// The log could not be read.
    #[error("the log could not be read: {0}")]
    Read(#[from] ReadError),
    /// A block could not be stored.
    #[error("a block could not be stored: {0}")]
    Store(#[from] BlockIntegrityError),
}

/// Starts the follower's thread.
pub(crate) fn start(index: &Arc<Index>) -> io::Result<JoinHandle<()>> {
    // Only to wait: for a head, for the end, or for the next try.
    let waiting = Builder::new_current_thread().enable_time().build()?;
    let index = Arc::clone(index);
    thread::Builder::new().name("bitacora-index".to_owned()).spawn(move || {
        let heads = index.ledger.watch_head();
        let mut follower = IndexFollower { index: &index, heads, waiting };
        if catch_unwind(AssertUnwindSafe(|| follower.run())).is_err() {
            tracing::error!("the index's follower panicked; reads go to the log itself");
        }
        index.has_stopped();
    })
}

struct IndexFollower<'i> {
    index: &'i Index,
    heads: watch::Receiver<Head>,
    waiting: Runtime,
}

impl IndexFollower<'_> {
    fn run(&mut self) {
        self.index.load();
        while !self.index.is_ending() {
            // Events that come while this round works are for the next one.
            self.heads.mark_unchanged();
            let done = self.round();
            let failure = done.err().map(|failure| failure.to_string());
            self.index.set_failure(failure);
            if !self.index.is_ending() {
                self.wait();
            }
        }
        // Events that are not stored are followed again by the next opening.
        if let Err(failure) = self.store_open() {
            tracing::warn!(%failure, "the index's last block was not stored");
        }
    }

    /// Takes in what is durable, and makes again what was doubted.
    fn round(&self) -> Result<(), IndexRunError> {
        let followed = self.follow();
        while let Some(hole) = self.index.hole().filter(|_| !self.index.is_ending()) {
            self.fill(&hole)?;
        }
        followed
    }

    fn wait(&mut self) {
        let (index, heads) = (self.index, &mut self.heads);
        let failing = index.is_failing();
        self.waiting.block_on(async {
            if failing {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_PAUSE) => {}
                    () = index.wake.notified() => {}
                }
                return;
            }
            let news = tokio::select! {
                changed = heads.changed() => changed.is_ok(),
                () = index.wake.notified() => false,
            };
            if news {
                tokio::select! {
                    () = tokio::time::sleep(FOLLOW_PAUSE) => {}
                    () = index.wake.notified() => {}
                }
            }
        });
    }

    /// Takes in everything up to the durable head.
    fn follow(&self) -> Result<(), IndexRunError> {
        while !self.index.is_ending() {
            if self.index.look_at_open(OpenBlock::is_full) {
                self.store_open()?;
            }
            let head = self.index.ledger.head().position;
            let (bounds, next) = self.index.look_at_open(|open| (open.bounds(), open.next()));
            let Some(next) = next.filter(|next| *next <= head) else { return Ok(()) };
            self.read(bounds, next, head, &mut |gathered| {
                self.index.change_open(|open| open.append(gathered));
            })?;
        }
        Ok(())
    }

    /// Reads some events from `next` on, not past `until` or the block's end, and gives away what they have to be found
    /// by, in portions.
    fn read(
        &self,
        bounds: BlockBounds,
        next: Position,
        until: Position,
        give: &mut dyn FnMut(&EntryBatch),
    ) -> Result<(), IndexRunError> {
        let portion = next.plus(FOLLOW_EVENTS - 1).unwrap_or(until);
        let until = until.min(portion).min(bounds.last_possible());
        let mut gathered = EntryBatch::new();
        let mut room = bounds.entries_left();
        self.index.ledger.visit(After::new(next.get() - 1), until, &mut |seen| {
            if room == 0 {
                return;
            }
            let before = gathered.entries();
            gathered.event(&self.index.terms, seen.position.get() - bounds.first().get(), &seen.record);
            room = room.saturating_sub(gathered.entries() - before);
            if gathered.events() >= PUBLISH_EVENTS {
                give(&gathered);
                gathered.clear();
            }
        })?;
        if gathered.events() > 0 {
            give(&gathered);
        }
        Ok(())
    }

    /// Puts the open block on the disk, if it holds anything.
    fn store_open(&self) -> Result<(), IndexRunError> {
        let content = |open: &OpenBlock| Some((open.first(), open.last()?, open.sorted_entries()));
        let Some((first, last, entries)) = self.index.look_at_open(content) else { return Ok(()) };
        let block = self.index.block_dir.store(&self.index.ledger, first, last, &entries)?;
        self.index.open_was_stored(block);
        Ok(())
    }

    /// Makes the block again that begins where a hole does.
    fn fill(&self, hole: &RangeInclusive<Position>) -> Result<(), IndexRunError> {
        let mut block = OpenBlock::new(*hole.start(), self.index.capacity);
        while !block.is_full() {
            let Some(next) = block.next().filter(|next| hole.contains(next)) else { break };
            if self.index.is_ending() {
                return Ok(());
            }
            self.read(block.bounds(), next, *hole.end(), &mut |gathered| block.append(gathered))?;
        }
        let Some(last) = block.last() else { return Ok(()) };
        let stored =
            self.index.block_dir.store(&self.index.ledger, block.first(), last, &block.sorted_entries())?;
        self.index.fill(stored);
        Ok(())
    }
}

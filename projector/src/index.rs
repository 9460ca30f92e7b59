//! The index as readers see it: blocks on the disk, the open one in memory, and the holes between.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bitacora_formats::{
    INDEX_FORMAT, IndexTerms, MAX_INDEX_BLOCK_EVENTS, Position, Secret, index_state_digest,
};
use bitacora_ledger::Ledger;
use tokio::sync::Notify;

use crate::block_dir::BlockDir;
use crate::limits::LAG_EVENTS;
use crate::open_block::OpenBlock;
use crate::options::IndexOptions;
use crate::status::{IndexState, IndexStatus};
use crate::stored_block::{BlockIntegrityError, StoredBlock};

/// Shared by the follower and every handle of one ledger.
pub(crate) struct Index {
    pub(crate) ledger: Ledger,
    pub(crate) terms: IndexTerms,
    pub(crate) block_dir: BlockDir,
    /// Events of a block.
    pub(crate) capacity: u64,
    blocks: RwLock<Blocks>,
    /// `true` once the blocks on the disk were taken in.
    loaded: AtomicBool,
    /// The current failure.
    failure: Mutex<Option<String>>,
    doubts: AtomicU64,
    ending: AtomicBool,
    stopped: AtomicBool,
    /// Wakes the follower.
    pub(crate) wake: Notify,
}

/// All blocks. They never overlap; what none covers is read from the log.
struct Blocks {
    /// In order.
    stored: Vec<Arc<StoredBlock>>,
    /// Behind all of them.
    open: OpenBlock,
}

/// The index's knowledge of the positions around one.
pub(crate) enum IndexPiece {
    /// A block on the disk.
    Stored(Arc<StoredBlock>),
    /// The block in memory.
    Open,
    /// Nothing is known of these positions.
    Unknown(RangeInclusive<Position>),
}

impl Index {
    /// An index that knows nothing yet.
    pub(crate) fn new(
        ledger: Ledger,
        block_dir: BlockDir,
        derived_state_key: &Secret,
        options: &IndexOptions,
    ) -> Self {
        let capacity = options.block_events.clamp(1, MAX_INDEX_BLOCK_EVENTS);
        let open = OpenBlock::new(Position::FIRST, capacity);
        Self {
            ledger,
            terms: IndexTerms::new(derived_state_key),
            block_dir,
            capacity,
            blocks: RwLock::new(Blocks { stored: Vec::new(), open }),
            loaded: AtomicBool::new(false),
            failure: Mutex::default(),
            doubts: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            wake: Notify::new(),
        }
    }

    /// Takes in what lies on the disk, as far as it is believed. Only the follower calls this, before all else: comparing
    /// blocks with the log may take a while, and readers scan until it is done.
    pub(crate) fn load(&self) {
        let verified = self.block_dir.verified(&self.ledger, || self.is_ending());
        let mut stored: Vec<Arc<StoredBlock>> = verified.into_iter().map(Arc::new).collect();
        let open = going_on(&mut stored, &self.block_dir, self.capacity);
        *self.blocks.write().unwrap_or_else(PoisonError::into_inner) = Blocks { stored, open };
        self.loaded.store(true, Ordering::SeqCst);
    }

    /// Returns the piece of the index around this position.
    pub(crate) fn piece(&self, at: Position) -> IndexPiece {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let after = blocks.stored.partition_point(|block| block.first() <= at);
        let before = after.checked_sub(1).and_then(|index| blocks.stored.get(index));
        if let Some(block) = before.filter(|block| at <= block.last()) {
            return IndexPiece::Stored(Arc::clone(block));
        }
        let open = &blocks.open;
        if open.last().is_some_and(|last| (open.first()..=last).contains(&at)) {
            return IndexPiece::Open;
        }
        let low = if open.first() <= at { open.next() } else { before.and_then(|block| block.last().next()) };
        let following = blocks.stored.get(after).map(|block| block.first());
        let following = following.or_else(|| Some(open.first()).filter(|first| *first > at));
        let high = following.and_then(|first| Position::new(first.get() - 1));
        IndexPiece::Unknown(low.unwrap_or(Position::FIRST)..=high.unwrap_or(LAST))
    }

    /// Asks the open block, if it covers `at`.
    pub(crate) fn ask_open<T>(&self, at: Position, ask: impl FnOnce(&OpenBlock) -> T) -> Option<T> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let covered = blocks.open.last().is_some_and(|last| (blocks.open.first()..=last).contains(&at));
        covered.then(|| ask(&blocks.open))
    }

    /// Changes the open block. Only the follower calls this.
    pub(crate) fn change_open<T>(&self, change: impl FnOnce(&mut OpenBlock) -> T) -> T {
        change(&mut self.blocks.write().unwrap_or_else(PoisonError::into_inner).open)
    }

    /// Looks at the open block, be it empty or not.
    pub(crate) fn look_at_open<T>(&self, look: impl FnOnce(&OpenBlock) -> T) -> T {
        look(&self.blocks.read().unwrap_or_else(PoisonError::into_inner).open)
    }

    /// The open block is on the disk now, and a new one begins behind it.
    pub(crate) fn open_was_stored(&self, block: StoredBlock) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        blocks.open = OpenBlock::new(block.last().next().unwrap_or(LAST), self.capacity);
        blocks.stored.push(Arc::new(block));
    }

    /// The positions of the first hole between blocks.
    pub(crate) fn hole(&self) -> Option<RangeInclusive<Position>> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut expected = Position::FIRST;
        let firsts = blocks.stored.iter().map(|block| (block.first(), block.last()));
        for (first, last) in firsts.chain([(blocks.open.first(), LAST)]) {
            if first > expected {
                return Position::new(first.get() - 1).map(|before| expected..=before);
            }
            expected = last.next().unwrap_or(LAST);
        }
        None
    }

    /// A hole is filled.
    pub(crate) fn fill(&self, block: StoredBlock) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let place = blocks.stored.partition_point(|other| other.first() < block.first());
        blocks.stored.insert(place, Arc::new(block));
    }

    /// The block is believed no more: from now on its positions are read from the log, until it was made again.
    pub(crate) fn report_integrity_error(
        &self,
        suspect: &Arc<StoredBlock>,
        integrity_error: &BlockIntegrityError,
    ) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let before = blocks.stored.len();
        blocks.stored.retain(|block| !Arc::ptr_eq(block, suspect));
        if blocks.stored.len() < before {
            tracing::warn!(%integrity_error, file = %suspect.path().display(), "a block of the index is not believed; it is made again");
            self.doubts.fetch_add(1, Ordering::Relaxed);
            self.wake.notify_one();
        }
    }

    /// Forgets the blocks that hold any of these positions. They are made again from the log.
    pub(crate) fn forget(&self, range: RangeInclusive<Position>) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let is_outside =
            |block: &Arc<StoredBlock>| block.last() < *range.start() || *range.end() < block.first();
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut blocks.stored).into_iter().partition(is_outside);
        blocks.stored = kept;
        for block in gone {
            self.block_dir.remove(block.path());
        }
        let first = blocks.open.first();
        if first <= *range.end() && blocks.open.last().is_some_and(|last| *range.start() <= last) {
            blocks.open = OpenBlock::new(first, self.capacity);
        }
        drop(blocks);
        self.wake.notify_one();
    }

    /// Notes what fails, or that nothing does.
    pub(crate) fn set_failure(&self, failure: Option<String>) {
        let mut now = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &failure {
            Some(failure) if now.is_none() => {
                tracing::warn!(failure, "the index is degraded; it is tried again");
            }
            None if now.is_some() => tracing::info!("the index is no longer degraded"),
            _ => {}
        }
        *now = failure;
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Asks the follower to end.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// The follower has ended.
    pub(crate) fn has_stopped(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn status(&self) -> IndexStatus {
        let head = self.ledger.head().position;
        let hole = self.hole();
        let position = match &hole {
            Some(hole) => Position::new(hole.start().get() - 1),
            None => self.look_at_open(|open| open.next().and_then(|next| Position::new(next.get() - 1))),
        };
        let lag = head.get().saturating_sub(position.map_or(0, Position::get));
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let state = match failure {
            _ if self.stopped.load(Ordering::SeqCst) => IndexState::Stopped,
            Some(failure) => IndexState::Degraded(failure),
            None if hole.is_some() || lag > LAG_EVENTS || !self.loaded.load(Ordering::SeqCst) => {
                IndexState::Rebuilding
            }
            None => IndexState::Ok,
        };
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        IndexStatus {
            version: INDEX_FORMAT,
            position,
            lag,
            state,
            digest: digest(&blocks.stored),
            blocks: blocks.stored.len(),
            bytes: blocks.stored.iter().map(|block| block.bytes()).sum(),
            doubts: self.doubts.load(Ordering::Relaxed),
        }
    }
}

/// The last position there can be.
const LAST: Position = match Position::new(u64::MAX) {
    Some(last) => last,
    None => Position::FIRST,
};

/// The digest of the blocks that follow one another from the first position on.
fn digest(stored: &[Arc<StoredBlock>]) -> Option<(Position, [u8; 32])> {
    let mut expected = Position::FIRST;
    let mut headers = Vec::new();
    for block in stored {
        if block.first() != expected {
            break;
        }
        expected = block.last().next()?;
        headers.push(block.header());
    }
    Some((headers.last()?.extent.last, index_state_digest(headers.into_iter())))
}

/// A last block that is not whole is taken into memory, to be gone on with.
fn going_on(stored: &mut Vec<Arc<StoredBlock>>, block_dir: &BlockDir, capacity: u64) -> OpenBlock {
    let Some(last) = stored.pop() else { return OpenBlock::new(Position::FIRST, capacity) };
    let behind = OpenBlock::new(last.last().next().unwrap_or(LAST), capacity);
    if last.last().get() - last.first().get() + 1 >= capacity {
        stored.push(last);
        return behind;
    }
    match last.entries(&*block_dir.environment().disk) {
        Ok(entries) => {
            let open = OpenBlock::going_on(last.first(), last.last(), entries, capacity);
            if open.is_full() {
                stored.push(last);
                return behind;
            }
            open
        }
        Err(integrity_error) => {
            tracing::warn!(%integrity_error, file = %last.path().display(), "a block of the index is not believed; it is made again");
            OpenBlock::new(last.first(), capacity)
        }
    }
}

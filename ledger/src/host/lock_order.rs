//! The locks of a ledger, and the order in which a thread may take them.
//!
//! A thread that holds a lock takes only locks of a higher [`LockRank`]; it never takes two of one rank. So no two threads wait for each
//! other. Debug builds, and with them all tests, check that at each lock. Seven kinds of locks are held while others are taken. All others
//! are [`LockRank::Inner`]: nothing is taken under them.
//!
//! | lock | held | under it |
//! |---|---|---|
//! | `Erasures::erasing` | for a whole erasure, or while a hold is placed, appends and disk included | a folder by name, a folder by id, `Inner` |
//! | `Segments::releasing` | for a whole release, appends and disk included | `Inner` |
//! | `KeyFiles`, a folder by name | while a subject's key is looked for and made | a folder by id, `Inner` |
//! | `KeyFiles`, a folder by id | while a key's file is written | `Inner` |
//! | `Committer` | for one commit, disk included | `Inner`; a try at `TableWriter::tips` |
//! | `TableWriter::tips` | while a table or a snapshot is written or merged | `Inner` |
//! | `Tree::stored` | while a level of the tree is written | `Inner` |
//!
//! Damage that a read finds is reported while the reader may hold one of the first five. The report changes the writer's state and tries
//! `TableWriter::tips`; it never waits for it. No thread waits for a condition while it holds a second lock. A wait for an answer of the
//! sequencer or the committer happens under `Erasures::erasing` and `Segments::releasing` alone, which neither of them takes.
//!
//! Outside of this order: cells that are written once, the head's subscribers, and governance's published state, under which nothing of
//! the ledger is called.

#[cfg(debug_assertions)]
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::time::Duration;

/// The rank of a lock: a thread takes locks of rising rank alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockRank {
    Erasure,
    Release,
    KeyFolderByName,
    KeyFolderById,
    Committer,
    TipTables,
    StoredLevel,
    /// Nothing is taken under it.
    Inner,
}

/// A mutex with a rank. A panic of another holder is passed over: every holder leaves the value usable at each of its steps.
#[derive(Debug)]
pub(crate) struct OrderedMutex<T> {
    rank: LockRank,
    mutex: Mutex<T>,
}

/// A reader-writer lock of rank [`LockRank::Inner`]. A panic of another holder is passed over.
#[derive(Debug, Default)]
pub(crate) struct OrderedRwLock<T>(RwLock<T>);

/// A held lock.
#[derive(Debug)]
pub(crate) struct OrderedGuard<G> {
    // Dropped first: the lock is free before its rank is.
    guard: G,
    held: HeldRank,
}

/// A held mutex.
pub(crate) type OrderedMutexGuard<'l, T> = OrderedGuard<MutexGuard<'l, T>>;

impl<T> OrderedMutex<T> {
    pub(crate) const fn new(rank: LockRank, value: T) -> Self {
        Self { rank, mutex: Mutex::new(value) }
    }

    /// A mutex under which nothing is taken.
    pub(crate) const fn inner(value: T) -> Self {
        Self::new(LockRank::Inner, value)
    }

    pub(crate) fn lock(&self) -> OrderedMutexGuard<'_, T> {
        self.lock_after_panic(|_| ())
    }

    /// Locks it. Where another holder panicked, `repair` is called first.
    pub(crate) fn lock_after_panic(&self, repair: impl FnOnce(&mut T)) -> OrderedMutexGuard<'_, T> {
        let held = HeldRank::take(self.rank);
        let guard = self.mutex.lock().unwrap_or_else(|poisoned| {
            let mut guard = poisoned.into_inner();
            repair(&mut guard);
            guard
        });
        OrderedGuard { guard, held }
    }

    /// Locks it, if no thread holds it. Allowed under every lock, since it never waits.
    pub(crate) fn try_lock(&self) -> Option<OrderedMutexGuard<'_, T>> {
        let guard = match self.mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(OrderedGuard { guard, held: HeldRank::note(self.rank) })
    }
}

impl<T: Default> Default for OrderedMutex<T> {
    fn default() -> Self {
        Self::inner(T::default())
    }
}

impl<T> OrderedRwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(crate) fn read(&self) -> OrderedGuard<RwLockReadGuard<'_, T>> {
        let held = HeldRank::take(LockRank::Inner);
        OrderedGuard { guard: self.0.read().unwrap_or_else(PoisonError::into_inner), held }
    }

    pub(crate) fn write(&self) -> OrderedGuard<RwLockWriteGuard<'_, T>> {
        let held = HeldRank::take(LockRank::Inner);
        OrderedGuard { guard: self.0.write().unwrap_or_else(PoisonError::into_inner), held }
    }
}

impl<T> OrderedMutexGuard<'_, T> {
    pub(crate) fn wait(self, condition: &Condvar) -> Self {
        self.held.is_alone();
        let Self { guard, held } = self;
        Self { guard: condition.wait(guard).unwrap_or_else(PoisonError::into_inner), held }
    }

    pub(crate) fn wait_while(self, condition: &Condvar, waits: impl FnMut(&mut T) -> bool) -> Self {
        self.held.is_alone();
        let Self { guard, held } = self;
        Self { guard: condition.wait_while(guard, waits).unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Returns `true` with the lock if the time has passed.
    pub(crate) fn wait_timeout(self, condition: &Condvar, time: Duration) -> (Self, bool) {
        self.held.is_alone();
        let Self { guard, held } = self;
        let (guard, result) = condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
        (Self { guard, held }, result.timed_out())
    }

    pub(crate) fn wait_timeout_while(
        self,
        condition: &Condvar,
        time: Duration,
        waits: impl FnMut(&mut T) -> bool,
    ) -> Self {
        self.held.is_alone();
        let Self { guard, held } = self;
        let waited = condition.wait_timeout_while(guard, time, waits);
        Self { guard: waited.unwrap_or_else(PoisonError::into_inner).0, held }
    }
}

impl<G: Deref> Deref for OrderedGuard<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for OrderedGuard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// The ranks that this thread holds.
    static HELD: RefCell<Vec<LockRank>> = const { RefCell::new(Vec::new()) };
}

/// The share of a held lock in the check.
#[derive(Debug)]
struct HeldRank {
    #[cfg(debug_assertions)]
    rank: LockRank,
}

impl HeldRank {
    /// Checks that a lock of this rank may be waited for, and notes it.
    fn take(rank: LockRank) -> Self {
        #[cfg(debug_assertions)]
        HELD.with_borrow(|held| {
            let highest = held.iter().max();
            assert!(
                highest.is_none_or(|highest| *highest < rank),
                "found a lock of rank {rank:?} taken under {highest:?}, expected rising ranks"
            );
        });
        Self::note(rank)
    }

    #[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "ranks are checked in debug builds"))]
    fn note(rank: LockRank) -> Self {
        #[cfg(debug_assertions)]
        HELD.with_borrow_mut(|held| held.push(rank));
        Self {
            #[cfg(debug_assertions)]
            rank,
        }
    }

    /// Checks that this thread holds no other lock.
    #[cfg_attr(not(debug_assertions), expect(clippy::unused_self, reason = "checked in debug builds"))]
    fn is_alone(&self) {
        #[cfg(debug_assertions)]
        HELD.with_borrow(|held| {
            let rank = self.rank;
            assert!(held.len() == 1, "found a wait for a condition under {held:?}, expected {rank:?} alone");
        });
    }
}

#[cfg(debug_assertions)]
impl Drop for HeldRank {
    fn drop(&mut self) {
        // A thread that ends has no list any more.
        let _ended = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|rank| *rank == self.rank) {
                held.remove(at);
            }
        });
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn locks_are_taken_in_rising_order_alone() {
        let (outer, inner) = (OrderedMutex::new(LockRank::TipTables, 1), OrderedMutex::inner(2));
        let (held, under) = (outer.lock(), inner.lock());
        assert_eq!((*held, *under), (1, 2));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| outer.lock())).is_err());
        drop((held, under));
        let held = inner.lock();
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| outer.lock())).is_err());
        assert!(outer.try_lock().is_some(), "a try never waits");
        drop(held);
        drop(outer.lock());
    }
}

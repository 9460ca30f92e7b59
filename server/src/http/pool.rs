//! A pool of a bounded resource that callers share: bytes of bodies, places of uploads, connections.
//!
//! A caller may take all of it while nobody else asks. Once others wait, each has a share, and two kinds of parts give way: those that are
//! behind (their peer keeps them waiting), of any caller, and those of callers past their share. A part that gives way is asked to; its
//! room is free once it is dropped.

mod part_pace;
mod state;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

pub(crate) use part_pace::PartPace;
use state::{Attempt, State};

/// A caller, as far as sharing goes: a principal of a ledger or, before its token is known, the address of its connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallerKey(Arc<str>);

impl CallerKey {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// The reason for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolRefusal {
    /// Nobody gave way in time, or it is more than there is at all.
    NoRoom,
    /// The part that wanted more is itself asked to give way.
    GivesWay,
}

/// So much of something.
#[derive(Clone)]
pub(crate) struct Pool(Arc<PoolInner>);

struct PoolInner {
    capacity: usize,
    state: Mutex<State>,
    /// Told of everything that is given back.
    freed: Notify,
}

/// A caller's part of a pool, given back when dropped.
pub(crate) struct PoolPart {
    shared: Arc<PoolInner>,
    id: u64,
    amount: usize,
    pace: Arc<PartPace>,
    has_moved: Arc<AtomicBool>,
    asked: oneshot::Receiver<()>,
    is_asked: bool,
}

/// Says whose a part is, from elsewhere.
#[derive(Clone)]
pub(crate) struct PartOwner {
    shared: Arc<PoolInner>,
    id: u64,
    has_moved: Arc<AtomicBool>,
}

impl Pool {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Arc::new(PoolInner { capacity, state: Mutex::default(), freed: Notify::new() }))
    }

    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Nothing yet: a part that grows.
    pub(crate) fn part(&self, caller: &CallerKey) -> PoolPart {
        let pace = Arc::new(PartPace::new());
        let (ask, asked) = oneshot::channel();
        let id = self.0.state().add(caller.clone(), Arc::clone(&pace), ask);
        PoolPart::new(Arc::clone(&self.0), id, 0, pace, asked)
    }

    /// Takes so much now, or not at all. Nobody is asked to give way.
    pub(crate) fn try_take(&self, caller: &CallerKey, amount: usize) -> Option<PoolPart> {
        let mut part = self.part(caller);
        part.try_grow_to(amount).then_some(part)
    }

    /// Takes so much now: what is free, or the newest part of the caller that holds most past its share. That caller is asked to
    /// give way, and its part counts for nothing from then on. Parts are of this one amount.
    pub(crate) fn take_or_displace(&self, caller: &CallerKey, amount: usize) -> Option<PoolPart> {
        let mut part = self.part(caller);
        if !part.try_grow_to(amount) {
            self.0.state().displace(self.0.capacity, part.id);
        }
        part.try_grow_to(amount).then_some(part)
    }

    /// Takes so much once there is room, and waits for others to give way at most this long.
    pub(crate) async fn take(
        &self,
        caller: &CallerKey,
        amount: usize,
        wait: Duration,
    ) -> Result<PoolPart, PoolRefusal> {
        let mut part = self.part(caller);
        part.grow_to(amount, wait).await?;
        Ok(part)
    }

    /// Ready once nobody holds anything.
    pub(crate) async fn emptied(&self) {
        let is_empty = |_: &mut Context<'_>| match self.0.state().taken {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        };
        loop {
            let mut freed = pin!(self.0.freed.notified());
            freed.as_mut().enable();
            tokio::select! {
                biased;
                () = poll_fn(is_empty) => return,
                () = freed => (),
            }
        }
    }
}

impl PoolInner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes more, or asks others to give way; the answer may hold the time at which another part will be behind.
    fn attempt(&self, id: u64, more: usize) -> Attempt {
        self.state().attempt(self.capacity, id, more, Instant::now())
    }
}

impl PoolPart {
    fn new(
        shared: Arc<PoolInner>,
        id: u64,
        amount: usize,
        pace: Arc<PartPace>,
        asked: oneshot::Receiver<()>,
    ) -> Self {
        Self { shared, id, amount, pace, has_moved: Arc::default(), asked, is_asked: false }
    }

    /// Returns the pace of the part: the time at which it is behind, and may be asked to give way.
    pub(crate) fn pace(&self) -> &PartPace {
        &self.pace
    }

    #[cfg(test)]
    pub(crate) fn amount(&self) -> usize {
        self.amount
    }

    pub(crate) fn owner(&self) -> PartOwner {
        PartOwner { shared: Arc::clone(&self.shared), id: self.id, has_moved: Arc::clone(&self.has_moved) }
    }

    /// Returns the caller that it counts as.
    pub(crate) fn caller(&self) -> Option<CallerKey> {
        self.shared.state().caller(self.id)
    }

    /// `true` once it counts as another caller's than when it was taken.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved.load(Ordering::Relaxed)
    }

    /// Gives back what is past this amount.
    pub(crate) fn shrink_to(&mut self, amount: usize) {
        if amount < self.amount {
            self.shared.state().give_back(self.id, self.amount - amount);
            self.amount = amount;
            self.shared.freed.notify_waiters();
        }
    }

    /// A part of its own with so much of this one.
    pub(crate) fn split(&mut self, amount: usize) -> Self {
        let amount = amount.min(self.amount);
        let pace = Arc::new(PartPace::new());
        let (ask, asked) = oneshot::channel();
        let id = self.shared.state().split(self.id, amount, Arc::clone(&pace), ask);
        self.amount -= amount;
        Self::new(Arc::clone(&self.shared), id, amount, pace, asked)
    }

    /// Bytes that hold it for as long as there is a copy of them.
    pub(crate) fn held_by(self, bytes: impl Into<Bytes>) -> Bytes {
        Bytes::from_owner(PartBytes { bytes: bytes.into(), _part: self })
    }

    /// Takes more, if it is less yet and there is room now.
    pub(crate) fn try_grow_to(&mut self, amount: usize) -> bool {
        let more = amount.saturating_sub(self.amount);
        let took = more == 0 || self.shared.state().take_free(self.shared.capacity, self.id, more);
        self.amount += if took { more } else { 0 };
        took
    }

    /// Takes more, if it is less yet, once there is room: others are asked to give way and waited for.
    pub(crate) async fn grow_to(&mut self, amount: usize, wait: Duration) -> Result<(), PoolRefusal> {
        let more = amount.saturating_sub(self.amount);
        if self.try_grow_to(amount) {
            return Ok(());
        }
        let (shared, until) = (Arc::clone(&self.shared), Instant::now() + wait);
        let _waiting = CallerGuard::begin(&shared, self.id);
        loop {
            let mut freed = pin!(shared.freed.notified());
            freed.as_mut().enable();
            let look_again = match shared.attempt(self.id, more) {
                Attempt::Took => {
                    self.amount = amount;
                    return Ok(());
                }
                Attempt::Never => return Err(PoolRefusal::NoRoom),
                Attempt::Wait(due) => due.map_or(until, |due| due.min(until)),
            };
            tokio::select! {
                () = freed => (),
                () = self.give_way_requested() => return Err(PoolRefusal::GivesWay),
                () = tokio::time::sleep_until(look_again) => {
                    if Instant::now() >= until {
                        return Err(PoolRefusal::NoRoom);
                    }
                }
            }
        }
    }

    /// Ready once it is asked to give way, and ever after.
    pub(crate) async fn give_way_requested(&mut self) {
        poll_fn(|cx| self.poll_give_way(cx)).await;
    }

    pub(crate) fn poll_give_way(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The sender lives as long as the part, unless it has sent.
        self.is_asked = self.is_asked || Pin::new(&mut self.asked).poll(cx).is_ready();
        if self.is_asked { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for PoolPart {
    fn drop(&mut self) {
        self.shared.state().remove(self.id);
        self.shared.freed.notify_waiters();
    }
}

struct PartBytes {
    bytes: Bytes,
    _part: PoolPart,
}

impl AsRef<[u8]> for PartBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartOwner {
    /// From now on it counts as this caller's.
    pub(crate) fn becomes(&self, caller: &CallerKey) {
        self.shared.state().move_to(self.id, caller);
        self.has_moved.store(true, Ordering::Relaxed);
    }
}

/// A caller that waits, for as long as this is held.
struct CallerGuard<'a> {
    shared: &'a PoolInner,
    id: u64,
}

impl<'a> CallerGuard<'a> {
    fn begin(shared: &'a PoolInner, id: u64) -> Self {
        shared.state().set_waiting(id, true);
        Self { shared, id }
    }
}

impl Drop for CallerGuard<'_> {
    fn drop(&mut self) {
        self.shared.state().set_waiting(self.id, false);
        // Its share is the others' again.
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;

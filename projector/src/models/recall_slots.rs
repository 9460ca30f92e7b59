//! The places of recalled builds, which the ledgers of a service share: how many there are at once, how many begin in an hour, and which of
//! them goes when another ledger waits for one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bitacora_formats::LedgerId;

use crate::limits::{
    LEDGER_RECALLS, LEDGER_RECALLS_PER_HOUR, MAX_RECALL_PAUSE, RECALL_FREE_BYTES, RECALL_HELD, RECALL_UNUSED,
    RECALLS, RECALLS_PER_HOUR,
};

/// The time in which beginnings are counted.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The bounds of recalled builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallBounds {
    /// Recalled builds of a service at once.
    pub at_once: usize,
    /// Those of one ledger.
    pub of_ledger: usize,
    /// Recalled builds that a service begins in an hour: each is a fold from the first event.
    pub per_hour: usize,
    /// Those of one ledger.
    pub ledger_per_hour: usize,
    /// The time after which one goes that nobody asks.
    pub unused: Duration,
    /// The time that one stays once it answers, although another ledger waits for its place.
    pub held: Duration,
    /// Bytes that stay free on the disk: one begins while twice as many are free, and goes when fewer are.
    pub free_bytes: u64,
}

impl Default for RecallBounds {
    fn default() -> Self {
        Self {
            at_once: RECALLS,
            of_ledger: LEDGER_RECALLS,
            per_hour: RECALLS_PER_HOUR,
            ledger_per_hour: LEDGER_RECALLS_PER_HOUR,
            unused: RECALL_UNUSED,
            held: RECALL_HELD,
            free_bytes: RECALL_FREE_BYTES,
        }
    }
}

/// The reasons for which a model is not folded again yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecallRefusal {
    /// Others are there.
    #[error("as many models as may be are folded again now")]
    Places,
    /// Others began.
    #[error("as many models as may be were folded again in the last hour")]
    Rate,
    /// They would take the room that events need.
    #[error("the disk has too little room for them")]
    Disk,
}

/// Says that a model is not folded again yet, and for how long at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecallWait {
    pub(super) why: RecallRefusal,
    pub(super) at_least: Duration,
}

/// The places of recalled builds. The ledgers of a service share one of these.
#[derive(Debug, Default)]
pub struct RecallSlots {
    bounds: RecallBounds,
    table: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    taken: Vec<Slot>,
    waiters: Vec<Waiter>,
    /// The beginnings of the last hour, the oldest first.
    begun: VecDeque<(Instant, LedgerId)>,
    next: u64,
}

/// A place that is taken.
#[derive(Debug)]
struct Slot {
    number: u64,
    ledger: LedgerId,
    /// The time since which its build answers, or cannot go on.
    settled: Option<Instant>,
}

/// A model that waits for a place.
#[derive(Debug)]
struct Waiter {
    ledger: LedgerId,
    model: &'static str,
    since: Instant,
    /// The last time that it asked for one.
    seen: Instant,
}

impl RecallSlots {
    /// Places within these bounds.
    #[must_use]
    pub fn new(bounds: RecallBounds) -> Self {
        Self { bounds, table: Mutex::default() }
    }

    pub(super) fn bounds(&self) -> &RecallBounds {
        &self.bounds
    }

    /// The pause between two looks whether a recalled build has to go, or may begin.
    pub(super) fn pause(&self) -> Duration {
        (self.bounds.unused / 4).min(MAX_RECALL_PAUSE)
    }

    /// Takes a place for a model, if it may be folded again now. One that may not waits in a line: it has to ask again within each
    /// [`Self::pause`], and the ledger with the fewest places comes first.
    pub(super) fn take(
        &self,
        ledger: LedgerId,
        model: &'static str,
        now: Instant,
    ) -> Result<u64, RecallWait> {
        let bounds = &self.bounds;
        let mut table = self.table();
        table.forget_the_old(now, 3 * self.pause());
        let own = table.held_by(ledger);
        let until = |time: Instant| time.saturating_duration_since(now);
        if own >= bounds.of_ledger {
            let goes = table.settled_of(|slot| slot.ledger == ledger).map(|time| until(time + bounds.unused));
            return Err(self.wait(RecallRefusal::Places, goes));
        }
        let begun = table.begun.iter().filter(|(_, other)| *other == ledger);
        if let Some((first, _)) = begun.clone().next().filter(|_| begun.count() >= bounds.ledger_per_hour) {
            return Err(self.wait(RecallRefusal::Rate, Some(until(*first + HOUR))));
        }
        let ahead = table.line_up(ledger, model, now);
        let left = bounds.per_hour.saturating_sub(table.begun.len());
        if left <= ahead {
            let first = table.begun.get(ahead - left).or(table.begun.back());
            return Err(self.wait(RecallRefusal::Rate, first.map(|(first, _)| until(*first + HOUR))));
        }
        if bounds.at_once.saturating_sub(table.taken.len()) <= ahead {
            let goes = table.settled_of(|_| true).map(|time| until(time + bounds.held));
            return Err(self.wait(RecallRefusal::Places, goes));
        }
        table.waiters.retain(|waiter| !waiter.is_of(ledger, model));
        table.begun.push_back((now, ledger));
        table.next += 1;
        let number = table.next;
        table.taken.push(Slot { number, ledger, settled: None });
        Ok(number)
    }

    /// A wait up to this time, or else up to the next look.
    fn wait(&self, why: RecallRefusal, at_least: Option<Duration>) -> RecallWait {
        let at_least = at_least.filter(|wait| !wait.is_zero()).unwrap_or(self.pause());
        RecallWait { why, at_least }
    }

    /// Notes that the build in a place answers from now on, or cannot go on for now; or that it goes on.
    pub(super) fn set_settled(&self, number: u64, is_settled: bool, now: Instant) {
        let mut table = self.table();
        if let Some(slot) = table.taken.iter_mut().find(|slot| slot.number == number) {
            slot.settled = is_settled.then(|| slot.settled.unwrap_or(now));
        }
    }

    /// Returns `true` if the build in a place has to go, because another ledger waits: of those that were there for long enough, it is
    /// the one that answers the longest.
    pub(super) fn has_to_go(&self, number: u64, now: Instant) -> bool {
        let bounds = &self.bounds;
        let mut table = self.table();
        table.forget_the_old(now, 3 * self.pause());
        if table.taken.len() < bounds.at_once || table.begun.len() >= bounds.per_hour {
            return false;
        }
        let is_wanted = |slot: &&Slot| {
            let has = table.held_by(slot.ledger);
            let others = table.waiters.iter().filter(|waiter| waiter.ledger != slot.ledger);
            // More than one fewer, or two ledgers would take a place from one another for ever.
            others.map(|waiter| table.held_by(waiter.ledger)).any(|held| held == 0 || held + 2 <= has)
        };
        let was_there = |slot: &&Slot| slot.settled.is_some_and(|settled| now - settled >= bounds.held);
        let goes = table.taken.iter().filter(was_there).filter(is_wanted).min_by_key(|slot| slot.settled);
        goes.is_some_and(|slot| slot.number == number)
    }

    /// The place is free again.
    pub(super) fn free(&self, number: u64) {
        self.table().taken.retain(|slot| slot.number != number);
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotTable {
    /// Forgets beginnings that are an hour old, and waiters that asked for no place lately.
    fn forget_the_old(&mut self, now: Instant, patience: Duration) {
        while self.begun.front().is_some_and(|(begun, _)| now - *begun >= HOUR) {
            self.begun.pop_front();
        }
        self.waiters.retain(|waiter| now - waiter.seen <= patience);
    }

    fn held_by(&self, ledger: LedgerId) -> usize {
        self.taken.iter().filter(|slot| slot.ledger == ledger).count()
    }

    /// The time since which one of these places is settled, of the one that is the longest.
    fn settled_of(&self, which: impl Fn(&Slot) -> bool) -> Option<Instant> {
        self.taken.iter().filter(|slot| which(slot)).filter_map(|slot| slot.settled).min()
    }

    /// Has a model wait, or wait on. Returns the number of models that get a place before it.
    fn line_up(&mut self, ledger: LedgerId, model: &'static str, now: Instant) -> usize {
        let since = match self.waiters.iter_mut().find(|waiter| waiter.is_of(ledger, model)) {
            Some(waiter) => {
                waiter.seen = now;
                waiter.since
            }
            None => {
                self.waiters.push(Waiter { ledger, model, since: now, seen: now });
                now
            }
        };
        let own = (self.held_by(ledger), since);
        let others = self.waiters.iter().filter(|waiter| !waiter.is_of(ledger, model));
        others.filter(|waiter| (self.held_by(waiter.ledger), waiter.since) < own).count()
    }
}

impl Waiter {
    fn is_of(&self, ledger: LedgerId, model: &str) -> bool {
        self.ledger == ledger && self.model == model
    }
}

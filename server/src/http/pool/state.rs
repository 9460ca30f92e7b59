//! The holders of a pool: their parts, their shares, and the choice of parts that give way.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::CallerKey;
use super::part_pace::{PartDeadline, PartPace};

#[derive(Default)]
pub(super) struct State {
    pub(super) taken: usize,
    last_id: u64,
    parts: BTreeMap<u64, PoolEntry>,
    callers: HashMap<CallerKey, Load>,
}

struct PoolEntry {
    caller: CallerKey,
    amount: usize,
    is_waiting: bool,
    pace: Arc<PartPace>,
    /// Gone once it was asked to give way.
    ask: Option<oneshot::Sender<()>>,
}

/// Of all parts of a caller.
#[derive(Default)]
struct Load {
    parts: usize,
    held: usize,
    waiting: usize,
}

/// The outcome of one look for room.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Took,
    /// Not now; at this time somebody else will be behind.
    Wait(Option<Instant>),
    /// The part would be more than there is.
    Never,
}

impl State {
    pub(super) fn add(&mut self, caller: CallerKey, pace: Arc<PartPace>, ask: oneshot::Sender<()>) -> u64 {
        self.last_id += 1;
        self.callers.entry(caller.clone()).or_default().parts += 1;
        let held = PoolEntry { caller, amount: 0, is_waiting: false, pace, ask: Some(ask) };
        self.parts.insert(self.last_id, held);
        self.last_id
    }

    pub(super) fn remove(&mut self, id: u64) {
        let Some(part) = self.parts.remove(&id) else { return };
        self.taken -= part.amount;
        self.unload(&part);
    }

    pub(super) fn split(
        &mut self,
        id: u64,
        amount: usize,
        pace: Arc<PartPace>,
        ask: oneshot::Sender<()>,
    ) -> u64 {
        let caller = self.parts.get_mut(&id).map(|part| {
            part.amount -= amount;
            part.caller.clone()
        });
        let of = self.add(caller.unwrap_or_else(|| CallerKey::new("")), pace, ask);
        if let Some(part) = self.parts.get_mut(&of) {
            part.amount = amount;
        }
        of
    }

    pub(super) fn give_back(&mut self, id: u64, less: usize) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        part.amount -= less;
        self.taken -= less;
        if let Some(load) = self.callers.get_mut(&part.caller) {
            load.held -= less;
        }
    }

    /// Returns the caller that a part counts as.
    pub(super) fn caller(&self, id: u64) -> Option<CallerKey> {
        self.parts.get(&id).map(|part| part.caller.clone())
    }

    pub(super) fn move_to(&mut self, id: u64, caller: &CallerKey) {
        let Some(mut part) = self.parts.remove(&id) else { return };
        if part.caller != *caller {
            self.unload(&part);
            part.caller = caller.clone();
            let load = self.callers.entry(caller.clone()).or_default();
            load.parts += 1;
            load.held += part.amount;
            load.waiting += usize::from(part.is_waiting);
        }
        self.parts.insert(id, part);
    }

    pub(super) fn set_waiting(&mut self, id: u64, is_waiting: bool) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let Some(load) = self.callers.get_mut(&part.caller) else { return };
        load.waiting = load.waiting + usize::from(is_waiting) - usize::from(part.is_waiting);
        part.is_waiting = is_waiting;
    }

    fn unload(&mut self, part: &PoolEntry) {
        let Some(load) = self.callers.get_mut(&part.caller) else { return };
        load.parts -= 1;
        load.held -= part.amount;
        load.waiting -= usize::from(part.is_waiting);
        if load.parts == 0 {
            self.callers.remove(&part.caller);
        }
    }

    /// Takes what is free, unless others who are below their share wait for it.
    pub(super) fn take_free(&mut self, capacity: usize, id: u64, more: usize) -> bool {
        let Some(part) = self.parts.get(&id) else { return false };
        let fair = self.fair(capacity, &part.caller);
        let held = self.held_by(&part.caller);
        let is_past_share = held.saturating_add(more) > fair;
        if more > capacity.saturating_sub(self.taken) || is_past_share && self.others_wait(&part.caller, fair)
        {
            return false;
        }
        self.taken += more;
        if let Some(part) = self.parts.get_mut(&id) {
            part.amount += more;
            if let Some(load) = self.callers.get_mut(&part.caller) {
                load.held += more;
            }
        }
        true
    }

    /// Takes more if it can, and asks others to give way if it cannot.
    pub(super) fn attempt(&mut self, capacity: usize, id: u64, more: usize, now: Instant) -> Attempt {
        let Some(part) = self.parts.get(&id) else { return Attempt::Never };
        if part.amount.saturating_add(more) > capacity {
            return Attempt::Never;
        }
        if self.take_free(capacity, id, more) {
            return Attempt::Took;
        }
        self.make_room(capacity, id, more, now)
    }

    /// Asks as many to give way as it takes, where that many may be asked.
    fn make_room(&mut self, capacity: usize, id: u64, more: usize, now: Instant) -> Attempt {
        let Some(asking) = self.parts.get(&id).map(|part| part.caller.clone()) else { return Attempt::Never };
        let fair = self.fair(capacity, &asking);
        let is_below = self.held_by(&asking).saturating_add(more) <= fair.max(more);
        if !is_below && self.others_wait(&asking, fair) {
            return Attempt::Wait(None);
        }
        let leaving = self.parts.values().filter(|part| part.ask.is_none()).map(|part| part.amount);
        let mut free = capacity - self.taken + leaving.sum::<usize>();
        // Those past their share first, and of each caller whoever has been behind for longest.
        let mut candidates: Vec<_> = self
            .parts
            .iter()
            .filter(|(other, part)| **other != id && part.amount > 0 && part.ask.is_some())
            .filter_map(|(other, part)| Some((part.pace.due()?, *other)))
            .map(|(due, other)| {
                let held = self.parts.get(&other).map_or(0, |part| self.held_by(&part.caller));
                (Reverse(held > fair), due, other)
            })
            .collect();
        candidates.sort_unstable();
        let mut next_due = None;
        for (_, due, other) in candidates {
            if free >= more {
                break;
            }
            let Some(part) = self.parts.get(&other) else { continue };
            let is_behind = matches!(due, PartDeadline::At(at) if at <= now);
            let is_past_share = part.caller != asking && is_below && self.held_by(&part.caller) > fair;
            if is_behind || is_past_share {
                free += part.amount;
                self.ask(other);
            } else if let PartDeadline::At(at) = due {
                next_due = Some(next_due.map_or(at, |next: Instant| next.min(at)));
            }
        }
        Attempt::Wait(next_due)
    }

    /// Frees the newest part of the caller that holds most past its share, if the one that asks is below its own.
    pub(super) fn displace(&mut self, capacity: usize, id: u64) {
        let Some(asking) = self.parts.get(&id).map(|part| part.caller.clone()) else { return };
        let fair = self.fair(capacity, &asking);
        if self.held_by(&asking) >= fair {
            return;
        }
        let past_share =
            self.parts.iter().filter(|(_, part)| part.amount > 0 && self.held_by(&part.caller) > fair);
        let newest_of_most = past_share.max_by_key(|(other, part)| (self.held_by(&part.caller), **other));
        let Some((other, amount)) = newest_of_most.map(|(other, part)| (*other, part.amount)) else { return };
        self.give_back(other, amount);
        self.ask(other);
    }

    fn ask(&mut self, id: u64) {
        let ask = self.parts.get_mut(&id).and_then(|part| part.ask.take());
        // A part that is gone already has given way.
        let _gone = ask.is_some_and(|ask| ask.send(()).is_err());
    }

    fn held_by(&self, caller: &CallerKey) -> usize {
        self.callers.get(caller).map_or(0, |load| load.held)
    }

    /// The share of each caller that holds something, waits for it, or asks now.
    fn fair(&self, capacity: usize, asking: &CallerKey) -> usize {
        let takes_part =
            |(caller, load): &(&CallerKey, &Load)| *caller == asking || load.held > 0 || load.waiting > 0;
        capacity / self.callers.iter().filter(takes_part).count().max(1)
    }

    fn others_wait(&self, caller: &CallerKey, fair: usize) -> bool {
        self.callers.iter().any(|(other, load)| other != caller && load.waiting > 0 && load.held < fair)
    }
}

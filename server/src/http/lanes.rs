//! Lanes for request bodies: stops, acts and decisions never wait for the room of anything else.
//!
//! A body begins in the lane of its request. One that outgrows what a lane has for each moves to the lane for large bodies. In every
//! lane callers share what there is, and a body whose peer keeps it waiting gives way to others.

use std::time::Duration;

use tokio::time::Instant;

use crate::http::pool::{CallerKey, Pool, PoolPart, PoolRefusal};
use crate::limits::{
    BODY_HEAD_START, BODY_ROOM_WAIT, BODY_YIELD_BYTES_PER_S, MAX_ACT_BODY_BYTES, MAX_DECISION_BODY_BYTES,
    MAX_SMALL_BODY_BYTES,
};
use crate::problem::{Code, Problem};

/// The room that a request's body takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Acts that stop agents, or let them go on.
    Stops,
    /// Other acts of operators and admins.
    Acts,
    /// Calls that are asked for, and what came of them.
    Decisions,
    /// Everything else.
    Others,
}

/// Room for all bodies.
#[derive(Clone)]
pub(crate) struct Lanes {
    stops: Pool,
    acts: Pool,
    decisions: Pool,
    small: Pool,
    large: Pool,
}

/// Room that a body has.
pub(crate) struct BodyRoom {
    part: PoolPart,
    caller: CallerKey,
    /// The size past which it moves, and the lane for large bodies; `None` once it is there.
    beyond: Option<(usize, Pool)>,
}

impl Lanes {
    /// Divides so many bytes among the lanes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let (stops, eighth) = (Pool::new(max_bytes / 32), max_bytes / 8);
        let large = Pool::new(max_bytes.saturating_sub(stops.capacity() + 3 * eighth));
        Self { stops, acts: Pool::new(eighth), decisions: Pool::new(eighth), small: Pool::new(eighth), large }
    }

    /// Room for a body that is about to come.
    pub(crate) fn room(&self, lane: Lane, caller: &CallerKey) -> BodyRoom {
        let (pool, most) = match lane {
            Lane::Stops => (&self.stops, MAX_SMALL_BODY_BYTES),
            Lane::Acts => (&self.acts, MAX_ACT_BODY_BYTES),
            Lane::Decisions => (&self.decisions, MAX_DECISION_BODY_BYTES),
            Lane::Others => (&self.small, MAX_SMALL_BODY_BYTES),
        };
        // Several fit into every lane, however little there is in all.
        let most = most.min(pool.capacity() / 4);
        BodyRoom { part: pool.part(caller), caller: caller.clone(), beyond: Some((most, self.large.clone())) }
    }
}

impl BodyRoom {
    /// Takes more, if it is less yet: waits for a moment, refuses then.
    pub(crate) async fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        if let Some((most, large)) = &self.beyond
            && bytes > *most
        {
            let larger = large.take(&self.caller, bytes, BODY_ROOM_WAIT).await;
            self.part = larger.map_err(no_room)?;
            self.beyond = None;
            return Ok(());
        }
        self.part.grow_to(bytes, BODY_ROOM_WAIT).await.map_err(no_room)
    }

    /// Its peer is waited for, and until then for as long as it likes.
    pub(crate) fn waits_until(&self, due: Instant) {
        self.part.pace().waits_until(due);
    }

    /// It is worked on.
    pub(crate) fn stays(&self) {
        self.part.pace().stays();
    }

    /// Ready once the body is to give way.
    pub(crate) async fn give_way_requested(&mut self) {
        self.part.give_way_requested().await;
    }
}

/// The time for which a body is still waited for while others need its room. Only waiting for its peer uses that up. Each piece that comes
/// earns it back, up to a moment: a caller that sends much at once may not rest on it.
pub(crate) struct Arrival {
    left: Duration,
    /// The time since which its peer is waited for, if it is.
    since: Option<Instant>,
}

impl Arrival {
    pub(crate) fn new() -> Self {
        Self { left: BODY_HEAD_START, since: None }
    }

    /// Its peer is waited for; the time from which it is behind.
    pub(crate) fn waits(&mut self, now: Instant) -> Instant {
        *self.since.get_or_insert(now) + self.left
    }

    /// More has come.
    pub(crate) fn came(&mut self, bytes: usize, now: Instant) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now.duration_since(since));
        }
        let earned = Duration::from_micros(1_000_000 * bytes as u64 / BODY_YIELD_BYTES_PER_S);
        self.left = (self.left + earned).min(BODY_HEAD_START);
    }
}

fn no_room(full: PoolRefusal) -> Problem {
    match full {
        PoolRefusal::GivesWay => gave_way(),
        PoolRefusal::NoRoom => {
            let detail = "too many request bodies are held at once; try again";
            Problem::new(Code::Overloaded, detail).with_retry_after(1).closing()
        }
    }
}

/// The rest of the body is not read, so the connection ends with the answer.
pub(crate) fn gave_way() -> Problem {
    let detail = "the body came slowly while others waited for its room; send it again at once";
    Problem::new(Code::Overloaded, detail).with_retry_after(1).closing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_lane_is_filled_by_another_one() {
        let lanes = Lanes::new(32 * 1024 * 1024);
        let (agent, operator) = (CallerKey::new("agent"), CallerKey::new("operator"));
        let fill = |pool: &Pool| pool.try_take(&agent, pool.capacity()).unwrap();
        let held = [fill(&lanes.small), fill(&lanes.decisions), fill(&lanes.large), fill(&lanes.acts)];
        for caller in [&operator, &agent] {
            let stop = lanes.room(Lane::Stops, caller).grow_to(1_000).await;
            assert!(stop.is_ok(), "every other byte is held");
        }
        drop(held);
        let full = fill(&lanes.large);
        for (lane, most) in [(Lane::Others, 64), (Lane::Decisions, 256), (Lane::Acts, 1024)] {
            assert!(lanes.room(lane, &agent).grow_to(most * 1024).await.is_ok(), "{lane:?}");
        }
        drop(full);
        assert!(lanes.room(Lane::Others, &agent).grow_to(4 * 1024 * 1024).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_that_grows_leaves_its_lane_to_small_ones() {
        let lanes = Lanes::new(1024 * 1024);
        let agent = CallerKey::new("agent");
        let mut room = lanes.room(Lane::Others, &agent);
        for bytes in [1, 30 * 1024, 500 * 1024] {
            room.grow_to(bytes).await.map_err(|problem| problem.to_json()).unwrap();
        }
        assert!(lanes.small.try_take(&agent, lanes.small.capacity()).is_some());
        assert!(lanes.large.try_take(&agent, 200 * 1024).is_none());
    }

    #[tokio::test]
    async fn what_came_early_is_no_credit_for_later() {
        let began = Instant::now();
        let at = |tenths: u32| began + tenths * Duration::from_millis(100);
        let mut arrival = Arrival::new();
        arrival.came(4 * 1024 * 1024, began);
        assert_eq!(arrival.waits(began), began + BODY_HEAD_START);
        // A byte now and then does not carry it on.
        for tenths in 1..=5 {
            arrival.came(1, at(tenths));
            assert!(arrival.waits(at(tenths)) < at(10) + Duration::from_millis(1));
        }
        // A fair pace does, and what is not its peer's fault counts for nothing.
        for tenths in 6..=30 {
            arrival.came(8 * 1024, at(tenths));
            assert!(arrival.waits(at(tenths)) > at(tenths + 4));
        }
        arrival.came(8 * 1024, at(31));
        assert!(arrival.waits(at(100)) > at(104));
    }
}

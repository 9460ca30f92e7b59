//! The pace of a part: the time from which it is behind.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// It does not give way: it is worked on, and over soon.
const STAYS: u64 = u64::MAX;
/// It gives way only to callers below their share.
const MOVES: u64 = u64::MAX - 1;

/// The time at which a part is behind. Told by its holder at every step, read only when there is no room.
pub(crate) struct PartPace {
    base: Instant,
    /// Microseconds since `base`, or one of the two above.
    due: AtomicU64,
}

impl PartPace {
    pub(super) fn new() -> Self {
        Self { base: Instant::now(), due: AtomicU64::new(STAYS) }
    }

    /// It does not give way.
    pub(crate) fn stays(&self) {
        self.due.store(STAYS, Ordering::Relaxed);
    }

    /// Its peer moves as it should; it gives way only to callers below their share.
    pub(crate) fn moves(&self) {
        self.due.store(MOVES, Ordering::Relaxed);
    }

    /// It waits for its peer, and gives way to everybody from then on.
    pub(crate) fn waits_until(&self, due: Instant) {
        let due = u64::try_from(due.saturating_duration_since(self.base).as_micros()).unwrap_or(MOVES);
        self.due.store(due.min(MOVES), Ordering::Relaxed);
    }

    /// The time from which it is behind, the latest possible one where it moves; `None` where it stays.
    pub(super) fn due(&self) -> Option<PartDeadline> {
        match self.due.load(Ordering::Relaxed) {
            STAYS => None,
            MOVES => Some(PartDeadline::Moves),
            micros => Some(PartDeadline::At(self.base + Duration::from_micros(micros))),
        }
    }
}

/// The time at which a part that may give way is behind; in the order in which parts are asked to give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PartDeadline {
    At(Instant),
    Moves,
}

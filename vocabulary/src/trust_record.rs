//! The record of a dimension's outcomes so far, and the score that its counts give.
//!
//! Decisions and folds count alike, because the arithmetic stands here once.

use serde::{Deserialize, Serialize};

use super::{Count, Score, TrustCounts, TrustObserved, TrustOutcome, TrustRules, TrustSet};
use bitacora_formats::Micros;

/// A dimension that shows nothing for so long is forgotten: at the first event of a day that finds it so.
pub const DIMENSION_LIFE: Micros = Micros(2 * 365 * 24 * 3_600 * 1_000_000);

/// The number of recent outcomes that a record remembers one by one.
pub const RECENT_OUTCOMES: u32 = 50;

/// The record of a dimension: a fold of its `trust.observed` and `trust.set`. Counts stop at [`Count::MAX`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed, took too long, or did not pass the check after them.
    pub failures: u64,
    /// The approvals that no person gave.
    pub auto_approvals: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
    /// The last outcomes.
    pub recent: RecentOutcomes,
    /// The time at which the last outcome was counted, or the counts were set; it never goes back.
    pub last_updated: Option<Micros>,
}

impl TrustRecord {
    /// Counts one outcome.
    pub fn apply_observed(&mut self, observed: &TrustObserved, time: Micros) {
        self.apply_outcome(observed.outcome, observed.post_check_passed, time);
    }

    /// Counts one outcome, given the way in which the call ended and the result of the check after it.
    pub fn apply_outcome(&mut self, outcome: TrustOutcome, post_check_passed: Option<bool>, time: Micros) {
        let Some(kind) = Kind::of(outcome, post_check_passed) else { return };
        match kind {
            Kind::Approved | Kind::AutoApproved => {
                count(&mut self.approvals);
                count(&mut self.streak);
            }
            Kind::ApprovedUnchecked | Kind::AutoApprovedUnchecked => {
                count(&mut self.approvals);
                count(&mut self.failures);
                self.streak = 0;
            }
            Kind::Rejected => {
                count(&mut self.rejections);
                self.streak = 0;
            }
            Kind::Error | Kind::Timeout => {
                count(&mut self.failures);
                self.streak = 0;
            }
        }
        if outcome == TrustOutcome::AutoApproved {
            count(&mut self.auto_approvals);
        }
        self.recent.push(kind);
        self.last_updated = self.last_updated.max(Some(time));
    }

    /// Puts an operator's counts in the place of its own. The last outcomes are forgotten. The failures that are set
    /// stand in for them, as errors, until later outcomes take their place. A streak is never longer than the
    /// approvals.
    pub fn apply_set(&mut self, set: &TrustSet, time: Micros) {
        let TrustCounts { approvals, rejections, failures, streak } = set.counts;
        self.approvals = approvals.get();
        self.rejections = rejections.get();
        self.failures = failures.get();
        self.auto_approvals = self.auto_approvals.min(approvals.get());
        self.streak = streak.min(approvals).get();
        self.recent = RecentOutcomes::failed(failures);
        self.last_updated = self.last_updated.max(Some(time));
    }

    /// Approvals, rejections and failures together. An approval whose check failed is two: one of the call, one of the check.
    #[must_use]
    pub const fn observations(&self) -> u64 {
        self.approvals.saturating_add(self.rejections).saturating_add(self.failures)
    }

    /// The score under these rules as if no time had passed.
    #[must_use]
    pub fn unaged_score(&self, rules: &TrustRules) -> Score {
        let base = base_score(self.approvals, self.rejections, self.failures);
        base.plus(rules.streak_bonus_of(self.streak))
    }

    /// Adds the counts of an earlier record.
    pub fn apply_earlier(&mut self, earlier: &Self) {
        let sum = |own: u64, before: u64| own.saturating_add(before).min(Count::MAX.get());
        if self.rejections == 0 && self.failures == 0 {
            self.streak = sum(self.streak, earlier.streak);
        }
        self.approvals = sum(self.approvals, earlier.approvals);
        self.rejections = sum(self.rejections, earlier.rejections);
        self.failures = sum(self.failures, earlier.failures);
        self.auto_approvals = sum(self.auto_approvals, earlier.auto_approvals);
        self.recent.put_behind(&earlier.recent);
        self.last_updated = self.last_updated.max(earlier.last_updated);
    }
}

/// `approvals / (approvals + rejections + failures + 1)`, rounded half up to ten-thousandths.
#[must_use]
pub fn base_score(approvals: u64, rejections: u64, failures: u64) -> Score {
    let approvals = u128::from(approvals);
    let all = approvals + u128::from(rejections) + u128::from(failures) + 1;
    let rounded = (approvals * 20_000 + all) / (all * 2);
    Score::clamped(u64::try_from(rounded).unwrap_or(u64::MAX))
}

fn count(number: &mut u64) {
    *number = number.saturating_add(1).min(Count::MAX.get());
}

/// The code of one outcome, in three bits. Codes with the highest bit are failures; all bits clear is no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Approved = 1,
    AutoApproved = 2,
    Rejected = 3,
    Error = 4,
    Timeout = 5,
    ApprovedUnchecked = 6,
    AutoApprovedUnchecked = 7,
}

impl Kind {
    /// Returns the code of an outcome. A rejected call did not run, whatever a check after it says; one that failed
    /// fails once. An exit code does not count.
    fn of(outcome: TrustOutcome, post_check_passed: Option<bool>) -> Option<Self> {
        let check_failed = post_check_passed == Some(false);
        Some(match outcome {
            TrustOutcome::ChecksFailed => return None,
            TrustOutcome::Approved if check_failed => Self::ApprovedUnchecked,
            TrustOutcome::Approved => Self::Approved,
            TrustOutcome::AutoApproved if check_failed => Self::AutoApprovedUnchecked,
            TrustOutcome::AutoApproved => Self::AutoApproved,
            TrustOutcome::Rejected => Self::Rejected,
            TrustOutcome::Error => Self::Error,
            TrustOutcome::Timeout => Self::Timeout,
        })
    }
}

/// The last [`RECENT_OUTCOMES`] outcomes: three bits each, in one word a bit, the newest in the lowest place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentOutcomes {
    low: u64,
    middle: u64,
    failures: u64,
}

impl RecentOutcomes {
    /// The places of all outcomes.
    const KEPT: u64 = (1 << RECENT_OUTCOMES) - 1;

    /// So many failures and nothing else.
    fn failed(failures: Count) -> Self {
        let mut recent = Self::default();
        for _ in 0..failures.get().min(u64::from(RECENT_OUTCOMES)) {
            recent.push(Kind::Error);
        }
        recent
    }

    /// Remembers older outcomes behind its own, as far as there is room.
    fn put_behind(&mut self, older: &Self) {
        let behind = self.len();
        let joined = |own: u64, older: u64| (own | older << behind) & Self::KEPT;
        self.low = joined(self.low, older.low);
        self.middle = joined(self.middle, older.middle);
        self.failures = joined(self.failures, older.failures);
    }

    fn push(&mut self, kind: Kind) {
        let code = kind as u64;
        let shifted = |word: u64, bit: u64| (word << 1 | (code >> bit & 1)) & Self::KEPT;
        self.low = shifted(self.low, 0);
        self.middle = shifted(self.middle, 1);
        self.failures = shifted(self.failures, 2);
    }

    /// Returns the number of outcomes.
    #[must_use]
    pub fn len(&self) -> u32 {
        (self.low | self.middle | self.failures).count_ones()
    }

    /// Returns `true` if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of failures among them.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures.count_ones()
    }

    /// Returns the number of failures among the last outcomes after this many more outcomes that are none.
    #[must_use]
    pub fn failures_after(&self, others: u64) -> u32 {
        let places = u32::try_from(others).unwrap_or(u32::MAX);
        (self.failures.checked_shl(places).unwrap_or(0) & Self::KEPT).count_ones()
    }
}

//! Limits on the calls of a period: buckets of tokens, in integers.
//!
//! A call takes a token of every bucket that it counts in: its tool's, its agent's and its role's. A full bucket has no more to say
//! than a new one, so it leaves; that is how the map stays small.

mod question;
pub(crate) mod rolling;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    LocalTimes, MAX_RATE_CALLS, MAX_RATE_PERIOD_MS, Milliseconds, RateConfigured, RateLimit, RateScope,
    RollingRate,
};
use serde::{Deserialize, Serialize};

use crate::undo::undo_map::UndoMap;

use rolling::RollingRates;

pub(crate) use question::word;
pub use question::{MAX_RATE_BUCKETS, MAX_RATE_LIMITS, RateError, RateQuestion, RateRefusal};

/// Buckets that are looked at, and taken away if they are full, with each call that is counted.
const SWEPT_AT_ONCE: usize = 8;
/// The wait that is said where no token ever comes back: the longest period.
const NEVER_MS: u64 = MAX_RATE_PERIOD_MS;

/// The limits, and the tokens taken of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    pub(crate) limits: UndoMap<RateScope, RateLimit>,
    pub(crate) buckets: UndoMap<RateScope, Bucket>,
    /// Buckets by the time when they will be full.
    leaving: UndoMap<(Micros, RateScope), ()>,
    /// Limits on the last while, and on days.
    #[serde(default, skip_serializing_if = "RollingRates::is_empty")]
    pub(crate) rolling: RollingRates,
}

/// The level of a bucket at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLevel {
    /// The limit that it is of.
    pub limit: RateLimit,
    /// Whole tokens.
    pub left: u32,
    /// The time until a call can be taken, where none can now.
    pub retry_after: Option<Milliseconds>,
    /// The time at which it is full; `None` where that never comes.
    pub full_at: Option<Micros>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    /// The difference to a full bucket at `time`, in tokens times the microseconds of a period. A refill of one token a period
    /// gives back one each microsecond.
    missing: u64,
    time: Micros,
}

impl Rates {
    /// Checks that a limit can be configured.
    ///
    /// # Errors
    /// See [`RateError`].
    pub fn check(&self, configured: &RateConfigured) -> Result<(), RateError> {
        self.rolling.check(configured)?;
        let Some(limit) = configured.limit else { return Ok(()) };
        let in_bounds = limit.burst <= MAX_RATE_CALLS
            && limit.refill <= MAX_RATE_CALLS
            && (1..=MAX_RATE_PERIOD_MS).contains(&limit.period_ms.get());
        if !in_bounds {
            return Err(RateError::Numbers);
        }
        let is_new = self.limits.get(&configured.scope).is_none();
        if is_new && self.limits.len() >= MAX_RATE_LIMITS { Err(RateError::TooMany) } else { Ok(()) }
    }

    /// Folds `rate.configured`. Buckets of the scope begin anew; one that cannot be taken changes nothing.
    pub fn apply_configured(&mut self, configured: &RateConfigured) {
        if self.check(configured).is_err() {
            return;
        }
        self.rolling.apply_configured(configured);
        let scope = &configured.scope;
        let touched =
            |key: &RateScope| key.by == scope.by && (scope.name.is_none() || key.name == scope.name);
        let keys: Vec<_> =
            self.buckets.iter().filter(|(key, _)| touched(key)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.forget(&key);
        }
        match configured.limit {
            Some(limit) => self.limits.insert(scope.clone(), limit),
            None => self.limits.remove(scope),
        }
    }

    /// Checks that a call may be taken at this time.
    ///
    /// # Errors
    /// See [`RateRefusal`]; of several empty buckets the one that takes longest.
    pub fn due(
        &self,
        question: &RateQuestion<'_>,
        local: Option<&LocalTimes>,
        time: Micros,
    ) -> Result<(), RateRefusal> {
        let mut refusal = self.rolling.wait(question, local, time)?;
        let mut new = 0;
        for (key, limit) in self.counted(question) {
            let bucket = self.buckets.get(&key);
            new += usize::from(bucket.is_none());
            if let Some(wait) = limit.wait(bucket, time)
                && refusal.is_none_or(|(longest, _)| wait > longest)
            {
                refusal = Some((wait, key.by));
            }
        }
        if let Some((wait, by)) = refusal {
            let retry_after = Milliseconds::new(wait).unwrap_or(Milliseconds::MAX);
            return Err(RateRefusal::Limited { by, retry_after });
        }
        let room = MAX_RATE_BUCKETS.saturating_sub(self.buckets.len());
        let leaving = self.leaving.iter().take_while(|((full, _), ())| *full <= time).take(new).count();
        if new > room + leaving { Err(RateRefusal::Full) } else { Ok(()) }
    }

    /// Returns the limit that keeps a call waiting longest at this time, and whose it is.
    pub(crate) fn met(&self, question: &RateQuestion<'_>, time: Micros) -> Option<(&'static str, RateLimit)> {
        let waits = self.counted(question).filter_map(|(key, limit)| {
            let wait = limit.wait(self.buckets.get(&key), time)?;
            Some((wait, word(key.by), limit.0))
        });
        // The first of those that take longest, as `due` tells it.
        let longest = waits.reduce(|one, other| if other.0 > one.0 { other } else { one });
        longest.map(|(_, by, limit)| (by, limit))
    }

    /// Folds a call that was taken: a token of each of its buckets is gone. Buckets that are full by now leave, a few at a time.
    pub fn apply_taken(&mut self, question: &RateQuestion<'_>, local: Option<&LocalTimes>, time: Micros) {
        self.rolling.apply_taken(question, local, time);
        // Without a limit there is no bucket.
        if self.limits.is_empty() {
            return;
        }
        let leaving = self.leaving.iter().take_while(|((full, _), ())| *full <= time).take(SWEPT_AT_ONCE);
        let full: Vec<_> = leaving.map(|((_, key), ())| key.clone()).collect();
        full.iter().for_each(|key| self.forget(key));
        let counted: Vec<_> = self.counted(question).collect();
        for (key, limit) in counted {
            let missing = limit.taken(self.buckets.get(&key), time);
            self.forget(&key);
            if self.buckets.len() < MAX_RATE_BUCKETS {
                let bucket = Bucket { missing, time };
                self.leaving.insert((limit.full_at(bucket), key.clone()), ());
                self.buckets.insert(key, bucket);
            }
        }
    }

    pub(crate) fn pause(&mut self) {
        self.limits.pause();
        self.buckets.pause();
        self.leaving.pause();
        self.rolling.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.limits.resume();
        self.buckets.resume();
        self.leaving.resume();
        self.rolling.resume();
    }

    /// Makes all changes since the last time final.
    pub fn keep(&mut self) {
        self.limits.keep();
        self.buckets.keep();
        self.leaving.keep();
        self.rolling.keep();
    }

    /// Takes back all changes since the last [`keep`](Self::keep).
    pub fn discard(&mut self) {
        self.limits.discard();
        self.buckets.discard();
        self.leaving.discard();
        self.rolling.discard();
    }

    /// Returns the limits on the last while, sorted by their scopes.
    pub fn rolling(&self) -> impl Iterator<Item = (&RateScope, &RollingRate)> {
        self.rolling.limits.iter()
    }

    /// Returns the limits, sorted by their scopes.
    pub fn limits(&self) -> impl Iterator<Item = (&RateScope, &RateLimit)> {
        self.limits.iter()
    }

    /// Returns the buckets that are not full at this time, sorted by their scopes.
    pub fn levels(&self, time: Micros) -> impl Iterator<Item = (&RateScope, RateLevel)> {
        let level = move |(key, bucket): (&'_ RateScope, &Bucket)| self.limit_of(key)?.level(bucket, time);
        self.buckets.iter().filter_map(move |(key, bucket)| Some((key, level((key, bucket))?)))
    }

    /// Returns the limit of a bucket: its own, or that of each one by itself.
    fn limit_of(&self, key: &RateScope) -> Option<Limit> {
        let limit =
            self.limits.get(key).or_else(|| self.limits.get(&RateScope { by: key.by, name: None }))?;
        Some(Limit(*limit))
    }

    /// Returns the buckets that a call counts in, with their limits.
    fn counted(&self, question: &RateQuestion<'_>) -> impl Iterator<Item = (RateScope, Limit)> {
        question.scopes().into_iter().filter_map(|key| {
            let limit = self.limit_of(&key)?;
            Some((key, limit))
        })
    }

    fn forget(&mut self, key: &RateScope) {
        let Some(bucket) = self.buckets.get(key).copied() else { return };
        if let Some(limit) = self.limit_of(key) {
            self.leaving.remove(&(limit.full_at(bucket), key.clone()));
        }
        self.buckets.remove(key);
    }
}

/// A limit within its bounds, so that nothing here overflows.
#[derive(Debug, Clone, Copy)]
struct Limit(RateLimit);

impl Limit {
    /// Returns the worth of a token, in the unit of `Bucket::missing`.
    fn token(self) -> u64 {
        self.0.period_ms.get().saturating_mul(1_000)
    }

    fn missing(self, bucket: Option<&Bucket>, time: Micros) -> u64 {
        let Some(bucket) = bucket else { return 0 };
        let elapsed = time.0.saturating_sub(bucket.time.0);
        bucket.missing.saturating_sub(elapsed.saturating_mul(u64::from(self.0.refill)))
    }

    /// Returns the difference to a full bucket after a token has been taken; never more than all.
    fn taken(self, bucket: Option<&Bucket>, time: Micros) -> u64 {
        let all = self.token().saturating_mul(u64::from(self.0.burst));
        self.missing(bucket, time).saturating_add(self.token()).min(all)
    }

    /// Milliseconds until there is a token, if there is none.
    fn wait(self, bucket: Option<&Bucket>, time: Micros) -> Option<u64> {
        let all = self.token().saturating_mul(u64::from(self.0.burst));
        let short = self.missing(bucket, time).saturating_add(self.token()).saturating_sub(all);
        if short == 0 {
            return None;
        }
        if self.0.burst == 0 || self.0.refill == 0 {
            return Some(NEVER_MS);
        }
        Some(short.div_ceil(u64::from(self.0.refill)).div_ceil(1_000).min(NEVER_MS))
    }

    /// Returns the level of a bucket; `None` where it is full.
    fn level(self, bucket: &Bucket, time: Micros) -> Option<RateLevel> {
        let missing = self.missing(Some(bucket), time);
        if missing == 0 {
            return None;
        }
        let all = self.token().saturating_mul(u64::from(self.0.burst));
        let left = all.saturating_sub(missing).checked_div(self.token()).unwrap_or_default();
        let wait = self.wait(Some(bucket), time);
        let full_at = self.full_at(*bucket);
        Some(RateLevel {
            limit: self.0,
            left: u32::try_from(left).unwrap_or(u32::MAX),
            retry_after: wait.map(|wait| Milliseconds::new(wait).unwrap_or(Milliseconds::MAX)),
            full_at: (full_at < Micros(u64::MAX)).then_some(full_at),
        })
    }

    /// Returns the time at which a bucket is full again.
    fn full_at(self, bucket: Bucket) -> Micros {
        if bucket.missing > 0 && self.0.refill == 0 {
            return Micros(u64::MAX);
        }
        let wait = bucket.missing.div_ceil(u64::from(self.0.refill.max(1)));
        Micros(bucket.time.0.saturating_add(wait))
    }
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::{BoundedText, RateBy};

    use super::*;

    const CALL: RateQuestion<'_> = RateQuestion { tool: "sh", agent: "ci", role: "agent" };

    fn limit(by: RateBy, name: Option<&str>, limit: Option<(u32, u32, u64)>) -> RateConfigured {
        RateConfigured {
            scope: RateScope { by, name: name.map(|name| BoundedText::new(name).unwrap()) },
            limit: limit.map(|(burst, refill, period_ms)| RateLimit {
                burst,
                refill,
                period_ms: Milliseconds::new(period_ms).unwrap(),
            }),
            rolling: None,
        }
    }

    fn ms(ms: u64) -> Micros {
        Micros(1_000_000_000_000 + ms * 1_000)
    }

    fn wait(rates: &Rates, time: Micros) -> Option<u64> {
        match rates.due(&CALL, None, time) {
            Ok(()) => None,
            Err(RateRefusal::Limited { retry_after, .. }) => Some(retry_after.get()),
            Err(RateRefusal::Full) => panic!("full"),
        }
    }

    #[test]
    fn a_burst_passes_and_then_one_for_each_token_that_comes_back() {
        let mut rates = Rates::default();
        rates.apply_configured(&limit(RateBy::Tool, Some("sh"), Some((2, 3, 1_000))));
        for _ in 0..2 {
            assert_eq!(wait(&rates, ms(0)), None);
            rates.apply_taken(&CALL, None, ms(0));
        }
        assert_eq!(wait(&rates, ms(0)), Some(334));
        assert_eq!(wait(&rates, ms(333)), Some(1));
        assert_eq!(wait(&rates, ms(334)), None);
        rates.apply_taken(&CALL, None, ms(334));
        assert_eq!(wait(&rates, ms(334)), Some(333));
        assert_eq!(wait(&rates, ms(10_000)), None);
    }

    #[test]
    fn a_name_has_its_own_limit_or_that_of_all() {
        let mut rates = Rates::default();
        rates.apply_configured(&limit(RateBy::Agent, None, Some((1, 1, 1_000))));
        rates.apply_taken(&CALL, None, ms(0));
        assert_eq!(wait(&rates, ms(0)), Some(1_000));
        assert_eq!(rates.due(&RateQuestion { agent: "other", ..CALL }, None, ms(0)), Ok(()));
        rates.apply_configured(&limit(RateBy::Agent, Some("ci"), Some((9, 1, 1_000))));
        assert_eq!(wait(&rates, ms(0)), None);
        rates.apply_configured(&limit(RateBy::Agent, Some("ci"), Some((0, 1, 1_000))));
        assert_eq!(wait(&rates, ms(0)), Some(NEVER_MS));
        rates.apply_configured(&limit(RateBy::Agent, Some("ci"), None));
        rates.apply_configured(&limit(RateBy::Agent, None, None));
        assert_eq!(wait(&rates, ms(0)), None);
        assert_eq!(rates.buckets.len() + rates.leaving.len(), 0);
    }

    #[test]
    fn configuring_a_scope_fills_its_own_buckets_and_no_others() {
        let other = RateQuestion { agent: "other", tool: "ls", role: "operator" };
        let emptied = || {
            let mut rates = Rates::default();
            rates.apply_configured(&limit(RateBy::Agent, None, Some((1, 1, 1_000))));
            rates.apply_taken(&CALL, None, ms(0));
            rates.apply_taken(&other, None, ms(0));
            rates
        };
        // Rows: the scope that is configured, and whether either agent has a token again.
        for (by, name, filled) in [
            (RateBy::Agent, None, [true, true]),
            (RateBy::Agent, Some("ci"), [true, false]),
            (RateBy::Agent, Some("other"), [false, true]),
            (RateBy::Agent, Some("nobody"), [false, false]),
            (RateBy::Tool, None, [false, false]),
            (RateBy::Tool, Some("sh"), [false, false]),
            (RateBy::Role, Some("ci"), [false, false]),
        ] {
            let mut rates = emptied();
            rates.apply_configured(&limit(by, name, Some((1, 1, 1_000))));
            let found = [CALL, other].map(|question| rates.due(&question, None, ms(0)).is_ok());
            assert_eq!(found, filled, "{by:?} {name:?}");
            assert_eq!(rates.buckets.len(), rates.leaving.len());
        }
    }

    #[test]
    fn a_bucket_that_nothing_comes_back_to_never_leaves() {
        let mut rates = Rates::default();
        rates.apply_configured(&limit(RateBy::Agent, None, Some((1, 0, 1_000))));
        rates.apply_taken(&CALL, None, ms(0));
        let much_later = ms(1_000 * 86_400 * 366);
        assert_eq!(wait(&rates, much_later), Some(NEVER_MS));
        // Others come and go, and sweep out what is full.
        rates.apply_taken(&RateQuestion { agent: "other", ..CALL }, None, much_later);
        assert_eq!(wait(&rates, much_later), Some(NEVER_MS), "it is as empty as it was");
        assert_eq!(rates.buckets.len(), 2);
        let mut levels = rates.levels(much_later);
        assert!(levels.all(|(_, level)| level.left == 0 && level.full_at.is_none()));
    }

    #[test]
    fn limits_out_of_bounds_are_refused_and_change_nothing() {
        let mut rates = Rates::default();
        for numbers in [
            (MAX_RATE_CALLS + 1, 1, 1),
            (1, MAX_RATE_CALLS + 1, 1),
            (1, 1, 0),
            (1, 1, MAX_RATE_PERIOD_MS + 1),
        ] {
            let configured = limit(RateBy::Role, None, Some(numbers));
            assert_eq!(rates.check(&configured), Err(RateError::Numbers));
            rates.apply_configured(&configured);
        }
        assert_eq!(rates, Rates::default());
    }

    #[test]
    fn full_buckets_leave_and_a_full_map_takes_nothing_new() {
        let mut rates = Rates::default();
        rates.apply_configured(&limit(RateBy::Agent, None, Some((1, 1, 1_000))));
        for number in 0..MAX_RATE_BUCKETS {
            rates.apply_taken(&RateQuestion { agent: &format!("a{number}"), ..CALL }, None, ms(0));
        }
        rates.keep();
        assert_eq!(rates.due(&CALL, None, ms(999)), Err(RateRefusal::Full));
        assert_eq!(rates.due(&CALL, None, ms(1_000)), Ok(()));
        let before = rates.clone();
        rates.apply_taken(&CALL, None, ms(1_000));
        assert_eq!(rates.buckets.len(), MAX_RATE_BUCKETS - SWEPT_AT_ONCE + 1);
        assert_eq!(rates.buckets.len(), rates.leaving.len());
        rates.discard();
        assert_eq!(rates, before);
    }
}

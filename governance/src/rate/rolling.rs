//! Limits on the calls of the last while, on those of a local day, and on the time between two of them.
//!
//! Unlike a bucket of tokens it keeps when calls were taken: nothing comes back before its time.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    DayLimit, LocalTimes, MAX_RATE_PERIOD_MS, RateBy, RateConfigured, RateScope, RollingRate, ZoneName,
};
use serde::{Deserialize, Serialize};

use super::question::{MAX_RATE_BUCKETS, MAX_RATE_LIMITS, RateError, RateQuestion, RateRefusal};
use crate::undo::undo_map::UndoMap;

/// Scopes that are looked at, and taken away if they say nothing any more, with each call that is counted.
const SWEPT_AT_ONCE: usize = 8;
const MICROS_A_SECOND: u64 = 1_000_000;
const MICROS_A_MILLISECOND: u64 = 1_000;
const MINUTE_MICROS: u64 = 60 * MICROS_A_SECOND;
const DAY_MINUTES: u64 = 24 * 60;
/// The time for which calls of a day are kept: no local day is longer.
const DAY_KEPT: u64 = 2 * DAY_MINUTES * MINUTE_MICROS;

/// The limits, and the calls that were taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RollingRates {
    pub(crate) limits: UndoMap<RateScope, RollingRate>,
    pub(crate) taken: UndoMap<RateScope, AdmittedCalls>,
    /// Scopes by the time from which on their calls say nothing.
    leaving: UndoMap<(Micros, RateScope), ()>,
}

/// Calls of one scope that were taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AdmittedCalls {
    /// The latest, as many as a window looks at; the earliest first.
    times: Vec<Micros>,
    /// The day of the last one, by the clocks of the limit's zone, and the calls on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    day: Option<(u64, u32)>,
    /// The time from which on they say nothing, in microseconds.
    leaves: u64,
}

impl RollingRates {
    pub(crate) fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// Refuses a limit that there is no room for.
    pub(crate) fn check(&self, configured: &RateConfigured) -> Result<(), RateError> {
        let is_new = configured.rolling.is_some() && self.limits.get(&configured.scope).is_none();
        if is_new && self.limits.len() >= MAX_RATE_LIMITS { Err(RateError::TooMany) } else { Ok(()) }
    }

    /// Folds `rate.configured`. The calls of the scope are counted anew.
    pub(crate) fn apply_configured(&mut self, configured: &RateConfigured) {
        let scope = &configured.scope;
        let touched =
            |key: &RateScope| key.by == scope.by && (scope.name.is_none() || key.name == scope.name);
        let keys: Vec<_> =
            self.taken.iter().filter(|(key, _)| touched(key)).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.forget(key));
        match &configured.rolling {
            Some(rolling) => self.limits.insert(scope.clone(), rolling.clone()),
            None => self.limits.remove(scope),
        }
    }

    /// Returns the time zones whose days a call counts in.
    pub(crate) fn zones<'s>(&'s self, question: &RateQuestion<'_>) -> impl Iterator<Item = ZoneName> + 's {
        let counted = if self.is_empty() { Vec::new() } else { self.counted(question) };
        counted.into_iter().filter_map(|(_, limit)| limit.day.as_ref().map(DayLimit::zone))
    }

    /// Returns the longest wait before a call may be taken, in milliseconds, and whose limit it is; `None` where it may be now.
    pub(crate) fn wait(
        &self,
        question: &RateQuestion<'_>,
        local: Option<&LocalTimes>,
        time: Micros,
    ) -> Result<Option<(u64, RateBy)>, RateRefusal> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut longest: Option<(u64, RateBy)> = None;
        let mut new = 0;
        for (key, limit) in self.counted(question) {
            let taken = self.taken.get(&key);
            new += usize::from(taken.is_none());
            if let Some(wait) = wait(limit, taken, local, time)
                && longest.is_none_or(|(longest, _)| wait > longest)
            {
                longest = Some((wait, key.by));
            }
        }
        let leaving = self.leaving.iter().take_while(|((end, _), ())| *end <= time).take(new).count();
        let is_full = self.taken.len() + new > MAX_RATE_BUCKETS + leaving;
        if longest.is_none() && is_full { Err(RateRefusal::Full) } else { Ok(longest) }
    }

    /// Folds a call that was taken, with the local times that its decision records.
    pub(crate) fn apply_taken(
        &mut self,
        question: &RateQuestion<'_>,
        local: Option<&LocalTimes>,
        time: Micros,
    ) {
        if self.is_empty() {
            return;
        }
        let over = self.leaving.iter().take_while(|((end, _), ())| *end <= time).take(SWEPT_AT_ONCE);
        let over: Vec<_> = over.map(|((_, key), ())| key.clone()).collect();
        over.iter().for_each(|key| self.forget(key));
        let counted: Vec<_> =
            self.counted(question).into_iter().map(|(key, limit)| (key, limit.clone())).collect();
        for (key, limit) in counted {
            let mut taken = self.taken.get(&key).cloned().unwrap_or_default();
            self.forget(&key);
            taken.take(&limit, local, time);
            if self.taken.len() < MAX_RATE_BUCKETS {
                self.leaving.insert((Micros(taken.leaves), key.clone()), ());
                self.taken.insert(key, taken);
            }
        }
    }

    /// Returns the limits that a call counts in.
    fn counted(&self, question: &RateQuestion<'_>) -> Vec<(RateScope, &RollingRate)> {
        let limited = |key: RateScope| {
            let each = RateScope { by: key.by, name: None };
            let limit = self.limits.get(&key).or_else(|| self.limits.get(&each))?;
            Some((key, limit))
        };
        question.scopes().into_iter().filter_map(limited).collect()
    }

    fn forget(&mut self, key: &RateScope) {
        if let Some((key, taken)) = self.taken.take(key) {
            self.leaving.remove(&(Micros(taken.leaves), key));
        }
    }

    pub(crate) fn pause(&mut self) {
        self.limits.pause();
        self.taken.pause();
        self.leaving.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.limits.resume();
        self.taken.resume();
        self.leaving.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.limits.keep();
        self.taken.keep();
        self.leaving.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.limits.discard();
        self.taken.discard();
        self.leaving.discard();
    }
}

impl AdmittedCalls {
    fn take(&mut self, limit: &RollingRate, local: Option<&LocalTimes>, time: Micros) {
        let windows = limit.windows.as_deref().unwrap_or_default();
        // One at least, for the calls to be apart from it.
        let most = windows.iter().map(|window| window.calls.get()).max().unwrap_or(1).max(1);
        self.times.push(time);
        let surplus = self.times.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        self.times.drain(..surplus);
        if let Some(day) = limit.day.as_ref().and_then(|day| day_of(day, local)) {
            let before = self.day.filter(|(last, _)| *last == day).map_or(0, |(_, calls)| calls);
            self.day = Some((day, before.saturating_add(1)));
        }
        let of_windows = windows.iter().map(|window| micros(window.period_s.get()));
        let apart = limit.apart_s.map(|apart| micros(apart.get()));
        let kept = of_windows.chain(apart).chain(limit.day.as_ref().map(|_| DAY_KEPT)).max().unwrap_or(0);
        self.leaves = time.0.saturating_add(kept);
    }
}

/// Returns the milliseconds before the next call may be taken; `None` where it may be now.
fn wait(
    limit: &RollingRate,
    taken: Option<&AdmittedCalls>,
    local: Option<&LocalTimes>,
    time: Micros,
) -> Option<u64> {
    let times = taken.map(|taken| taken.times.as_slice()).unwrap_or_default();
    // The time left until the call this many back is long enough ago.
    let until = |back: usize, seconds: u32| {
        let at = times.len().checked_sub(back).and_then(|at| times.get(at))?;
        at.0.saturating_add(micros(seconds)).checked_sub(time.0).filter(|left| *left > 0)
    };
    let windows = limit.windows.as_deref().unwrap_or_default().iter();
    let of_windows = windows.filter_map(|window| {
        until(usize::try_from(window.calls.get()).unwrap_or(usize::MAX), window.period_s.get())
    });
    let apart = limit.apart_s.and_then(|apart| until(1, apart.get()));
    let longest = of_windows.chain(apart).max().map(|micros| micros.div_ceil(MICROS_A_MILLISECOND));
    let of_day = limit.day.as_ref().and_then(|day| wait_of_day(day, taken, local, time));
    longest.max(of_day)
}

/// Returns the milliseconds until clocks of the zone show the next day, if they go on as they do, where its calls are all taken. Of a zone
/// that nobody knows no day ends.
fn wait_of_day(
    limit: &DayLimit,
    taken: Option<&AdmittedCalls>,
    local: Option<&LocalTimes>,
    time: Micros,
) -> Option<u64> {
    let Some(shown) = local.and_then(|local| local.in_zone(&limit.zone())) else {
        return Some(MAX_RATE_PERIOD_MS);
    };
    let (day, calls) = taken.and_then(|taken| taken.day)?;
    if day != shown.local.day() || calls < limit.calls.get() {
        return None;
    }
    let left = DAY_MINUTES - shown.local.minutes() % DAY_MINUTES;
    let left = (left * MINUTE_MICROS).saturating_sub(time.0 % MINUTE_MICROS);
    Some(left.div_ceil(MICROS_A_MILLISECOND).max(1))
}

fn day_of(limit: &DayLimit, local: Option<&LocalTimes>) -> Option<u64> {
    local.and_then(|local| local.in_zone(&limit.zone())).map(|shown| shown.local.day())
}

fn micros(seconds: u32) -> u64 {
    u64::from(seconds) * MICROS_A_SECOND
}

//! The meter of one budget: its spending by days, and its reservations.

use bitacora_formats::Micros;
use bitacora_vocabulary::BudgetPeriod;
use serde::{Deserialize, Serialize};

use crate::budgets::spend::Spend;
use crate::trust::new_dimensions::{DAY, day_of};

/// The spending of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meter {
    /// The spending by UTC days from 1970 on, the earliest first; as many as the period has. A run or a session has all in one day.
    days: Vec<(u64, Spend)>,
    /// The reservations for calls that have no outcome.
    pub(crate) reserved: Spend,
    /// Set when it was told that it is spent, and nothing has fitted in since.
    pub(crate) is_told: bool,
    /// The time of the last charge or reservation.
    pub(crate) last: Micros,
    /// The beginning of a run's or a session's window; `None` for windows from before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<WindowStart>,
}

/// The beginning of a run's or a session's window, with its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowStart {
    pub(crate) agent: String,
    /// The time at which the next sweep checks whether it may leave.
    pub(crate) looked_at: Micros,
    /// Set when the agent told the end of the run.
    pub(crate) is_ended: bool,
}

impl Default for Meter {
    fn default() -> Self {
        Self { days: Vec::new(), reserved: Spend::default(), is_told: false, last: Micros(0), begun: None }
    }
}

/// Days that a period has; `None` where each run or session has it anew.
pub(crate) const fn days_of(period: BudgetPeriod) -> Option<u64> {
    match period {
        BudgetPeriod::Run | BudgetPeriod::Session => None,
        BudgetPeriod::Day => Some(1),
        BudgetPeriod::SevenDays => Some(7),
        BudgetPeriod::ThirtyDays => Some(30),
    }
}

impl Meter {
    /// Returns the spending that still counts at this time.
    pub(crate) fn spent(&self, period: BudgetPeriod, time: Micros) -> Spend {
        self.counted(period, time).map(|(_, spent)| *spent).fold(Spend::default(), Spend::and)
    }

    /// Returns the same meter without the beginning.
    pub(crate) fn without_who(&self) -> Self {
        Self { begun: None, ..self.clone() }
    }

    /// Returns the same with the reservations.
    pub(crate) fn held(&self, period: BudgetPeriod, time: Micros) -> Spend {
        self.spent(period, time).and(self.reserved)
    }

    /// Returns the time at which the first of the spending counts no more.
    pub(crate) fn resets(&self, period: BudgetPeriod, time: Micros) -> Option<Micros> {
        let days = days_of(period)?;
        let (first, _) = self.counted(period, time).next()?;
        Some(Micros(first.saturating_add(days).saturating_mul(DAY)))
    }

    pub(crate) fn spend(&mut self, period: BudgetPeriod, amounts: Spend, time: Micros) {
        let Some(days) = days_of(period) else {
            match self.days.first_mut() {
                Some((_, spent)) => *spent = spent.and(amounts),
                None => self.days.push((0, amounts)),
            }
            return;
        };
        let today = day_of(time);
        // The clock was set back, and somebody accepted that: what was spent by then is spent by now.
        let later: Spend = self
            .days
            .iter()
            .filter(|(day, _)| *day >= today)
            .map(|(_, spent)| *spent)
            .fold(amounts, Spend::and);
        self.days.retain(|(day, _)| *day < today && day.saturating_add(days) > today);
        self.days.push((today, later));
    }

    fn counted(&self, period: BudgetPeriod, time: Micros) -> impl Iterator<Item = &(u64, Spend)> {
        let today = day_of(time);
        let days = days_of(period);
        self.days.iter().filter(move |(day, _)| days.is_none_or(|days| day.saturating_add(days) > today))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: u64 = 20_779;

    fn calls(calls: u64) -> Spend {
        Spend { calls, ..Spend::default() }
    }

    fn on(day: u64) -> Micros {
        Micros(day * DAY + 3_600_000_000)
    }

    #[test]
    fn today_is_the_last_of_the_days_that_count() {
        for (period, days) in
            [(BudgetPeriod::Day, 1), (BudgetPeriod::SevenDays, 7), (BudgetPeriod::ThirtyDays, 30)]
        {
            let mut meter = Meter::default();
            for day in 0..100 {
                meter.spend(period, calls(1), on(TODAY + day));
                assert_eq!(meter.spent(period, on(TODAY + day)), calls(days.min(day + 1)), "{period:?}");
                assert!(meter.days.len() as u64 <= days);
            }
            let last = TODAY + 99;
            assert_eq!(meter.resets(period, on(last)), Some(Micros((last + 1) * DAY)));
            assert_eq!(meter.spent(period, Micros((last + 1) * DAY - 1)), calls(days));
            assert_eq!(meter.spent(period, Micros((last + 1) * DAY)), calls(days - 1));
            assert_eq!(meter.spent(period, on(last + days)), Spend::default());
            assert_eq!(meter.resets(period, on(last + days)), None);
        }
    }

    #[test]
    fn a_run_keeps_what_it_spent_for_as_long_as_it_is_known() {
        let mut meter = Meter::default();
        meter.spend(BudgetPeriod::Run, calls(1), on(TODAY));
        meter.spend(BudgetPeriod::Run, calls(2), on(TODAY + 400));
        assert_eq!(meter.spent(BudgetPeriod::Run, on(TODAY + 800)), calls(3));
        assert_eq!(meter.resets(BudgetPeriod::Run, on(TODAY)), None);
        assert_eq!(meter.days.len(), 1);
    }

    #[test]
    fn what_was_spent_by_a_clock_that_was_ahead_counts_and_leaves_with_its_day() {
        let mut meter = Meter::default();
        meter.spend(BudgetPeriod::SevenDays, calls(1), on(TODAY + 40_000));
        assert_eq!(meter.spent(BudgetPeriod::SevenDays, on(TODAY)), calls(1));
        meter.spend(BudgetPeriod::SevenDays, calls(1), on(TODAY));
        assert_eq!(meter.spent(BudgetPeriod::SevenDays, on(TODAY)), calls(2));
        assert_eq!(meter.spent(BudgetPeriod::SevenDays, on(TODAY + 7)), Spend::default());
    }
}

//! Spending in five units, and the facts by which a budget counts it.

use bitacora_vocabulary::{
    BudgetConfigured, BudgetCount, BudgetPeriod, BudgetScope, Count, MicroUsd, Milliseconds, SpendLimits,
    TokenCounts, Tokens,
};
use serde::{Deserialize, Serialize};

use crate::version::is_isolated;

/// An amount in every unit. Sums stop at the greatest number, which is past every limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Money, micro-USD.
    pub cost_micro_usd: u64,
    /// Tokens of models: read and written, from caches and to them too.
    pub tokens: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Steps of runs.
    pub steps: u64,
    /// Time that was taken, milliseconds.
    pub duration_ms: u64,
}

/// The facts about a spender. A budget for a value counts nothing whose value is unknown. Exceptions are the model and the kind of
/// task of a call, which its caller may leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetQuestion<'a> {
    /// The agent.
    pub agent: Option<&'a str>,
    /// The role of the caller.
    pub role: Option<&'a str>,
    /// The tool, with its server.
    pub tool: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The kind of task.
    pub task_type: Option<&'a str>,
    /// The session.
    pub session: Option<&'a str>,
    /// The run.
    pub run: Option<&'a str>,
    /// The project.
    pub workspace: Option<&'a str>,
    /// The version of the rules by which it is counted.
    pub rules: u32,
    /// `true` for a call: if it names no model or task type, it counts in the budgets for any.
    pub is_call: bool,
    /// The budget that the run has of its own.
    pub own: Option<&'a BudgetConfigured>,
}

impl BudgetQuestion<'_> {
    /// Returns `true` if a budget of this scope counts it.
    #[must_use]
    pub fn is_in(&self, scope: &BudgetScope) -> bool {
        let pairs = [
            (&scope.agent, self.agent),
            (&scope.tool, self.tool),
            (&scope.role, self.role),
            (&scope.session, self.session),
            (&scope.run, self.run),
        ];
        let is_of_project =
            scope.workspace.as_ref().is_none_or(|meant| Some(meant.as_str()) == self.workspace);
        let left_out = [(&scope.model, self.model), (&scope.task_type, self.task_type)];
        is_of_project
            && pairs
                .into_iter()
                .all(|(meant, is)| meant.as_ref().is_none_or(|meant| Some(meant.as_str()) == is))
            && left_out.into_iter().all(|(meant, is)| match (meant, is) {
                (None, _) => true,
                (Some(_), None) => self.is_call,
                (Some(meant), Some(is)) => meant.as_str() == is,
            })
    }
}

impl<'a> BudgetQuestion<'a> {
    /// Returns the agent that has a budget for itself; `None` where it is spent together.
    pub(crate) fn counted_for(&self, budget: &BudgetConfigured) -> Option<&'a str> {
        let is_of_names = matches!(budget.period, BudgetPeriod::Run | BudgetPeriod::Session);
        let is_own = is_of_names || budget.counted == BudgetCount::EachAgent;
        self.agent.filter(|_| is_own && is_isolated(self.rules))
    }
}

impl Spend {
    /// Returns the sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            cost_micro_usd: self.cost_micro_usd.saturating_add(other.cost_micro_usd),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            steps: self.steps.saturating_add(other.steps),
            duration_ms: self.duration_ms.saturating_add(other.duration_ms),
        }
    }

    /// Returns the difference to the other one, at least 0.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self {
            cost_micro_usd: self.cost_micro_usd.saturating_sub(other.cost_micro_usd),
            tokens: self.tokens.saturating_sub(other.tokens),
            calls: self.calls.saturating_sub(other.calls),
            steps: self.steps.saturating_sub(other.steps),
            duration_ms: self.duration_ms.saturating_sub(other.duration_ms),
        }
    }

    /// Returns `true` if these limits leave nothing in some unit, or less than the amount that is asked for besides. A sum that
    /// overflows is past them.
    pub(crate) fn exhausts(self, limits: &SpendLimits, asked: Self) -> bool {
        let past = |limit: u64, held: u64, asked: u64| {
            held >= limit || held.checked_add(asked).is_none_or(|sum| sum > limit)
        };
        limits.cost_micro_usd.is_some_and(|most| past(most.get(), self.cost_micro_usd, asked.cost_micro_usd))
            || limits.tokens.is_some_and(|most| past(most.get(), self.tokens, asked.tokens))
            || limits.calls.is_some_and(|most| past(most.get(), self.calls, asked.calls))
            || limits.steps.is_some_and(|most| past(most.get(), self.steps, asked.steps))
            || limits.duration_ms.is_some_and(|most| past(most.get(), self.duration_ms, asked.duration_ms))
    }

    /// Returns it as events tell it: without empty units, and with no more than an event can say.
    #[must_use]
    pub fn to_limits(self) -> SpendLimits {
        SpendLimits {
            cost_micro_usd: some(self.cost_micro_usd)
                .map(|found| MicroUsd::new(found).unwrap_or(MicroUsd::MAX)),
            tokens: some(self.tokens).map(|found| Tokens::new(found).unwrap_or(Tokens::MAX)),
            calls: some(self.calls).map(|found| Count::new(found).unwrap_or(Count::MAX)),
            steps: some(self.steps).map(|found| Count::new(found).unwrap_or(Count::MAX)),
            duration_ms: some(self.duration_ms)
                .map(|found| Milliseconds::new(found).unwrap_or(Milliseconds::MAX)),
        }
    }

    /// Returns the rest up to the limits, in the units that are limited.
    #[must_use]
    pub fn left_to(self, limits: &SpendLimits) -> SpendLimits {
        let left = |limit: u64, held: u64| limit.saturating_sub(held);
        SpendLimits {
            cost_micro_usd: limits
                .cost_micro_usd
                .and_then(|most| MicroUsd::new(left(most.get(), self.cost_micro_usd)).ok()),
            tokens: limits.tokens.and_then(|most| Tokens::new(left(most.get(), self.tokens)).ok()),
            calls: limits.calls.and_then(|most| Count::new(left(most.get(), self.calls)).ok()),
            steps: limits.steps.and_then(|most| Count::new(left(most.get(), self.steps)).ok()),
            duration_ms: limits
                .duration_ms
                .and_then(|most| Milliseconds::new(left(most.get(), self.duration_ms)).ok()),
        }
    }
}

impl From<&SpendLimits> for Spend {
    fn from(told: &SpendLimits) -> Self {
        Self {
            cost_micro_usd: told.cost_micro_usd.map_or(0, MicroUsd::get),
            tokens: told.tokens.map_or(0, Tokens::get),
            calls: told.calls.map_or(0, Count::get),
            steps: told.steps.map_or(0, Count::get),
            duration_ms: told.duration_ms.map_or(0, Milliseconds::get),
        }
    }
}

/// Returns all tokens of a call or an answer.
pub(crate) fn all_tokens(counts: &TokenCounts) -> u64 {
    let TokenCounts { input, output, cache_read, cache_write } = *counts;
    let counts = [input, output, cache_read, cache_write].into_iter().flatten();
    counts.fold(0, |sum: u64, tokens| sum.saturating_add(tokens.get()))
}

fn some(found: u64) -> Option<u64> {
    Some(found).filter(|found| *found > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: fn(u64) -> Spend = |cost_micro_usd| Spend { cost_micro_usd, ..Spend::default() };

    fn dollars(limit: u64) -> SpendLimits {
        SpendLimits { cost_micro_usd: Some(MicroUsd::new(limit).unwrap()), ..SpendLimits::default() }
    }

    #[test]
    fn what_fits_to_the_last_unit_passes_and_nothing_does_after_it() {
        for (held, asked, limit, expected) in [
            (0, 10, 10, false),
            (0, 11, 10, true),
            (9, 0, 10, false),
            (10, 0, 10, true),
            (11, 0, 10, true),
            (0, 0, 0, true),
            (1, u64::MAX, 10, true),
            (u64::MAX, 1, 1_000_000_000_000, true),
        ] {
            assert_eq!(COST(held).exhausts(&dollars(limit), COST(asked)), expected, "{held} {asked} {limit}");
        }
        assert!(!COST(u64::MAX).exhausts(&SpendLimits::default(), COST(u64::MAX)), "nothing is limited");
    }

    #[test]
    fn every_unit_has_its_own_limit() {
        let full = Spend { cost_micro_usd: 5, tokens: 5, calls: 5, steps: 5, duration_ms: 5 };
        let limits = full.to_limits();
        for unit in 0..5 {
            let mut json = serde_json::to_value(limits).unwrap();
            let members = json.as_object_mut().unwrap();
            let name = members.keys().nth(unit).unwrap().clone();
            members.retain(|member, _| *member == name);
            let one: SpendLimits = serde_json::from_value(json).unwrap();
            assert!(full.exhausts(&one, Spend::default()), "{name}");
            assert!(!full.without(full).exhausts(&one, full), "{name}");
            assert_eq!(Spend::from(&full.left_to(&one)), Spend::default());
        }
    }

    #[test]
    fn sums_stop_at_the_greatest_number_and_events_tell_what_they_can() {
        let most = COST(u64::MAX);
        assert_eq!(most.and(COST(7)), most);
        assert_eq!(most.to_limits().cost_micro_usd, Some(MicroUsd::MAX));
        assert_eq!(COST(3).without(COST(7)), Spend::default());
        let all = Some(Tokens::MAX);
        let counts = TokenCounts { input: all, output: all, cache_read: all, cache_write: all };
        assert_eq!(all_tokens(&counts), 4_000_000_000_000);
    }
}

//! Metrics of governing: decisions and latencies since the service began, and the state that decides as it is now.

use std::fmt;
use std::sync::Arc;

use bitacora_formats::{LedgerName, Micros};
use bitacora_governance::{Spend, State};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    BreakerCondition, BudgetConfigured, BudgetPeriod, Count, MicroUsd, Milliseconds, Mode, SpendLimits,
    Tokens,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::collections::MetricsScope;
use super::tallies::{LedgerTallies, LedgerTally};
use super::{FloatGauges, Gauges, LedgerLabel, gauge_value};
use crate::ledgers::Ledgers;
use crate::ledgers::slot::Slot;

/// Budgets of days of a ledger that are looked at, in the order of their names.
const MAX_BUDGET_SERIES: usize = 100;
/// Microseconds of a day.
const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;

/// The labels of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabel {
    ledger: String,
    mode: &'static str,
    verdict: &'static str,
    reason: String,
}

/// The labels of events that the reactor derived.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DerivedLabel {
    ledger: String,
    r#type: String,
}

/// The labels of circuit breakers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BreakerLabel {
    ledger: String,
    condition: &'static str,
}

/// The labels of budgets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BudgetLabel {
    ledger: String,
    budget: String,
}

/// Adds the metrics of ledgers that are open and governed.
pub(super) fn register_governing(
    registry: &mut Registry,
    (ledgers, scope): (&Ledgers, &MetricsScope),
    tallies: &LedgerTallies,
) {
    let slots = ledgers.all();
    let shown = slots.iter().filter(|(name, _)| scope.has(name));
    let open: Vec<_> = shown.filter_map(|(name, slot)| governed(name, slot)).collect();
    let counted: Vec<_> =
        open.iter().map(|(label, ledger)| (label.clone(), tallies.of(ledger.ledger().id()))).collect();
    register_tallies(registry, &counted);
    let states = open.iter().filter_map(|(label, ledger)| {
        let state = ledger.ledger().governance()?.copy();
        Some((label, state, ledgers.time_in(ledger.ledger())))
    });
    let mut gauges = StateGauges::default();
    for (label, copy, now) in states {
        gauges.set(label, &copy.state, now);
    }
    gauges.register(registry);
    register_spending(registry, &open, ledgers);
}

fn governed<'s>(name: &LedgerName, slot: &'s Slot) -> Option<(LedgerLabel, &'s IndexedLedger)> {
    let Slot::Open(ledger) = slot else { return None };
    ledger.ledger().governance()?;
    Some((LedgerLabel { ledger: name.to_string() }, ledger))
}

fn register_tallies(registry: &mut Registry, counted: &[(LedgerLabel, Arc<LedgerTally>)]) {
    let decisions = Family::<DecisionLabel, Counter>::default();
    let derived = Family::<DerivedLabel, Counter>::default();
    let denials = Family::<LedgerLabel, Counter>::default();
    for (label, tally) in counted {
        let LedgerLabel { ledger } = label;
        denials.get_or_create(label).inc_by(tally.denials());
        for (kind, count) in tally.decisions() {
            let mode = match kind.mode {
                Mode::Observe => "observe",
                Mode::Enforce => "enforce",
            };
            let (verdict, reason) = (kind.verdict.as_str(), kind.reason.as_str());
            let label = DecisionLabel { ledger: ledger.clone(), mode, verdict, reason };
            decisions.get_or_create(&label).inc_by(count);
        }
        for (r#type, count) in tally.derived() {
            derived.get_or_create(&DerivedLabel { ledger: ledger.clone(), r#type }).inc_by(count);
        }
    }
    registry.register("decisions", "Decisions about calls, by mode, verdict and reason", decisions);
    registry.register("denials", "Enforced decisions that denied a call; 0 from the start on", denials);
    registry.register("derived_events", "Events that governing derived, by type", derived);
    let latencies = |read: fn(&LedgerTally) -> &Histogram| -> Vec<_> {
        counted.iter().map(|(label, tally)| (label.clone(), read(tally).clone())).collect()
    };
    registry.register_collector(Box::new(Latencies {
        name: "decision_duration",
        help: "Time from a request for a decision, read whole, to its durable record",
        of: latencies(|tally| &tally.decision_latency),
    }));
    registry.register_collector(Box::new(Latencies {
        name: "append_duration",
        help: "Time from a request to append, read whole, to its durable record",
        of: latencies(|tally| &tally.append_latency),
    }));
}

/// Histograms of one metric that go on beyond this answer.
struct Latencies {
    name: &'static str,
    help: &'static str,
    of: Vec<(LedgerLabel, Histogram)>,
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collector for Latencies {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        let mut metric = encoder.encode_descriptor(self.name, self.help, unit, MetricType::Histogram)?;
        self.of.iter().try_for_each(|(label, histogram)| histogram.encode(metric.encode_family(label)?))
    }
}

/// Gauges of the state that decides.
#[derive(Default)]
struct StateGauges {
    open_calls: Gauges,
    approvals: Gauges,
    oldest_approval: FloatGauges<LedgerLabel>,
    breakers: Family<BreakerLabel, Gauge>,
    panic: Gauges,
    suspended: Gauges,
    budgets_exhausted: Gauges,
    budget_used: FloatGauges<BudgetLabel>,
}

impl StateGauges {
    fn set(&mut self, label: &LedgerLabel, state: &State, now: Micros) {
        let set = |gauges: &Gauges, value: usize| gauges.get_or_create(label).set(gauge_value(value as u64));
        set(&self.open_calls, state.open_calls());
        let pending = state.pending_approvals(now, 0);
        set(&self.approvals, pending.len());
        let oldest = pending.first().map_or(0, |approval| now.0.saturating_sub(approval.asked.0));
        self.oldest_approval.get_or_create(label).set(seconds(oldest));
        set(&self.panic, usize::from(state.all_stops().panic.is_some()));
        set(&self.suspended, state.all_stops().suspended.len());
        let (mut open, mut half_open) = (0, 0);
        for (_, breaker) in state.breakers_after(None) {
            match breaker.condition() {
                BreakerCondition::Closed => (),
                BreakerCondition::Open => open += 1,
                BreakerCondition::HalfOpen => half_open += 1,
            }
        }
        for (condition, count) in [("open", open), ("half_open", half_open)] {
            let label = BreakerLabel { ledger: label.ledger.clone(), condition };
            self.breakers.get_or_create(&label).set(count);
        }
        self.set_budgets(label, state, now);
    }

    fn set_budgets(&mut self, label: &LedgerLabel, state: &State, now: Micros) {
        let budgets = state.all_budgets();
        let mut exhausted = 0;
        // A run or a session that has used up its own budget is at its end, and nobody is woken for it.
        let of_days =
            |budget: &&BudgetConfigured| !matches!(budget.period, BudgetPeriod::Run | BudgetPeriod::Session);
        for budget in budgets.configured(None).filter(of_days).take(MAX_BUDGET_SERIES) {
            let mut used: f64 = 0.0;
            let mut is_exhausted = false;
            for standing in budgets.standing(budget, now) {
                used = used.max(ratio_to(standing.spent.and(standing.reserved), &budget.limits));
                is_exhausted |= standing.is_exhausted();
            }
            exhausted += u64::from(is_exhausted);
            let label = BudgetLabel { ledger: label.ledger.clone(), budget: budget.budget.to_string() };
            self.budget_used.get_or_create(&label).set(used);
        }
        self.budgets_exhausted.get_or_create(label).set(gauge_value(exhausted));
    }

    fn register(self, registry: &mut Registry) {
        registry.register("open_calls", "Allowed calls without an outcome", self.open_calls);
        registry.register("approvals_waiting", "Approvals that wait for a person", self.approvals);
        registry.register_with_unit(
            "oldest_approval_age",
            "For how long the oldest of them has waited",
            Unit::Seconds,
            self.oldest_approval,
        );
        registry.register("breakers", "Circuit breakers that are not closed, by condition", self.breakers);
        registry.register("panic_engaged", "1 while an operator has stopped all agents", self.panic);
        registry.register("agents_suspended", "Agents that an operator suspended", self.suspended);
        registry.register(
            "budgets_exhausted",
            "Budgets of days with nothing left, for all or for some agent",
            self.budgets_exhausted,
        );
        registry.register(
            "budget_used_ratio",
            "Spent and reserved part of a budget of days, of the unit that is nearest to its end",
            self.budget_used,
        );
    }
}

/// Registers the spending of the present day, as far as read models answer.
fn register_spending(registry: &mut Registry, open: &[(LedgerLabel, &IndexedLedger)], ledgers: &Ledgers) {
    let (cost, tokens) = (FloatGauges::<LedgerLabel>::default(), FloatGauges::<LedgerLabel>::default());
    for (label, ledger) in open {
        let today = ledgers.time_in(ledger.ledger()).0 / DAY_US;
        let Some(Ok(spent)) = ledger.read_models().map(|models| models.spent_since(today)) else { continue };
        cost.get_or_create(label).set(as_f64(spent.cost_micro_usd) / 1e6);
        let all = spent.tokens;
        let read = all.read.saturating_add(all.cache_read);
        let sum = read.saturating_add(all.written).saturating_add(all.cache_write);
        tokens.get_or_create(label).set(as_f64(sum));
    }
    registry.register(
        "day_cost_usd",
        "Cost of models and tools on the present day, UTC, as far as it was told",
        cost,
    );
    registry.register("day_tokens", "Tokens of models on the present day, UTC", tokens);
}

/// Returns the part of the limit that is nearest to its end: 1 where it is used up. Nothing is left of a limit of nothing; without limits it
/// is 0.
fn ratio_to(held: Spend, limits: &SpendLimits) -> f64 {
    let units = [
        (limits.cost_micro_usd.map(MicroUsd::get), held.cost_micro_usd),
        (limits.tokens.map(Tokens::get), held.tokens),
        (limits.calls.map(Count::get), held.calls),
        (limits.steps.map(Count::get), held.steps),
        (limits.duration_ms.map(Milliseconds::get), held.duration_ms),
    ];
    let ratio = |held: u64, limit: u64| match limit {
        0 => 1.0,
        _ => as_f64(held.into()) / as_f64(limit.into()),
    };
    let ratios = units.into_iter().filter_map(|(limit, held)| Some(ratio(held, limit?)));
    ratios.fold(0.0, f64::max)
}

fn seconds(micros: u64) -> f64 {
    as_f64(micros.into()) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
fn as_f64(number: u128) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_that_is_nearest_to_its_end_gives_the_ratio() {
        let limits =
            Spend { cost_micro_usd: 10, tokens: 100, calls: 4, steps: 8, duration_ms: 16 }.to_limits();
        let held = Spend { cost_micro_usd: 5, tokens: 10, calls: 3, steps: 1, duration_ms: 1 };
        let none = SpendLimits { calls: Some(Count::new(0).unwrap()), ..SpendLimits::default() };
        for (held, limits, expected) in [
            (held, limits, 0.75),
            (held.and(held), limits, 1.5),
            (held, SpendLimits::default(), 0.0),
            (Spend::default(), none, 1.0),
        ] {
            assert!((ratio_to(held, &limits) - expected).abs() < 1e-9, "{held:?} of {limits:?}");
        }
    }
}

//! Random histories of one budget against a model that adds up the told amounts, and nothing else.

use std::collections::BTreeMap;

use bitacora_formats::Micros;
use bitacora_governance::{ReactorState, State};
use bitacora_testkit::SeededRng;
use bitacora_vocabulary::{BudgetCharged, Charge, Verdict};
use serde_json::json;

use crate::desk::{TestGovernance, data, decision, governed};

const DAY_S: u64 = 24 * 3_600;

/// The calls asked for, their amounts, and their days.
#[derive(Default)]
struct Model {
    /// Calls without an outcome: the estimate, and the time at which the desk forgets it.
    open: BTreeMap<String, (u64, u64)>,
    /// The spending by day.
    spent: BTreeMap<u64, u64>,
}

impl Model {
    fn spent(&self, now: u64, days: u64) -> u64 {
        let today = now / DAY_S / 1_000_000;
        self.spent.iter().filter(|(day, _)| **day + days > today).map(|(_, cost)| cost).sum()
    }

    fn reserved(&self) -> u64 {
        self.open.values().map(|(estimate, _)| estimate).sum()
    }
}

fn held(state: &State, now: u64) -> (u64, u64) {
    let budgets = state.all_budgets();
    let budget = budgets.get("b").unwrap();
    let standing = budgets.standing(budget, Micros(now)).next().unwrap();
    (standing.spent.cost_micro_usd, standing.reserved.cost_micro_usd)
}

fn configure(desk: &mut TestGovernance, limit: u64) {
    desk.act(
        "budget.configured",
        json!({"budget": "b", "scope": {}, "limits": {"cost_micro_usd": limit}, "period": "seven_days",
               "on_exceed": "deny"}),
    )
    .unwrap();
}

fn history(seed: u64) -> (u64, u64) {
    let (mut desk, mut numbers, mut model) = (governed(), SeededRng::new(seed), Model::default());
    desk.earn("fs.write", "src");
    let mut limit = 5_000;
    configure(&mut desk, limit);
    let (mut allowed, mut denied) = (0, 0);
    for step in 0..250 {
        match numbers.below(12) {
            0..=4 => {
                let (call, estimate) = (format!("c{step}"), numbers.below(900));
                let request = json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{step}.rs")},
                                     "estimated_cost_micro_usd": estimate});
                let event = desk.event("tool.requested", "agent:111111111111", &request);
                let caused = desk.append(vec![event]).unwrap();
                let made = decision(&caused);
                let before = model.spent(desk.time, 7) + model.reserved();
                let fits = before < limit && before + estimate <= limit;
                assert_eq!(
                    made.verdict == Verdict::Allow,
                    fits,
                    "seed {seed}, step {step}: {before} of {limit}"
                );
                let reserved: Vec<BudgetCharged> =
                    caused.iter().filter(|event| event.kind == "budget.charged").map(data).collect();
                assert_eq!(reserved.len(), usize::from(fits));
                if fits {
                    model.open.insert(call, (estimate, made.deadline));
                    assert!(model.spent(desk.time, 7) + model.reserved() <= limit);
                }
                (allowed, denied) = (allowed + u64::from(fits), denied + u64::from(!fits));
            }
            5..=8 => {
                let which = numbers.below(model.open.len().max(1) as u64);
                let Some(call) = model.open.keys().nth(usize::try_from(which).unwrap()).cloned() else {
                    continue;
                };
                let (estimate, _) = model.open.remove(&call).unwrap();
                let (kind, mut outcome) = match numbers.below(4) {
                    0 => ("tool.blocked", json!({"call": call, "status": "blocked"})),
                    _ => ("tool.completed", json!({"call": call, "status": "ok"})),
                };
                let told = (numbers.below(2) == 0).then(|| numbers.below(2_000));
                told.iter().for_each(|cost| outcome["cost_micro_usd"] = json!(cost));
                // That it was blocked only the executor says: it stays counted as it was held back.
                let cost = told.filter(|_| kind == "tool.completed").unwrap_or(estimate);
                *model.spent.entry(desk.time / DAY_S / 1_000_000).or_default() += cost;
                let event = desk.event(kind, "agent:111111111111", &outcome);
                desk.append(vec![event]).unwrap();
            }
            9 => {
                limit = numbers.below(9_000);
                configure(&mut desk, limit);
            }
            10 => {
                // Ends by time are recorded as the scheduler does.
                desk.pass(numbers.below(2 * DAY_S));
                let now = desk.time;
                let over = desk.governance.read(|state| state.overdue_calls(Micros(now)));
                for (call, _) in over {
                    let timeout = json!({"call": call, "status": "timeout"});
                    let mut event = desk.event("tool.failed", "service:scheduler", &timeout);
                    event.source = "urn:bitacora:scheduler".into();
                    let caused = desk.append(vec![event]).unwrap();
                    let charges = [0, 1].map(|index| data::<BudgetCharged>(&caused[index]).charge);
                    assert_eq!(charges, [Charge::Settled, Charge::Released]);
                    model.open.remove(call.as_str());
                }
                assert!(model.open.values().all(|(_, deadline)| *deadline > now));
                // Failures stop the tool otherwise.
                desk.earn("fs.write", "src");
                let mended = json!({"dimension": {"tool": "fs.write", "context": "src", "model": "-",
                                                  "task_type": "-", "workspace": "-"}, "reason": "mended"});
                desk.act("breaker.closed", mended).unwrap();
            }
            _ => {
                let cost = numbers.below(300);
                let called = json!({"model": "m", "provider": "p", "tokens": {}, "cost_micro_usd": cost,
                                    "status": "ok"});
                let event = desk.event("model.called", "agent:111111111111", &called);
                desk.append(vec![event]).unwrap();
                *model.spent.entry(desk.time / DAY_S / 1_000_000).or_default() += cost;
            }
        }
        let now = desk.time;
        let found = desk.governance.read(|state| held(state, now));
        assert_eq!(found, (model.spent(now, 7), model.reserved()), "seed {seed}, step {step}");
        assert!(desk.is_in_step(), "seed {seed}, step {step}");
    }
    let mut folded = State::default();
    for frame in &desk.log {
        folded.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
    }
    assert!(desk.staged_is(&folded), "seed {seed}: a replay is what was live");
    (allowed, denied)
}

#[test]
fn what_is_spent_and_reserved_is_what_a_simple_sum_says_and_never_past_the_limit_by_a_call() {
    let (allowed, denied) =
        (0..30).map(history).fold((0, 0), |(one, other), found| (one + found.0, other + found.1));
    assert!(allowed > 500 && denied > 300, "{allowed} {denied}");
}

//! Budgets: reservations, charges and returns, and the consequences where a budget is spent.

use bitacora_formats::Event;
use bitacora_governance::{BudgetQuestion, Spend};
use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, data, decision, governed, kinds, scope_of, tool, verdict};

const HOUR: u64 = 3_600;

/// A trusted tool that costs 100 micro-USD a call.
pub(crate) fn priced() -> TestGovernance {
    let mut desk = governed();
    let mut document = tool("fs.write");
    document["estimated_cost_micro_usd"] = json!(100);
    desk.act("tool.changed", document).unwrap();
    desk.earn("fs.write", "src");
    desk
}

pub(crate) fn budget(scope: Value, limits: Value, period: &str, on_exceed: &str) -> Value {
    json!({"budget": "b", "scope": scope, "limits": limits, "period": period, "on_exceed": on_exceed})
}

pub(crate) fn set(desk: &mut TestGovernance, limits: Value, period: &str, on_exceed: &str) {
    desk.act("budget.configured", budget(json!({}), limits, period, on_exceed)).unwrap();
}

pub(crate) fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

/// Asks as part of a session and a run.
pub(crate) fn ask_in(
    desk: &mut TestGovernance,
    call: &str,
    session: Option<&'static str>,
    run: Option<&'static str>,
) -> DecisionMade {
    decision(&caused_in(desk, call, session, run))
}

fn caused_in(
    desk: &mut TestGovernance,
    call: &str,
    session: Option<&'static str>,
    run: Option<&'static str>,
) -> Vec<Event<'static>> {
    let mut event = desk.event("tool.requested", "agent:111111111111", &request(call));
    (event.session, event.run) = (session.map(Into::into), run.map(Into::into));
    desk.append(vec![event]).unwrap()
}

pub(crate) fn ask(desk: &mut TestGovernance, call: &str) -> (Verdict, String) {
    verdict(&ask_in(desk, call, None, None))
}

pub(crate) fn end(
    desk: &mut TestGovernance,
    call: &str,
    kind: &'static str,
    outcome: Value,
) -> Vec<Event<'static>> {
    let mut body = outcome;
    body["call"] = json!(call);
    let event = desk.event(kind, "agent:111111111111", &body);
    desk.append(vec![event]).unwrap()
}

/// Returns the spending and the reservations of the budget `b`, in all its windows.
pub(crate) fn held(desk: &TestGovernance) -> (Spend, Spend) {
    let at = bitacora_formats::Micros(desk.time);
    desk.governance.read(|state| {
        let budgets = state.all_budgets();
        let standing = budgets.get("b").into_iter().flat_map(|budget| budgets.standing(budget, at));
        standing.fold(Default::default(), |(spent, reserved): (Spend, Spend), one| {
            (spent.and(one.spent), reserved.and(one.reserved))
        })
    })
}

pub(crate) fn cost(spend: Spend) -> u64 {
    spend.cost_micro_usd
}

#[test]
fn an_estimate_is_held_back_and_the_outcome_says_what_it_came_to() {
    let mut desk = priced();
    set(&mut desk, json!({"cost_micro_usd": 1_000}), "day", "deny");
    let caused = caused_in(&mut desk, "c1", None, None);
    assert_eq!(kinds(&caused), ["decision.made", "budget.charged"]);
    let charged: Value = data(&caused[1]);
    let amounts = json!({"cost_micro_usd": 100, "calls": 1});
    assert_eq!(charged, json!({"budget": "b", "call": "c1", "charge": "reserved", "amounts": amounts}));
    let own = json!({"call": "c2", "tool": "fs.write", "args": {"path": "src/a.rs"}, "estimated_cost_micro_usd": 300});
    desk.ask_with(own).unwrap();
    let (spent, reserved) = held(&desk);
    assert_eq!((spent, cost(reserved), reserved.calls), (Spend::default(), 400, 2));
    let tokens = json!({"in": 5, "out": 6, "cache_read": 7});
    let told = json!({"status": "ok", "cost_micro_usd": 70, "duration_ms": 40, "tokens": tokens});
    let caused = end(&mut desk, "c1", "tool.completed", told);
    assert_eq!(kinds(&caused), ["budget.charged", "trust.observed"]);
    assert_eq!(data::<Value>(&caused[0])["charge"], "settled");
    let (spent, reserved) = held(&desk);
    let one = Spend { cost_micro_usd: 70, tokens: 18, calls: 1, steps: 0, duration_ms: 40 };
    assert_eq!((spent, cost(reserved), reserved.calls), (one, 300, 1));
    // A cost that is not told is the estimate.
    end(&mut desk, "c2", "tool.failed", json!({"status": "error"}));
    let (spent, reserved) = held(&desk);
    assert_eq!((cost(spent), spent.calls, reserved), (370, 2, Spend::default()));
    assert!(desk.is_in_step());
}

#[test]
fn no_call_says_of_itself_that_it_costs_less_than_its_tool() {
    let mut desk = priced();
    set(&mut desk, json!({"cost_micro_usd": 250}), "day", "deny");
    let verdicts = ["c1", "c2", "c3"].map(|call| {
        let mut free = request(call);
        free["estimated_cost_micro_usd"] = json!(0);
        desk.ask_with(free).unwrap().verdict
    });
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Allow, Verdict::Deny]);
    assert_eq!(cost(held(&desk).1), 200);
    desk.ok("c1");
    assert_eq!(cost(held(&desk).0), 100, "what is not told came to what was held back");
}

#[test]
fn what_does_not_fit_in_is_denied_or_paused_and_reserves_nothing() {
    for (on_exceed, said) in [("deny", Verdict::Deny), ("pause", Verdict::Review)] {
        let mut desk = priced();
        set(&mut desk, json!({"cost_micro_usd": 250}), "thirty_days", on_exceed);
        assert_eq!([ask(&mut desk, "c1").0, ask(&mut desk, "c2").0], [Verdict::Allow; 2]);
        let caused = caused_in(&mut desk, "c3", None, None);
        assert_eq!(verdict(&decision(&caused)), (said, "budget-spent".into()));
        let told: Value = data(caused.iter().find(|event| event.kind == "budget.exceeded").unwrap());
        let expected = json!({
            "budget": "b", "scope": {}, "limits": {"cost_micro_usd": 250}, "call": "c3", "on_exceed": on_exceed,
            "amounts": {"cost_micro_usd": 200, "calls": 2},
        });
        assert_eq!(told, expected);
        assert_eq!(cost(held(&desk).1), 200);
        let again = caused_in(&mut desk, "c4", None, None);
        assert!(!kinds(&again).contains(&"budget.exceeded"), "it is told once");
        // Room again, and a new crossing.
        end(&mut desk, "c1", "tool.completed", json!({"status": "ok", "cost_micro_usd": 0}));
        assert_eq!(held(&desk).1.calls, 1);
        assert_eq!(ask(&mut desk, "c5").0, Verdict::Allow);
        assert!(kinds(&caused_in(&mut desk, "c6", None, None)).contains(&"budget.exceeded"));
        assert!(desk.is_in_step());
    }
}

#[test]
fn a_person_lets_a_single_call_through_a_paused_budget_and_a_grant_none() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 0}), "day", "pause");
    let expires = desk.time + 3_600_000_000;
    let grant = json!({"grant": "g", "scope": scope_of("coder", "src"), "expires": expires});
    desk.act("grant.given", grant).unwrap();
    let asked = ask_in(&mut desk, "c1", None, None);
    assert_eq!(verdict(&asked), (Verdict::Review, "budget-spent".into()));
    let approval = asked.approval.unwrap();
    desk.act(
        "approval.resolved",
        json!({"approval": approval, "resolution": "approved", "by": "operator:0"}),
    )
    .unwrap();
    let mut again = request("c1");
    again["approval"] = json!(approval);
    assert_eq!(verdict(&desk.ask_with(again).unwrap()), (Verdict::Allow, "approved".into()));
    assert_eq!(held(&desk).1.calls, 1, "it runs, so it is counted");
}

#[test]
fn an_approval_that_was_asked_for_before_a_budget_was_spent_does_not_lift_that() {
    let mut desk = priced();
    let reviewed = |call: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "docs/a.md"}});
    let asked = desk.ask_with(reviewed("c1")).unwrap();
    assert_eq!(verdict(&asked), (Verdict::Review, "trust-require-review".into()));
    let resolve = |desk: &mut TestGovernance, asked: &DecisionMade| {
        let resolved = json!({"approval": asked.approval, "resolution": "approved", "by": "operator:0"});
        desk.act("approval.resolved", resolved).unwrap();
    };
    resolve(&mut desk, &asked);
    set(&mut desk, json!({"calls": 0}), "day", "pause");
    let with = |asked: &DecisionMade| {
        let mut again = reviewed("c1");
        again["approval"] = json!(asked.approval);
        again
    };
    let event = desk.event("tool.requested", "agent:111111111111", &with(&asked));
    let caused = desk.append(vec![event]).unwrap();
    let outgrown = decision(&caused);
    assert_eq!(verdict(&outgrown), (Verdict::Review, "approval-outgrown".into()));
    assert_ne!(outgrown.approval, asked.approval, "another one is asked for");
    let request: Value = data(caused.iter().find(|event| event.kind == "approval.requested").unwrap());
    assert_eq!(request["reason_codes"], json!(["budget-spent", "trust-require-review"]));
    assert_eq!(desk.ask_with(reviewed("c2")).unwrap().approval, outgrown.approval, "which others wait for");
    resolve(&mut desk, &outgrown);
    assert_eq!(verdict(&desk.ask_with(with(&outgrown)).unwrap()), (Verdict::Allow, "approved".into()));
    assert!(desk.is_in_step());
}

#[test]
fn what_is_spent_counts_for_the_days_of_the_period_and_no_longer() {
    for (period, days) in [("day", 1), ("seven_days", 7), ("thirty_days", 30)] {
        let mut desk = priced();
        set(&mut desk, json!({"calls": 1}), period, "deny");
        assert_eq!(ask(&mut desk, "c1").0, Verdict::Allow);
        desk.ok("c1");
        desk.pass(days * 24 * HOUR - 1);
        assert_eq!(ask(&mut desk, "c2").0, Verdict::Deny, "{period}");
        desk.pass(1);
        assert_eq!(ask(&mut desk, "c3").0, Verdict::Allow, "{period}");
    }
}

#[test]
fn each_run_and_each_session_has_it_anew_and_calls_of_none_have_no_part_in_it() {
    for (period, run) in [("run", true), ("session", false)] {
        let mut desk = priced();
        set(&mut desk, json!({"calls": 1}), period, "deny");
        let mut ask = |call, name| {
            let (session, of_run) = if run { (None, name) } else { (name, None) };
            ask_in(&mut desk, call, session, of_run).verdict
        };
        assert_eq!(ask("c1", Some("one")), Verdict::Allow);
        assert_eq!(ask("c2", Some("one")), Verdict::Deny);
        assert_eq!(ask("c3", Some("other")), Verdict::Allow);
        assert_eq!(ask("c4", None), Verdict::Allow);
        assert_eq!(ask("c5", None), Verdict::Allow);
        // 30 days later nobody knows the run any more.
        desk.ok("c1");
        desk.pass(30 * 24 * HOUR);
        let (session, of_run) = if run { (None, Some("new")) } else { (Some("new"), None) };
        assert_eq!(ask_in(&mut desk, "c6", session, of_run).verdict, Verdict::Allow);
        assert_eq!(held(&desk).0, Spend::default(), "what the first one spent went with it");
    }
}

#[test]
fn a_budget_is_for_what_its_scope_names_and_for_nothing_else() {
    for (scope, counts) in [
        (json!({}), true),
        (json!({"agent": "coder", "role": "agent", "tool": "fs.write"}), true),
        (json!({"agent": "other"}), false),
        (json!({"role": "operator"}), false),
        (json!({"tool": "fs.read"}), false),
        (json!({"session": "s1"}), true),
        (json!({"run": "r1"}), true),
        (json!({"session": "s1", "run": "r2"}), false),
    ] {
        let mut desk = priced();
        desk.act("budget.configured", budget(scope.clone(), json!({"calls": 0}), "day", "deny")).unwrap();
        let found = ask_in(&mut desk, "c1", Some("s1"), Some("r1"));
        assert_eq!(found.verdict == Verdict::Deny, counts, "{scope}");
    }
}

#[test]
fn of_several_the_strictest_decides_and_each_is_charged() {
    let mut desk = priced();
    for (name, limit, on_exceed) in [("a", 9, "deny"), ("b", 1, "pause"), ("c", 9, "deny")] {
        let mut one = budget(json!({}), json!({"calls": limit}), "day", on_exceed);
        one["budget"] = json!(name);
        desk.act("budget.configured", one).unwrap();
    }
    let caused = caused_in(&mut desk, "c1", None, None);
    assert_eq!(kinds(&caused)[1..], ["budget.charged"; 3]);
    assert_eq!(ask(&mut desk, "c2"), (Verdict::Review, "budget-spent".into()));
    let mut none = budget(json!({}), json!({"calls": 1}), "day", "deny");
    none["budget"] = json!("z");
    desk.act("budget.configured", none).unwrap();
    assert_eq!(
        ask(&mut desk, "c3").0,
        Verdict::Review,
        "what was asked before it stood does not count in it"
    );
    desk.act("budget.configured", budget(json!({}), json!({"calls": 9}), "day", "deny")).unwrap();
    assert_eq!(ask(&mut desk, "c4").0, Verdict::Allow);
    let last = ask_in(&mut desk, "c5", None, None);
    assert_eq!(last.verdict, Verdict::Deny);
    assert!(last.reason.as_str().contains("budget z is spent"), "{}", last.reason);
}

#[test]
fn what_is_observed_is_counted_and_told_as_it_would_have_been() {
    let mut desk = priced();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    set(&mut desk, json!({"calls": 1}), "day", "deny");
    ask(&mut desk, "c1");
    for (call, told) in [("c2", true), ("c3", false)] {
        let caused = caused_in(&mut desk, call, None, None);
        let made = decision(&caused);
        assert_eq!(verdict(&made), (Verdict::Deny, "budget-spent".into()));
        assert_eq!(made.effective_verdict(), Verdict::Allow);
        assert_eq!(kinds(&caused).contains(&"budget.exceeded"), told, "{call}");
    }
    assert_eq!(held(&desk).1.calls, 3);
}

#[test]
fn answers_of_models_and_steps_of_runs_are_counted_once() {
    let mut desk = priced();
    let scope = json!({"model": "m", "agent": "coder"});
    desk.act("budget.configured", budget(scope, json!({"cost_micro_usd": 500}), "day", "deny")).unwrap();
    let mut steps = budget(json!({}), json!({"steps": 2}), "run", "deny");
    steps["budget"] = json!("steps");
    desk.act("budget.configured", steps).unwrap();
    let called = json!({"model": "m", "provider": "p", "tokens": {"in": 3, "out": 4}, "cost_micro_usd": 200,
                        "duration_ms": 9, "status": "ok"});
    let mut other = called.clone();
    other["model"] = json!("n");
    let mut imported = called.clone();
    imported["assurance"] = json!("imported");
    for answer in [&called, &other, &imported] {
        let event = desk.event("model.called", "agent:111111111111", answer);
        assert_eq!(desk.append(vec![event]).unwrap(), []);
    }
    let (spent, _) = held(&desk);
    assert_eq!(spent, Spend { cost_micro_usd: 200, tokens: 7, duration_ms: 9, ..Spend::default() });
    for status in ["started", "ok", "started", "error", "skipped"] {
        // Histories hold members that had no meaning when they were written.
        let step = json!({"run": "r1", "node": "act", "node_type": "tool", "status": status, "attempt": 1,
                          "cost_micro_usd": 999, "model": "m", "iteration": "first", "input": ["?"]});
        let event = desk.event("run.step", "agent:111111111111", &step);
        desk.append(vec![event]).unwrap();
    }
    assert_eq!(cost(held(&desk).0), 200, "what a step took was counted where it arose");
    assert_eq!(ask_in(&mut desk, "c1", None, Some("r2")).verdict, Verdict::Allow);
    let stopped = ask_in(&mut desk, "c2", None, Some("r1"));
    assert_eq!(verdict(&stopped), (Verdict::Deny, "budget-spent".into()));
    // A report that cannot be read is evidence all the same, and counts nothing.
    let mut sealed = desk.event("model.called", "agent:111111111111", &called);
    sealed.datasubject = Some("person/1".into());
    desk.append(vec![sealed]).unwrap();
    assert_eq!(cost(held(&desk).0), 200);
    assert!(desk.is_in_step());
}

#[test]
fn a_budget_below_what_is_spent_holds_at_once_and_one_for_others_begins_anew() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 9}), "day", "deny");
    for call in ["c1", "c2"] {
        ask(&mut desk, call);
        desk.ok(call);
    }
    set(&mut desk, json!({"calls": 1}), "day", "deny");
    assert_eq!(held(&desk).0.calls, 2);
    assert_eq!(ask(&mut desk, "c3"), (Verdict::Deny, "budget-spent".into()));
    set(&mut desk, json!({"calls": 1}), "seven_days", "deny");
    assert_eq!(held(&desk), Default::default(), "another period");
    ask(&mut desk, "c4");
    desk.act(
        "budget.configured",
        budget(json!({"tool": "fs.write"}), json!({"calls": 1}), "seven_days", "deny"),
    )
    .unwrap();
    assert_eq!(held(&desk), Default::default(), "another scope");
    let caused = desk.ok("c4");
    assert_eq!(kinds(&caused), ["trust.observed"], "it was held by the one before");
    desk.act("budget.configured", budget(json!({}), json!({}), "day", "deny")).unwrap();
    assert!(desk.governance.read(|state| state.all_budgets().get("b").is_none()));
    let none = desk.act("budget.configured", budget(json!({}), json!({}), "day", "deny")).unwrap_err();
    assert!(none.reason.contains("no budget `b`"), "{}", none.reason);
}

#[test]
fn costs_past_every_number_deny_and_stay_countable() {
    let mut desk = priced();
    let most = 1_000_000_000_000_u64;
    set(&mut desk, json!({"cost_micro_usd": most}), "day", "deny");
    let huge = json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}, "estimated_cost_micro_usd": most});
    assert_eq!(desk.ask_with(huge.clone()).unwrap().verdict, Verdict::Allow);
    end(&mut desk, "c1", "tool.completed", json!({"status": "ok", "cost_micro_usd": most}));
    let called = json!({"model": "m", "provider": "p", "tokens": {"in": most, "out": most}, "cost_micro_usd": most, "status": "ok"});
    for _ in 0..20 {
        let event = desk.event("model.called", "agent:111111111111", &called);
        desk.append(vec![event]).unwrap();
    }
    assert_eq!(cost(held(&desk).0), 21 * most);
    let caused = caused_in(&mut desk, "c2", None, None);
    assert_eq!(verdict(&decision(&caused)), (Verdict::Deny, "budget-spent".into()));
    let told: Value = data(&caused[1]);
    assert_eq!(told["amounts"]["cost_micro_usd"], most, "as much as an event tells");
}

#[test]
fn nobody_else_writes_what_is_charged() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 9}), "day", "deny");
    let charged = json!({"budget": "b", "call": "c1", "charge": "settled", "amounts": {"calls": 9}});
    let exceeded = json!({"budget": "b", "scope": {}, "limits": {}, "amounts": {}, "on_exceed": "deny"});
    for (kind, data) in [("budget.charged", charged), ("budget.exceeded", exceeded)] {
        assert_eq!(desk.act(kind, data).unwrap_err().code.as_str(), "reserved-type");
    }
}

#[test]
fn recordings_have_no_part_in_budgets() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 0}), "day", "deny");
    let mut asked = request("i1");
    asked["assurance"] = json!("imported");
    let event = desk.event("tool.requested", "admin:0", &asked);
    let caused = desk.append(vec![event]).unwrap();
    assert_eq!(kinds(&caused), ["decision.made"]);
    assert!(
        decision(&caused)
            .ladder
            .iter()
            .all(|said| said.code.is_none_or(|code| code.as_str() != "budget-spent"))
    );
}

#[test]
fn what_an_executor_asks_before_a_step_is_what_its_calls_count_in() {
    let mut desk = priced();
    set(&mut desk, json!({"cost_micro_usd": 1_000}), "thirty_days", "deny");
    let mut other = budget(json!({"agent": "other"}), json!({"calls": 3}), "day", "deny");
    other["budget"] = json!("other");
    desk.act("budget.configured", other).unwrap();
    ask(&mut desk, "c1");
    desk.ok("c1");
    let at = bitacora_formats::Micros(desk.time);
    desk.governance.read(|state| {
        let question = BudgetQuestion { agent: Some("coder"), ..BudgetQuestion::default() };
        let found: Vec<_> = state.all_budgets().standing_for(&question, at).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].budget.budget.as_str(), cost(found[0].spent)), ("b", 100));
        assert!(!found[0].is_exhausted());
        let midnight = (desk.time / (24 * HOUR * SECOND) + 30) * 24 * HOUR * SECOND;
        assert_eq!(found[0].resets.map(|time| time.0), Some(midnight));
    });
}

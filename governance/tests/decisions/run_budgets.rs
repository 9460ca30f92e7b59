//! A run's own budget, and the end that a run does not tell.

use bitacora_formats::Event;
use bitacora_governance::SCHEDULER_SOURCE;
use bitacora_vocabulary::{DecisionMade, ReasonCode, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::budgets::{end, priced, request};
use crate::desk::{SECOND, TestGovernance, data, decision, kinds, verdict};

const HOUR: u64 = 3_600;

/// Tells something of a run as its agent.
fn tell(desk: &mut TestGovernance, kind: &'static str, body: &Value) {
    let mut event = desk.event(kind, "agent:111111111111", body);
    event.run = Some("r1".into());
    assert_eq!(desk.append(vec![event]).unwrap(), []);
}

fn begin(desk: &mut TestGovernance, budget: &Value) {
    tell(desk, "run.started", &json!({"run": "r1", "kind": "graph", "budget": budget}));
}

fn caused_as(
    desk: &mut TestGovernance,
    agent: &'static str,
    call: &str,
    run: Option<&'static str>,
) -> Vec<Event<'static>> {
    let mut event = desk.event("tool.requested", "agent:111111111111", &request(call));
    (event.agent, event.run) = (Some(agent.into()), run.map(Into::into));
    desk.append(vec![event]).unwrap()
}

fn caused(desk: &mut TestGovernance, call: &str) -> Vec<Event<'static>> {
    caused_as(desk, "coder", call, Some("r1"))
}

fn ask(desk: &mut TestGovernance, call: &str) -> DecisionMade {
    let made = decision(&caused(desk, call));
    // The same call again and again is another thing.
    tell(desk, "checkpoint.saved", &json!({"thread": "t", "checkpoint": call, "step": 1, "source": "loop"}));
    made
}

fn spent(verdict: Verdict) -> (Verdict, String) {
    (verdict, "run-budget-spent".into())
}

#[test]
fn what_a_run_may_cost_is_held_back_for_its_calls_and_settled_by_their_outcomes() {
    let mut desk = priced();
    begin(&mut desk, &json!({"cost_micro_usd": 250}));
    let first = caused(&mut desk, "c1");
    assert_eq!(kinds(&first), ["decision.made", "budget.charged"]);
    let charged: Value = data(&first[1]);
    assert_eq!(
        (&charged["budget"], &charged["window"], &charged["agent"]),
        (&json!("run:own"), &json!("r1"), &json!("coder"))
    );
    assert_eq!(caused(&mut desk, "c2").len(), 2);
    let third = caused(&mut desk, "c3");
    assert_eq!(
        verdict(&decision(&third)),
        spent(Verdict::Deny),
        "both are under way, and a third does not fit in"
    );
    assert_eq!(kinds(&third), ["decision.made", "budget.exceeded", "loop.detected"]);
    end(&mut desk, "c1", "tool.completed", json!({"status": "ok", "cost_micro_usd": 40}));
    desk.restart();
    assert_eq!(ask(&mut desk, "c4").verdict, Verdict::Deny, "the same call a fourth time");
    let fifth = ask(&mut desk, "c5");
    assert_eq!(fifth.verdict, Verdict::Allow, "140 are gone: {fifth:?}");
    assert_eq!(verdict(&ask(&mut desk, "c6")), spent(Verdict::Deny));
    // Neither calls of no run, nor those of another agent that names it, have a part in it.
    let other = decision(&caused_as(&mut desk, "other", "o1", Some("r1")));
    assert_ne!(other.reason_code.as_str(), "run-budget-spent");
    assert_eq!(decision(&caused_as(&mut desk, "coder", "n1", None)).verdict, Verdict::Allow);
    assert!(desk.is_in_step());
}

#[test]
fn answers_of_models_count_in_what_a_run_may_take() {
    let answer = json!({"model": "m", "provider": "p", "tokens": {"in": 60, "out": 40}, "cost_micro_usd": 7, "duration_ms": 500,
        "status": "ok"});
    for (limits, answers) in
        [(json!({"tokens": 200}), 2), (json!({"duration_ms": 1_500}), 3), (json!({"cost_micro_usd": 127}), 4)]
    {
        let mut desk = priced();
        begin(&mut desk, &limits);
        for number in 0..answers {
            let made = ask(&mut desk, &format!("c{number}"));
            assert_eq!(made.verdict, Verdict::Allow, "{limits} {number}");
            end(
                &mut desk,
                &format!("c{number}"),
                "tool.completed",
                json!({"status": "ok", "cost_micro_usd": 0}),
            );
            tell(&mut desk, "model.called", &answer);
        }
        assert_eq!(verdict(&ask(&mut desk, "last")), spent(Verdict::Deny), "{limits}");
        assert!(desk.is_in_step());
    }
}

#[test]
fn a_run_lasts_as_long_as_it_may_by_the_clock() {
    let mut desk = priced();
    begin(&mut desk, &json!({"elapsed_ms": 60_000}));
    desk.time += 60 * SECOND - 1_000;
    assert_eq!(ask(&mut desk, "c1").verdict, Verdict::Allow);
    desk.time += 1_000;
    let late = caused(&mut desk, "c2");
    assert_eq!(verdict(&decision(&late)), spent(Verdict::Deny));
    assert_eq!(kinds(&late), ["decision.made", "budget.exceeded"]);
    let told: Value = data(&late[1]);
    assert_eq!((&told["elapsed_ms"], &told["window"]), (&json!(60_000), &json!("r1")));
    assert_eq!(kinds(&caused(&mut desk, "c3")), ["decision.made"], "told once");
    // A day without anything in it does not make it another run.
    desk.pass(25 * HOUR);
    caused_as(&mut desk, "coder", "n1", None);
    assert_eq!(verdict(&ask(&mut desk, "c4")), spent(Verdict::Deny));
    assert!(desk.is_in_step());
}

#[test]
fn what_follows_is_as_the_run_was_begun() {
    let limits = [
        json!({"cost_micro_usd": 100}),
        json!({"elapsed_ms": 1_000}),
        json!({"calls": 1}),
        json!({"steps": 1}),
    ];
    for limits in limits {
        for (on_exceed, said) in [
            (None, Verdict::Deny),
            (Some("deny"), Verdict::Deny),
            (Some("pause"), Verdict::Review),
            (Some("abort"), Verdict::Deny),
        ] {
            let mut desk = priced();
            let mut budget = limits.clone();
            if let Some(on_exceed) = on_exceed {
                budget["on_exceed"] = json!(on_exceed);
            }
            begin(&mut desk, &budget);
            assert_eq!(ask(&mut desk, "c1").verdict, Verdict::Allow, "{budget}");
            tell(
                &mut desk,
                "run.step",
                &json!({"run": "r1", "node": "n", "node_type": "t", "status": "ok", "attempt": 1}),
            );
            desk.pass(1);
            let second = caused(&mut desk, "c2");
            assert_eq!(decision(&second).verdict, said, "{budget}");
            let is_aborted = kinds(&second).contains(&"run.aborted");
            assert_eq!(is_aborted, on_exceed == Some("abort"), "{budget}");
            if is_aborted {
                let aborted: Value = data(second.last().unwrap());
                assert_eq!(aborted["run"], "r1");
                desk.restart();
                let third = caused(&mut desk, "c3");
                assert_eq!(verdict(&decision(&third)).0, Verdict::Deny);
                assert!(!kinds(&third).contains(&"run.aborted"), "it ends once");
                let denied: Vec<_> = decision(&third)
                    .ladder
                    .iter()
                    .filter_map(|said| said.code)
                    .map(ReasonCode::as_str)
                    .collect();
                assert!(denied.contains(&"run-aborted".to_owned()), "{denied:?}");
            }
            let (replayed, found) = crate::golden::rejudged(&desk.log);
            assert_eq!(found.disagreements, [], "{budget}");
            assert!(desk.governance.read(|published| *published == replayed));
        }
    }
}

#[test]
fn a_person_lets_a_paused_run_take_one_more_call() {
    let mut desk = priced();
    begin(&mut desk, &json!({"cost_micro_usd": 100, "on_exceed": "pause"}));
    assert_eq!(ask(&mut desk, "c1").verdict, Verdict::Allow);
    let paused = ask(&mut desk, "c2");
    assert_eq!(verdict(&paused), spent(Verdict::Review));
    let answer =
        json!({"approval": paused.approval, "resolution": "approved", "by": "operator:000000000000"});
    desk.act("approval.resolved", answer).unwrap();
    let mut again = request("c2");
    again["approval"] = json!(paused.approval);
    let mut event = desk.event("tool.requested", "agent:111111111111", &again);
    event.run = Some("r1".into());
    assert_eq!(verdict(&decision(&desk.append(vec![event]).unwrap())), (Verdict::Allow, "approved".into()));
}

#[test]
fn the_policy_bounds_what_a_run_says_of_itself() {
    let mut desk = priced();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    desk.publish_document(2, rules, TrustRules::v2(), json!({"bounds": {"steps_of_run": 1}}));
    begin(&mut desk, &json!({"calls": 9, "on_exceed": "pause"}));
    ask(&mut desk, "c1");
    assert_eq!(verdict(&ask(&mut desk, "c2")), (Verdict::Deny, "iteration-cap".into()));
}

#[test]
fn an_operators_budget_of_runs_aborts_them_and_no_other_budget_does() {
    let mut desk = priced();
    let budget = |period: &str, name: &str| json!({"budget": name, "scope": {}, "limits": {"calls": 1}, "period": period, "on_exceed": "abort"});
    for (period, name) in [("day", "b"), ("session", "b"), ("run", "run:own")] {
        desk.act("budget.configured", budget(period, name)).unwrap_err();
    }
    desk.act("budget.configured", budget("run", "b")).unwrap();
    ask(&mut desk, "c1");
    let second = caused(&mut desk, "c2");
    assert_eq!(verdict(&decision(&second)), (Verdict::Deny, "budget-spent".into()));
    assert_eq!(kinds(&second).last(), Some(&"run.aborted"));
    assert_eq!(decision(&caused_as(&mut desk, "coder", "c3", Some("r2"))).verdict, Verdict::Allow);
}

#[test]
fn a_run_that_began_under_earlier_rules_is_not_held() {
    let mut desk = priced();
    desk.record_rules(7);
    // Members that a budget did not have then take nothing from the rest of it.
    begin(&mut desk, &json!({"cost_micro_usd": 100, "calls": 2, "on_exceed": "stop", "elapsed_ms": "none"}));
    desk.record_rules(8);
    assert_eq!(ask(&mut desk, "c1").verdict, Verdict::Allow);
    assert_eq!(ask(&mut desk, "c2").verdict, Verdict::Allow);
    assert_eq!(verdict(&ask(&mut desk, "c3")), (Verdict::Deny, "iteration-cap".into()));
    desk.pass(25 * HOUR);
    assert_eq!(overdue(&desk), 0);
}

/// Runs that are to be told of.
fn overdue(desk: &TestGovernance) -> usize {
    desk.governance.read(|state| state.overdue_runs(bitacora_formats::Micros(desk.time))).len()
}

/// Tells that a run has told no end, from this source.
fn tell_overdue(desk: &mut TestGovernance, source: &'static str) -> bool {
    let mut event = desk.event("run.overdue", "service:scheduler", &json!({"run": "r1", "began": 1}));
    (event.source, event.run) = (source.into(), Some("r1".into()));
    desk.append(vec![event]).is_ok()
}

#[test]
fn a_run_that_tells_no_end_is_told_of_once() {
    for (settings, life) in [(json!({}), 24 * HOUR), (json!({"times": {"run_s": 3_600}}), HOUR)] {
        let mut desk = priced();
        let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
        desk.publish_document(2, rules, TrustRules::v2(), settings);
        begin(&mut desk, &json!(null));
        desk.pass(life - 1);
        assert_eq!(overdue(&desk), 0);
        assert!(!tell_overdue(&mut desk, SCHEDULER_SOURCE), "it is not over yet");
        desk.pass(1);
        desk.restart();
        let found = desk.governance.read(|state| state.overdue_runs(bitacora_formats::Micros(desk.time)));
        assert_eq!((found.len(), found[0].run.as_str(), found[0].agent.as_deref()), (1, "r1", Some("coder")));
        assert!(!tell_overdue(&mut desk, "urn:test"), "nobody but the scheduler");
        assert!(tell_overdue(&mut desk, SCHEDULER_SOURCE));
        assert_eq!(overdue(&desk), 0);
        assert!(!tell_overdue(&mut desk, SCHEDULER_SOURCE), "told once");
        assert!(desk.is_in_step());
    }
}

#[test]
fn the_end_of_a_run_is_awaited_until_it_is_told() {
    for ending in ["run.completed", "run.failed", "run.aborted"] {
        let mut desk = priced();
        begin(&mut desk, &json!(null));
        tell(&mut desk, ending, &json!({"run": "r1", "status": "success", "error_type": "e", "reason": "r"}));
        // Begun once more under its name it is the same run.
        begin(&mut desk, &json!(null));
        desk.pass(48 * HOUR);
        assert_eq!(overdue(&desk), 0, "{ending}");
    }
    let mut desk = priced();
    begin(&mut desk, &json!(null));
    let mut event = desk.event("run.completed", "agent:2", &json!({"run": "r1", "status": "success"}));
    (event.agent, event.run) = (Some("other".into()), Some("r1".into()));
    desk.append(vec![event]).unwrap();
    desk.pass(24 * HOUR);
    assert_eq!(overdue(&desk), 1, "another agent ends its own run alone");
}

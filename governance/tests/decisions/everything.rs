//! A history with one of everything that calls go through, recorded for each version of the rules.

use serde_json::{Value, json};

use crate::desk::{TestGovernance, governed, scope_of, tool};
use crate::gate_history::at_the_gate;
use crate::imports::{accept, batch};
use crate::rounds_history::going_round;
use crate::times_history::in_time;

/// One of everything that calls go through.
pub(crate) fn live() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    desk.ok("c1");
    desk.ask("c2", "fs.write", json!({"path": "docs/a.md"}));
    resolve(&mut desk, "c2", "approved");
    desk.ask("c3", "fs.write", json!({"path": "docs/b.md"}));
    resolve(&mut desk, "c3", "rejected");
    desk.ask("c4", "no.such", json!({}));
    desk.ask("c5", "fs.write", json!({"path": "../outside"}));
    for number in 0..6 {
        let call = format!("f{number}");
        desk.ask(&call, "fs.write", json!({"path": "src/b.rs"}));
        desk.fail(&call);
    }
    desk.ask("c6", "fs.write", json!({"path": "src/b.rs"}));
    desk.pass(301);
    desk.ask("c7", "fs.write", json!({"path": "src/b.rs"}));
    desk.act("tool.registered", tool("fs.read")).unwrap();
    desk.act("mode.configured", json!({"mode": "observe", "scope": {"tool": "fs.read"}})).unwrap();
    desk.ask_with(json!({"call": "c8", "tool": "fs.read", "args": {"path": "a"}, "idempotency_key": "k1"}))
        .unwrap();
    desk.ok("c8");
    desk.publish(2, "review");
    desk.ask("c9", "fs.write", json!({"path": "src/a.rs"}));
    by_persons(&mut desk);
    by_operators(&mut desk);
    within_bounds(&mut desk);
    by_contract(&mut desk);
    from_elsewhere(&mut desk);
    without_a_way_round(&mut desk);
    by_a_clock_that_jumped(&mut desk);
    at_the_gate(&mut desk);
    going_round(&mut desk);
    in_time(&mut desk);
    desk
}

/// An edit, an approval that expires, and a grant that is given and taken back.
fn by_persons(desk: &mut TestGovernance) {
    let asked = |desk: &TestGovernance, call: &str| {
        desk.governance.read(|state| state.open_call(call).unwrap().approval.clone().unwrap())
    };
    desk.ask("e1", "fs.write", json!({"path": "docs/e.md"}));
    let other = desk.ask("e2", "fs.write", json!({"path": "docs/f.md"})).inputs.action_digest.unwrap();
    let id = asked(desk, "e1");
    let edit = json!({"approval": id, "resolution": "edited", "by": "operator:0", "action_digest": other,
                      "args": {"path": "docs/f.md"}});
    desk.act("approval.resolved", edit).unwrap();
    let edited = json!({"call": "e1", "tool": "fs.write", "args": {"path": "docs/f.md"}, "approval": id});
    desk.ask_with(edited).unwrap();
    desk.ok("e1");
    let id = asked(desk, "e2");
    desk.pass(24 * 3_600);
    desk.act("approval.resolved", json!({"approval": id, "resolution": "expired", "by": "system"})).unwrap();
    drop(
        desk.ask_with(
            json!({"call": "e3", "tool": "fs.write", "args": {"path": "docs/f.md"}, "approval": id}),
        ),
    );
    let expires = desk.time + 3_600_000_000;
    let grant = json!({"grant": "g1", "scope": scope_of("coder", "docs"), "expires": expires});
    desk.act("grant.given", grant).unwrap();
    desk.ask("g1", "fs.write", json!({"path": "docs/g.md"}));
    desk.ok("g1");
    desk.act("grant.revoked", json!({"grant": "g1"})).unwrap();
    desk.ask("g2", "fs.write", json!({"path": "docs/g.md"}));
}

/// Rates, panic, a suspension, a breaker that is configured and closed, principals, and a tool that is revoked.
fn by_operators(desk: &mut TestGovernance) {
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    desk.earn("fs.write", "lib");
    let scope = json!({"by": "tool", "name": "fs.write"});
    let limit = json!({"burst": 2, "refill": 1, "period_ms": 60_000});
    desk.act("rate.configured", json!({"scope": scope, "limit": limit})).unwrap();
    for call in ["r1", "r2", "r3"] {
        desk.ask(call, "fs.write", json!({"path": "lib/a.rs"}));
    }
    desk.pass(61);
    desk.ask("r4", "fs.write", json!({"path": "lib/a.rs"}));
    desk.act("rate.configured", json!({"scope": scope})).unwrap();
    for (stop, release, data) in [
        ("panic.engaged", "panic.released", json!({"reason": "a drill"})),
        ("agent.suspended", "agent.resumed", json!({"agent": "coder", "reason": "a drill"})),
    ] {
        desk.act(stop, data.clone()).unwrap();
        desk.ask(stop, "fs.write", json!({"path": "lib/a.rs"}));
        desk.act(release, data).unwrap();
        desk.ask(release, "fs.write", json!({"path": "lib/a.rs"}));
    }
    let dimension =
        json!({"tool": "fs.write", "context": "lib", "model": "-", "task_type": "-", "workspace": "-"});
    let quick = json!({"dimension": dimension, "window": 4, "failure_threshold": 2, "recovery_probes": 1,
                       "cooldown_s": 60});
    desk.act("breaker.configured", quick).unwrap();
    desk.fail("r1");
    desk.fail("r2");
    desk.ask("b1", "fs.write", json!({"path": "lib/a.rs"}));
    desk.act("breaker.closed", json!({"dimension": dimension, "by": "operator:0", "reason": "mended"}))
        .unwrap();
    desk.ask("b2", "fs.write", json!({"path": "lib/a.rs"}));
    let admin = json!({"principal": "root", "role": "admin", "token_hash": "0".repeat(64)});
    desk.act("principal.created", admin).unwrap();
    desk.act("principal.revoked", json!({"principal": "root"})).unwrap();
    desk.act("tool.revoked", json!({"tool": "fs.read", "reason": "for a test"})).unwrap();
    desk.ask("t1", "fs.read", json!({"path": "a"}));
}

/// Budgets that are set, met, settled, given back and lifted; loops, runs that end, and work that is handed on.
fn within_bounds(desk: &mut TestGovernance) {
    desk.pass(24 * 3_600);
    desk.earn("fs.write", "lib");
    let budget = |name: &str, limits: Value, period: &str, on_exceed: &str| json!({"budget": name, "scope": {}, "limits": limits, "period": period, "on_exceed": on_exceed});
    desk.act("budget.configured", budget("all", json!({"cost_micro_usd": 1_000}), "seven_days", "pause"))
        .unwrap();
    desk.act("budget.configured", budget("each", json!({"calls": 3, "steps": 9}), "run", "deny")).unwrap();
    let ask = |desk: &mut TestGovernance, call: &str, path: &str, cost: u64| {
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": path}, "estimated_cost_micro_usd": cost});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        (event.session, event.run) = (Some("s1".into()), Some("r1".into()));
        desk.append(vec![event]).unwrap();
    };
    let tell = |desk: &mut TestGovernance, kind: &'static str, data: Value| {
        let mut event = desk.event(kind, "agent:111111111111", &data);
        event.run = Some("r1".into());
        desk.append(vec![event]).unwrap();
    };
    tell(
        desk,
        "run.started",
        json!({"run": "r1", "kind": "graph", "parent": "r0", "budget": {"calls": 9, "steps": 2}}),
    );
    ask(desk, "m1", "lib/a.rs", 300);
    ask(desk, "m2", "lib/a.rs", 300);
    ask(desk, "m3", "lib/a.rs", 300);
    tell(desk, "checkpoint.saved", json!({"thread": "t", "checkpoint": "k", "step": 1, "source": "loop"}));
    ask(desk, "m4", "lib/a.rs", 500);
    let outcome = json!({"call": "m1", "status": "ok", "cost_micro_usd": 120, "duration_ms": 8});
    let ended = desk.event("tool.completed", "agent:111111111111", &outcome);
    desk.append(vec![ended]).unwrap();
    ask(desk, "m5", "lib/b.rs", 0);
    let called =
        json!({"model": "m", "provider": "p", "tokens": {"in": 9}, "cost_micro_usd": 700, "status": "ok"});
    tell(desk, "model.called", called);
    ask(desk, "m6", "lib/c.rs", 0);
    desk.pass(3_600);
    for call in ["m2", "m5"] {
        let mut late =
            desk.event("tool.failed", "service:scheduler", &json!({"call": call, "status": "timeout"}));
        late.source = "urn:bitacora:scheduler".into();
        desk.append(vec![late]).unwrap();
    }
    desk.ok("m2");
    desk.act("budget.configured", budget("all", json!({"calls": 1}), "day", "deny")).unwrap();
    for number in 0..3 {
        let step = json!({"run": "r1", "node": "n", "node_type": "tool", "status": "ok", "attempt": 1});
        tell(desk, "run.step", step);
        ask(desk, &format!("n{number}"), &format!("lib/{number}.rs"), 0);
    }
    desk.act("budget.configured", budget("all", json!({}), "day", "deny")).unwrap();
    desk.act("budget.configured", budget("each", json!({}), "run", "deny")).unwrap();
    for number in 1..8 {
        let parent = format!("d{}", number - 1);
        tell(desk, "run.started", json!({"run": format!("d{number}"), "kind": "task", "parent": parent}));
    }
    let deep = json!({"call": "o1", "tool": "fs.write", "args": {"path": "lib/a.rs"}, "run": "d7"});
    desk.ask_with(deep).unwrap();
    for number in 0..9 {
        ask(desk, &format!("p{number}"), &format!("lib/{number}.rs"), 0);
    }
}

/// A contract that is broken before one call and after another.
fn by_contract(desk: &mut TestGovernance) {
    desk.pass(3_600);
    desk.earn("fs.write", "new");
    let part = |kind: &str| json!([{"type": kind, "params": {}}]);
    let defined = json!({"contract": "edit", "pre": part("tree_clean"), "post": part("tests_pass"), "rollback": [],
                         "blast_radius": "low"});
    desk.act("contract.defined", defined).unwrap();
    for (call, phase, kind, passed) in [
        ("k1", "pre", "tree_clean", false),
        ("k2", "pre", "tree_clean", true),
        ("k2", "post", "tests_pass", false),
    ] {
        if phase == "post" {
            desk.ask(call, "fs.write", json!({"path": "new/a.rs"}));
        }
        let checked = json!({"contract": "edit", "call": call, "run": "r9", "node": "n", "phase": phase,
                             "checks": [{"type": kind, "params": {}, "passed": passed}]});
        let event = desk.event("contract.checked", "agent:111111111111", &checked);
        desk.append(vec![event]).unwrap();
    }
    desk.ask("k1", "fs.write", json!({"path": "new/b.rs"}));
    desk.ok("k2");
}

/// Acts for the third version of the rules: omissions of callers, reports on others, and calls ahead of time.
fn without_a_way_round(desk: &mut TestGovernance) {
    desk.pass(24 * 3_600);
    let mended = json!({"dimension": {"tool": "fs.write", "context": "new", "model": "-", "task_type": "-", "workspace": "-"},
                        "by": "operator:0", "reason": "mended"});
    desk.act("breaker.closed", mended).unwrap();
    desk.earn("fs.write", "new");
    let mut document = tool("fs.write");
    document["estimated_cost_micro_usd"] = json!(100);
    desk.act("tool.changed", document).unwrap();
    let budget = |scope: Value, limits: Value, period: &str, on_exceed: &str| json!({"budget": "w", "scope": scope, "limits": limits, "period": period, "on_exceed": on_exceed});
    let ask_in = |desk: &mut TestGovernance, call: &str, run: &str| {
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": "new/a.rs"}, "estimated_cost_micro_usd": 1});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        (event.session, event.run) = (Some("s7".into()), Some(run.to_owned().into()));
        desk.append(vec![event]).unwrap();
    };
    // In a budget of a model that no call names; a new run for each, and an id again.
    desk.act(
        "budget.configured",
        budget(json!({"model": "m"}), json!({"cost_micro_usd": 250}), "run", "deny"),
    )
    .unwrap();
    for (call, run) in [("w1", "q1"), ("w2", "q2"), ("w2", "q2"), ("w3", "q3")] {
        ask_in(desk, call, run);
        drop(desk.end(call, "tool.completed", "ok"));
    }
    for (agent, kind) in [("other", "run.completed"), ("coder", "run.completed")] {
        let mut event = desk.event(kind, "agent:111111111111", &json!({"run": "q1", "status": "success"}));
        event.agent = Some(agent.into());
        desk.append(vec![event]).unwrap();
    }
    // Held back past its time, and run without leave.
    desk.act("budget.configured", budget(json!({}), json!({"cost_micro_usd": 150}), "seven_days", "pause"))
        .unwrap();
    desk.ask("w4", "fs.write", json!({"path": "new/b.rs"}));
    desk.ask("w5", "fs.write", json!({"path": "new/c.rs"}));
    let ran = json!({"call": "w5", "status": "ok", "cost_micro_usd": 30});
    let ended = desk.event("tool.completed", "agent:111111111111", &ran);
    desk.append(vec![ended]).unwrap();
    desk.pass(3 * 3_600);
    desk.ask("w6", "fs.write", json!({"path": "new/d.rs"}));
    // An approval from before the budget was spent.
    desk.act("budget.configured", budget(json!({}), json!({}), "day", "deny")).unwrap();
    let asked = desk.ask("w7", "fs.write", json!({"path": "docs/z.md"})).approval.unwrap();
    desk.act("approval.resolved", json!({"approval": asked, "resolution": "approved", "by": "operator:0"}))
        .unwrap();
    desk.act("budget.configured", budget(json!({}), json!({"calls": 0}), "day", "pause")).unwrap();
    let again = json!({"call": "w7", "tool": "fs.write", "args": {"path": "docs/z.md"}, "approval": asked});
    desk.ask_with(again).unwrap();
    desk.act("budget.configured", budget(json!({}), json!({}), "day", "deny")).unwrap();
    // Checks behind an outcome, and of two contracts.
    let part = json!([{"type": "clean", "params": {}}]);
    let defined =
        json!({"contract": "tidy", "pre": part, "post": part, "rollback": [], "blast_radius": "low"});
    desk.act("contract.defined", defined).unwrap();
    desk.ask("w8", "fs.write", json!({"path": "new/e.rs"}));
    desk.ok("w8");
    for (call, contract, phase, kind, passed) in [
        ("w8", "tidy", "post", "clean", false),
        ("w8", "edit", "post", "tests_pass", false),
        ("w9", "tidy", "pre", "clean", false),
        ("w9", "edit", "pre", "tree_clean", true),
    ] {
        let checked = json!({"contract": contract, "call": call, "run": "r9", "node": "n", "phase": phase,
                             "checks": [{"type": kind, "params": {}, "passed": passed}]});
        let event = desk.event("contract.checked", "agent:111111111111", &checked);
        desk.append(vec![event]).unwrap();
    }
    desk.ask("w9", "fs.write", json!({"path": "new/f.rs"}));
}

/// Acts for the fourth version of the rules: reservations stay while the clock is not believed.
fn by_a_clock_that_jumped(desk: &mut TestGovernance) {
    desk.pass(24 * 3_600);
    let daily = json!({"budget": "x", "scope": {}, "limits": {"cost_micro_usd": 150}, "period": "day", "on_exceed": "deny"});
    desk.act("budget.configured", daily).unwrap();
    desk.earn("fs.write", "far");
    desk.ask("x1", "fs.write", json!({"path": "far/a.rs"}));
    let jump = json!({"from": desk.time, "to": desk.time + 1, "direction": "forward"});
    desk.act("ledger.clock-jumped", jump).unwrap();
    desk.pass(3 * 3_600);
    desk.ask("x2", "fs.write", json!({"path": "far/b.rs"}));
    let ran = json!({"call": "x1", "status": "ok", "cost_micro_usd": 90});
    let ended = desk.event("tool.completed", "agent:111111111111", &ran);
    desk.append(vec![ended]).unwrap();
    desk.act("clock.accepted", json!({"reason": "it had no network"})).unwrap();
    desk.ask("x3", "fs.write", json!({"path": "far/c.rs"}));
}

/// A call that was recorded elsewhere, before and after it is accepted.
fn from_elsewhere(desk: &mut TestGovernance) {
    let request =
        json!({"call": "i1", "tool": "fs.write", "args": {"path": "old/a.rs"}, "assurance": "imported"});
    let outcome = json!({"call": "i1", "status": "ok", "assurance": "imported"});
    for (kind, data) in [("tool.requested", request), ("tool.completed", outcome)] {
        let mut event = desk.event(kind, "admin:0", &data);
        event.time = Some("2026-01-02T03:04:05Z".into());
        desk.append(vec![event]).unwrap();
    }
    desk.act("import.batch", batch("0")).unwrap();
    accept(desk, "0").unwrap();
    desk.ask("i2", "fs.write", json!({"path": "old/a.rs"}));
}

/// Answers the approval that a call waits for, and asks again with it.
fn resolve(desk: &mut TestGovernance, call: &str, resolution: &str) {
    let id = desk.governance.read(|state| state.open_call(call).unwrap().approval.clone().unwrap());
    desk.act("approval.resolved", json!({"approval": id, "resolution": resolution, "by": "operator:0"}))
        .unwrap();
    let request = json!({"call": call, "tool": "fs.write", "args": {"path": "docs/a.md"}, "approval": id});
    drop(desk.ask_with(request));
}

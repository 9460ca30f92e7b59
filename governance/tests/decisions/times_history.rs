//! The additions of version 8 of the rules, behind the history of everything else.

use bitacora_governance::SCHEDULER_SOURCE;
use bitacora_vocabulary::TrustRules;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, tool};

/// Times of a policy and of a tool, hours of a zone, a run's own budget and its end, and rates as rolling windows.
pub(crate) fn in_time(desk: &mut TestGovernance) {
    let rules = json!([
        {"id": "night", "match": {"time_window": {"from": "00:00", "to": "06:00", "zone": "Asia/Kathmandu"}}, "action": "deny",
         "reason": "for a test"},
        {"id": "asked", "match": {"tool": ["Ask", "Slow"]}, "action": "review", "reason": "for a test"},
        {"id": "all", "match": {}, "action": "allow", "reason": "for a test", "trust": "ignore"},
    ]);
    let times = json!({"approval_s": 300, "approval_end": "deny", "start_s": 60, "run_s": 3_600, "alone_s": 60, "blocked_s": 60});
    desk.publish_document(6, rules, TrustRules::v2(), json!({"times": times}));
    for (name, times) in [
        ("Ask", json!(null)),
        ("Slow", json!({"approval_s": 7_200, "approval_end": "review", "start_s": 30})),
        ("Paid", json!(null)),
    ] {
        let mut document = tool(name);
        (document["input_schema"], document["estimated_cost_micro_usd"]) =
            (json!({"type": "object"}), json!(100));
        document.as_object_mut().unwrap().remove("context_from");
        if !times.is_null() {
            document["times"] = times;
        }
        desk.act("tool.registered", document).unwrap();
    }
    for hour in 0..8 {
        desk.pass(3 * 3_600);
        desk.ask(&format!("h8-{hour}"), "Paid", json!({"hour": hour}));
    }
    without_an_answer(desk);
    in_a_run(desk);
    in_windows(desk);
}

fn without_an_answer(desk: &mut TestGovernance) {
    for (tool, waits) in [("Ask", 300), ("Slow", 200)] {
        desk.ask(&format!("{tool}-1"), tool, json!({"x": 1}));
        desk.pass(waits);
        desk.ask(&format!("{tool}-2"), tool, json!({"x": 1}));
    }
    let waits = desk.governance.read(|state| state.open_call("Ask-1").map(|open| open.approval.clone()));
    if let Some(Some(approval)) = waits {
        let mut event = desk.event(
            "approval.resolved",
            "service:scheduler",
            &json!({"approval": approval, "resolution": "expired", "by": "service:scheduler"}),
        );
        (event.source, event.agent) = (SCHEDULER_SOURCE.into(), None);
        desk.append(vec![event]).unwrap();
    }
    desk.ask("Ask-3", "Ask", json!({"x": 1}));
    desk.pass(600);
    desk.ask("Ask-4", "Ask", json!({"x": 1}));
}

fn in_a_run(desk: &mut TestGovernance) {
    let tell = |desk: &mut TestGovernance, kind: &'static str, run: &'static str, body: &Value| {
        let mut event = desk.event(kind, "agent:111111111111", body);
        event.run = Some(run.into());
        desk.append(vec![event]).unwrap();
    };
    let ask = |desk: &mut TestGovernance, run: &'static str, call: &str| {
        let request = json!({"call": call, "tool": "Paid", "args": {"call": call}});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.run = Some(run.into());
        desk.append(vec![event]).unwrap();
    };
    for (run, on_exceed) in [("paused8", "pause"), ("denied8", "deny"), ("aborted8", "abort")] {
        let budget = json!({"cost_micro_usd": 250, "elapsed_ms": 60_000, "on_exceed": on_exceed});
        tell(desk, "run.started", run, &json!({"run": run, "kind": "task", "budget": budget}));
        for number in 0..5 {
            ask(desk, run, &format!("{run}-{number}"));
            if number == 0 {
                let ended = json!({"call": format!("{run}-0"), "status": "ok", "cost_micro_usd": 20});
                tell(desk, "tool.completed", run, &ended);
            }
        }
        let answer = json!({"model": "m", "provider": "p", "tokens": {"in": 6, "out": 4}, "cost_micro_usd": 7, "status": "ok"});
        tell(desk, "model.called", run, &answer);
    }
    let budget = json!({"elapsed_ms": 60_000});
    tell(desk, "run.started", "late8", &json!({"run": "late8", "kind": "task", "budget": budget}));
    desk.pass(60);
    ask(desk, "late8", "late8-0");
    desk.pass(3_600);
    for run in ["late8", "paused8"] {
        let mut event = desk.event("run.overdue", "service:scheduler", &json!({"run": run, "began": 1}));
        (event.source, event.run) = (SCHEDULER_SOURCE.into(), Some(run.into()));
        desk.append(vec![event]).unwrap();
    }
    tell(desk, "run.completed", "late8", &json!({"run": "late8", "status": "failure"}));
}

fn in_windows(desk: &mut TestGovernance) {
    let rolling = json!({"windows": [{"calls": 2, "period_s": 3_600}], "day": {"calls": 4, "zone": "Europe/Madrid"}, "apart_s": 600});
    desk.act("rate.configured", json!({"scope": {"by": "tool", "name": "Paid"}, "rolling": rolling}))
        .unwrap();
    for number in 0..30 {
        desk.ask(&format!("r8-{number}"), "Paid", json!({"number": number}));
        desk.pass(900);
    }
}

//! Metrics of governing: what was decided since the start, and what stands now.

use std::collections::BTreeMap;

use serde_json::json;

use crate::governed::{ask, earn, governed, post, put, write};
use crate::identities::{ask as ask_as, guard, token};
use crate::service::TestService;

/// The samples of the metrics, by name and labels as they are written.
fn samples(service: &TestService) -> BTreeMap<String, f64> {
    let text = service.get("/metrics").expect(200).text().to_owned();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn decisions_are_counted_by_mode_verdict_and_reason_once_each() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let decided = |mode: &str, verdict: &str, reason: &str| {
        let name = format!(
            "bitacora_decisions_total{{ledger=\"main\",mode=\"{mode}\",verdict=\"{verdict}\",reason=\"{reason}\"}}"
        );
        samples(&service).get(&name).copied()
    };
    assert_eq!(decided("enforce", "allow", "allowed"), None);
    for _ in 0..3 {
        assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    }
    assert_eq!(ask(&service, write("c2"))["verdict"], "allow");
    assert_eq!(decided("enforce", "allow", "allowed"), Some(2.0), "a repeated request is one decision");
    let mut wrong = write("c3");
    wrong["tool"] = json!("fs.wipe");
    assert_eq!(ask(&service, wrong)["verdict"], "deny");
    assert_eq!(decided("enforce", "deny", "tool-unknown"), Some(1.0));
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    let mut wrong = write("c4");
    wrong["tool"] = json!("fs.wipe");
    assert_eq!(ask(&service, wrong)["mode"], "observe");
    assert_eq!(decided("observe", "deny", "tool-unknown"), Some(1.0));
    let of = samples(&service);
    assert_eq!(of["bitacora_derived_events_total{ledger=\"main\",type=\"decision.made\"}"], 4.0);
    // Answers are timed, the repeated ones too.
    assert_eq!(of["bitacora_decision_duration_seconds_count{ledger=\"main\"}"], 6.0);
    let all = of["bitacora_decision_duration_seconds_bucket{le=\"+Inf\",ledger=\"main\"}"];
    assert_eq!(all, 6.0);
    service.append(crate::identities::event("x.note", &json!({})).to_string()).expect(201);
    assert_eq!(samples(&service)["bitacora_append_duration_seconds_count{ledger=\"main\"}"], 1.0);
}

#[test]
fn what_stands_now_is_told() {
    let service = governed("review");
    let now = |name: &str| samples(&service)[&format!("bitacora_{name}")];
    assert_eq!(now("approvals_waiting{ledger=\"main\"}"), 0.0);
    assert_eq!(now("oldest_approval_age_seconds{ledger=\"main\"}"), 0.0);
    let waiting = ask(&service, write("c1"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(now("approvals_waiting{ledger=\"main\"}"), 1.0);
    let age = now("oldest_approval_age_seconds{ledger=\"main\"}");
    assert!((0.02..60.0).contains(&age), "{age}");
    let approval = waiting["approval"]["id"].as_str().unwrap();
    post(&service, &format!("approvals/{approval}:reject"), &json!({})).expect(200);
    assert_eq!(now("approvals_waiting{ledger=\"main\"}"), 0.0);

    assert_eq!(now("panic_engaged{ledger=\"main\"}"), 0.0);
    post(&service, "panic", &json!({"reason": "for a test"})).expect(200);
    assert_eq!(now("panic_engaged{ledger=\"main\"}"), 1.0);
    let headers = [("Content-Type", "application/json")];
    service.request("DELETE", "/v1/ledgers/main/panic", &headers, br#"{"reason": "mended"}"#).expect(200);
    assert_eq!(now("panic_engaged{ledger=\"main\"}"), 0.0);
    post(&service, "agents/coder:suspend", &json!({"reason": "for a test"})).expect(200);
    assert_eq!(now("agents_suspended{ledger=\"main\"}"), 1.0);

    for (budget, calls, period) in [("narrow", 1, "day"), ("of-runs", 10, "run")] {
        let body = json!({"budget": budget, "scope": {}, "limits": {"calls": calls}, "period": period, "onExceed": "deny"});
        put(&service, "budgets", &body).expect(200);
    }
    assert_eq!(now("budgets_exhausted{ledger=\"main\"}"), 0.0);
    assert_eq!(now("budget_used_ratio{ledger=\"main\",budget=\"narrow\"}"), 0.0);
    let of_runs = |name: &String| name.contains("of-runs");
    assert!(!samples(&service).keys().any(of_runs), "a run uses its budget up at its end");

    assert_eq!(now("breakers{ledger=\"main\",condition=\"open\"}"), 0.0);
    let told = samples(&service);
    for name in ["process_resident_memory_bytes", "process_open_fds", "bitacora_data_disk_free_bytes"] {
        assert!(told[name] > 0.0, "{name}");
    }
    let build = format!("bitacora_build_info{{version=\"{}\",", env!("CARGO_PKG_VERSION"));
    assert!(told.keys().any(|name| name.starts_with(&build)), "{build}");
}

#[test]
fn an_open_breaker_is_told() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let open = || samples(&service)["bitacora_breakers{ledger=\"main\",condition=\"open\"}"];
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let settings = json!({"dimension": dimension, "window": 4, "failureThreshold": 1, "recoveryProbes": 1, "cooldownS": 600});
    post(&service, "breakers:configure", &settings).expect(200);
    assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    assert_eq!(open(), 0.0);
    post(&service, "outcome", &json!({"call": "c1", "status": "timeout"})).expect(200);
    assert_eq!(open(), 1.0);
}

#[test]
fn a_budget_is_told_by_the_part_that_is_used() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let body = json!({"budget": "b", "scope": {"agent": "ci"}, "limits": {"costUsd": "0.5", "calls": 10}, "period": "day", "onExceed": "deny"});
    put(&service, "budgets", &body).expect(200);
    let call = |id: &str, estimate: &str| {
        let mut request = write(id);
        (request["agent"], request["estimate"]) = (json!("ci"), json!(estimate));
        ask(&service, request)["verdict"].clone()
    };
    let used = || samples(&service)["bitacora_budget_used_ratio{ledger=\"main\",budget=\"b\"}"];
    assert_eq!(call("c1", "0.3"), "allow");
    assert!((used() - 0.6).abs() < 1e-9, "held back: {}", used());
    let outcome = json!({"call": "c1", "status": "ok", "agent": "ci", "costUsd": "0.5", "durationMs": 7});
    post(&service, "outcome", &outcome).expect(200);
    assert!((used() - 1.0).abs() < 1e-9, "spent: {}", used());
    assert_eq!(samples(&service)["bitacora_budgets_exhausted{ledger=\"main\"}"], 1.0);
}

#[test]
fn the_role_of_collectors_gets_metrics_and_no_event() {
    let service = TestService::start();
    guard(&service);
    let collector = token("metrics");
    let of = |target: &str| ask_as(&service, "GET", target, Some(&collector), "");
    assert!(of("/metrics").expect(200).text().contains("bitacora_ledger_position{ledger=\"main\"}"));
    of("/livez").expect(200);
    of("/readyz").expect(200);
    for target in ["/v1/ledgers", "/v1/ledgers/main/events", "/v1/ledgers/main/head", "/v1/openapi.json"] {
        let refused = of(target).expect_problem(403, "forbidden");
        assert_eq!(refused["needs"], "auditor", "{target}");
    }
}

/// Names that callers choose stand in labels: they end no label, and begin no line.
#[test]
fn no_name_breaks_out_of_its_label() {
    let service = governed("allow");
    let name = "b\"} 1\\\nx 1";
    let body =
        json!({"budget": name, "scope": {}, "limits": {"calls": 5}, "period": "day", "onExceed": "deny"});
    put(&service, "budgets", &body).expect(200);
    let told = samples(&service);
    let label = "bitacora_budget_used_ratio{ledger=\"main\",budget=\"b\\\"} 1\\\\\\nx 1\"}";
    assert!(
        told.contains_key(label),
        "{:?}",
        told.keys().filter(|name| name.contains("budget_used")).collect::<Vec<_>>()
    );
}

/// The answer to a request that repeats an event names what was derived for it, which was counted before.
#[test]
fn derived_events_of_a_repeated_event_are_counted_once() {
    let service = governed("allow");
    let requested = |call: &str| {
        json!({
            "specversion": "1.0", "id": call, "source": "agent/7", "type": "tool.requested", "subject": "s",
            "call": call, "data": write(call),
        })
    };
    service.append(requested("c1").to_string()).expect(201);
    let answer = service.append(json!([requested("c1"), requested("c2")]).to_string()).expect(201).json();
    assert!(answer["derived"].as_array().unwrap().len() >= 2, "{answer}");
    let told = samples(&service);
    assert_eq!(told["bitacora_derived_events_total{ledger=\"main\",type=\"decision.made\"}"], 2.0);
    assert_eq!(told["bitacora_denials_total{ledger=\"main\"}"], 0.0);
}

/// Budgets, costs and stops of another ledger are for those who collect for the whole service.
#[test]
fn governing_is_told_of_the_ledgers_that_know_the_caller() {
    let service = TestService::start();
    guard(&service);
    ask_as(&service, "POST", "/v1/ledgers", Some(&token("admin")), r#"{"name": "other"}"#).expect(201);
    let has = |role: &str, ledger: &str| {
        let told = ask_as(&service, "GET", "/metrics", Some(&token(role)), "").expect(200).text().to_owned();
        told.contains(&format!("bitacora_panic_engaged{{ledger=\"{ledger}\"}}"))
    };
    for role in ["agent", "operator", "admin", "auditor", "metrics"] {
        let collects = ["admin", "metrics"].contains(&role);
        assert_eq!((has(role, "main"), has(role, "other")), (true, collects), "{role}");
    }
    // The reasons why the service is not ready are for readers.
    let ready =
        |role: &str| ask_as(&service, "GET", "/readyz", Some(&token(role)), "").expect(200).text().to_owned();
    assert_eq!(ready("metrics"), "ready\n");
}

//! Repeated requests: allowances that hold or are taken back, and passing denials that are reconsidered.

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, govern, governed, governed_on, post, put, write};
use crate::service::{SetClock, TestService, head};

/// A service whose next calls are heard to be allowed: because they are, or because nothing is meant.
fn allowing(mode: &str) -> TestService {
    allowing_on(TestService::start(), mode)
}

fn allowing_on(service: TestService, mode: &str) -> TestService {
    govern(&service, "allow");
    match mode {
        "observe" => put(&service, "mode", &json!({"mode": "observe"})).expect(200),
        _ => return trusted(service),
    };
    service
}

fn trusted(service: TestService) -> TestService {
    earn(&service, "fs.write", "src");
    service
}

fn taken_back(answer: &Value) {
    let said = (&answer["verdict"], &answer["reasonCode"], &answer["mode"]);
    assert_eq!(said, (&json!("deny"), &json!("repeated"), &json!("enforce")), "{answer}");
    assert!(answer.get("wouldBe").is_none() && answer.get("expires").is_none(), "{answer}");
}

#[test]
fn a_panic_holds_for_calls_that_were_allowed_before_in_every_mode() {
    for mode in ["enforce", "observe"] {
        let service = allowing(mode);
        let first = ask(&service, write("c1"));
        assert_eq!((&first["verdict"], &first["mode"]), (&json!("allow"), &json!(mode)));
        assert!(first["expires"].as_str().unwrap().ends_with('Z'), "{first}");
        assert_eq!(ask(&service, write("c1")), first, "an answer that was lost is given again");
        post(&service, "panic", &json!({"reason": "a drill"})).expect(200);
        taken_back(&ask(&service, write("c1")));
    }
}

#[test]
fn a_suspension_holds_for_calls_that_were_allowed_before_in_every_mode() {
    for mode in ["enforce", "observe"] {
        let service = allowing(mode);
        let mut request = write("c1");
        request["agent"] = json!("a".repeat(400));
        assert_eq!(ask(&service, request.clone())["verdict"], "allow");
        let suspend = format!("agents/{}:suspend", "a".repeat(400));
        post(&service, &suspend, &json!({"reason": "a drill"})).expect(200);
        taken_back(&ask(&service, request));
        let mut other = write("c2");
        other["agent"] = json!("a".repeat(400));
        assert_eq!(ask(&service, other)["reasonCode"], "agent-suspended");
    }
}

#[test]
fn a_call_that_is_too_old_does_not_begin_in_any_mode() {
    for mode in ["enforce", "observe"] {
        let clock = SetClock::default();
        let service = allowing_on(TestService::at(&clock), mode);
        let mut request = write("c1");
        request["deadlineMs"] = json!(60_000);
        assert_eq!(ask(&service, request.clone())["verdict"], "allow");
        clock.advance(60_100);
        taken_back(&ask(&service, request));
    }
}

#[test]
fn what_was_only_observed_is_no_yes_once_it_is_meant() {
    let service = allowing("observe");
    let mut denied = write("c1");
    denied["args"] = json!({"path": "../outside"});
    let observed = ask(&service, denied.clone());
    assert_eq!((&observed["verdict"], &observed["wouldBe"]), (&json!("allow"), &json!("deny")));
    post(&service, "outcome", &json!({"call": "c1", "status": "ok"})).expect(200);
    taken_back(&ask(&service, denied));
}

#[test]
fn a_call_without_time_is_denied() {
    let service = trusted(governed("allow"));
    let mut request = write("c1");
    request["deadlineMs"] = json!(0);
    let answer = ask(&service, request);
    assert_eq!((&answer["verdict"], &answer["reasonCode"]), (&json!("deny"), &json!("deadline-passed")));
}

#[test]
fn what_a_request_waits_before_it_is_decided_is_taken_off_its_call_s_time() {
    let clock = SetClock::default();
    let service = trusted(governed_on(TestService::at(&clock), "allow"));
    for (call, pause, verdict) in [("c1", 0, "allow"), ("c2", 60_100, "deny")] {
        let mut request = write(call);
        request["deadlineMs"] = json!(60_000);
        let body = request.to_string();
        let mut client = service.connect();
        let headers = [("content-type", "application/json"), ("expect", "100-continue")];
        client.send(head("POST", "/v1/ledgers/main/decide", &headers, Some(body.len())).as_bytes());
        // The service has the head, and wants the body.
        client.read_past(b"100 Continue\r\n\r\n");
        let (first, rest) = body.split_at(body.len() / 2);
        client.send(first.as_bytes());
        clock.advance(pause);
        client.send(rest.as_bytes());
        let answer = client.answer().expect(200).json();
        assert_eq!(answer["verdict"], verdict, "{answer}");
        assert!(verdict == "allow" || answer["reasonCode"] == "deadline-passed", "{answer}");
    }
}

#[test]
fn who_asks_with_an_approval_that_waits_is_not_locked_out() {
    let service = governed("allow");
    let approval = ask(&service, write("c1"))["approval"]["id"].as_str().unwrap().to_owned();
    let mut with = write("c1");
    with["approval"] = json!(approval);
    let pending = ask(&service, with.clone());
    assert_eq!(pending["reasonCode"], "approval-pending");
    let tip = service.tip();
    assert_eq!(ask(&service, with.clone()), pending, "nothing has changed");
    assert_eq!(service.tip(), tip, "and nothing is recorded");
    approve(&service, &approval).expect(200);
    let allowed = ask(&service, with.clone());
    assert_eq!((&allowed["verdict"], &allowed["reasonCode"]), (&json!("allow"), &json!("approved")));
    assert_eq!(ask(&service, with.clone()), allowed, "it is allowed once, and heard as often as it is asked");
    let service = service.restarted();
    assert_eq!(ask(&service, with), allowed);
}

#[test]
fn who_came_too_early_is_let_in_when_told() {
    let clock = SetClock::default();
    let service = trusted(governed_on(TestService::at(&clock), "allow"));
    let limit = json!({"scope": {"by": "tool"}, "limit": {"burst": 1, "refill": 1, "period_ms": 60_000}});
    put(&service, "rates", &limit).expect(200);
    assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    let early = ask(&service, write("c2"));
    assert_eq!(early["reasonCode"], "rate-limited");
    assert_eq!(ask(&service, write("c2")), early);
    clock.advance(60_100);
    let later = ask(&service, write("c2"));
    assert_eq!(later["verdict"], "allow", "{later}");
    assert_eq!(ask(&service, write("c2")), later);
}

/// A repeated request is answered with all that was told the first time, and that costs less than deciding it did. The original is read
/// once, however many of its events are asked for.
#[test]
fn a_request_that_is_sent_again_is_answered_faster_than_the_first_time() {
    let service = TestService::start();
    let call = |number: u64| {
        [("tool.requested", json!({"tool": "Read", "args": {}})), ("tool.completed", json!({"status": "ok"}))].map(|(kind, mut data)| {
            (data["call"], data["assurance"]) = (json!(format!("c{number}")), json!("imported"));
            json!({"specversion": "1.0", "id": format!("{kind}{number}"), "source": "/t", "type": kind, "subject": "s", "call": data["call"], "data": data})
        })
    };
    let body = Value::from((0..12).flat_map(call).collect::<Vec<_>>()).to_string();
    let send = || {
        let began = std::time::Instant::now();
        let answer =
            service.post("/v1/ledgers/main/events", "application/cloudevents-batch+json", body.clone());
        let took = began.elapsed();
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        (answer.json(), took)
    };
    let (first, deciding) = send();
    let again = [send(), send(), send()];
    let derived = |answer: &Value| answer["derived"].as_array().unwrap().clone();
    assert!(derived(&first).len() >= 12, "{} derived", derived(&first).len());
    for (answer, _) in &again {
        assert_eq!(derived(answer).len(), derived(&first).len());
        for (told, original) in derived(answer).iter().zip(derived(&first)) {
            assert_eq!((&told["position"], &told["type"]), (&original["position"], &original["type"]));
        }
    }
    let fastest = again.iter().map(|(_, took)| *took).min().unwrap();
    assert!(fastest < deciding, "{fastest:?} again, {deciding:?} the first time");
}

//! Legal holds and the retention policy over HTTP: who may set them, what they refuse, and that holds win over erasures.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::identities::{ask, created, token};
use crate::service::{ServiceAnswer, TestService};

const EVENTS: &str = "/v1/ledgers/main/events";
const ERASURES: &str = "/v1/ledgers/main/erasures";
const HOLDS: &str = "/v1/ledgers/main/holds";
const RETENTION: &str = "/v1/ledgers/main/retention";
/// Holds and erasures at once, in the test of both.
const PAIRS: u32 = 24;
/// The difference between the beginnings of one pair and the next.
const STAGGER: Duration = Duration::from_micros(500);

fn personal(id: &str, subject: &str, stream: &str) -> String {
    json!({
        "specversion": "1.0", "id": id, "source": "agent/7", "type": "x.noted", "subject": stream,
        "datasubject": subject, "data": {"note": "hopwood-lane-12"},
    })
    .to_string()
}

fn place(service: &TestService, hold: &Value) -> ServiceAnswer {
    service.post(HOLDS, "application/json", hold.to_string())
}

fn erase(service: &TestService, subject: &str) -> ServiceAnswer {
    let body = json!({"subject": subject, "authority": "ticket 4711"});
    service.post(ERASURES, "application/json", body.to_string())
}

fn send(service: &TestService, method: &str, target: &str, body: &Value) -> ServiceAnswer {
    service.request(method, target, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

fn release(service: &TestService, hold: &str) -> ServiceAnswer {
    send(service, "DELETE", &format!("{HOLDS}/{hold}"), &json!({"reason": "case closed"}))
}

/// A service with an event of each of two subjects in streams of their own, and their positions.
fn filled() -> (TestService, [u64; 2]) {
    let service = TestService::start();
    let positions = [("person/ada", "orders"), ("person/bob", "notes")].map(|(subject, stream)| {
        let appended = service.append(personal(subject, subject, stream)).expect(201).json();
        appended["first"].as_str().unwrap().parse().unwrap()
    });
    (service, positions)
}

fn with_reason(mut hold: Value) -> Value {
    hold["hold"] = "case-7".into();
    hold["reason"] = "the proceedings of case 7".into();
    hold
}

#[test]
fn a_held_subject_is_not_erased_until_the_hold_is_released() {
    let (service, [ada, _]) = filled();
    let placed =
        place(&service, &with_reason(json!({"subject": "person/ada", "by": "counsel"}))).expect(201).json();
    assert_eq!(placed["hold"], "case-7");
    let event = service.get(&format!("{EVENTS}/{}", placed["position"].as_str().unwrap())).expect(200).json();
    assert_eq!(event["event"]["type"], "hold.placed");
    assert!(event["event"]["actor"].is_string() && !event.to_string().contains("person"), "{event}");
    let key = event["event"]["data"]["scope"]["key"].clone();
    let listed = service.get(HOLDS).expect(200).json();
    let [held] = listed["holds"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(
        (&held["hold"], &held["scope"], &held["by"]),
        (&json!("case-7"), &json!({"key": key}), &json!("counsel"))
    );

    let tip = service.tip();
    let refused = erase(&service, "person/ada").expect_problem(409, "held");
    assert_eq!(refused["position"], placed["position"], "{refused}");
    assert!(refused["detail"].as_str().unwrap().starts_with("legal hold `case-7`, placed by"), "{refused}");
    assert_eq!(service.tip(), tip, "nothing is recorded");
    let shown = service.get(&format!("{EVENTS}/{ada}")).expect(200).json();
    assert_eq!(shown["event"]["data"]["note"], "hopwood-lane-12");
    erase(&service, "person/bob").expect(201);

    let service = service.restarted();
    erase(&service, "person/ada").expect_problem(409, "held");
    release(&service, "case-7").expect(200);
    assert_eq!(service.get(HOLDS).expect(200).json()["holds"], json!([]));
    erase(&service, "person/ada").expect(201);
    // Of what is gone nothing can be held.
    place(&service, &with_reason(json!({"subject": "person/ada"}))).expect_problem(404, "subject-unknown");
    release(&service, "case-7").expect_problem(404, "no-such-thing");
}

#[test]
fn a_hold_by_range_or_stream_holds_the_subjects_of_its_events_and_no_others() {
    let (service, [ada, bob]) = filled();
    let at = |position: u64| position.to_string();
    for (scope, holds_ada, holds_bob) in [
        (json!({}), true, true),
        (json!({"first": at(ada), "last": at(ada)}), true, false),
        (json!({"last": at(ada)}), true, false),
        (json!({"first": at(bob)}), false, true),
        (json!({"stream": "orders"}), true, false),
        (json!({"stream": "notes", "last": at(ada)}), false, false),
        (json!({"stream": "order"}), false, false),
    ] {
        place(&service, &with_reason(scope.clone())).expect(201);
        let tip = service.tip();
        for (subject, is_held) in [("person/ada", holds_ada), ("person/bob", holds_bob)] {
            if is_held {
                erase(&service, subject).expect_problem(409, "held");
                assert_eq!(service.tip(), tip, "{scope}");
            }
        }
        release(&service, "case-7").expect(200);
    }
    place(&service, &with_reason(json!({"stream": "notes", "last": at(ada)}))).expect(201);
    for subject in ["person/ada", "person/bob"] {
        erase(&service, subject).expect(201);
    }
}

#[test]
fn of_a_hold_and_an_erasure_at_once_one_wins_and_the_other_knows() {
    let service = TestService::start();
    // Now the one begins earlier, now the other.
    for number in 0..PAIRS {
        let subject = format!("person/{number}");
        service.append(personal(&subject, &subject, "orders")).expect(201);
        let hold = json!({"hold": format!("h{number}"), "subject": subject, "reason": "case 7"});
        let (held, erased) = thread::scope(|scope| {
            let held = scope.spawn(|| {
                thread::sleep(STAGGER * number);
                place(&service, &hold).status
            });
            let erased = scope.spawn(|| {
                thread::sleep(STAGGER * (PAIRS - number));
                erase(&service, &subject).status
            });
            (held.join().unwrap(), erased.join().unwrap())
        });
        assert!([(201, 409), (404, 201)].contains(&(held, erased)), "{held} and {erased}");
    }
}

#[test]
fn operators_hold_admins_set_the_policy_and_auditors_read() {
    let (service, _) = filled();
    service.append(created("owner", "admin", None).to_string()).expect(201);
    for role in ["agent", "operator", "auditor"] {
        let made = created(role, role, None).to_string();
        ask(&service, "POST", EVENTS, Some(&token("owner")), &made).expect(201);
    }
    let hold = with_reason(json!({"subject": "person/ada"})).to_string();
    let closed = json!({"reason": "closed"}).to_string();
    let policy = json!({"rules": [], "reason": "ticket 4711"}).to_string();
    let named = format!("{HOLDS}/case-7");
    for role in ["agent", "auditor"] {
        ask(&service, "POST", HOLDS, Some(&token(role)), &hold).expect_problem(403, "forbidden");
        ask(&service, "DELETE", &named, Some(&token(role)), &closed).expect_problem(403, "forbidden");
    }
    ask(&service, "POST", HOLDS, Some(&token("operator")), &hold).expect(201);
    ask(&service, "DELETE", &named, Some(&token("operator")), &closed).expect(200);
    for role in ["agent", "auditor", "operator"] {
        ask(&service, "PUT", RETENTION, Some(&token(role)), &policy).expect_problem(403, "forbidden");
    }
    ask(&service, "PUT", RETENTION, Some(&token("owner")), &policy).expect(200);
    for path in [HOLDS, RETENTION] {
        ask(&service, "GET", path, Some(&token("auditor")), "").expect(200);
        ask(&service, "GET", path, Some("no token"), "").expect_problem(401, "unauthorized");
    }
    // Nobody writes the events either.
    for (kind, data) in [
        ("hold.placed", json!({"hold": "h", "scope": {}, "reason": "r"})),
        ("hold.released", json!({"hold": "h", "reason": "r"})),
        ("retention.changed", json!({"rules": [], "reason": "r"})),
    ] {
        let forged = json!({"specversion": "1.0", "id": kind, "source": "s", "type": kind, "subject": "s", "data": data});
        ask(&service, "POST", EVENTS, Some(&token("owner")), &forged.to_string())
            .expect_problem(403, "reserved-type");
    }
}

#[test]
fn bad_holds_are_refused_and_record_nothing() {
    let (service, [ada, _]) = filled();
    place(&service, &json!({"hold": "taken", "last": "1", "reason": "r"})).expect(201);
    let tip = service.tip();
    let (head, behind) = (tip.to_string(), (tip + 2).to_string());
    for (body, status, code) in [
        (json!({"hold": "taken", "reason": "r"}), 422, "schema"),
        (json!({"hold": "h", "last": behind, "reason": "r"}), 422, "schema"),
        (json!({"hold": "h", "first": head, "last": ada.to_string(), "reason": "r"}), 422, "schema"),
        (json!({"hold": "h", "subject": "person/eve", "reason": "r"}), 404, "subject-unknown"),
        (json!({"hold": "h", "subject": "", "reason": "r"}), 404, "subject-unknown"),
        (json!({"hold": "h", "subject": "person/ada", "reason": "of PERSON/ADA"}), 422, "name-in-reason"),
        (json!({"hold": "person/ada", "subject": "person/ada", "reason": "r"}), 422, "name-in-reason"),
        (
            json!({"hold": "h", "subject": "person/ada", "by": "person/ada", "reason": "r"}),
            422,
            "name-in-reason",
        ),
        (
            json!({"hold": "h", "subject": "person/ada", "stream": "person/ada", "reason": "r"}),
            422,
            "name-in-reason",
        ),
        (json!({"hold": "h"}), 400, "bad-body"),
        (json!({"reason": "r"}), 400, "bad-body"),
        (json!({"hold": "", "reason": "r"}), 400, "bad-body"),
        (json!({"hold": "h", "reason": ""}), 400, "bad-body"),
        (json!({"hold": "h", "first": 7, "reason": "r"}), 400, "bad-body"),
        (json!({"hold": "h", "first": "0", "reason": "r"}), 400, "bad-body"),
        (json!({"hold": "h", "scope": {}, "reason": "r"}), 400, "bad-body"),
    ] {
        let problem = place(&service, &body).expect_problem(status, code);
        assert!(!problem.to_string().contains("person/"), "{problem}");
    }
    release(&service, "other").expect_problem(404, "no-such-thing");
    send(&service, "DELETE", &format!("{HOLDS}/taken"), &json!({})).expect_problem(400, "bad-body");
    let by_query = format!("{HOLDS}?subject=person");
    service
        .post(&by_query, "application/json", json!({"hold": "h", "reason": "r"}).to_string())
        .expect_problem(400, "bad-query");
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_retention_policy_is_replaced_as_a_whole_and_survives_a_restart() {
    let service = TestService::start();
    let put = |service: &TestService, rules: &Value| {
        send(service, "PUT", RETENTION, &json!({"rules": rules, "reason": "ticket 4711"}))
    };
    assert_eq!(service.get(RETENTION).expect(200).json(), json!({"rules": []}));
    let rules = json!([
        {"rule": "calls", "keep_days": 400, "types": ["tool.*"], "streams": ["agent/*"], "subjects": true},
        {"rule": "notes", "keep_days": 30, "types": ["x.note"], "shorter_because": "the works council"},
    ]);
    let set = put(&service, &rules).expect(200).json();
    let shown = json!({"rules": rules, "position": set["position"]});
    assert_eq!(service.get(RETENTION).expect(200).json(), shown);
    let tip = service.tip();
    for (rules, status, code) in [
        (json!([{"rule": "a", "keep_days": 179}]), 422, "schema"),
        (json!([{"rule": "a", "keep_days": 200}, {"rule": "a", "keep_days": 300}]), 422, "schema"),
        (json!([{"rule": "a", "keep_days": 200, "types": ["tool.{a,b}"]}]), 422, "schema"),
        (json!([{"rule": "a", "keep_days": 0}]), 400, "bad-body"),
        (json!([{"rule": "a", "keep_days": 200, "type": ["tool.*"]}]), 400, "bad-body"),
        (json!([{"keep_days": 200}]), 400, "bad-body"),
        (json!({"rule": "a", "keep_days": 200}), 400, "bad-body"),
    ] {
        put(&service, &rules).expect_problem(status, code);
    }
    send(&service, "PUT", RETENTION, &json!({"rules": []})).expect_problem(400, "bad-body");
    assert_eq!(service.tip(), tip);
    let service = service.restarted();
    assert_eq!(service.get(RETENTION).expect(200).json(), shown);
    put(&service, &json!([])).expect(200);
    assert_eq!(service.get(RETENTION).expect(200).json()["rules"], json!([]));
}

#[test]
fn a_hold_on_a_stream_takes_each_name_of_one_and_warns_of_an_unknown_one() {
    let (service, _) = filled();
    let long = "s".repeat(512);
    service.append(personal("e-long", "person/eve", &long)).expect(201);
    let held = |hold: &str, stream: &str| {
        let hold = json!({"hold": hold, "stream": stream, "reason": "the proceedings of case 7"});
        place(&service, &hold).expect(201).json()
    };
    assert_eq!(held("case-1", &long).get("warning"), None);
    erase(&service, "person/eve").expect_problem(409, "held");
    let warning = held("case-2", "Orders")["warning"].to_string();
    assert!(warning.contains("no event is in stream") && warning.contains("Orders"), "{warning}");
    erase(&service, "person/ada").expect(201);
}

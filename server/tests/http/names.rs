//! Names of calls hold no secret: they are looked up again, so one could be neither replaced nor kept.

use serde_json::json;

use crate::governed::{ask, earn, governed, post, write};

/// Like a key of an API, and of nobody.
fn secret() -> String {
    format!("sk-{}", "a1b2c3d4e5".repeat(4))
}

#[test]
fn a_call_that_is_known_by_a_secret_is_refused() {
    let service = governed("allow");
    let tip = service.tip();
    for (member, said) in [
        ("call", "call"),
        ("idempotencyKey", "idempotency key"),
        ("model", "model"),
        ("task_type", "task type"),
        ("cwd", "working folder"),
        ("agent", "agent"),
        ("session", "session"),
        ("run", "run"),
        ("server", "server"),
        ("approval", "approval"),
    ] {
        let mut body = write("c1");
        body[member] = json!(secret());
        let problem = post(&service, "decide", &body).expect_problem(422, "secret-name");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) || detail.contains("subject"), "{member}: {detail}");
        assert!(!detail.contains("sk-"), "{detail}");
    }
    let mut body = write("c1");
    body["args"] = json!({"path": format!("{}/x/a.rs", secret())});
    post(&service, "decide", &body).expect_problem(422, "secret-name");
    assert_eq!(service.tip(), tip, "nothing is recorded");
}

#[test]
fn a_secret_in_what_a_call_writes_is_replaced_and_the_call_decided() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let mut body = write("c1");
    body["args"] = json!({"path": "src/a.rs", "content": secret()});
    assert_eq!(ask(&service, body)["verdict"], "allow");
    let recorded = service.get("/v1/ledgers/main/events?call=c1&type=tool.requested").expect(200);
    assert!(!recorded.text().contains(&secret()), "{}", recorded.text());
}

#[test]
fn an_event_that_is_known_by_a_secret_is_refused() {
    let service = governed("allow");
    let tip = service.tip();
    for (member, value) in [
        ("subject", json!(secret())),
        ("session", json!(secret())),
        ("run", json!(secret())),
        ("agent", json!(secret())),
        ("tags", json!(secret())),
    ] {
        let mut event =
            json!({"specversion": "1.0", "id": "1", "source": "urn:test", "type": "x.note", "subject": "s"});
        event[member] = value;
        service.append(event.to_string()).expect_problem(422, "secret-name");
    }
    assert_eq!(service.tip(), tip);
}

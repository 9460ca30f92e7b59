//! A clock that jumps while the service runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bitacora_formats::Micros;
use bitacora_ledger::{Clock, SystemClock};
use bitacora_server::ServerLimits;
use serde_json::json;

use crate::governed::{ask, earn, govern, post, put, write};
use crate::service::{SetClock, TestService, config, new_keyring};

#[test]
fn calls_are_denied_until_an_operator_accepts_the_time() {
    let clock = SetClock::default();
    let service = TestService::at(&clock);
    govern(&service, "allow");
    earn(&service, "fs.write", "src");
    let shown = || service.get("/v1/ledgers/main/clock").expect(200).json();
    let text = |path: &str| String::from_utf8(service.get(path).expect(200).body).unwrap();
    let accept = || post(&service, "clock:accept", &json!({"reason": "looked at"}));

    clock.by_minutes(9);
    assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    assert_eq!((&shown()["trusted"], &shown()["jump"]), (&json!(true), &json!(null)));
    accept().expect_problem(404, "no-such-thing");
    for (minutes, direction) in [(20, "forward"), (-20, "back")] {
        clock.by_minutes(minutes);
        let denied = ask(&service, write(&format!("c{minutes}")));
        assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&json!("deny"), &json!("clock-untrusted")));
        assert_eq!(shown()["jump"]["direction"], direction);
        assert!(text("/readyz").starts_with("ready\nmain: its clock jumped"));
        assert!(text("/metrics").contains("bitacora_ledger_clock_trusted{ledger=\"main\"} 0"));
        accept().expect(200);
        assert_eq!(ask(&service, write(&format!("d{minutes}")))["verdict"], "allow");
        assert_eq!(text("/readyz"), "ready\n");
        assert!(text("/metrics").contains("bitacora_ledger_clock_trusted{ledger=\"main\"} 1"));
    }
    post(&service, "clock:accept", &json!({})).expect_problem(400, "bad-body");
}

/// A clock by which some time passes between any two looks at it.
#[derive(Debug, Default)]
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Micros {
        let passed = self.0.fetch_add(10_000, Ordering::SeqCst);
        Micros(SystemClock.now().0.saturating_add_signed(passed))
    }

    fn passed(&self) -> Duration {
        SystemClock.passed()
    }
}

#[test]
fn an_allow_that_is_answered_behind_its_deadline_is_none_where_verdicts_are_meant() {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    config.ledgers.environment.clock = Arc::new(TickingClock::default());
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    govern(&service, "allow");
    earn(&service, "fs.write", "src");
    let within = |call: &str, milliseconds: u64| {
        let mut request = write(call);
        request["deadlineMs"] = json!(milliseconds);
        let answer = ask(&service, request);
        (answer["verdict"].clone(), answer["reasonCode"].clone())
    };
    assert_eq!(within("c1", 60_000), (json!("allow"), json!("allowed")));
    assert_eq!(within("c2", 1), (json!("deny"), json!("deadline-passed")));
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    assert_eq!(within("c3", 1), (json!("allow"), json!("allowed")), "who observes is not held up");
}

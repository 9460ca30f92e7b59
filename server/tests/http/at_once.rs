//! Many callers at once: an approval, or a rate's token, that can be spent once is spent once.

use std::sync::Barrier;

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, governed, put, write};
use crate::service::TestService;

const CALLERS: usize = 64;

/// Asks from each of many callers at the same moment, each on a connection of its own, and returns the answers.
fn at_once(service: &TestService, request: impl Fn(usize) -> Value + Sync) -> Vec<Value> {
    let begin = Barrier::new(CALLERS);
    std::thread::scope(|scope| {
        let ask = |number| {
            let (request, begin) = (&request, &begin);
            scope.spawn(move || {
                let body = request(number);
                begin.wait();
                ask(service, body)
            })
        };
        let callers: Vec<_> = (0..CALLERS).map(ask).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

fn count(answers: &[Value], member: &str, value: &str) -> usize {
    answers.iter().filter(|answer| answer[member] == value).count()
}

fn events(service: &TestService, kind: &str) -> usize {
    let page = service.get(&format!("/v1/ledgers/main/events?type={kind}&limit=1000")).expect(200).json();
    page["events"].as_array().unwrap().len()
}

#[test]
fn one_approval_is_spent_by_one_of_64_callers() {
    let service = governed("allow");
    let approval = ask(&service, write("c"))["approval"]["id"].clone();
    approve(&service, approval.as_str().unwrap()).expect(200);
    let answers = at_once(&service, |number| {
        let mut request = write(&format!("c{number}"));
        request["approval"] = approval.clone();
        request
    });
    assert_eq!(count(&answers, "verdict", "allow"), 1, "{answers:?}");
    assert_eq!(count(&answers, "reasonCode", "approved"), 1);
    assert_eq!(events(&service, "approval.consumed"), 1);
    // The same in what is recorded, not only in what was answered.
    let allowed = service.get("/v1/ledgers/main/events?type=decision.made&limit=1000").expect(200).json();
    let allowed = allowed["events"].as_array().unwrap().iter();
    assert_eq!(allowed.filter(|event| event["event"]["data"]["verdict"] == "allow").count(), 1);
}

#[test]
fn one_token_of_a_rate_is_taken_by_one_of_64_callers() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let limit = json!({"burst": 1, "refill": 1, "period_ms": 3_600_000});
    put(&service, "rates", &json!({"scope": {"by": "tool", "name": "fs.write"}, "limit": limit})).expect(200);
    let answers = at_once(&service, |number| write(&format!("c{number}")));
    assert_eq!(count(&answers, "verdict", "allow"), 1, "{answers:?}");
    assert_eq!(count(&answers, "reasonCode", "rate-limited"), CALLERS - 1);
    let denied = answers.iter().find(|answer| answer["verdict"] == "deny").unwrap();
    assert!(denied["retryAfterMs"].as_u64().unwrap() > 3_000_000, "{denied}");
}

//! Input that is absurd, early, late or in the wrong order.
//! It gets an answer or a refusal, and never an allow that was not due.

use bitacora_formats::{Event, Micros};
use bitacora_governance::State;
use bitacora_vocabulary::{EVENT_TYPES, MicroUsd, Milliseconds, Verdict, check_members};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, governed, kinds, tool, verdict};
use crate::random_acts::RandomRequests;

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

fn trusting() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk
}

/// Reports on models, runs and checkpoints by anybody: evidence, which is folded with any further contents.
const TOLD: [&str; 7] = [
    "checkpoint.saved",
    "model.called",
    "run.aborted",
    "run.completed",
    "run.failed",
    "run.started",
    "run.step",
];

#[test]
fn the_types_that_govern_are_those_that_are_folded_and_not_only_told() {
    for listed in EVENT_TYPES {
        let is_folded = State::concerns(listed.kind);
        assert_eq!(listed.governs, is_folded && !TOLD.contains(&listed.kind), "{}", listed.kind);
    }
    assert!(TOLD.iter().all(|kind| State::concerns(kind)));
}

#[test]
fn what_is_recorded_with_members_that_nobody_knows_is_folded() {
    let mut desk = trusting();
    let suspended = json!({"agent": "coder", "reason": "x", "agnet": "other"});
    assert!(check_members("agent.suspended", suspended.to_string().as_bytes()).is_err());
    let event = desk.event("agent.suspended", "operator:0", &suspended);
    desk.record(event);
    assert_eq!(verdict(&desk.ask_with(request("c1")).unwrap()), (Verdict::Deny, "agent-suspended".into()));
    assert!(desk.is_in_step());
}

#[test]
fn a_misspelt_keyword_is_refused_now_and_judged_by_as_before_where_it_is_recorded() {
    let mut desk = trusting();
    let mut misspelt = tool("fs.write");
    misspelt["input_schema"] =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "requird": ["path"]});
    for kind in ["tool.changed", "tool.registered"] {
        let event = desk.event(kind, "operator:0", &misspelt);
        let refusal = desk.append(vec![event]).unwrap_err();
        assert_eq!(refusal.code.as_str(), "schema");
        assert!(
            refusal.reason.contains("`requird`") && refusal.reason.contains("`required` is"),
            "{}",
            refusal.reason
        );
    }
    let event = desk.event("tool.changed", "operator:0", &misspelt);
    desk.record(event);
    desk.restart();
    assert_eq!(desk.ask_with(request("c1")).unwrap().verdict, Verdict::Allow);
    assert!(desk.is_in_step());
}

#[test]
fn an_outcome_ahead_of_its_request_drops_both_and_behind_it_counts() {
    let mut desk = trusting();
    let before = desk.governance.read(Clone::clone);
    let both = |desk: &mut TestGovernance, call: &str| {
        let asked = desk.event("tool.requested", "agent:1", &request(call));
        let ended = desk.event("tool.completed", "agent:1", &json!({"call": call, "status": "ok"}));
        (asked, ended)
    };
    let (asked, ended) = both(&mut desk, "c1");
    let refusal = desk.append(vec![ended, asked]).unwrap_err();
    assert_eq!(refusal.code.as_str(), "no-such-call");
    assert!(desk.governance.read(|state| *state == before) && desk.staged_is(&before));
    let (asked, ended) = both(&mut desk, "c1");
    let caused = desk.append(vec![asked, ended]).unwrap();
    assert_eq!(kinds(&caused), ["decision.made", "trust.observed"]);
    assert_eq!(data::<Value>(&caused[1])["outcome"], "auto_approved");
}

#[test]
fn an_outcome_that_was_queued_before_its_decision_is_refused_and_can_be_told_again() {
    let mut desk = trusting();
    let ended = desk.event("tool.completed", "agent:1", &json!({"call": "c1", "status": "ok"}));
    assert_eq!(desk.append(vec![ended.clone()]).unwrap_err().code.as_str(), "no-such-call");
    assert_eq!(desk.ask_with(request("c1")).unwrap().verdict, Verdict::Allow);
    assert_eq!(kinds(&desk.append(vec![ended]).unwrap()), ["trust.observed"]);
}

#[test]
fn costs_and_times_at_their_bounds_are_counted_and_beyond_them_refused() {
    let (money, time) = (MicroUsd::MAX.get(), Milliseconds::MAX.get());
    let mut desk = trusting();
    for (number, (member, most)) in [("cost_micro_usd", money), ("duration_ms", time)].into_iter().enumerate()
    {
        let call = format!("c{number}");
        assert_eq!(desk.ask_with(request(&call)).unwrap().verdict, Verdict::Allow);
        let end = |desk: &mut TestGovernance, value: Value| {
            let mut data = json!({"call": call, "status": "ok"});
            data[member] = value;
            let event = desk.event("tool.completed", "agent:1", &data);
            desk.append(vec![event])
        };
        for absurd in [json!(most + 1), json!(1_u64 << 53), json!(-1), json!(0.5), json!("1")] {
            let refusal = end(&mut desk, absurd.clone()).unwrap_err();
            assert_eq!(refusal.code.as_str(), "schema", "{member} {absurd}");
        }
        assert_eq!(kinds(&end(&mut desk, json!(most)).unwrap()), ["trust.observed"], "{member}");
    }
    assert!(desk.is_in_step());
}

#[test]
fn a_read_with_a_key_may_be_repeated_after_its_deadline_and_a_write_is_looked_at() {
    for (risk, expected) in
        [("read", Verdict::Allow), ("write", Verdict::Review), ("destructive", Verdict::Review)]
    {
        let mut desk = trusting();
        let mut document = tool("fs.write");
        document["risk"] = json!(risk);
        desk.act("tool.changed", document).unwrap();
        let keyed = |call: &str| {
            let mut request = request(call);
            request["idempotency_key"] = json!("k");
            request
        };
        assert_eq!(desk.ask_with(keyed("c1")).unwrap().verdict, Verdict::Allow);
        let during = desk.ask_with(keyed("c2")).unwrap();
        assert_eq!(verdict(&during), (Verdict::Deny, "in-flight".into()), "{risk}");
        desk.pass(3_600);
        let after = desk.ask_with(keyed("c3")).unwrap();
        assert_eq!(after.verdict, expected, "{risk}: {}", after.reason_code.as_str());
    }
}

#[test]
fn callers_without_an_agent_share_their_keys_and_agents_do_not() {
    let mut desk = trusting();
    let ask = |desk: &mut TestGovernance, agent: Option<&'static str>, actor, call: &str, path: &str| {
        let request =
            json!({"call": call, "tool": "fs.write", "args": {"path": path}, "idempotency_key": "k"});
        let mut event = desk.event("tool.requested", actor, &request);
        event.agent = agent.map(Into::into);
        desk.append(vec![event]).map(|caused| crate::desk::decision(&caused))
    };
    let mut of_operators = tool("fs.write");
    of_operators["allowed_roles"] = json!(["agent", "operator"]);
    desk.act("tool.changed", of_operators).unwrap();
    let (ana, eva) = ("operator:aaaaaaaaaaaa", "operator:eeeeeeeeeeee");
    assert_eq!(ask(&mut desk, None, ana, "c1", "src/a.rs").unwrap().verdict, Verdict::Allow);
    // One operator's key is the other's too: stricter than need be, and never milder.
    let other = ask(&mut desk, None, eva, "c2", "src/b.rs").unwrap_err();
    assert_eq!(other.code.as_str(), "key-reused");
    let same = ask(&mut desk, None, eva, "c3", "src/a.rs").unwrap();
    assert_eq!(verdict(&same), (Verdict::Deny, "in-flight".into()));
    assert_eq!(ask(&mut desk, Some("coder"), "agent:1", "c4", "src/b.rs").unwrap().verdict, Verdict::Allow);
    // An agent that is called as nobody is does not share them.
    assert_eq!(ask(&mut desk, Some("tester"), "agent:2", "c5", "src/a.rs").unwrap().verdict, Verdict::Allow);
}

/// The clock of a machine without a battery, and one that is far ahead.
#[test]
fn whatever_the_clock_says_nothing_overflows_and_governed_time_never_goes_back() {
    for start in [0, 1, 4_102_444_800_000_000] {
        let (mut desk, mut acts) = (TestGovernance::new(), RandomRequests::new(start));
        desk.time = start;
        for event in acts.first() {
            desk.append(vec![event]).unwrap();
        }
        let mut latest = Micros(start);
        for step in 0..300 {
            let request = desk.governance.read(|state| acts.next(state, Micros(desk.time)));
            // Back to the beginning and on again.
            desk.time = if step % 50 == 49 {
                start / 2
            } else {
                desk.time.saturating_add(request.seconds * 1_000_000)
            };
            drop(desk.append(request.events));
            let now = desk.governance.read(State::governed_time);
            assert!(now >= latest && desk.is_in_step(), "from {start}, step {step}");
            latest = now;
        }
    }
}

#[test]
fn at_the_end_of_time_nothing_is_allowed() {
    let mut desk = trusting();
    for time in [u64::MAX - 1, u64::MAX] {
        desk.time = time;
        let refused = desk.ask_with(request("c1"));
        assert!(refused.is_err() && desk.is_in_step(), "{refused:?}");
    }
}

#[test]
fn imported_times_at_the_ends_of_time_are_taken_and_allow_nothing_that_is_live() {
    for time in ["1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"] {
        let mut desk = governed();
        let recorded = |desk: &mut TestGovernance, kind, data: Value| -> Event<'static> {
            let mut event = desk.event(kind, "admin:0", &data);
            event.stream = "session/one".into();
            event.time = Some(time.to_owned().into());
            event
        };
        for number in 0..25 {
            let call = format!("i{number}");
            let mut asked = request(&call);
            asked["assurance"] = json!("imported");
            let asked = recorded(&mut desk, "tool.requested", asked);
            desk.append(vec![asked]).unwrap();
            let ended = json!({"call": call, "status": "ok", "assurance": "imported"});
            let ended = recorded(&mut desk, "tool.completed", ended);
            desk.append(vec![ended]).unwrap();
        }
        let live = desk.ask_with(request("c1")).unwrap();
        assert_eq!((live.verdict, live.inputs.approvals), (Verdict::Review, 0), "{time}");
        assert_eq!(desk.governance.read(State::governed_time), Micros(desk.time), "{time}");
    }
}

//! Full maps: they deny, and take calls again when their entries are over.
//! Governed time alone decides that, with any requests.

use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, governed, scope_of};

const DAY: u64 = 24 * 3_600;

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

/// A ledger in which a map, and the times at which its entries leave, hold as many of one entry as there may be.
fn full(part: &str, map: &str, times: &str, limit: usize) -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let keyed = json!({
        "call": "c1", "tool": "fs.write", "args": {"path": "docs/a.md"}, "idempotency_key": "k",
    });
    assert_eq!(desk.ask_with(keyed).unwrap().verdict, Verdict::Review);
    let mut state = desk.governance.read(|state| serde_json::to_value(state).unwrap());
    let (entry, end) = (state[part][map][0][1].clone(), state[part][times][0][0][0].clone());
    let name = |number| format!("x{number:06}");
    state[part][map] = (0..limit).map(|number| json!([name(number), entry])).collect();
    state[part][times] = (0..limit).map(|number| json!([[end, name(number)], null])).collect();
    desk.go_on_in(&state);
    desk
}

#[test]
fn a_map_that_was_full_takes_calls_again_when_its_time_has_passed() {
    for (part, map, times, limit, seconds) in [
        ("calls", "by_id", "leaving", 100_000, 3_600),
        ("approvals", "by_id", "by_end", 20_000, 2 * DAY),
        ("keys", "used", "by_end", 200_000, 2 * DAY),
    ] {
        let mut desk = full(part, map, times, limit);
        let keyed = |call: &str| {
            let mut asked = request(call);
            asked["idempotency_key"] = json!(call);
            if part == "approvals" {
                asked["args"]["path"] = json!(format!("docs/{call}.md"));
            }
            asked
        };
        let denied = desk.ask_with(keyed("d1")).unwrap();
        assert_eq!(
            (denied.verdict, denied.reason_code.as_str()),
            (Verdict::Deny, "state-full".into()),
            "{part}"
        );
        desk.pass(seconds);
        // The first one makes room.
        desk.ask_with(keyed("d2")).unwrap();
        let taken = desk.ask_with(keyed("d3")).unwrap();
        let expected = if part == "approvals" { Verdict::Review } else { Verdict::Allow };
        assert_eq!(taken.verdict, expected, "{part}: {}", taken.reason);
    }
}

#[test]
fn keys_of_calls_that_were_denied_because_there_are_too_many_are_not_kept() {
    let mut desk = full("keys", "used", "by_end", 200_000);
    for number in 0..3 {
        let mut keyed = request(&format!("d{number}"));
        keyed["idempotency_key"] = json!(format!("new{number}"));
        assert_eq!(desk.ask_with(keyed).unwrap().verdict, Verdict::Deny);
    }
    let held = desk.governance.read(|state| serde_json::to_value(state).unwrap())["keys"]["used"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(held, 200_000);
}

#[test]
fn grants_that_are_over_make_room() {
    let mut desk = governed();
    let give = |desk: &mut TestGovernance, number: u64| {
        let (scope, expires) = (scope_of("coder", "src"), desk.time + 60_000_000);
        desk.act("grant.given", json!({"grant": format!("g{number}"), "scope": scope, "expires": expires}))
    };
    (0..1_000).for_each(|number| drop(give(&mut desk, number).unwrap()));
    assert_eq!(give(&mut desk, 1_000).unwrap_err().code.as_str(), "state-full");
    desk.pass(61);
    give(&mut desk, 1_000).unwrap();
    assert_eq!(desk.ask_with(request("c1")).unwrap().reason_code.as_str(), "granted");
}

#[test]
fn what_is_configured_already_can_be_made_stricter_however_much_there_is() {
    let mut desk = governed();
    let observe = |desk: &mut TestGovernance, number: u64, mode: &str| {
        desk.act("mode.configured", json!({"mode": mode, "scope": {"tool": format!("t{number}")}}))
    };
    (0..1_000).for_each(|number| drop(observe(&mut desk, number, "observe").unwrap()));
    assert_eq!(observe(&mut desk, 1_000, "observe").unwrap_err().code.as_str(), "state-full");
    observe(&mut desk, 7, "enforce").unwrap();
    desk.act("mode.configured", json!({"mode": "enforce"})).unwrap();
}

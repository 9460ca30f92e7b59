//! Time windows of rules by the clocks of a zone, and their records.

use bitacora_formats::{Data, Json, parse_time};
use bitacora_governance::{Policy, PolicyError, ZONE_DATA};
use bitacora_vocabulary::{DecisionMade, Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, governed, verdict};
use crate::golden::rejudged;

/// Returns a ledger whose policy allows calls within a window, and has all others reviewed.
fn within(window: &Value) -> TestGovernance {
    let mut desk = governed();
    let rules = json!([
        {"id": "in-time", "match": {"time_window": window}, "action": "allow", "reason": "for a test", "trust": "ignore"},
        {"id": "else", "match": {}, "action": "review", "reason": "out of hours"},
    ]);
    desk.publish_document(2, rules, TrustRules::v2(), json!({}));
    desk
}

/// Asks for a call at a time of UTC.
fn ask_at(desk: &mut TestGovernance, utc: &str) -> DecisionMade {
    let time = parse_time(&format!("{utc}Z")).unwrap().0;
    assert!(time >= desk.time, "{utc}");
    desk.time = time;
    desk.ask(&format!("c-{utc}"), "fs.write", json!({"path": format!("src/{utc}.rs")}))
}

/// Each time of UTC, with whether it lies within.
fn check(window: &Value, times: &[(&str, bool)]) {
    let mut desk = within(window);
    for (utc, is_in) in times {
        let made = ask_at(&mut desk, utc);
        let said = if *is_in { Verdict::Allow } else { Verdict::Review };
        assert_eq!(made.verdict, said, "{window} {utc}");
    }
    let (replayed, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.governance.read(|published| *published == replayed));
}

#[test]
fn hours_are_those_that_clocks_of_the_zone_show_in_winter_and_in_summer() {
    let window = json!({"from": "09:00", "to": "17:00", "zone": "Europe/Madrid"});
    check(
        &window,
        &[
            ("2027-01-13T07:59:59", false),
            ("2027-01-13T08:00:00", true),
            ("2027-01-13T15:59:59", true),
            ("2027-01-13T16:00:00", false),
            ("2027-07-14T06:59:59", false),
            ("2027-07-14T07:00:00", true),
            ("2027-07-14T14:59:59", true),
            ("2027-07-14T15:00:00", false),
        ],
    );
}

#[test]
fn an_hour_that_clocks_leave_out_never_comes_and_one_that_they_show_twice_comes_twice() {
    let window = json!({"from": "02:00", "to": "03:00", "zone": "Europe/Madrid"});
    check(
        &window,
        &[
            ("2027-03-28T00:59:59", false),
            ("2027-03-28T01:00:00", false),
            ("2027-10-30T23:59:59", false),
            ("2027-10-31T00:00:00", true),
            ("2027-10-31T00:59:59", true),
            ("2027-10-31T01:00:00", true),
            ("2027-10-31T01:59:59", true),
            ("2027-10-31T02:00:00", false),
        ],
    );
    // Half an hour only, and on the other half of the earth.
    let window = json!({"from": "01:30", "to": "02:00", "zone": "Australia/Lord_Howe"});
    check(
        &window,
        &[
            ("2027-04-03T14:29:00", false),
            ("2027-04-03T14:30:00", true),
            ("2027-04-03T15:00:00", true),
            ("2027-04-03T15:29:00", true),
            ("2027-04-03T15:30:00", false),
        ],
    );
}

#[test]
fn days_begin_at_midnight_there_and_windows_cross_it() {
    let monday = json!({"days": ["monday"], "zone": "Asia/Kolkata"});
    check(
        &monday,
        &[
            ("2027-01-10T18:29:59", false),
            ("2027-01-10T18:30:00", true),
            ("2027-01-11T18:29:59", true),
            ("2027-01-11T18:30:00", false),
        ],
    );
    // The night from Saturday on which clocks in Sydney are put forward has an hour less.
    let night = json!({"days": ["saturday"], "from": "22:00", "to": "06:00", "zone": "Australia/Sydney"});
    check(
        &night,
        &[
            ("2027-10-02T11:59:59", false),
            ("2027-10-02T12:00:00", true),
            ("2027-10-02T18:59:59", true),
            ("2027-10-02T19:00:00", false),
            ("2027-10-03T12:00:00", false),
        ],
    );
}

/// Returns the local times that a decision records.
fn recorded(made: &DecisionMade) -> Value {
    serde_json::to_value(&made.inputs).unwrap()["local_times"].clone()
}

#[test]
fn a_decision_records_what_clocks_showed_where_a_zone_has_a_part_in_it() {
    let mut desk = within(&json!({"from": "09:00", "to": "17:00", "zone": "Asia/Kathmandu"}));
    let made = ask_at(&mut desk, "2027-01-13T07:59:59");
    let times = json!([{"zone": "Asia/Kathmandu", "local": "2027-01-13T13:44"}]);
    assert_eq!(recorded(&made), json!({"zone_data": ZONE_DATA, "times": times}));
    let mut desk = within(&json!({"from": "09:00", "to": "17:00"}));
    assert_eq!(recorded(&ask_at(&mut desk, "2027-01-13T07:59:59")), Value::Null);
}

#[test]
fn judging_again_goes_by_what_was_recorded_and_reads_no_zone() {
    let mut desk = within(&json!({"from": "09:00", "to": "17:00", "zone": "Europe/Madrid"}));
    assert_eq!(ask_at(&mut desk, "2027-01-13T08:30:00").verdict, Verdict::Allow);
    let changed = |from: &str, to: &str| {
        let mut log = desk.log.clone();
        let mut times = 0;
        for placed in log.iter_mut().flatten().filter(|placed| placed.event.kind == "decision.made") {
            let Data::Json(data) = &placed.event.data else { panic!("without data") };
            let text = String::from_utf8(data.as_bytes().to_vec()).unwrap();
            times += text.matches(from).count();
            placed.event.data = Data::Json(Json::check(text.replace(from, to).into_bytes()).unwrap());
        }
        assert_eq!(times, 1, "{from}");
        rejudged(&log).1.disagreeing
    };
    // By other zone data clocks showed another time then; what was recorded stands.
    assert_eq!(changed(&format!("\"zone_data\":\"{ZONE_DATA}\""), "\"zone_data\":\"1999a\""), 0);
    assert_eq!(changed("2027-01-13T09:30", "2027-01-13T16:30"), 0);
    assert_eq!(changed("2027-01-13T09:30", "2027-01-13T08:30"), 1, "so it would not have been allowed");
}

#[test]
fn a_zone_that_is_not_built_in_is_refused_and_makes_nothing_milder() {
    let rules = |action: &str| {
        json!([
            {"id": "night", "match": {"time_window": {"from": "00:00", "to": "01:00", "zone": "Mars/Olympus"}}, "action": action,
             "reason": "for a test", "trust": "ignore"},
            {"id": "else", "match": {}, "action": "review", "reason": "for a test"},
        ])
    };
    let compiled: Vec<Rule> = serde_json::from_value(rules("deny")).unwrap();
    let policy = Policy::compile(&compiled, &TrustRules::v2()).unwrap();
    assert!(matches!(policy.check_zones(), Err(PolicyError::UnknownZone(zone)) if zone == "Mars/Olympus"));
    for (action, said) in [("deny", Verdict::Deny), ("allow", Verdict::Review)] {
        let mut desk = governed();
        desk.publish_document(2, rules(action), TrustRules::v2(), json!({}));
        assert_eq!(ask_at(&mut desk, "2027-01-13T12:00:00").verdict, said, "{action}");
    }
}

#[test]
fn a_policy_names_eight_zones_at_most() {
    let zones = ["Madrid", "Paris", "Rome", "Berlin", "Vienna", "Prague", "Warsaw", "Athens", "Lisbon"];
    let rules = |most: usize| -> Vec<Rule> {
        let rule = |zone: &&str| {
            json!({"id": zone, "match": {"time_window": {"days": ["monday"], "zone": format!("Europe/{zone}")}}, "action": "allow",
                   "reason": "for a test"})
        };
        zones.iter().take(most).map(|zone| serde_json::from_value(rule(zone)).unwrap()).collect()
    };
    Policy::compile(&rules(8), &TrustRules::v2()).unwrap().check_zones().unwrap();
    assert!(matches!(Policy::compile(&rules(9), &TrustRules::v2()), Err(PolicyError::TooManyZones)));
}

#[test]
fn a_window_without_a_zone_is_of_utc_as_before() {
    check(
        &json!({"days": ["wednesday"], "from": "09:00", "to": "17:00"}),
        &[("2027-07-14T08:59:59", false), ("2027-07-14T09:00:00", true), ("2027-07-14T17:00:00", false)],
    );
    let mut desk = within(&json!({"from": "09:00", "to": "17:00"}));
    assert_eq!(verdict(&ask_at(&mut desk, "2027-07-14T18:00:00")), (Verdict::Review, "policy-review".into()));
}

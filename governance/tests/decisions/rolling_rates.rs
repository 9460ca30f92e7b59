//! Rates as rolling windows: so many calls in the last while, so many a local day, so far apart.

use bitacora_formats::parse_time;
use bitacora_testkit::SeededRng;
use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, verdict};
use crate::golden::rejudged;

const MINUTE: u64 = 60 * SECOND;

fn limited(rolling: &Value) -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.act("rate.configured", json!({"scope": {"by": "agent"}, "rolling": rolling})).unwrap();
    desk
}

fn ask(desk: &mut TestGovernance) -> DecisionMade {
    let call = format!("c{}", desk.log.len());
    let path = format!("src/{call}.rs");
    desk.ask(&call, "fs.write", json!({"path": path}))
}

/// Asks for a call. The error is the wait until one is taken, in milliseconds.
fn taken(desk: &mut TestGovernance) -> Result<(), u64> {
    let made = ask(desk);
    if made.verdict == Verdict::Allow {
        return Ok(());
    }
    assert_eq!(verdict(&made), (Verdict::Deny, "rate-limited".into()));
    Err(made.retry_after_ms.unwrap().get())
}

fn check_again(desk: &TestGovernance) {
    assert!(desk.is_in_step());
    let (replayed, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.governance.read(|published| *published == replayed));
}

#[test]
fn two_an_hour_and_half_an_hour_apart() {
    let window = json!([{"calls": 2, "period_s": 3_600}]);
    let mut desk = limited(&json!({"windows": window, "apart_s": 1_800}));
    let start = desk.time;
    for (minute, second, expected) in [
        (0, 0, Ok(())),
        (0, 1, Err(1_799_000)),
        (29, 59, Err(1_000)),
        (30, 0, Ok(())),
        (59, 59, Err(1_000)),
        (60, 0, Ok(())),
        (89, 59, Err(1_000)),
        (90, 0, Ok(())),
        (300, 0, Ok(())),
    ] {
        desk.time = start + minute * MINUTE + second * SECOND;
        assert_eq!(taken(&mut desk), expected, "{minute}:{second}");
        desk.restart();
    }
}

#[test]
fn a_window_holds_what_a_list_of_all_calls_says() {
    let mut rng = SeededRng::new(11);
    let windows = json!([{"calls": 3, "period_s": 60}, {"calls": 5, "period_s": 300}]);
    let mut desk = limited(&json!({"windows": windows, "apart_s": 7}));
    let mut all: Vec<u64> = Vec::new();
    for _ in 0..150 {
        desk.time += rng.below(40) * SECOND;
        let since = |seconds: u64| all.iter().filter(|at| **at + seconds * SECOND > desk.time).count();
        let passes = since(60) < 3 && since(300) < 5 && since(7) < 1;
        assert_eq!(taken(&mut desk).is_ok(), passes, "{all:?} {}", desk.time);
        if passes {
            all.push(desk.time);
        }
    }
    assert!(all.len() > 20, "{}", all.len());
    check_again(&desk);
}

#[test]
fn a_wait_that_is_told_is_long_enough_and_no_longer() {
    let windows = json!([{"calls": 3, "period_s": 60}, {"calls": 5, "period_s": 300}]);
    let mut desk = limited(&json!({"windows": windows, "apart_s": 7}));
    for _ in 0..12 {
        while let Err(wait) = taken(&mut desk) {
            desk.time += (wait - 1) * 1_000;
            assert!(taken(&mut desk).is_err(), "a millisecond before");
            desk.time += 1_000;
        }
        desk.time += SECOND;
    }
}

/// Sets the time to one of UTC.
fn at(desk: &mut TestGovernance, utc: &str) {
    desk.time = parse_time(&format!("{utc}Z")).unwrap().0;
}

#[test]
fn eight_a_day_by_the_clocks_of_the_zone() {
    let mut desk = limited(&json!({"day": {"calls": 8, "zone": "Europe/Madrid"}}));
    at(&mut desk, "2027-10-30T22:30:00");
    for _ in 0..8 {
        assert_eq!(taken(&mut desk), Ok(()));
        desk.time += MINUTE;
    }
    // On the last day of summer time clocks go through 25 hours.
    at(&mut desk, "2027-10-31T22:59:00");
    assert_eq!(taken(&mut desk), Err(60_000));
    desk.restart();
    at(&mut desk, "2027-10-31T23:00:00");
    assert_eq!(taken(&mut desk), Ok(()));
    check_again(&desk);
    // Without a zone days are those of UTC.
    let mut desk = limited(&json!({"day": {"calls": 1}}));
    at(&mut desk, "2027-10-30T22:30:00");
    assert_eq!(taken(&mut desk), Ok(()));
    at(&mut desk, "2027-10-30T23:59:59");
    assert_eq!(taken(&mut desk), Err(1_000));
    at(&mut desk, "2027-10-31T00:00:00");
    assert_eq!(taken(&mut desk), Ok(()));
    let recorded = serde_json::to_value(&ask(&mut desk).inputs).unwrap();
    assert_eq!(recorded["local_times"]["times"], json!([{"zone": "UTC", "local": "2027-10-31T00:00"}]));
}

#[test]
fn a_limit_of_each_one_and_one_of_all_hold_together_and_are_taken_away() {
    let mut desk = limited(&json!({"apart_s": 60}));
    let scope = json!({"by": "tool", "name": "fs.write"});
    let bucket = json!({"burst": 1, "refill": 1, "period_ms": 120_000});
    desk.act("rate.configured", json!({"scope": scope, "limit": bucket})).unwrap();
    assert_eq!(taken(&mut desk), Ok(()));
    desk.pass(59);
    assert_eq!(taken(&mut desk), Err(61_000), "the bucket takes longer");
    desk.act("rate.configured", json!({"scope": scope})).unwrap();
    assert_eq!(taken(&mut desk), Err(1_000));
    desk.act("rate.configured", json!({"scope": {"by": "agent"}})).unwrap();
    assert_eq!(taken(&mut desk), Ok(()));
    check_again(&desk);
}

#[test]
fn of_a_zone_that_is_not_built_in_no_day_ends() {
    let mut desk = limited(&json!({"day": {"calls": 8, "zone": "Mars/Olympus"}}));
    assert!(taken(&mut desk).is_err());
    check_again(&desk);
}

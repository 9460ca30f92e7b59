use bitacora_formats::parse_time;

use super::*;

/// Times from Python's `zoneinfo`, in UTC and there. Clocks go forward and back by an hour and by half of one, on both halves of the
/// earth. One zone has no such days any more, one left out a day, and one goes by the moon.
const TOLD_BY_ZONEINFO: [(&str, &str, &str); 29] = [
    ("Europe/Madrid", "2026-03-29T00:59", "2026-03-29T01:59"),
    ("Europe/Madrid", "2026-03-29T01:00", "2026-03-29T03:00"),
    ("Europe/Madrid", "2026-10-25T00:59", "2026-10-25T02:59"),
    ("Europe/Madrid", "2026-10-25T01:00", "2026-10-25T02:00"),
    ("America/New_York", "2026-03-08T06:59", "2026-03-08T01:59"),
    ("America/New_York", "2026-03-08T07:00", "2026-03-08T03:00"),
    ("America/New_York", "2026-11-01T05:59", "2026-11-01T01:59"),
    ("America/New_York", "2026-11-01T06:00", "2026-11-01T01:00"),
    ("Asia/Kolkata", "2026-06-30T18:29", "2026-06-30T23:59"),
    ("Asia/Kolkata", "2026-06-30T18:30", "2026-07-01T00:00"),
    ("Asia/Kathmandu", "2026-01-01T00:00", "2026-01-01T05:45"),
    ("Australia/Sydney", "2026-04-04T15:59", "2026-04-05T02:59"),
    ("Australia/Sydney", "2026-04-04T16:00", "2026-04-05T02:00"),
    ("Australia/Sydney", "2026-10-03T15:59", "2026-10-04T01:59"),
    ("Australia/Sydney", "2026-10-03T16:00", "2026-10-04T03:00"),
    ("Australia/Lord_Howe", "2026-04-04T14:59", "2026-04-05T01:59"),
    ("Australia/Lord_Howe", "2026-04-04T15:00", "2026-04-05T01:30"),
    ("Australia/Lord_Howe", "2026-10-03T15:29", "2026-10-04T01:59"),
    ("Australia/Lord_Howe", "2026-10-03T15:30", "2026-10-04T02:30"),
    ("America/Sao_Paulo", "2018-11-04T02:59", "2018-11-03T23:59"),
    ("America/Sao_Paulo", "2018-11-04T03:00", "2018-11-04T01:00"),
    ("America/Sao_Paulo", "2026-11-04T03:00", "2026-11-04T00:00"),
    ("Pacific/Apia", "2011-12-30T09:59", "2011-12-29T23:59"),
    ("Pacific/Apia", "2011-12-30T10:00", "2011-12-31T00:00"),
    ("Africa/Casablanca", "2024-03-10T01:59", "2024-03-10T02:59"),
    ("Africa/Casablanca", "2024-03-10T02:00", "2024-03-10T02:00"),
    ("Europe/London", "2035-07-01T12:00", "2035-07-01T13:00"),
    ("Europe/London", "2035-12-01T12:00", "2035-12-01T12:00"),
    ("UTC", "2026-11-26T07:00", "2026-11-26T07:00"),
];

fn zone(name: &str) -> Zone {
    Zone::of(&ZoneName::new(name).unwrap())
}

#[test]
fn clocks_show_what_another_library_says() {
    for (name, utc, local) in TOLD_BY_ZONEINFO {
        let time = parse_time(&format!("{utc}:00Z")).unwrap();
        for micros in [0, 59_999_999] {
            let told = zone(name).local(Micros(time.0 + micros)).unwrap();
            assert_eq!(told.local.to_string(), local, "{name} {utc}");
        }
    }
}

#[test]
fn names_are_those_of_iana_and_no_others() {
    assert!(zone("Europe/Madrid").is_known());
    for name in ["europe/madrid", "Europe/Nowhere", "CET+1", "/etc/localtime", "../etc/passwd", ""] {
        let known = ZoneName::new(name).is_ok_and(|name| Zone::of(&name).is_known());
        assert!(!known, "{name}");
    }
    assert!(zone("Europe/Nowhere").local(Micros(0)).is_none());
}

#[test]
fn a_time_that_no_calendar_has_is_not_known() {
    for time in [u64::MAX, 1 << 62] {
        assert!(zone("Europe/Madrid").local(Micros(time)).is_none());
    }
    assert!(zone("America/New_York").local(Micros(0)).is_none(), "before 1970 there");
}

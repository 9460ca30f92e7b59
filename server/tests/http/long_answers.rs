//! NDJSON answers of many pieces: read side by side, and every event once and in its place all the same.

use std::fs;

use bitacora_server::ServerLimits;
use serde_json::{Value, json};

use crate::service::{TestService, data, event, head};

const EVENTS: &str = "/v1/ledgers/main/events";
const LINES: [(&str, &str); 1] = [("Accept", "application/x-ndjson")];

/// A ledger whose frames hold one event or many, with a stretch of events so large that few fit a piece.
fn filled(limits: ServerLimits) -> TestService {
    let service = TestService::with(limits);
    let mut number = 0;
    let mut append = |count: usize, data: &str| {
        let events: Vec<String> = (0..count)
            .map(|_| {
                number += 1;
                event(&number.to_string(), &format!("s{}", number % 3)).replace(r#"{"n":1}"#, data)
            })
            .collect();
        service.append(format!("[{}]", events.join(","))).expect(201);
    };
    for round in 0..40 {
        append([1, 150, 40, 99, 3, 100, 150][round % 7], "{\"n\":\n[1]}");
    }
    let large = format!("\"{}\"", "x".repeat(30_000));
    for _ in 0..700 {
        append(1, &large);
    }
    for round in 0..30 {
        append([100, 150, 1, 17][round % 4], "17");
    }
    service
}

/// The events of these parameters, page by page.
fn by_pages(service: &TestService, after: u64, until: u64) -> Vec<Value> {
    let (mut after, mut events) = (after.to_string(), Vec::new());
    loop {
        let page =
            service.get(&format!("{EVENTS}?after={after}&until={until}&limit=1000")).expect(200).json();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        let Some(next) = page.get("next") else { return events };
        next.as_str().unwrap().clone_into(&mut after);
    }
}

fn by_lines(service: &TestService, target: &str) -> (Vec<Value>, Value) {
    let answer = service.get_with(target, &LINES).expect(200);
    let mut lines: Vec<Value> =
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap()["end"].take();
    assert_eq!(end["count"], lines.len());
    (lines, end)
}

#[test]
fn every_event_comes_once_and_in_its_place() {
    let service = filled(ServerLimits::default());
    let tip = service.tip();
    let all = by_pages(&service, 0, tip);
    assert_eq!(all.len() as u64, tip);
    for (after, until, limit) in [
        (0, None, None),
        (0, Some(tip), None),
        (0, Some(u64::MAX), None),
        (1, Some(tip - 1), None),
        (0, None, Some(1_000)),
        (0, None, Some(1_001)),
        (0, None, Some(2_345)),
        (17, Some(5_000), Some(4_983)),
        (17, Some(5_000), Some(4_982)),
        (17, Some(5_000), Some(4_984)),
        (2_990, None, Some(1_500)),
        (tip - 1, None, None),
        (tip, None, None),
        (0, None, Some(u64::MAX)),
    ] {
        let mut target = format!("{EVENTS}?after={after}");
        for (name, value) in [("until", until), ("limit", limit)] {
            target.extend(value.map(|value| format!("&{name}={value}")));
        }
        let last = until.unwrap_or(tip).min(tip);
        let reached = limit.map_or(last, |limit| last.min(after + limit.min(tip)));
        let (lines, end) = by_lines(&service, &target);
        let [from, to] = [after, reached].map(|at| usize::try_from(at).unwrap());
        assert!(lines == all[from..to], "{target}: {} lines, to {reached}", lines.len());
        let next = if reached < last { json!(reached.to_string()) } else { Value::Null };
        assert_eq!((&end["next"], &end["head"]["position"]), (&next, &json!(tip.to_string())), "{target}");
    }
}

#[test]
fn little_memory_for_answers_changes_no_answer() {
    let limits = ServerLimits { max_answer_bytes_in_flight: 10_000, max_reads: 1, ..ServerLimits::default() };
    let service = filled(limits);
    let tip = service.tip();
    let (lines, end) = by_lines(&service, EVENTS);
    let positions: Vec<u64> =
        lines.iter().map(|line| line["position"].as_str().unwrap().parse().unwrap()).collect();
    assert!(positions.iter().copied().eq(1..=tip), "{} of {tip}", positions.len());
    assert_eq!(end.get("next"), None);
}

#[test]
fn who_leaves_in_the_middle_leaves_no_reads_behind() {
    let limits = ServerLimits { max_reads: 4, ..ServerLimits::default() };
    let service = filled(limits);
    for _ in 0..30 {
        let mut client = service.connect();
        client.send(head("GET", EVENTS, &LINES, None).as_bytes());
        client.read_past(b"\"position\":\"900\"");
    }
    // All places are free again: as many answers at once as there are, none refused.
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..4).map(|_| scope.spawn(|| by_lines(&service, EVENTS).0.len() as u64)).collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), service.tip());
        }
    });
}

#[test]
fn what_lies_before_damage_is_answered_and_then_the_damage() {
    let service = filled(ServerLimits::default()).restarted();
    let tip = service.tip();
    let folder = data(service.folder.path()).join("ledgers/main/segments");
    let mut segments: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    segments.sort();
    // The newest frames stay open in memory.
    let damaged = &segments[1];
    let mut bytes = fs::read(damaged).unwrap();
    // Headers of frames too: where pieces end cannot be told there.
    let from = bytes.len() / 3;
    bytes.iter_mut().skip(from).for_each(|byte| *byte ^= 0x55);
    fs::write(damaged, bytes).unwrap();

    let answer = service.get_with(EVENTS, &LINES).expect(200);
    let mut lines: Vec<Value> =
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.pop().unwrap();
    assert!(last["error"]["detail"].as_str().is_some_and(|what| what.contains("segments/")), "{last}");
    let positions = lines.iter().map(|line| line["position"].as_str().unwrap().parse::<u64>().unwrap());
    assert!(positions.eq(1..=lines.len() as u64) && lines.len() >= 1_000, "{} of {tip}", lines.len());
    // Events in another segment can still be read.
    let (lines, _) = by_lines(&service, &format!("{EVENTS}?after={}", tip - 1));
    assert_eq!(lines.len(), 1);
}

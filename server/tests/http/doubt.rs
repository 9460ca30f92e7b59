//! A ledger whose end is lost: no answer passes for a whole one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bitacora_ledger::HeadOptions;
use bitacora_server::ServerLimits;

use crate::event_stream::EventStream;
use crate::service::{TestService, config, data, event};

/// A service whose ledger lost its last events, and how many it had.
fn cut() -> (TestService, u64) {
    let mut service = TestService::signing();
    (0..8).for_each(|number| drop(service.append(event(&format!("e{number}"), "s")).expect(201)));
    let had = service.tip();
    service.begin_shutdown();
    service.wait().unwrap();
    let service = damaged(service, |segments| {
        let written = |path: &&PathBuf| std::fs::read(path).unwrap().iter().any(|byte| *byte != 0);
        let last = segments.iter().rfind(written).unwrap();
        let bytes = std::fs::read(last).unwrap();
        std::fs::write(last, &bytes[..bytes.len() / 2]).unwrap();
    });
    (service, had)
}

/// The same service on its folder, whose segments were changed meanwhile.
fn damaged(mut service: TestService, change: impl FnOnce(&[PathBuf])) -> TestService {
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let segments = data(folder.path()).join("ledgers/main/segments");
    let mut files: Vec<_> = std::fs::read_dir(segments).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    change(&files);
    let mut config = config(folder.path(), &service.keyring, ServerLimits::default());
    config.ledgers.options.heads =
        Some(HeadOptions { every: Duration::from_millis(50), ..HeadOptions::default() });
    let keyring = Arc::clone(&service.keyring);
    TestService::of(config, folder, keyring)
}

/// A service whose second segment of three is damaged beyond one bit in its header, and the positions of the events behind it.
fn broken() -> (TestService, std::ops::RangeInclusive<u64>) {
    let mut service = TestService::signing();
    let append = |service: &TestService, from: u64| {
        (from..from + 4).for_each(|id| drop(service.append(event(&format!("e{id}"), "s")).expect(201)));
        service.tip()
    };
    append(&service, 0);
    service = service.restarted();
    let last_lost = append(&service, 4);
    service = service.restarted();
    let last = append(&service, 8);
    service.begin_shutdown();
    service.wait().unwrap();
    let service = damaged(service, |segments| {
        let mut bytes = std::fs::read(&segments[2]).unwrap();
        (bytes[100], bytes[300]) = (!bytes[100], !bytes[300]);
        std::fs::write(&segments[2], bytes).unwrap();
    });
    (service, last_lost..=last)
}

#[test]
fn what_is_behind_damage_is_served_and_nobody_passes_it_unaware() {
    let (service, around) = broken();
    let (last_before, last) = (*around.start(), *around.end());
    let get = |path: &str| service.get(&format!("/v1/ledgers/main/{path}"));
    assert_eq!(get("head").expect(200).json()["position"], last.to_string());
    let page = get("events?limit=1000&dir=backward").expect(200).json();
    let newest = page["events"].as_array().unwrap();
    assert_eq!(newest[0]["position"], last.to_string());
    let first_behind: u64 = newest.last().unwrap()["position"].as_str().unwrap().parse().unwrap();
    assert!((last_before..last_before + 4).contains(&(first_behind - 1)), "{first_behind}");
    let until = page["next"].as_str().unwrap();
    let problem = get(&format!("events?until={until}&dir=backward")).expect_problem(500, "corrupt");
    assert_eq!(problem["last"], (first_behind - 1).to_string(), "{problem}");
    let first_lost: u64 = problem["first"].as_str().unwrap().parse().unwrap();
    for position in 1..=last {
        let answer = get(&format!("events/{position}"));
        match (first_lost..first_behind).contains(&position) {
            true => drop(answer.expect_problem(500, "corrupt")),
            false => assert!(answer.expect(200).header("ledger-doubt").is_some()),
        }
    }
    // A client that goes on behind what is lost has all the rest.
    let rest = get(&format!("events?after={}&limit=1000", first_behind - 1)).expect(200).json();
    assert_eq!(rest["events"].as_array().unwrap().len() as u64, last + 1 - first_behind);
    let page = get("events?limit=1000").expect(200).json();
    assert_eq!(page["events"].as_array().unwrap().len() as u64, first_lost - 1);
    assert_eq!(page["next"], (first_lost - 1).to_string());
    let lines = service.get_with("/v1/ledgers/main/events", &[("Accept", "application/x-ndjson")]);
    assert!(lines.text().lines().last().unwrap().contains("\"corrupt\""), "{}", lines.text());
    get("approvals/a1").expect_problem(500, "corrupt");
    let (told, message) = EventStream::open(&service, "/v1/ledgers/main/events", &[]).events();
    assert_eq!((told.len() as u64, message.kind.as_deref()), (first_lost - 1, Some("failed")));
    let after = format!("/v1/ledgers/main/events?after={}", first_behind - 1);
    let (told, message) = EventStream::open(&service, &after, &[]).events();
    assert_eq!((told.len() as u64, message.kind.as_deref()), (last + 1 - first_behind, Some("caught-up")));
}

#[test]
fn nothing_passes_for_the_end_of_a_ledger_that_lost_its_end() {
    let (service, had) = cut();
    let get = |path: &str| service.get(&format!("/v1/ledgers/main/{path}"));
    service.get("/readyz").expect(503);
    let page = get("events?limit=100").expect(200);
    assert!(page.header("ledger-doubt").unwrap().contains("heads"), "{:?}", page.header("ledger-doubt"));
    let next = page.json()["next"].as_str().unwrap().to_owned();
    assert!(page.json()["events"].as_array().unwrap().len() < usize::try_from(had).unwrap());
    for path in [
        format!("events?after={next}"),
        format!("events?after={next}&wait=1s"),
        format!("events/{had}"),
        "events?dir=backward".to_owned(),
        "events?type=x.happened&dir=backward".to_owned(),
        "streams/s/events?dir=backward".to_owned(),
        format!("receipts/{had}"),
        format!("proofs/inclusion?position={had}"),
        "approvals/a1".to_owned(),
        "policy/7".to_owned(),
    ] {
        let problem = get(&path).expect_problem(500, "corrupt");
        assert!(problem.to_string().contains("heads"), "{path}: {problem}");
    }
    for path in ["head", "trust", "approvals", "tools", "calls", "events/1", ""] {
        let answer = service.get(format!("/v1/ledgers/main/{path}").trim_end_matches('/')).expect(200);
        assert!(answer.header("ledger-doubt").is_some(), "{path}");
    }
    let lines = service.get_with("/v1/ledgers/main/events", &[("Accept", "application/x-ndjson")]);
    assert!(lines.text().lines().last().unwrap().contains("\"corrupt\""), "{}", lines.text());
    let events = format!("/v1/ledgers/main/events?after={}", page.json()["events"].as_array().unwrap().len());
    let (told, message) = EventStream::open(&service, &events, &[]).events();
    assert_eq!((told.len(), message.kind.as_deref()), (0, Some("failed")));
    get("nothing-of-the-kind").expect_problem(404, "no-such-resource");
}

#[test]
fn a_ledger_that_has_all_of_it_is_in_no_doubt() {
    let service = TestService::signing();
    service.append(event("e", "s")).expect(201);
    let page = service.get("/v1/ledgers/main/events?limit=100").expect(200);
    assert!(page.header("ledger-doubt").is_none() && page.json()["next"].is_null());
    service.get("/v1/ledgers/main/approvals/a1").expect(404);
}

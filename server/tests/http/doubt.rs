//! A ledger whose end is lost: no answer passes for a whole one.

use std::sync::Arc;
use std::time::Duration;

use bitacora_ledger::HeadOptions;
use bitacora_server::ServerLimits;

use crate::service::{Service, config, data, event};

/// A service whose ledger lost its last events, and how many it had.
fn cut() -> (Service, u64) {
    let mut service = Service::signing();
    (0..8).for_each(|number| drop(service.append(event(&format!("e{number}"), "s")).expect(201)));
    let had = service.tip();
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let segments = data(folder.path()).join("ledgers/main/segments");
    let mut files: Vec<_> = std::fs::read_dir(segments).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let written = |path: &std::path::PathBuf| std::fs::read(path).unwrap().iter().any(|byte| *byte != 0);
    let last = files.into_iter().rfind(written).unwrap();
    let bytes = std::fs::read(&last).unwrap();
    std::fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    let mut config = config(folder.path(), &service.keyring, ServerLimits::default());
    config.ledgers.options.heads =
        Some(HeadOptions { every: Duration::from_millis(50), ..HeadOptions::default() });
    let keyring = Arc::clone(&service.keyring);
    (Service::of(config, folder, keyring), had)
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
    get("nothing-of-the-kind").expect_problem(404, "no-such-resource");
}

#[test]
fn a_ledger_that_has_all_of_it_is_in_no_doubt() {
    let service = Service::signing();
    service.append(event("e", "s")).expect(201);
    let page = service.get("/v1/ledgers/main/events?limit=100").expect(200);
    assert!(page.header("ledger-doubt").is_none() && page.json()["next"].is_null());
    service.get("/v1/ledgers/main/approvals/a1").expect(404);
}

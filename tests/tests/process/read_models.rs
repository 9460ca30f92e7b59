//! P9: read models answer what the log comes to, however often the process was killed while folding.
//!
//! `BITACORA_KILLS=300 cargo test --release -p bitacora-tests --test process read_models` runs longer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::service::ServiceFolder;
use serde_json::{Value, json};

use crate::PROGRAM;

const DEFAULT_KILLS: u64 = 15;
const LEDGER: &str = "/v1/ledgers/main";

/// Calls of agents, what models took, and gaps, until somebody says stop or the service is gone.
fn load(address: SocketAddr, next: &AtomicU64, stop: &AtomicBool) {
    let Ok(mut client) = HttpClient::connect(address) else { return };
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let agent = format!("agent-{}", number % 3);
        let event = |kind: &str, data: Value| {
            json!({"specversion": "1.0", "id": format!("{number}-{kind}"), "source": "urn:kills", "type": kind,
                "subject": "s", "agent": agent, "session": format!("s{}", number / 9), "data": data})
        };
        let tokens = json!({"model": "m", "provider": "p", "tokens": {"in": number, "out": 1}, "cost_micro_usd": number, "status": "ok"});
        let gap = json!({"call": format!("x{number}"), "evidence": "line 1", "missing": "decision"});
        let events = json!([event("model.called", tokens), event("coverage.gap", gap)]);
        let call =
            json!({"call": format!("c{number}"), "tool": "fs.write", "args": {"n": number}, "agent": agent});
        let end = json!({"call": format!("c{number}"), "status": "blocked"});
        for (resource, body) in [("events", events), ("decide", call), ("outcome", end)] {
            let path = format!("{LEDGER}/{resource}");
            let answer = client.post(&path, "application/json", body.to_string().as_bytes());
            if !answer.is_ok_and(|answer| answer.status < 300) {
                return;
            }
        }
    }
}

fn get(client: &mut HttpClient, path: &str) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = client.get(path, "application/json").unwrap();
        if answer.status == 200 {
            return serde_json::from_slice(&answer.body).unwrap();
        }
        let said = String::from_utf8_lossy(&answer.body);
        assert!(said.contains("projection-behind") && Instant::now() < end, "{path}: {said}");
    }
}

/// All that the models answer, once they have come to the head, and what their rows come to.
fn told(place: &ServiceFolder) -> (Vec<Value>, Value) {
    let mut service = place.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    let begun = Instant::now();
    let models = loop {
        let shown = get(&mut client, "/v1/projections")["projections"].clone();
        if shown.as_array().unwrap().iter().all(|one| one["lag"] == 0 && one["state"] == "ok") {
            break shown;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{shown}");
    };
    let mut answers = vec![get(&mut client, &format!("{LEDGER}/costs?by=agent,day"))];
    for list in ["calls", "gaps"] {
        let mut after = String::new();
        loop {
            let mut page = get(&mut client, &format!("{LEDGER}/{list}?limit=1000{after}"));
            answers.append(page[list].as_array_mut().unwrap());
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
    }
    assert!(service.terminate().unwrap().success());
    (answers, models)
}

#[test]
fn a_killed_service_answers_of_histories_what_its_log_comes_to() {
    let kills =
        std::env::var("BITACORA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(DEFAULT_KILLS);
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let (next, mut random) = (AtomicU64::new(0), SeededRandom::new(7));
    for kill in 0..kills {
        let mut service = place.start().unwrap();
        let (address, stop) = (service.address, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _stopped = RaisedAtEnd::of(&stop);
            scope.spawn(|| load(address, &next, &stop));
            scope.spawn(|| load(address, &next, &stop));
            if kill % 3 == 0
                && let Ok(mut client) = HttpClient::connect(address)
            {
                let _begun =
                    client.post(&format!("{LEDGER}/projections/calls:rebuild"), "application/json", b"");
            }
            std::thread::sleep(Duration::from_millis(random.below(150)));
            service.kill().unwrap();
        });
    }
    let (answers, _) = told(&place);
    assert!(answers.len() > 10, "{answers:?}");
    let (again, models) = told(&place);
    assert_eq!(again, answers, "after an opening that followed a clean end");
    std::fs::remove_dir_all(folder.path().join("data/ledgers/main/projections/models")).unwrap();
    let (folded, rebuilt) = told(&place);
    assert_eq!(folded, answers, "folded again from the first event");
    let digests = |models: &Value| {
        let models = models.as_array().unwrap().iter().skip(1);
        models
            .map(|model| (model["name"].clone(), model["rows"].clone(), model["digest"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(digests(&rebuilt), digests(&models));
    eprintln!("{kills} kills, {} calls and gaps", answers.len() - 1);
}

#[test]
fn a_service_is_ready_only_with_the_read_models_that_it_is_told_to_require() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    assert!(place.start().unwrap().terminate().unwrap().success());
    // No store can be opened there.
    let store = place.data().join("ledgers/main/projections");
    // It may have ended before there was one.
    if store.exists() {
        std::fs::remove_dir_all(&store).unwrap();
    }
    std::fs::write(&store, "in the way").unwrap();
    let ready = |arguments: &[&str]| {
        let require = |command: &mut std::process::Command| {
            command.args(arguments);
        };
        let mut service = place.start_with(require).unwrap();
        let mut client = HttpClient::connect(service.address).unwrap();
        let status = client.get("/readyz", "text/plain").unwrap().status;
        assert!(service.terminate().unwrap().success());
        status
    };
    assert_eq!(ready(&[]), 200);
    assert_eq!(ready(&["--require-models", "calls,trust"]), 503);
    std::fs::remove_file(&store).unwrap();
    let begun = Instant::now();
    while ready(&["--require-models", "calls,trust"]) != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the models do not answer");
    }
}

//! Read models that are required: without them the service is not ready.

use std::time::{Duration, Instant};

use bitacora_server::ServerLimits;
use serde_json::json;

use crate::identities::{ask, created, token};
use crate::service::{TestService, config, data, event, new_keyring, wait_until};

/// A service that is not ready without these read models, and keeps some or none.
fn requiring(models: &[&str], read_models: bool) -> TestService {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    config.required_models = models.iter().map(|model| model.parse().unwrap()).collect();
    config.ledgers.read_models = read_models;
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    service
}

#[test]
fn a_service_is_ready_once_the_models_that_it_needs_answer() {
    let service = requiring(&["calls", "trust"], true);
    wait_until(|| service.get("/readyz").status == 200);
    let rebuild = service.post("/v1/ledgers/main/projections/calls:rebuild", "application/json", "");
    rebuild.expect(202);
    // It is folded beside the one that goes on to answer.
    assert_eq!(service.get("/readyz").status, 200);
}

#[test]
fn a_service_whose_store_of_models_cannot_be_opened_is_not_ready() {
    let mut service = requiring(&["calls"], true);
    wait_until(|| service.get("/readyz").status == 200);
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let projections = data(folder.path()).join("ledgers/main/projections");
    std::fs::remove_dir_all(&projections).unwrap();
    std::fs::write(&projections, "in the way").unwrap();
    let keyring = service.keyring.clone();
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    config.required_models = vec!["calls".parse().unwrap()];
    let service = TestService::of(config, folder, keyring);
    let state = || {
        let shown = service.get("/v1/projections").expect(200).json();
        let models = shown["projections"].as_array().unwrap().clone();
        models.into_iter().find(|model| model["name"] == "calls").unwrap()
    };
    wait_until(|| state()["state"] == "degraded");
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    let why = problem["errors"][0]["detail"].as_str().unwrap();
    assert!(why.contains("calls") && why.contains("nothing to answer from"), "{problem}");
    // A question is not held up by it, and is told what fails.
    let began = Instant::now();
    let problem = service.get("/v1/ledgers/main/calls").expect_problem(503, "projection-behind");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let why = problem["detail"].as_str().unwrap();
    assert!(why.contains("calls cannot be folded") && why.contains("store"), "{problem}");
    // Appends are taken all the same, and once nothing is in the way it is ready.
    service.append(event("1", "s")).expect(201);
    std::fs::remove_file(&projections).unwrap();
    let began = Instant::now();
    while service.get("/readyz").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", state());
        std::thread::sleep(Duration::from_millis(50));
    }
    service.get("/v1/ledgers/main/calls").expect(200);
}

#[test]
fn ledger_and_model_that_are_missing_are_told_to_who_has_a_token() {
    let service = requiring(&["calls", "trust"], false);
    service.append(created("admin", "admin", None).to_string()).expect(201);
    let ready = service.get("/readyz").expect(503);
    assert!(!ready.text().contains("main") && !ready.text().contains("calls"), "{}", ready.text());
    let told = ask(&service, "GET", "/readyz", Some(&token("admin")), "").expect(503).json();
    assert_eq!((&told["code"], &told["errors"].as_array().unwrap().len()), (&json!("not-ready"), &2));
    for (fault, model) in [(&told["errors"][0], "calls"), (&told["errors"][1], "trust")] {
        assert_eq!(fault["ledger"], "main");
        assert!(fault["detail"].as_str().unwrap().contains(model), "{fault}");
    }
    assert!(told["detail"].as_str().unwrap().starts_with("1 of 1 ledgers are without"), "{told}");
    // Appends are taken all the same.
    let other = created("other", "auditor", None);
    ask(&service, "POST", "/v1/ledgers/main/events", Some(&token("admin")), &other.to_string()).expect(201);
    // Without the option nothing is required.
    assert_eq!(requiring(&[], false).get("/readyz").status, 200);
}

#[test]
fn required_models_that_are_replaced_count_for_the_next_question() {
    let service = requiring(&[], false);
    service.get("/readyz").expect(200);
    service.live.set_required_models(vec!["calls".parse().unwrap()]);
    service.get("/readyz").expect(503);
    service.live.set_required_models(Vec::new());
    service.get("/readyz").expect(200);
}

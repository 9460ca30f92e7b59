//! P1 where the data folder is moved while it is served: the service goes on in the opened folder.
//! It ends there, and writes or removes nothing that stands under the path by then.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitacora_tests::folders::{contents, copy_folder};
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;
use serde_json::{Value, json};

use crate::PROGRAM;

/// Read models fold a few events.
const PATIENCE: Duration = Duration::from_secs(60);

fn append(client: &mut HttpClient, number: u32) -> u16 {
    let tokens = json!({"model": "m", "provider": "p", "tokens": {"in": number, "out": 1}, "cost_micro_usd": number, "status": "ok"});
    let event = json!({"specversion": "1.0", "id": format!("e{number}"), "source": "urn:moved", "type": "model.called",
        "subject": "s", "data": tokens});
    client.post("/v1/ledgers/main/events", "application/json", event.to_string().as_bytes()).unwrap().status
}

fn create(client: &mut HttpClient, name: &str) {
    let body = json!({"name": name}).to_string();
    let made = client.post("/v1/ledgers", "application/json", body.as_bytes()).unwrap();
    assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
}

fn wait_for_models(client: &mut HttpClient) {
    let began = Instant::now();
    loop {
        let shown = client.get("/v1/projections", "application/json").unwrap();
        let shown: Value = serde_json::from_slice(&shown.body).unwrap();
        let models = shown["projections"].as_array().unwrap();
        if models.iter().all(|one| one["lag"] == 0 && one["state"] == "ok") {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{shown}");
    }
}

/// The files that are not the same in both, by name.
fn changed(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

#[test]
fn a_service_whose_data_folder_was_moved_changes_nothing_of_the_copy_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    (0..20).for_each(|number| assert_eq!(append(&mut client, number), 201));
    create(&mut client, "before");
    wait_for_models(&mut client);

    let away = folder.path().join("away");
    fs::rename(place.data(), &away).unwrap();
    copy_folder(&away, &place.data()).unwrap();
    let before = contents(&place.data()).unwrap();
    // A ledger is made, one has its last frame, and the service ends. Its list of ledgers is written, and its files are put in order.
    let refused = append(&mut client, 100);
    assert!(refused >= 500, "{refused}");
    let body = json!({"name": "after"}).to_string();
    client.post("/v1/ledgers", "application/json", body.as_bytes()).unwrap();
    service.terminate().unwrap();
    assert_eq!(changed(&before, &contents(&place.data()).unwrap()), [] as [PathBuf; 0]);
    assert!(fs::read_to_string(away.join("LEDGERS")).unwrap().contains("\nbefore\n"));

    // The copy is a ledger like any other, and is served.
    let mut service = place.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    assert_eq!(append(&mut client, 200), 201);
    assert!(service.terminate().unwrap().success());
}

//! P9: a service decides by the state that its log comes to in another process, also after a kill.

use std::process::Command;

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::{Value, json};

use crate::PROGRAM;

fn post(service: &ServiceProcess, resource: &str, body: &Value) -> Value {
    let mut client = HttpClient::connect(service.address).unwrap();
    let body = body.to_string();
    let answer =
        client.post(&format!("/v1/ledgers/main/{resource}"), "application/json", body.as_bytes()).unwrap();
    assert!(answer.status < 300, "{resource}: {}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).unwrap()
}

/// Trust by an operator's word, calls that are decided, and how one ended.
fn work(service: &ServiceProcess, round: u32) {
    let dimension = json!({"tool": "fs.write", "context": format!("src{round}"), "model": "-", "task_type": "-", "workspace": "-"});
    let counts = json!({"approvals": 20 + round, "rejections": 0, "failures": 1, "streak": 3});
    post(service, "trust:set", &json!({"dimension": dimension, "counts": counts, "reason": "for a test"}));
    let call = format!("c{round}");
    let decided =
        post(service, "decide", &json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}}));
    assert_eq!(decided["verdict"], "deny", "nothing is registered");
    post(service, "outcome", &json!({"call": call, "status": "blocked"}));
}

/// Returns the answer of `replay --live` for this service and this folder.
fn compared(place: &ServiceFolder, service: &ServiceProcess) -> (Option<i32>, Value) {
    let mut command = place.command("replay");
    command.arg("--keyring").arg(place.keyring());
    compare(command, service)
}

fn compare(mut command: Command, service: &ServiceProcess) -> (Option<i32>, Value) {
    command.args(["--live", "--json", "--url", &format!("http://{}", service.address)]);
    let output = command.output().unwrap();
    let said = serde_json::from_slice(&output.stdout);
    (
        output.status.code(),
        said.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned().into()),
    )
}

#[test]
fn the_live_state_is_that_of_the_log_also_after_a_kill() {
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    for round in 0..3 {
        work(&service, round);
        let (exit, said) = compared(&place, &service);
        assert_eq!((exit, &said["same"]), (Some(0), &json!(true)), "{said}");
        assert_eq!(said["replayed"], said["live"]);
        service.kill().unwrap();
        service = place.start().unwrap();
        let (exit, again) = compared(&place, &service);
        assert_eq!((exit, &again["replayed"]), (Some(0), &said["replayed"]), "{again}");
    }

    // The state of another ledger is another one, and says in which parts.
    let other = ServiceFolder::new(PROGRAM, other_folder.path());
    let other_service = other.start().unwrap();
    work(&other_service, 7);
    let (exit, said) = compared(&place, &other_service);
    assert_eq!((exit, &said["same"]), (Some(1), &json!(false)), "{said}");
    assert!(said["differing"].as_array().unwrap().contains(&json!("trust")), "{said}");
}

#[test]
fn without_a_service_there_is_nothing_live_to_compare_with() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    drop(place.start().unwrap());
    let output =
        place.command("replay").arg("--live").arg("--keyring").arg(place.keyring()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

//! `…/tiers`: what lies in memory, on this disk and in archives.

use std::time::Duration;

use bitacora_ledger::ScrubOptions;
use bitacora_server::ServerLimits;
use serde_json::json;

use crate::service::{TestService, config, event, new_keyring, wait_until};

const TIERS: &str = "/v1/ledgers/main/tiers";

#[test]
fn tiers_tell_positions_rows_and_bytes_of_what_is_there() {
    let service = TestService::start();
    for number in 0..5 {
        let body = event(&number.to_string(), "s");
        service.post("/v1/ledgers/main/events", "application/json", body).expect(201);
    }
    let tip = service.tip().to_string();
    let told = || service.get(TIERS).expect(200).json();
    wait_until(|| told()["warm"]["index"]["position"] == json!(tip));
    let told = told();
    let segments = &told["warm"]["segments"];
    let about = service.get("/v1/ledgers/main").expect(200).json();
    assert_eq!(
        (&segments["files"], &segments["first"], &segments["last"]),
        (&about["segments"], &json!("1"), &json!(tip))
    );
    assert!(segments["bytes"].as_u64().unwrap() > 1_000, "{told}");
    assert!(segments["since"].as_str().unwrap().starts_with("20"), "{told}");
    let first = service.get("/v1/ledgers/main/events/1").expect(200).json();
    assert_eq!(segments["since"], first["recordedAt"], "{first}");
    assert_eq!(
        told["cold"],
        json!({"position": tip, "archives": 0, "events": 0, "bytes": 0, "ranges": [], "moreRanges": 0, "faulty": []})
    );
    assert!(told["hot"]["bytes"].as_u64().unwrap() > 0, "{told}");
    for query in ["?of=hot", "?limit=1"] {
        assert_eq!(service.get(&format!("{TIERS}{query}")).status, 400, "{query}");
    }
    assert_eq!(service.get("/v1/ledgers/nobodys/tiers").status, 404);
}

#[test]
fn the_size_of_the_state_is_measured_again_after_a_while_only() {
    let service = TestService::start();
    let hot = || service.get(TIERS).expect(200).json()["hot"].clone();
    let before = hot();
    assert_eq!(before["bytesPosition"], before["position"], "{before}");
    let suspend = "/v1/ledgers/main/agents/coder:suspend";
    service.post(suspend, "application/json", r#"{"reason":"a drill"}"#).expect(200);
    let after = hot();
    assert_ne!(after["position"], before["position"]);
    assert_eq!((&after["bytes"], &after["bytesPosition"]), (&before["bytes"], &before["bytesPosition"]));
}

#[test]
fn a_round_of_the_scrub_is_told_in_tiers_readiness_and_metrics() {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    let pace = ScrubOptions { bytes_per_s: u64::MAX, pause: Duration::from_millis(5) };
    config.ledgers.options.scrub = Some(pace);
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    let segments = || service.get(TIERS).expect(200).json()["warm"]["segments"].clone();
    wait_until(|| segments()["scrubbed"].is_string());
    let ready = service.get("/readyz").expect(200);
    let line = "ready\nmain: every frame was found whole by a scrub that ended 20";
    assert!(ready.text().starts_with(line), "{}", ready.text());
    let metrics = service.get("/metrics").expect(200);
    for name in ["scrub_age_seconds", "scrub_rounds_total", "scrub_bytes_total"] {
        let line = format!("\nbitacora_ledger_{name}{{ledger=\"main\"}} ");
        assert!(metrics.text().contains(&line), "{line}");
    }
}

//! `…/tiers`: what lies in memory, on this disk and in archives.

use serde_json::json;

use crate::service::{TestService, event, wait_until};

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
        json!({"position": tip, "archives": 0, "events": 0, "bytes": 0, "ranges": [], "moreRanges": 0})
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

//! `/v1/projections`, and reads that the index answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::service::{TestService, event};

/// The index of `main`, once it stands at the head.
fn caught_up(service: &TestService) -> Value {
    let begun = Instant::now();
    loop {
        let found = service.get("/v1/projections").expect(200).json();
        let index = &found["projections"][0];
        if index["lag"] == json!(0) {
            return index.clone();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{index}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_index_is_shown_with_its_position() {
    let service = TestService::start();
    for number in 0..5 {
        let body = event(&number.to_string(), "s");
        service.post("/v1/ledgers/main/events", "application/json", body).expect(201);
    }
    let head = service.get("/v1/ledgers/main/head").expect(200).json();
    let index = caught_up(&service);
    assert_eq!(
        (&index["ledger"], &index["name"], &index["state"]),
        (&json!("main"), &json!("index"), &json!("ok"))
    );
    assert_eq!((&index["position"], &index["version"]), (&head["position"], &json!(1)));

    let metrics = service.get("/metrics").expect(200);
    for line in [r#"bitacora_index_lag{ledger="main"} 0"#, r#"bitacora_index_ok{ledger="main"} 1"#] {
        assert!(metrics.text().contains(line), "{line}");
    }
}

#[test]
fn a_filtered_read_is_the_same_from_the_index() {
    let service = TestService::start();
    for number in 0..60 {
        let stream = format!("s{}", number % 4);
        service
            .post("/v1/ledgers/main/events", "application/json", event(&number.to_string(), &stream))
            .expect(201);
    }
    caught_up(&service);
    let indexed = service.get("/v1/ledgers/main/events?stream=s2&limit=10").expect(200).json();
    assert_eq!(indexed["events"].as_array().unwrap().len(), 10);
    let next = indexed["next"].as_str().unwrap();
    let rest = service.get(&format!("/v1/ledgers/main/events?stream=s2&after={next}")).expect(200).json();
    assert_eq!((rest["events"].as_array().unwrap().len(), rest.get("next")), (5, None));
    let none = service.get("/v1/ledgers/main/events?stream=nobody").expect(200).json();
    assert_eq!(none["events"], json!([]));

    let service = service.restarted();
    let again = service.get("/v1/ledgers/main/events?stream=s2&limit=10").expect(200).json();
    assert_eq!(again["events"], indexed["events"]);
}

#[test]
fn projections_are_paged_by_ledger() {
    let service = TestService::start();
    service.post("/v1/ledgers", "application/json", r#"{"name":"second"}"#).expect(201);
    let page = service.get("/v1/projections?limit=1").expect(200).json();
    assert_eq!((&page["projections"][0]["ledger"], &page["next"]), (&json!("main"), &json!("main")));
    let page = service.get("/v1/projections?limit=1&after=main").expect(200).json();
    assert_eq!((&page["projections"][0]["ledger"], page.get("next")), (&json!("second"), None));
    for query in ["limit=0", "limit=257", "after=..", "of=index"] {
        assert_eq!(service.get(&format!("/v1/projections?{query}")).status, 400, "{query}");
    }
}

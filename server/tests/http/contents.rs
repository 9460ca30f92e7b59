//! Contents of checkpoints: stored once, ahead if large, and gone with the key of their data subject.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::checkpoints::{act, ids, noise, packed, save, settled, shown};
use crate::service::TestService;

#[test]
fn content_is_stored_once_whoever_names_it() {
    let service = settled(TestService::roomy());
    let large = packed(&noise(100_000, 4));
    for (thread, id) in [("a", "c1"), ("b", "c1"), ("b", "c2")] {
        save(&service, thread, id, None, &json!({"values": {"n": large}}));
    }
    let pieces = service.get("/v1/ledgers/main/events?type=checkpoint.blob&limit=1000").expect(200).json();
    let bytes: usize = pieces["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| STANDARD.decode(one["event"]["data_base64"].as_str().unwrap()).unwrap().len())
        .sum();
    assert_eq!(bytes, 100_000);
    for thread in ["a", "b"] {
        assert_eq!(shown(&service, &format!("/{thread}"))["values"]["n"]["base64"], large["base64"]);
    }
}

#[test]
fn what_is_large_goes_ahead_in_parts_and_is_named() {
    let service = settled(TestService::roomy());
    let whole = noise(64 << 20, 9);
    let mut pieces = Vec::new();
    for part in whole.chunks(4 << 20) {
        let stored =
            service.post("/v1/ledgers/main/contents", "application/octet-stream", part).expect(200).json();
        assert_eq!(stored["bytes"], part.len());
        pieces.extend(stored["pieces"].as_array().unwrap().clone());
    }
    let value = json!({"encoding": "bytes", "pieces": pieces, "bytes": whole.len()});
    save(&service, "t", "c1", None, &json!({"values": {"n": value}}));
    let shown = shown(&service, "/t")["values"]["n"].clone();
    assert_eq!((&shown["bytes"], shown.get("base64")), (&json!(whole.len()), None));
    let mut read = Vec::new();
    for position in shown["positions"].as_array().unwrap() {
        let event = service
            .get(&format!("/v1/ledgers/main/events/{}", position.as_str().unwrap()))
            .expect(200)
            .json();
        read.extend(STANDARD.decode(event["event"]["data_base64"].as_str().unwrap()).unwrap());
    }
    assert!(read == whole, "{} bytes", read.len());

    let tip = service.tip();
    let bad = |value: Value, status: u16, code: &str| {
        let request = json!({"checkpoint": "c2", "step": 1, "source": "loop", "values": {"a/b": value}});
        let problem = act(&service, "t:save", &request).expect_problem(status, code);
        assert_eq!(problem["errors"][0]["pointer"], "/values/a~1b", "{problem}");
    };
    bad(json!({"pieces": pieces, "bytes": (64 << 20) + 1}), 413, "content-too-large");
    bad(json!({"pieces": pieces, "bytes": 7}), 422, "no-such-content");
    bad(json!({"pieces": ["0".repeat(64)], "bytes": 7}), 422, "no-such-content");
    bad(json!({"pieces": ["short"], "bytes": 7}), 400, "bad-body");
    bad(json!({"pieces": pieces}), 400, "bad-body");
    bad(json!({"base64": "AA"}), 400, "bad-body");
    bad(json!({"base64": "AA==", "bytes": 2}), 400, "bad-body");
    bad(json!({"base64": "AA==", "json": 1}), 400, "bad-body");
    bad(json!({}), 400, "bad-body");
    bad(json!({"erased": true}), 400, "bad-body");
    bad(json!({"base64": "AA==", "encoding": ""}), 400, "bad-body");
    service
        .post("/v1/ledgers/main/contents", "application/octet-stream", vec![0; (4 << 20) + 1])
        .expect_problem(413, "request-too-large");
    service
        .post("/v1/ledgers/main/contents", "application/json", "{}")
        .expect_problem(415, "unsupported-media-type");
    assert_eq!(service.tip(), tip, "nothing was recorded");
}

/// Takes the keys of all data subjects away, as an erasure does.
fn forget_subjects(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { forget_subjects(&path) } else { std::fs::remove_file(path).unwrap() }
    }
}

#[test]
fn what_is_of_a_data_subject_is_nobody_elses_and_gone_with_its_key() {
    let mut service = settled(TestService::start());
    let secret = packed(b"erika lives in Cologne");
    let saves = [("a", Some("erika")), ("b", Some("max")), ("c", None)];
    for (thread, subject) in saves {
        save(&service, thread, "c1", None, &json!({"datasubject": subject, "values": {"n": secret}}));
        assert_eq!(shown(&service, &format!("/{thread}"))["values"]["n"]["base64"], secret["base64"]);
    }
    let writes = json!({"checkpoint": "c1", "task": "act", "datasubject": "erika", "writes": [{"channel": "n", "value": secret}]});
    act(&service, "a:writes", &writes).expect(200);
    let pieces = |service: &TestService| {
        let page = service.get("/v1/ledgers/main/events?type=checkpoint.blob").expect(200).json();
        page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["event"]["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let before = pieces(&service);
    assert!(
        before.len() == 2 && before[0] != before[1],
        "{before:?}: small contents of nobody stand in their event"
    );

    service.begin_shutdown();
    service.wait().unwrap();
    forget_subjects(&service.folder.path().join("data/ledgers/main/subjects"));
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = settled(TestService::on(
        folder,
        std::sync::Arc::clone(&service.keyring),
        bitacora_server::ServerLimits::default(),
    ));
    let erased = json!({"encoding": "msgpack", "bytes": 22, "erased": true});
    for thread in ["a", "b"] {
        assert_eq!(shown(&service, &format!("/{thread}"))["values"]["n"], erased);
    }
    assert_eq!(shown(&service, "/a")["writes"][0]["value"], erased);
    assert_eq!(shown(&service, "/c")["values"]["n"]["base64"], secret["base64"]);
    // The same once more is another event, under another key.
    save(&service, "a", "c2", Some("c1"), &json!({"datasubject": "erika", "values": {"n": secret}}));
    assert_eq!(shown(&service, "/a")["values"]["n"]["base64"], secret["base64"]);
    assert_eq!(shown(&service, "/a?checkpoint=c1")["values"]["n"], erased);
    assert!(!before.contains(pieces(&service).iter().max_by_key(|id| !before.contains(id)).unwrap()));
}

#[test]
fn who_saves_the_same_at_once_stores_it_once() {
    let service = settled(TestService::roomy());
    let large = packed(&noise(40_000, 8));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (service, large) = (&service, &large);
            scope.spawn(move || {
                for id in 0..5 {
                    save(
                        service,
                        &format!("t{thread}"),
                        &format!("c{id}"),
                        None,
                        &json!({"values": {"n": large}}),
                    );
                }
            });
        }
    });
    let pieces = service.get("/v1/ledgers/main/events?type=checkpoint.blob&limit=1000").expect(200).json();
    let bytes: usize = pieces["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| STANDARD.decode(one["event"]["data_base64"].as_str().unwrap()).unwrap().len())
        .sum();
    assert_eq!(bytes, 40_000);
    for thread in 0..8 {
        assert_eq!(shown(&service, &format!("/t{thread}"))["values"]["n"]["base64"], large["base64"]);
    }
    assert_eq!(ids(&shown(&service, "?limit=1000")).len(), 40);
}

//! Appends: every form of body, duplicates, conditions, and refusals.

use serde_json::json;

use crate::service::{TestService, event};

#[test]
fn every_form_of_body_is_taken() {
    let service = TestService::start();
    let (one, two) = (event("1", "s"), event("2", "s"));
    let first = service.tip() + 1;
    let answer = service
        .post("/v1/ledgers/main/events", "application/cloudevents+json; charset=utf-8", &one)
        .expect(201);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let position = answer.header("ledger-position").unwrap().to_owned();
    let answer = answer.json();
    assert_eq!((&answer["first"], &answer["last"]), (&json!(first.to_string()), &json!(first.to_string())));
    let result = &answer["results"][0];
    assert_eq!((&result["id"], &result["status"]), (&json!("1"), &json!("created")));
    assert_eq!((&result["position"], &result["streamVersion"]), (&json!(first.to_string()), &json!("1")));
    assert_eq!(result["commitment"].as_str().map(str::len), Some(64));
    assert_eq!((&answer["head"]["position"], &answer["derived"]), (&json!(position), &json!([])));
    assert_eq!(answer["head"]["hash"].as_str().map(str::len), Some(64));

    let batch = format!("[{two},{}]", event("3", "t"));
    service.post("/v1/ledgers/main/events", "application/cloudevents-batch+json", batch).expect(201);
    let lines = format!("{}\n\n{}\n", event("4", "s"), event("5", "s"));
    let answer = service.post("/v1/ledgers/main/events", "application/x-ndjson", lines).expect(201).json();
    assert_eq!(answer["results"][1]["streamVersion"], "4");
    service.append(event("6", "s")).expect(201);
    service.append(format!("[{}]", event("7", "s"))).expect(201);
    assert_eq!(service.tip(), first + 6);
}

#[test]
fn a_condition_on_what_the_ledger_has_not_seen_fails() {
    let service = TestService::start();
    let tip = service.tip();
    let append = |id: &str, after: u64| {
        let condition =
            json!({"failIfEventsMatch": {"types": ["x.other"]}, "after": after.to_string()}).to_string();
        service.append_with(&[("Bitacora-Append-Condition", &condition)], event(id, "s"))
    };
    let problem = append("1", tip + 1).expect_problem(412, "condition-failed");
    assert_eq!(
        (&problem["position"], &problem["tip"]),
        (&json!((tip + 1).to_string()), &json!(tip.to_string()))
    );
    append("1", u64::MAX).expect_problem(412, "condition-failed");
    assert_eq!(service.tip(), tip);
    append("1", tip).expect(201);
}

/// Sources, schemas and media types as CloudEvents has them.
#[test]
fn attributes_are_held_to_the_grammars_of_their_specification() {
    let service = TestService::start();
    let tip = service.tip();
    for (attribute, value) in
        [("source", "a b"), ("source", "\u{e4}"), ("dataschema", "relative"), ("datacontenttype", "json")]
    {
        let mut changed: serde_json::Value = serde_json::from_str(&event("1", "s")).unwrap();
        changed[attribute] = json!(value);
        let problem = service.append(changed.to_string()).expect_problem(400, "bad-attribute");
        assert_eq!(problem["errors"][0]["pointer"], format!("/{attribute}"));
    }
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_duplicate_gets_the_original_answer() {
    let service = TestService::start();
    let original = service.append(event("1", "s")).expect(201).json();
    let tip = service.tip();
    let repeated = service.append(event("1", "s")).expect(200).json();
    let mut expected = original["results"][0].clone();
    expected["status"] = json!("duplicate");
    assert_eq!(repeated["results"][0], expected);
    let mixed = service.append(format!("[{},{}]", event("1", "s"), event("2", "s"))).expect(201).json();
    assert_eq!(
        (&mixed["results"][0]["status"], &mixed["results"][1]["status"]),
        (&json!("duplicate"), &json!("created"))
    );
    assert_eq!(service.tip(), tip + 1);

    let service = service.restarted();
    service.append(event("1", "s")).expect(200);
    let other = event("1", "s").replace(r#"{"n":1}"#, r#"{"n":2}"#);
    let problem = service.append(other).expect_problem(409, "id-reused");
    assert_eq!(
        (&problem["position"], &problem["errors"][0]["pointer"]),
        (&expected["position"], &json!("/0"))
    );
    assert_eq!(problem["retryable"], false);
}

#[test]
fn a_stream_in_the_path_may_hold_slashes() {
    let service = TestService::start();
    let unnamed = event("1", "s").replace(r#""subject":"s","#, "");
    let stream = "/v1/ledgers/main/streams/runs%2fa%252fb%20c/events";
    let answer = service.post(stream, "application/json", &unnamed).expect(201);
    assert_eq!(answer.header("etag"), Some("\"v1\""));
    let read = service.get(stream).expect(200);
    assert_eq!(read.header("etag"), Some("\"v1\""));
    assert_eq!(read.json()["events"][0]["event"]["subject"], "runs/a%2fb c");
    service.post(stream, "application/json", event("2", "other")).expect_problem(400, "stream-mismatch");
    service.append(unnamed.replace(r#""id":"1""#, r#""id":"3""#)).expect_problem(400, "missing-attribute");
    let long = format!("/v1/ledgers/main/streams/{}/events", "a".repeat(513));
    for stream in ["/v1/ledgers/main/streams/a%00b/events", "/v1/ledgers/main/streams/%ff/events", &long] {
        service.post(stream, "application/json", &unnamed).expect_problem(400, "invalid-stream-name");
    }
}

#[test]
fn an_expected_version_is_kept_to() {
    let service = TestService::start();
    let append = |headers: &[(&str, &str)], id: &str| service.append_with(headers, event(id, "s"));
    let problem = append(&[("If-Match", "\"v1\"")], "1").expect_problem(412, "condition-failed");
    assert_eq!((&problem["expected"], problem.get("actual")), (&json!("\"v1\""), None));
    append(&[("If-None-Match", "*")], "1").expect(201);
    let problem = append(&[("If-None-Match", "*")], "2").expect_problem(412, "condition-failed");
    assert_eq!((&problem["expected"], &problem["actual"]), (&json!("*"), &json!("\"v1\"")));
    assert!(problem["position"].is_string());
    append(&[("If-Match", "\"v1\"")], "2").expect(201);
    let two_streams = format!("[{},{}]", event("3", "s"), event("4", "t"));
    service.append_with(&[("If-Match", "\"v2\"")], two_streams).expect_problem(400, "condition-scope");

    let tip = service.tip();
    for tag in ["v2", "\"2\"", "*", "W/\"v2\"", "\"v0\"", "\"v2\", \"v3\"", ""] {
        append(&[("If-Match", tag)], "5").expect_problem(400, "bad-header");
    }
    append(&[("If-None-Match", "\"v2\"")], "5").expect_problem(400, "bad-header");
    append(&[("If-Match", "\"v2\""), ("If-None-Match", "*")], "5").expect_problem(400, "bad-header");
    append(&[("If-Match", "\"v2\""), ("If-Match", "\"v2\"")], "5").expect_problem(400, "bad-header");
    assert_eq!(service.tip(), tip);
}

#[test]
fn an_append_condition_is_kept_to() {
    let service = TestService::start();
    let position = service.append(event("1", "s")).expect(201).json()["last"].as_str().unwrap().to_owned();
    let condition = |after: &str| {
        format!(r#"{{"failIfEventsMatch":{{"types":["x.happened"],"tags":[]}},"after":"{after}"}}"#)
    };
    let append = |condition: &str, id: &str| {
        service.append_with(&[("Bitacora-Append-Condition", condition)], event(id, "t"))
    };
    let problem = append(&condition("0"), "2").expect_problem(412, "condition-failed");
    assert_eq!(problem["position"], json!(position));
    append(&condition(&position), "2").expect(201);
    for condition in ["", "{}", r#"{"failIfEventsMatch":{}}"#, &condition("-1"), &condition("x"), "[1"] {
        append(condition, "3").expect_problem(400, "bad-header");
    }
}

#[test]
fn bad_bodies_are_refused_with_their_place_and_nothing_is_appended() {
    let service = TestService::start();
    let good = event("1", "s");
    let tip = service.tip();
    let data = |data: &str| good.replace(r#"{"n":1}"#, data);
    let many = format!("[{}]", (0..1_001).map(|n| event(&n.to_string(), "s")).collect::<Vec<_>>().join(","));
    let cases: Vec<(Vec<u8>, u16, &str)> = vec![
        (b"".to_vec(), 400, "truncated-json"),
        (b"not json".to_vec(), 400, "not-json"),
        (good.as_bytes()[..good.len() - 1].to_vec(), 400, "truncated-json"),
        (format!("{good} x").into_bytes(), 400, "not-json"),
        (data(r#"{"a":1,"a":2}"#).into_bytes(), 400, "duplicate-key"),
        (data("NaN").into_bytes(), 400, "not-json"),
        (data("9007199254740993").into_bytes(), 400, "number-range"),
        (data(r#""\ud800""#).into_bytes(), 400, "lone-surrogate"),
        (data(r#""\u0000""#).into_bytes(), 400, "nul-character"),
        (good.replace("x.happened", "\u{0}").into_bytes(), 400, "nul-character"),
        ([good.as_bytes(), b"\xff"].concat(), 400, "invalid-utf8"),
        (data(&("[".repeat(10_000) + &"]".repeat(10_000))).into_bytes(), 400, "too-deep"),
        (many.into_bytes(), 413, "too-many-events"),
        (b"[]".to_vec(), 400, "empty-batch"),
        (b"[1]".to_vec(), 400, "not-an-event"),
        (good.replace(r#""id":"1","#, "").into_bytes(), 400, "missing-attribute"),
        (good.replace(r#""id":"1""#, r#""id":"""#).into_bytes(), 400, "empty-attribute"),
        (event(&"i".repeat(257), "s").into_bytes(), 400, "attribute-too-long"),
        (event("1", &"s".repeat(513)).into_bytes(), 400, "attribute-too-long"),
        (good.replace("/tests", &"t".repeat(1_025)).into_bytes(), 400, "attribute-too-long"),
        (good.replace("x.happened", &"t".repeat(129)).into_bytes(), 400, "attribute-too-long"),
        (
            good.replace(r#""specversion":"1.0""#, r#""specversion":"0.3""#).into_bytes(),
            400,
            "bad-specversion",
        ),
        (good.replace("x.happened", "ledger.created").into_bytes(), 403, "reserved-type"),
        (format!("[{good},{}]", data("2")).into_bytes(), 400, "repeated-id"),
    ];
    for (body, status, code) in cases {
        let problem = service.append(&body).expect_problem(status, code);
        assert!(problem["retryable"] == false, "{problem}");
    }
    let problem =
        service.append(format!("[{good},{}]", event("", "s"))).expect_problem(400, "empty-attribute");
    assert_eq!(problem["errors"][0]["pointer"], "/1/id");
    let lines = format!("{good}\n{}\n", event("", "s"));
    let problem = service
        .post("/v1/ledgers/main/events", "application/x-ndjson", lines)
        .expect_problem(400, "empty-attribute");
    assert_eq!(problem["errors"][0]["line"], 2);
    assert_eq!(service.tip(), tip, "nothing was appended");
}

#[test]
fn other_content_types_are_refused() {
    let service = TestService::start();
    let tip = service.tip();
    for content_type in ["text/plain", "application/xml", "application/json; charset=latin1", "json", ""] {
        let answer = service.post("/v1/ledgers/main/events", content_type, event("1", "s"));
        answer.expect_problem(415, "unsupported-media-type");
    }
    let body = event("1", "s");
    service
        .request("POST", "/v1/ledgers/main/events", &[], body.as_bytes())
        .expect_problem(415, "unsupported-media-type");
    service.append_with(&[("Content-Type", "text/plain")], &body).expect_problem(400, "bad-header");
    service
        .post("/v1/ledgers/main/events", "application/cloudevents-batch+json", &body)
        .expect_problem(400, "not-a-batch");
    assert_eq!(service.tip(), tip);
}

#[test]
fn large_requests_are_appended_whole() {
    let service = TestService::start();
    // Past what is parsed where it arrives; `Options::small` takes 32 KiB of records.
    let padding = " ".repeat(40 * 1024);
    service.append(format!("[{}{padding}]", event("padded", "s"))).expect(201);
    let large = event("large", "s").replace(r#"{"n":1}"#, &format!("\"{}\"", "x".repeat(40 * 1024)));
    service.append(large).expect_problem(413, "request-too-large");
}

#[test]
fn events_of_a_data_subject_are_appended_and_read_back() {
    let service = TestService::start();
    let of_subject = event("1", "s").replace(r#""data""#, r#""datasubject":"erika","data""#);
    service.append(of_subject).expect(201);
    let page = service.get("/v1/ledgers/main/events?stream=s").expect(200).json();
    assert_eq!(page["events"][0]["event"]["datasubject"], "erika");
    assert_eq!(page["events"][0]["event"]["data"], json!({"n": 1}));
}

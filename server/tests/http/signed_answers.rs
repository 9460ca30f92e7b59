//! Answers that are signed for one request of one caller: on which paths, over what, and for whom not.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::governed::governed;
use crate::identities::{ask, guard, token};
use crate::service::{ServiceAnswer, TestService, event};

const LEDGER: &str = "/v1/ledgers/main";
/// The reader of signatures that is not ours.
const VERIFY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/signatures/verify.py");
/// A Python that has what the reader needs.
const PYTHON: &str = "BITACORA_PYTHON";

/// A request, with the fields that a signature covers.
struct RequestToSign<'a> {
    method: &'a str,
    target: String,
    kind: &'a str,
    body: String,
    digest: String,
    authorization: String,
}

impl<'a> RequestToSign<'a> {
    fn new(method: &'a str, resource: &str, body: impl Into<String>) -> Self {
        let body = body.into();
        Self {
            method,
            target: format!("{LEDGER}{resource}"),
            kind: "application/json",
            digest: sha_256(body.as_bytes()),
            body,
            authorization: format!("Bearer {}", token("agent")),
        }
    }

    fn send(&self, service: &TestService) -> ServiceAnswer {
        let fields = [
            ("content-type", self.kind),
            ("content-digest", self.digest.as_str()),
            ("authorization", self.authorization.as_str()),
        ];
        let fields = if self.method == "GET" { &fields[1..] } else { &fields[..] };
        service.request(self.method, &self.target, fields, self.body.as_bytes())
    }

    /// Verifies a signature over the bytes that RFC 9421 has signed, built from the fields of request and answer.
    fn is_signed(&self, answer: &ServiceAnswer, key: &VerifyingKey) -> bool {
        let Some(input) = answer.header("signature-input") else { return false };
        assert_eq!(answer.header("content-digest").unwrap(), sha_256(&answer.body));
        let parameters = input.strip_prefix("ledger=").unwrap();
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut base = String::new();
        let mut components = Vec::new();
        for component in parameters[1..parameters.find(')').unwrap()].split(' ') {
            let value = match component {
                "\"@status\"" => answer.status.to_string(),
                "\"content-digest\"" => answer.header("content-digest").unwrap().to_owned(),
                "\"@method\";req" => self.method.to_owned(),
                "\"@path\";req" => path.to_owned(),
                "\"@query\";req" => format!("?{query}"),
                "\"content-digest\";req" => self.digest.clone(),
                "\"authorization\";req" => self.authorization.clone(),
                other => panic!("{other}"),
            };
            components.push(component);
            base.push_str(&format!("{component}: {value}\n"));
        }
        assert_eq!(components.len(), 7, "{components:?}");
        base.push_str(&format!("\"@signature-params\": {parameters}"));
        let signature = answer.header("signature").unwrap();
        let signature = signature.strip_prefix("ledger=:").unwrap().strip_suffix(':').unwrap();
        let signature = Signature::from_slice(&BASE64.decode(signature).unwrap()).unwrap();
        key.verify_strict(base.as_bytes(), &signature).is_ok()
    }
}

fn sha_256(body: &[u8]) -> String {
    format!("sha-256=:{}:", BASE64.encode(Sha256::digest(body)))
}

fn key(service: &TestService) -> VerifyingKey {
    let about = ask(service, "GET", LEDGER, Some(&token("agent")), "").expect(200).json();
    let mut key = [0; 32];
    hex::decode_to_slice(about["answerKey"].as_str().unwrap(), &mut key).unwrap();
    VerifyingKey::from_bytes(&key).unwrap()
}

/// A governed ledger with tokens.
fn guarded() -> TestService {
    let service = governed("allow");
    guard(&service);
    service
}

fn call(id: &str) -> Value {
    json!({"call": id, "tool": "fs.write", "args": {"path": "a.rs"}, "session": "s1"})
}

fn hook(id: &str) -> Value {
    json!({"session_id": "s1", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "fs.write",
           "tool_input": {"path": "a.rs"}, "tool_use_id": id})
}

#[test]
fn an_answer_is_signed_for_its_request_on_every_path_that_agents_use() {
    let service = guarded();
    let key = key(&service);
    let outcome = json!({"call": "c1", "status": "ok"}).to_string();
    let table = [
        (RequestToSign::new("POST", "/decide?reuse=true", call("c1").to_string()), 200),
        (RequestToSign::new("POST", "/decide", "nonsense"), 400),
        (RequestToSign::new("POST", "/outcome", outcome), 200),
        (RequestToSign::new("POST", "/hooks/claude?delivery=00", hook("h1").to_string()), 200),
        (RequestToSign::new("POST", "/hooks/claude", "nonsense"), 400),
        (RequestToSign::new("POST", "/events", event("e1", "s")), 201),
        (RequestToSign::new("GET", "/calls?call=c1&limit=10", ""), 200),
        (RequestToSign::new("GET", "/approvals/none", ""), 404),
        (RequestToSign::new("GET", "/events/999999", ""), 404),
    ];
    for (asked, status) in &table {
        let answer = asked.send(&service);
        assert_eq!(answer.status, *status, "{} {}: {}", asked.method, asked.target, answer.text());
        assert!(asked.is_signed(&answer, &key), "{} {}", asked.method, asked.target);
    }
    // The same request of another caller has another signature.
    let (asked, _) = &table[3];
    let answer = asked.send(&service).expect(200);
    let other = RequestToSign {
        authorization: format!("Bearer {}", token("operator")),
        ..RequestToSign::new("POST", "/hooks/claude?delivery=00", asked.body.clone())
    };
    assert!(asked.is_signed(&answer, &key) && !other.is_signed(&answer, &key));
}

#[test]
fn another_implementation_verifies_every_answer_and_none_that_was_changed() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!(
            "not run: {PYTHON} names no Python with the packages of tests/http/signatures/requirements.txt"
        );
        return;
    };
    let service = guarded();
    let url = format!("http://{}{LEDGER}", service.address);
    let read = Command::new(python)
        .args([VERIFY, &url, &hex::encode(key(&service).as_bytes()), &token("agent")])
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let lines: Vec<Value> = String::from_utf8(read.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &lines {
        assert_eq!(line["verified"], line["change"].is_null(), "{line}");
    }
    // Five answers, each as it came and with thirteen changes.
    assert_eq!(lines.len(), 5 * 14);
}

#[test]
fn a_digest_of_another_body_is_refused_and_nothing_is_recorded() {
    let service = guarded();
    let key = key(&service);
    let about = |id: &str| call(id).to_string();
    for (resource, body) in [
        ("/decide", about("c9")),
        ("/hooks/claude", hook("c9").to_string()),
        ("/events", event("c9", "s")),
        ("/outcome", json!({"call": "c9", "status": "ok"}).to_string()),
    ] {
        let (tip, own) = (service_tip(&service), sha_256(body.as_bytes()));
        for digest in [sha_256(b""), "sha-256=:AAAA:".to_owned(), format!("{own}, {own}"), String::new()] {
            let asked = RequestToSign { digest, ..RequestToSign::new("POST", resource, body.clone()) };
            let answer = asked.send(&service).expect(400);
            assert_eq!(answer.json()["code"], "bad-header", "{resource}");
            assert!(asked.is_signed(&answer, &key), "{resource}");
        }
        assert_eq!(service_tip(&service), tip, "{resource}");
    }
    let asked = RequestToSign { digest: sha_256(b"x"), ..RequestToSign::new("GET", "/head", "") };
    assert_eq!(asked.send(&service).expect(400).json()["code"], "bad-header");
}

#[test]
fn a_digest_is_compared_where_an_act_takes_no_body() {
    let service = guarded();
    let authorization = format!("Bearer {}", token("admin"));
    for (method, resource) in
        [("POST", "/starter:upgrade"), ("POST", "/projections/calls:rebuild"), ("DELETE", "/checkpoints/t")]
    {
        let asked = RequestToSign {
            digest: sha_256(b"x"),
            authorization: authorization.clone(),
            kind: "application/json",
            ..RequestToSign::new(method, resource, "")
        };
        assert_eq!(asked.send(&service).expect(400).json()["code"], "bad-header", "{resource}");
    }
}

#[test]
fn a_known_caller_gets_a_signed_refusal_of_what_it_may_not() {
    let service = guarded();
    let key = key(&service);
    let asked = RequestToSign::new("PUT", "/mode", json!({"mode": "observe"}).to_string());
    let answer = asked.send(&service).expect(403);
    assert!(asked.is_signed(&answer, &key), "{}", answer.text());
    let unknown = RequestToSign::new("GET", "/head?nothing=1", "");
    let answer = unknown.send(&service).expect(400);
    assert!(unknown.is_signed(&answer, &key), "{}", answer.text());
}

#[test]
fn nobody_gets_a_signature_without_a_token_or_a_digest() {
    let service = guarded();
    let body = call("c1").to_string();
    let plain = ask(&service, "POST", &format!("{LEDGER}/decide"), Some(&token("agent")), &body).expect(200);
    assert_eq!(plain.header("signature"), None);
    let stranger = RequestToSign {
        authorization: format!("Bearer {}", token("nobody")),
        ..RequestToSign::new("POST", "/decide", body.clone())
    };
    assert_eq!(stranger.send(&service).expect(401).header("signature"), None);
    let other_digest = RequestToSign { digest: sha_256(b"x"), ..RequestToSign::new("GET", "/head", "") };
    let stranger = RequestToSign { authorization: stranger.authorization, ..other_digest };
    assert_eq!(stranger.send(&service).expect(401).header("signature"), None);
    // Nobody compares a body that is taken in piece by piece to its digest.
    let streamed = RequestToSign {
        kind: "application/x-ndjson",
        ..RequestToSign::new("POST", "/events:ingest", event("e1", "s"))
    };
    assert_eq!(streamed.send(&service).header("signature"), None);
}

#[test]
fn a_nonce_is_signed_and_is_no_parameter_of_the_resource() {
    let service = guarded();
    let key = key(&service);
    RequestToSign::new("POST", "/decide", call("c1").to_string()).send(&service).expect(200);
    let with = |resource: &str| {
        let asked = RequestToSign::new("GET", resource, "");
        (asked.send(&service), asked)
    };
    let (one, two) = ("/calls?call=c1&nonce=a-B_9&limit=10", "/calls?call=c1&nonce=another&limit=10");
    let (answer, asked) = with(one);
    assert_eq!(answer.json()["calls"][0]["call"], "c1");
    assert!(asked.is_signed(&answer, &key) && !with(two).1.is_signed(&answer, &key));
    let (answer, asked) = with("/head?nonce=a");
    assert!(asked.is_signed(&answer, &key) && answer.status == 200);
    // The other parameters are as strict as ever.
    assert_eq!(with("/calls?nonce=a&wrong=1").0.expect(400).json()["code"], "bad-query");
    let long = format!("/head?nonce={}", "a".repeat(65));
    for resource in ["/head?nonce=", "/head?nonce=a&nonce=b", "/head?nonce=a%20b", &long] {
        let (answer, asked) = with(resource);
        assert_eq!(answer.expect(400).json()["code"], "bad-query", "{resource}");
        assert!(asked.is_signed(&asked.send(&service), &key), "{resource}");
    }
    with("/head?nonces=a").0.expect_problem(400, "bad-query");
    let streamed = RequestToSign::new("POST", "/events:ingest?nonce=a", event("e1", "s"));
    streamed.send(&service).expect_problem(400, "bad-query");
    let unsigned = ask(&service, "GET", &format!("{LEDGER}/head?nonce=a"), Some(&token("agent")), "");
    unsigned.expect_problem(400, "bad-query");
}

fn service_tip(service: &TestService) -> String {
    let head = ask(service, "GET", &format!("{LEDGER}/head"), Some(&token("agent")), "").expect(200);
    head.json()["position"].to_string()
}

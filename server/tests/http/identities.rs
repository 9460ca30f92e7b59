//! Access by tokens: every path with every role and with none.

use bitacora_ledger::Clock as _;
use bitacora_vocabulary::{EVENT_TYPES, EventWriter, Sha256Text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::event_stream::EventStream;
use crate::governed::decisions;
use crate::openapi::is_export;
use crate::service::{ServiceAnswer, SetClock, TestService, head};

const EVENTS: &str = "/v1/ledgers/main/events";
const SECURITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security.md");
/// As the columns of the table on that page, behind `none`.
const ROLES: [&str; 5] = ["agent", "operator", "admin", "auditor", "metrics"];

/// The token of the principal with this name.
pub(crate) fn token(name: &str) -> String {
    let padded = format!("{name:-<43}");
    format!("bt_{padded}")
}

pub(crate) fn hash(token: &str) -> String {
    Sha256Text::of_digest(&Sha256::digest(token).into()).as_str().to_owned()
}

/// An event, with an id of its own.
pub(crate) fn event(kind: &str, data: &Value) -> Value {
    let text = format!("{kind}{data}");
    json!({"specversion": "1.0", "id": hash(&text), "source": "/tests", "type": kind, "subject": "s", "data": data})
}

pub(crate) fn created(name: &str, role: &str, expires: Option<u64>) -> Value {
    let mut data = json!({"principal": name, "role": role, "token_hash": hash(&token(name))});
    if role == "agent" {
        data["agent"] = json!("coder");
    }
    if let Some(expires) = expires {
        data["expires"] = json!(expires);
    }
    event("principal.created", &data)
}

pub(crate) fn ask(
    service: &TestService,
    method: &str,
    target: &str,
    token: Option<&str>,
    body: &str,
) -> ServiceAnswer {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json")];
    if let Some(authorization) = &authorization {
        headers.push(("Authorization", authorization));
    }
    service.request(method, target, &headers, body.as_bytes())
}

pub(crate) fn append(service: &TestService, token: &str, event: &Value) -> ServiceAnswer {
    ask(service, "POST", EVENTS, Some(token), &event.to_string())
}

/// A service whose ledger `main` has one principal of each role, named as it.
fn guarded() -> TestService {
    let service = TestService::start();
    guard(&service);
    service
}

/// Gives the ledger `main` one principal of each role.
pub(crate) fn guard(service: &TestService) {
    service.append(created("admin", "admin", None).to_string()).expect(201);
    for role in ROLES.into_iter().filter(|role| *role != "admin") {
        append(service, &token("admin"), &created(role, role, None)).expect(201);
    }
}

/// Checks a refusal; `None` where it is in the words of OTLP.
fn refused(path: &str, answer: ServiceAnswer, status: u16, code: &str) -> Option<Value> {
    if !is_export(path) {
        return Some(answer.expect_problem(status, code));
    }
    let told = answer.expect(status).json();
    assert!(told["message"].as_str().unwrap().starts_with(code), "{told}");
    None
}

#[test]
fn every_path_answers_each_role_and_none_as_the_page_on_security_says() {
    let service = guarded();
    let page = std::fs::read_to_string(SECURITY).unwrap();
    let paths = paths(&service, &token("auditor"));
    assert!(paths.len() > 40, "{} paths", paths.len());
    for (path, method) in paths {
        let shown = format!("| `{method} {}` |", path.replace("{tile}", "{*tile}"));
        let row = page.lines().find(|line| line.starts_with(&shown));
        let row = row.unwrap_or_else(|| panic!("{method} {path} is missing from docs/security.md"));
        let right = format!("| `{}` |", row.split('|').nth(2).unwrap().trim());
        let roles = page.lines().find(|line| line.starts_with(&right));
        let roles = roles.unwrap_or_else(|| panic!("{right} is missing from docs/security.md"));
        let mut may = roles.split('|').skip(2).map(|cell| cell.trim() == "yes");
        let target = target_of(&path);
        let none = ask(&service, &method, &target, None, "");
        if may.next().unwrap() {
            assert!(![401, 403].contains(&none.status), "{method} {path}: {}", none.text());
        } else {
            assert_eq!(none.header("www-authenticate"), Some("Bearer realm=\"bitacora\""), "{path}");
            refused(&path, none, 401, "unauthorized");
        }
        let roles = ROLES.into_iter().zip(may);
        let (admin, others): (Vec<_>, Vec<_>) = roles.partition(|(role, _)| *role == "admin");
        for (role, may) in others.into_iter().chain(admin) {
            let answer = ask(&service, &method, &target, Some(&token(role)), "");
            if may {
                let text = answer.text();
                assert!(![401, 403].contains(&answer.status), "{method} {path} as {role}: {text}");
            } else {
                let Some(problem) = refused(&path, answer, 403, "forbidden") else { continue };
                let needs = problem["needs"].as_str().unwrap();
                assert!(
                    ["agent", "operator", "admin", "auditor"].contains(&needs) && needs != role,
                    "{problem}"
                );
            }
        }
    }
}

/// Every path that the service knows, with its methods; what ends the service comes last.
pub(crate) fn paths(service: &TestService, token: &str) -> Vec<(String, String)> {
    let document = ask(service, "GET", "/v1/openapi.json", Some(token), "").expect(200).json();
    let mut paths = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        // The document names each act; the router knows all those on one thing as one path.
        let routed = path.split_once("}:").map_or_else(|| path.clone(), |(thing, _)| format!("{thing}}}"));
        paths.extend(
            methods.as_object().unwrap().keys().map(|method| (routed.clone(), method.to_uppercase())),
        );
    }
    paths.sort();
    paths.dedup();
    paths.sort_by_key(|(path, _)| path == "/v1/admin/drain");
    paths
}

/// A target that this path matches.
pub(crate) fn target_of(path: &str) -> String {
    let named = [
        ("{ledger}", "main"),
        ("{stream}", "s"),
        ("{position}", "1"),
        ("{tile}", "0/000"),
        ("{approval}", "a1:approve"),
        ("{tool}", "t"),
        ("{version}", "1:activate"),
        ("{grant}", "g1"),
        ("{hold}", "case-7"),
        ("{suggestion}", "s1:accept"),
        ("{agent}", "coder:suspend"),
        ("{import}", "0:accept"),
        ("{type}", "run.step"),
        ("{call}", "c1"),
        ("{run}", "r1"),
        ("{session}", "s1"),
        ("{contract}", "edit"),
        ("{thread}", "t1:save"),
        ("{projection}", "calls:rebuild"),
        ("{harness}", "claude"),
        ("{verification}", "v1"),
    ];
    let target = named.iter().fold(path.to_owned(), |path, (capture, name)| path.replace(capture, name));
    assert!(!target.contains('{'), "{path} names something new");
    target
}

#[test]
fn a_token_that_is_not_a_valid_one_of_this_ledger_is_nobodys() {
    let clock = SetClock::default();
    let service = TestService::at(&clock);
    guard(&service);
    let admin = token("admin");
    let soon = clock.now().0 + 60_000_000;
    append(&service, &admin, &created("short", "auditor", Some(soon))).expect(201);
    ask(&service, "GET", EVENTS, Some(&token("short")), "").expect(200);
    append(&service, &admin, &created("lost", "auditor", None)).expect(201);
    append(&service, &admin, &event("principal.revoked", &json!({"principal": "lost"}))).expect(201);
    append(&service, &admin, &created("foreign", "admin", None)).expect(201);
    ask(&service, "POST", "/v1/ledgers", Some(&token("foreign")), r#"{"name":"other"}"#).expect(201);
    append(&service, &admin, &event("principal.revoked", &json!({"principal": "foreign"}))).expect(201);
    let other = "/v1/ledgers/other/events";
    ask(&service, "GET", other, Some(&token("foreign")), "").expect(200);
    ask(&service, "GET", other, Some(&admin), "").expect_problem(401, "unauthorized");
    clock.advance(60_100);
    let whole = token("admin");
    for bad in [
        token("short"),
        token("lost"),
        token("foreign"),
        token("wrong"),
        format!("{whole}-"),
        whole[..45].to_owned(),
        String::new(),
    ] {
        ask(&service, "GET", EVENTS, Some(&bad), "").expect_problem(401, "unauthorized");
    }
    let bearer = format!("Bearer {admin}");
    let twice = [("Authorization", bearer.as_str()), ("Authorization", bearer.as_str())];
    service.get_with(EVENTS, &twice).expect_problem(401, "unauthorized");
    service
        .get_with(EVENTS, &[("Authorization", &format!("Basic {admin}"))])
        .expect_problem(401, "unauthorized");
    service.get_with(EVENTS, &[("Authorization", &format!("bearer {admin}"))]).expect(200);
    let service = service.restarted();
    ask(&service, "GET", EVENTS, Some(&admin), "").expect(200);
    for bad in [token("short"), token("lost"), token("wrong")] {
        ask(&service, "GET", EVENTS, Some(&bad), "").expect_problem(401, "unauthorized");
    }
    service.get(EVENTS).expect_problem(401, "unauthorized");
}

#[test]
fn nobody_writes_what_is_not_theirs() {
    let service = guarded();
    for listed in EVENT_TYPES {
        let data: Value = serde_json::from_str(listed.example).unwrap();
        let one = event(listed.kind, &data);
        append(&service, &token("auditor"), &one).expect_problem(403, "forbidden");
        let expected = match listed.writer {
            EventWriter::Reactor | EventWriter::Service => "reserved-type",
            // Recorded by answering.
            EventWriter::Operators if listed.kind.starts_with("suggestion.") => "reserved-type",
            EventWriter::Operators | EventWriter::Admins => "forbidden",
            EventWriter::Anyone => continue,
        };
        append(&service, &token("agent"), &one).expect_problem(403, expected);
        let upload = ask_ndjson(&service, &token("agent"), &one);
        assert!(upload.contains(expected), "{}: {upload}", listed.kind);
        if listed.writer == EventWriter::Admins {
            append(&service, &token("operator"), &one).expect_problem(403, "forbidden");
        }
    }
}

#[test]
fn only_an_admin_brings_what_was_recorded_elsewhere() {
    let service = guarded();
    let data = json!({"harness": "h", "version": "1", "assurance": "imported"});
    let one = event("session.started", &data);
    for role in ["agent", "operator"] {
        let problem = append(&service, &token(role), &one).expect_problem(403, "forbidden");
        assert_eq!(problem["needs"], "admin");
        let upload = ask_ndjson(&service, &token(role), &one);
        assert!(upload.contains("forbidden") && upload.contains(r#""line":1"#), "{upload}");
    }
    append(&service, &token("admin"), &one).expect(201);
    let dimension = json!({"tool": "t", "context": "-", "model": "-", "task_type": "-"});
    let marked = json!({"dimension": dimension, "outcome": "approved", "assurance": "imported"});
    append(&service, &token("operator"), &event("trust.observed", &marked))
        .expect_problem(403, "reserved-type");
    append(&service, &token("admin"), &event("trust.observed", &marked)).expect(201);
    let own = json!({"dimension": dimension, "outcome": "approved"});
    append(&service, &token("admin"), &event("trust.observed", &own)).expect_problem(403, "reserved-type");
}

#[test]
fn whoever_is_revoked_meanwhile_is_cut_off() {
    let service = guarded();
    append(&service, &token("admin"), &created("short", "operator", None)).expect(201);
    let bearer = format!("Bearer {}", token("short"));
    let headers = [("Authorization", bearer.as_str())];
    let mut followed = EventStream::open(&service, "/v1/ledgers/main/events?type=x.note", &headers);
    assert_eq!(followed.message().kind.as_deref(), Some("caught-up"));
    let mut upload = service.connect();
    let begin = [headers[0], ("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")];
    upload.send(
        head("POST", "/v1/ledgers/main/events:ingest", &begin, None)
            .replace("Content-Length: 0\r\n", "")
            .as_bytes(),
    );
    let mut send = |number: u32| {
        let line = format!("{}\n", event("x.note", &json!({"n": number})));
        upload.send(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes());
        upload.read_past(b"}\n")
    };
    let acknowledged = send(1);
    assert!(acknowledged.contains(r#""lines":1"#), "{acknowledged}");
    assert_eq!(followed.message().kind, None, "the event");
    append(&service, &token("admin"), &event("principal.revoked", &json!({"principal": "short"})))
        .expect(201);
    let refused = send(2);
    assert!(refused.contains("unauthorized"), "{refused}");
    append(&service, &token("admin"), &event("x.note", &json!({"n": 3}))).expect(201);
    let (positions, last) = followed.events();
    assert_eq!((positions.len(), last.kind.as_deref()), (0, Some("failed")));
    assert_eq!(last.data.unwrap()["code"], "unauthorized");
}

#[test]
fn whoever_is_revoked_while_their_body_comes_is_heard_no_more() {
    let service = crate::governed::governed("allow");
    guard(&service);
    let decide = json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}});
    let batch = json!({"requests": [decide]});
    let outcome = json!({"call": "c0", "status": "ok"});
    let requests = [
        ("POST", "events", event("x.note", &json!({}))),
        ("POST", "decide", decide),
        ("POST", "decide:batch", batch),
        ("POST", "outcome", outcome),
        ("POST", "panic", json!({"reason": "r"})),
        ("PUT", "policy", json!({"rules": []})),
    ];
    for (index, (method, resource, body)) in requests.into_iter().enumerate() {
        let name = format!("short{index}");
        append(&service, &token("admin"), &created(&name, "operator", None)).expect(201);
        let bearer = format!("Bearer {}", token(&name));
        let body = body.to_string();
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", bearer.as_str()),
            ("Expect", "100-continue"),
        ];
        let mut slow = service.connect();
        let target = format!("/v1/ledgers/main/{resource}");
        slow.send(head(method, &target, &headers, Some(body.len())).as_bytes());
        // The service has the head, and has let it in.
        slow.read_past(b"100 Continue\r\n\r\n");
        let (first, rest) = body.as_bytes().split_at(body.len() / 2);
        slow.send(first);
        append(&service, &token("admin"), &event("principal.revoked", &json!({"principal": name})))
            .expect(201);
        let before = tip(&service);
        slow.send(rest);
        let answer = slow.answer();
        if resource == "decide:batch" {
            let problem = &decisions(&answer.expect(200))["answers"][0]["problem"];
            assert_eq!(problem["code"], "unauthorized", "{problem}");
        } else {
            answer.expect_problem(401, "unauthorized");
        }
        assert_eq!(tip(&service), before, "{resource} left something behind");
    }
}

fn tip(service: &TestService) -> String {
    let head = ask(service, "GET", "/v1/ledgers/main/head", Some(&token("auditor")), "");
    head.expect(200).json()["position"].as_str().unwrap().to_owned()
}

#[test]
fn an_import_is_accepted_by_an_admin_once_it_is_there() {
    let service = guarded();
    let digest = |digit: &str| digit.repeat(64);
    let accepted = |digit: &str| event("import.accepted", &json!({"digest": digest(digit)}));
    let problem = append(&service, &token("operator"), &accepted("1")).expect_problem(403, "forbidden");
    assert_eq!(problem["needs"], "admin");
    append(&service, &token("admin"), &accepted("1")).expect_problem(404, "no-such-thing");
    let counts = json!({"files": 1, "lines": 1, "bytes": 1, "events": 1, "unmapped": 0, "passed_over": 0, "without_outcome": 0, "types": {}});
    let batch = json!({"digest": digest("1"), "mapping": "m", "counts": counts, "sources": []});
    append(&service, &token("admin"), &event("import.batch", &batch)).expect(201);
    append(&service, &token("admin"), &accepted("2")).expect_problem(404, "no-such-thing");
    append(&service, &token("operator"), &accepted("1")).expect_problem(403, "forbidden");
    append(&service, &token("admin"), &accepted("1")).expect(201);
    let service = service.restarted();
    append(
        &service,
        &token("admin"),
        &event("import.accepted", &json!({"digest": digest("1"), "note": "again"})),
    )
    .expect_problem(409, "already-resolved");
}

#[test]
fn who_publishes_a_policy_is_its_author() {
    let service = crate::governed::governed("allow");
    guard(&service);
    let own = format!("operator:{}", &hash(&token("operator"))[..12]);
    let publish = |author: Option<&str>| {
        let rules = json!([{"id": "r", "match": {}, "action": "review", "reason": "r"}]);
        let body = json!({"rules": rules, "author": author}).to_string();
        ask(&service, "PUT", "/v1/ledgers/main/policy", Some(&token("operator")), &body)
    };
    let problem = publish(Some("admin:local")).expect_problem(403, "forbidden");
    assert_eq!(problem["errors"][0]["pointer"], "/author");
    publish(None).expect(201);
    publish(Some(&own)).expect(201);
    let policy =
        ask(&service, "GET", "/v1/ledgers/main/policy", Some(&token("auditor")), "").expect(200).json();
    let authors: Vec<_> =
        policy["versions"].as_array().unwrap().iter().map(|v| v["author"].clone()).collect();
    assert_eq!(authors, [json!("admin:local"), json!(own), json!(own)]);
    let mut forged = ask(&service, "GET", "/v1/ledgers/main/policy/3", Some(&token("auditor")), "")
        .expect(200)
        .json()["document"]
        .clone();
    forged["version"] = json!(4);
    forged["author"] = json!("admin:local");
    let problem = append(&service, &token("operator"), &event("policy.published", &forged))
        .expect_problem(403, "forbidden");
    assert!(problem["detail"].as_str().unwrap().contains("author"), "{problem}");
}

fn ask_ndjson(service: &TestService, token: &str, event: &Value) -> String {
    let authorization = format!("Bearer {token}");
    let headers = [("Content-Type", "application/x-ndjson"), ("Authorization", authorization.as_str())];
    let body = format!("{event}\n");
    service.request("POST", "/v1/ledgers/main/events:ingest", &headers, body.as_bytes()).text().to_owned()
}

#[test]
fn who_sent_an_event_stands_in_it() {
    let service = guarded();
    let mut one = event("x.note", &json!({}));
    one["actor"] = json!("admin:000000000000");
    append(&service, &token("agent"), &one).expect(201);
    let events = ask(&service, "GET", "/v1/ledgers/main/events?type=x.note", Some(&token("auditor")), "");
    let kept = &events.expect(200).json()["events"][0]["event"];
    assert_eq!(kept["actor"], format!("agent:{}", &hash(&token("agent"))[..12]));
    assert_eq!((&kept["agent"], &kept["onbehalfof"]), (&json!("coder"), &json!("admin:000000000000")));
    one["agent"] = json!("another");
    one["id"] = json!("2");
    append(&service, &token("agent"), &one).expect_problem(403, "forbidden");
    append(&service, &token("operator"), &one).expect(201);
    let text = service_log(&service);
    assert!(!text.contains("bt_"), "a token never reaches the ledger");

    append(&service, &token("agent"), &event("x.note", &json!({"n": 3}))).expect(201);
    let mut same = event("x.note", &json!({"n": 3}));
    append(&service, &token("agent"), &same).expect(200);
    append(&service, &token("operator"), &same).expect_problem(409, "id-reused");
    same["onbehalfof"] = json!("ana");
    same["id"] = json!("4");
    append(&service, &token("agent"), &same).expect(201);
    same["actor"] = json!("ben");
    same["id"] = json!("5");
    append(&service, &token("agent"), &same).expect_problem(400, "bad-attribute");
}

fn service_log(service: &TestService) -> String {
    ask(service, "GET", EVENTS, Some(&token("auditor")), "").expect(200).text().to_owned()
}

#[test]
fn the_first_principal_is_an_admin_and_the_last_one_gone_leaves_the_ledger_closed() {
    let service = TestService::start();
    service.append(created("early", "agent", None).to_string()).expect_problem(422, "schema");
    service.append(created("admin", "admin", None).to_string()).expect(201);
    service.append(event("x.note", &json!({})).to_string()).expect_problem(401, "unauthorized");
    append(&service, &token("admin"), &event("principal.revoked", &json!({"principal": "admin"})))
        .expect(201);
    service.get(EVENTS).expect_problem(401, "unauthorized");
    service.restarted().get(EVENTS).expect_problem(401, "unauthorized");
}

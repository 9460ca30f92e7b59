//! The watch of a policy cache: the whole state, then its changes, over one connection.

use std::time::{Duration, Instant};

use bitacora_governance::{MAX_PIECE_ENTRIES, REACTOR_VERSION, REPLICA_FORM};
use bitacora_ledger::{Environment, Options};
use bitacora_server::{ConnectionTimeouts, ServerLimits};
use serde_json::{Value, json};

use crate::event_stream::{EventStream, StreamMessage};
use crate::governed::{ask as decide, earn, governed, post, put, write};
use crate::identities::{append, ask, created, event as act, guard, token};
use crate::replicas::ReplicaView;
use crate::service::{TestService, config, event, new_keyring, wait_until};

const SHOWN: &str = "/v1/ledgers/main/policy-cache";
const WATCHED: &str = "/v1/ledgers/main/policy-cache:watch";
const FOLLOW: (&str, &str) = ("Accept", "text/event-stream");

fn position(answer: &Value) -> u64 {
    answer["position"].as_str().unwrap().parse().unwrap()
}

fn followers(service: &TestService, count: usize) -> bool {
    service.get("/metrics").text().contains(&format!("bitacora_http_followers {count}\n"))
}

/// Lets what was stopped go on.
fn release(service: &TestService) -> Value {
    let (headers, body) = ([("Content-Type", "application/json")], r#"{"reason":"it is over"}"#);
    service.request("DELETE", "/v1/ledgers/main/panic", &headers, body.as_bytes()).expect(200).json()
}

/// Returns the next message other than `at`, which says that nothing is new.
fn next_but_at(stream: &mut EventStream) -> StreamMessage {
    let began = Instant::now();
    loop {
        let message = stream.message();
        if message.kind.as_deref() != Some("at") {
            return message;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "nothing else comes");
    }
}

/// Asks the ledger, and compares the decision with the one predicted where the watch stood right before.
fn is_decided_as_predicted(service: &TestService, told: &ReplicaView, call: &str, code: &str) -> Value {
    let predicted = told.said(&write(call));
    assert_eq!(predicted.1, code, "{call}");
    let decided = decide(service, write(call));
    let said = |member: &str| decided[member].as_str().unwrap().to_owned();
    assert_eq!((said("verdict"), said("reasonCode")), predicted, "{call}");
    decided
}

#[test]
fn what_changes_arrives_over_the_connection_that_is_there() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let settings = json!({"dimension": dimension, "window": 4, "failureThreshold": 1, "recoveryProbes": 1, "cooldownS": 600});
    post(&service, "breakers:configure", &settings).expect(200);
    let mut stream = EventStream::open(&service, WATCHED, &[]);
    assert_eq!(stream.ledger, service.get("/v1/ledgers/main").expect(200).json()["id"].as_str().unwrap());
    let (mut told, begin) = ReplicaView::of_watch(&mut stream);
    let expected = json!({"ledger": stream.ledger, "rules": REACTOR_VERSION, "form": REPLICA_FORM,
        "executor": {"actor": "agent:local"}, "isBound": false});
    assert_eq!((begin, told.position), (expected, service.tip()));
    let shown = service.get(SHOWN).expect(200).json();
    assert_eq!(told.pieces, shown["pieces"].as_array().unwrap().as_slice());
    let mut stands_at = |told: &mut ReplicaView, answer: &Value| told.catch_up(&mut stream, position(answer));

    // A breaker that opens, and one that is closed.
    let allowed = is_decided_as_predicted(&service, &told, "c1", "allowed");
    stands_at(&mut told, &allowed);
    let failed = post(&service, "outcome", &json!({"call": "c1", "status": "timeout"})).expect(200).json();
    stands_at(&mut told, &failed);
    // A person may still say yes to what is stopped, so nothing is denied without asking.
    assert!(!told.predict(&write("c2")).denies());
    is_decided_as_predicted(&service, &told, "c2", "breaker-open");
    let close = json!({"dimension": dimension, "reason": "mended"});
    stands_at(&mut told, &post(&service, "breakers:close", &close).expect(200).json());
    earn(&service, "fs.write", "src");
    // A policy that is activated.
    let rules = json!([{"id": "all", "match": {}, "action": "deny", "reason": "for a test"}]);
    put(&service, "policy", &json!({"rules": rules})).expect(201);
    stands_at(&mut told, &post(&service, "policy/2:activate", &json!({})).expect(200).json());
    is_decided_as_predicted(&service, &told, "c3", "policy-deny");
    stands_at(&mut told, &post(&service, "policy/1:activate", &json!({})).expect(200).json());
    // A budget that is spent.
    let budget =
        json!({"budget": "b", "scope": {}, "limits": {"calls": 1}, "period": "day", "onExceed": "deny"});
    stands_at(&mut told, &put(&service, "budgets", &budget).expect(200).json());
    let allowed = is_decided_as_predicted(&service, &told, "c4", "allowed");
    stands_at(&mut told, &allowed);
    assert!(!told.predict(&write("c5")).denies(), "it is held back, and may be given back");
    let ended = post(&service, "outcome", &json!({"call": "c4", "status": "ok"})).expect(200).json();
    stands_at(&mut told, &ended);
    assert!(told.predict(&write("c5")).denies());
    is_decided_as_predicted(&service, &told, "c5", "budget-spent");
    // And everything at once, until it is over; at once, and not only with the next word that nothing is new.
    let mut quickest = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        stands_at(&mut told, &post(&service, "panic", &json!({"reason": "a drill"})).expect(200).json());
        quickest = quickest.min(began.elapsed());
        stands_at(&mut told, &release(&service));
    }
    assert!(quickest < Duration::from_millis(300), "{quickest:?}");
    stands_at(&mut told, &post(&service, "panic", &json!({"reason": "a drill"})).expect(200).json());
    is_decided_as_predicted(&service, &told, "c6", "panic");
    stands_at(&mut told, &release(&service));
    is_decided_as_predicted(&service, &told, "c7", "budget-spent");
    // Bit by bit it is what another one is told at once.
    told.catch_up(&mut stream, service.tip());
    let late = ReplicaView::of_answer(&service.get(SHOWN).expect(200).json());
    assert!(told.replica.state() == late.replica.state());
}

#[test]
fn the_position_moves_where_nothing_else_does() {
    let service = governed("allow");
    let mut stream = EventStream::open(&service, WATCHED, &[]);
    let (mut told, _) = ReplicaView::of_watch(&mut stream);
    let began = Instant::now();
    for _ in 0..6 {
        let message = stream.message();
        assert_eq!(message.kind.as_deref(), Some("at"), "{message:?}");
        told.hear(&mut stream, message);
    }
    // Twice a second; this machine may be busy.
    assert!(began.elapsed() > Duration::from_millis(2_500) && began.elapsed() < Duration::from_secs(6));
    assert_eq!(told.position, service.tip());
    // Events that govern nothing move the position, and nothing besides.
    for id in 0..50 {
        service.append(event(&id.to_string(), "s")).expect(201);
    }
    while told.position < service.tip() {
        let message = stream.message();
        assert_eq!((message.kind.as_deref(), message.retry), (Some("at"), None));
        told.hear(&mut stream, message);
    }
    // Every event that was durable at the time that is said is in it.
    service.append(event("last", "s")).expect(201);
    let (tip, acknowledged) = (service.tip(), Environment::real().clock.now());
    while told.time <= acknowledged {
        let message = stream.message();
        told.hear(&mut stream, message);
    }
    assert_eq!(told.position, tip);
    // Events that concern others move it as well. The time of governing events is everybody's.
    let other = json!({"agent": "other", "reason": "it went too far"});
    let suspended =
        post(&service, "agents/other:suspend", &json!({"reason": other["reason"]})).expect(200).json();
    told.catch_up(&mut stream, position(&suspended));
    let pieces = told.pieces.last().unwrap();
    assert!(pieces.as_object().unwrap().keys().eq(["time"]), "{pieces}");
    assert!(position(&suspended) <= told.position && told.position <= service.tip());
}

#[test]
fn each_connection_begins_anew() {
    let service = governed("allow");
    let tip = service.tip().to_string();
    for known in [&tip, "1", "99999", "no place at all"] {
        let mut stream = EventStream::open(&service, WATCHED, &[("Last-Event-ID", known)]);
        let (told, begin) = ReplicaView::of_watch(&mut stream);
        assert_eq!(
            (begin["rules"].as_u64(), told.said(&write("c1")).1.as_str()),
            (Some(REACTOR_VERSION.into()), "trust-require-review")
        );
    }
}

/// A service whose ledger takes requests as large as they may be.
fn roomy(limits: ServerLimits) -> TestService {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, limits);
    let governing = config.ledgers.options.governing.clone();
    config.ledgers.options = Options { governing, heads: None, ..Options::default() };
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    service
}

#[test]
fn what_does_not_fit_one_message_comes_in_pieces_of_one_state() {
    let service = roomy(ServerLimits::default());
    let count = MAX_PIECE_ENTRIES + 100;
    let set = |round: usize| {
        let events: Vec<Value> = (0..count)
            .map(|number| {
                let dimension =
                    json!({"tool": "t", "context": format!("c{number}"), "model": "-", "task_type": "-", "workspace": "-"});
                let counts = json!({"approvals": round, "rejections": 0, "failures": 0, "streak": 0});
                act("trust.set", &json!({"dimension": dimension, "counts": counts, "reason": "for a test"}))
            })
            .collect();
        for some in events.chunks(1_000) {
            service.append(json!(some).to_string()).expect(201);
        }
    };
    set(1);
    let mut stream = EventStream::open(&service, WATCHED, &[]);
    let (mut told, _) = ReplicaView::of_watch(&mut stream);
    assert_eq!((told.pieces_at_once, told.replica.dimensions()), (3, count), "one of all else, and two");
    let shown = service.get(SHOWN).expect(200).json();
    assert_eq!(shown["pieces"].as_array().unwrap(), &told.pieces);
    // Changes come together as they are taken.
    set(2);
    told.catch_up(&mut stream, service.tip());
    assert!(
        told.replica.state()
            == ReplicaView::of_answer(&service.get(SHOWN).expect(200).json()).replica.state()
    );
}

#[test]
fn a_service_that_ends_says_so_and_leaves_nothing_behind() {
    let mut service = governed("allow");
    let mut stream = EventStream::open(&service, WATCHED, &[]);
    let (mut told, _) = ReplicaView::of_watch(&mut stream);
    // A ledger that takes nothing more is watched all the same.
    let body = r#"{"ledger":"main","readOnly":true}"#;
    service.post("/v1/admin/read-only", "application/json", body).expect(202);
    wait_until(|| service.get("/readyz").status == 503);
    told.catch_up(&mut stream, service.tip());
    let at = stream.message();
    assert_eq!(at.kind.as_deref(), Some("at"));
    told.hear(&mut stream, at);
    let began = Instant::now();
    service.begin_shutdown();
    let last = next_but_at(&mut stream);
    assert_eq!((last.kind.as_deref(), last.retry), (Some("closing"), Some(1_000)));
    assert_eq!(position(&last.data.unwrap()), told.position);
    assert_eq!(stream.next(), None);
    service.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // Nobody holds the ledger any more: another service takes the folder.
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = TestService::on(folder, service.keyring.clone(), ServerLimits::default());
    service.get(SHOWN).expect(200);
    service.append(event("1", "s")).expect(201);
    drop(stream);
}

#[test]
fn whose_reader_is_gone_gives_its_place_back_though_nothing_happens() {
    let service = TestService::with(ServerLimits { max_followers: 2, ..ServerLimits::default() });
    let first = EventStream::open(&service, WATCHED, &[]);
    let mut second = EventStream::open(&service, WATCHED, &[]);
    let refused = service.get_with(WATCHED, &[FOLLOW]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.expect_problem(503, "overloaded");
    // Followers of events and of this share their places.
    service.get_with("/v1/ledgers/main/events", &[FOLLOW]).expect_problem(503, "overloaded");
    assert!(followers(&service, 2));
    // Asked once it takes no place.
    service.get(SHOWN).expect(200);
    drop(first);
    let (tip, began) = (service.tip(), Instant::now());
    // Its end is noticed with the second word at the latest.
    while !followers(&service, 1) {
        assert!(began.elapsed() < Duration::from_secs(5), "its place is still taken");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(service.tip(), tip, "nothing was recorded meanwhile");
    let mut third = EventStream::open(&service, WATCHED, &[]);
    for stream in [&mut second, &mut third] {
        assert_eq!(ReplicaView::of_watch(stream).0.position, tip);
    }
}

/// Registers this tool with a schema about as large as they may be. All watchers are told of all tools when one changes.
fn register(service: &TestService, tool: &str, version: u32) {
    let schema = json!({"type": "object", "description": "x".repeat(60_000)});
    let tool = json!({
        "tool": tool, "version": version.to_string(), "description": "a tool", "input_schema": schema,
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    });
    let answer = put(service, &format!("tools/{}", tool["tool"].as_str().unwrap()), &tool);
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
}

#[test]
fn a_reader_that_takes_nothing_is_told_that_it_lagged_and_holds_nobody_up() {
    const LAG: Duration = Duration::from_secs(1);
    const TOOLS: u32 = 32;
    let patience = ConnectionTimeouts { lag: LAG, ..ConnectionTimeouts::default() };
    let limits = ServerLimits { patience, max_followers: 2, ..ServerLimits::default() };
    let service = roomy(limits);
    for number in 0..TOOLS {
        register(&service, &format!("t{number}"), 0);
    }
    let mut slow = EventStream::open(&service, WATCHED, &[]);
    let mut quick = EventStream::open(&service, WATCHED, &[]);
    let (mut told, _) = ReplicaView::of_watch(&mut quick);
    // Two megabytes each: more than the sockets between us hold. The other one hears each, and nobody waits.
    for version in 1..12 {
        register(&service, "t0", version);
        told.catch_up(&mut quick, service.tip());
    }
    service.wait_for_lag();
    let (mut lagging, _) = ReplicaView::of_watch(&mut slow);
    let began = Instant::now();
    let last = loop {
        assert!(began.elapsed() < Duration::from_secs(20), "it is told no end");
        let message = slow.message();
        if message.kind.as_deref() == Some("lagged") {
            break message;
        }
        lagging.hear(&mut slow, message);
    };
    assert_eq!(position(&last.data.unwrap()), lagging.position, "what it has is whole up to there");
    assert!(lagging.position < service.tip(), "it lagged");
    assert_eq!(slow.next(), None);
    assert!(service.get("/metrics").text().contains("bitacora_http_followers_lagged_total 1\n"));
    wait_until(|| followers(&service, 1));
    // It comes back, and stands where the other does.
    let mut again = EventStream::open(&service, WATCHED, &[]);
    let (anew, _) = ReplicaView::of_watch(&mut again);
    told.catch_up(&mut quick, service.tip());
    assert!(anew.replica.state() == told.replica.state());
}

#[test]
fn whose_reader_leaves_in_the_midst_of_a_message_holds_no_memory() {
    // Room for one answer of two megabytes, and not for two.
    let limits = ServerLimits { max_answer_bytes_in_flight: 3_000_000, ..ServerLimits::default() };
    let service = roomy(limits);
    for number in 0..32 {
        register(&service, &format!("t{number}"), 0);
    }
    for _ in 0..4 {
        let mut client = service.connect();
        client.send(crate::service::head("GET", WATCHED, &[FOLLOW], None).as_bytes());
        client.read_past(b"event: state");
        drop(client);
    }
    wait_until(|| followers(&service, 0));
    assert!(service.get(SHOWN).expect(200).body.len() > 1_900_000);
    let (told, _) = ReplicaView::of_watch(&mut EventStream::open(&service, WATCHED, &[]));
    assert_eq!(told.position, service.tip());
}

#[test]
fn whose_token_is_revoked_hears_that_and_nothing_else_any_more() {
    let service = governed("allow");
    guard(&service);
    append(&service, &token("admin"), &created("short", "operator", None)).expect(201);
    let bearer = format!("Bearer {}", token("short"));
    let mut stream = EventStream::open(&service, WATCHED, &[("Authorization", &bearer)]);
    let (told, begin) = ReplicaView::of_watch(&mut stream);
    assert_eq!((&begin["isBound"], told.said(&write("c1")).1.as_str()), (&json!(false), "role-not-allowed"));
    append(&service, &token("admin"), &act("principal.revoked", &json!({"principal": "short"}))).expect(201);
    let reason = json!({"reason": "a secret drill"}).to_string();
    ask(&service, "POST", "/v1/ledgers/main/panic", Some(&token("admin")), &reason).expect(200);
    let (mut heard, began) = (String::new(), Instant::now());
    let last = loop {
        assert!(began.elapsed() < Duration::from_secs(20), "it hears everything still: {heard}");
        let message = stream.message();
        heard += &format!("{message:?}");
        if !matches!(message.kind.as_deref(), Some("at" | "state")) {
            break message;
        }
    };
    assert_eq!(last.kind.as_deref(), Some("failed"), "{last:?}");
    let problem = last.data.unwrap();
    assert_eq!((&problem["code"], &problem["status"]), (&json!("unauthorized"), &json!(401)));
    assert_eq!(stream.next(), None);
    assert!(!heard.contains("drill"), "{heard}");
    wait_until(|| {
        service
            .get_with("/metrics", &[("Authorization", &format!("Bearer {}", token("admin")))])
            .text()
            .contains("bitacora_http_followers 0\n")
    });
}

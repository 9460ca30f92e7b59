//! The answer to a policy cache: whole, of its executor alone, and to nobody who may not have it.

use bitacora_governance::{REACTOR_VERSION, REPLICA_FORM};
use bitacora_ledger::{Options, ReactorChoice};
use bitacora_server::ServerLimits;
use serde_json::{Value, json};

use crate::event_stream::EventStream;
use crate::governed::{ask as decide, earn, govern, governed, post, write};
use crate::identities::{ask, created, event as act, guard, hash, token};
use crate::replicas::ReplicaView;
use crate::service::{ServiceAnswer, TestService, config, event, head, new_keyring};

const SHOWN: &str = "/v1/ledgers/main/policy-cache";
const WATCHED: &str = "/v1/ledgers/main/policy-cache:watch";
const FOLLOW: (&str, &str) = ("Accept", "text/event-stream");

/// Asks both for what is to be refused.
fn ask_both(service: &TestService, parameters: &str, headers: &[(&str, &str)]) -> [ServiceAnswer; 2] {
    let mut all = vec![FOLLOW];
    all.extend_from_slice(headers);
    [SHOWN, WATCHED].map(|path| refused(service, &format!("{path}{parameters}"), &all))
}

/// Asks for what is to be refused: a stream that begins all the same would have no end.
fn refused(service: &TestService, target: &str, headers: &[(&str, &str)]) -> ServiceAnswer {
    let mut client = service.connect();
    client.send(head("GET", target, headers, None).as_bytes());
    let mut status = [0; 12];
    client.sender().peek(&mut status).unwrap();
    assert_ne!(&status, b"HTTP/1.1 200", "{target}");
    client.answer()
}

fn bearer(name: &str) -> String {
    format!("Bearer {}", token(name))
}

fn show(service: &TestService, name: &str, parameters: &str) -> Value {
    ask(service, "GET", &format!("{SHOWN}{parameters}"), Some(&token(name)), "").expect(200).json()
}

#[test]
fn what_is_handed_out_says_what_the_ledger_decides_next() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let tip = service.tip().to_string();
    let shown = service.get(SHOWN).expect(200);
    assert_eq!(shown.header("ledger-position"), Some(tip.as_str()));
    let answer = shown.json();
    assert_eq!((&answer["rules"], &answer["form"]), (&json!(REACTOR_VERSION), &json!(REPLICA_FORM)));
    assert_eq!((&answer["position"], &answer["executor"]), (&json!(tip), &json!({"actor": "agent:local"})));
    assert_eq!(answer["ledger"], service.get("/v1/ledgers/main").expect(200).json()["id"]);
    let told = ReplicaView::of_answer(&answer);
    let (other, unfit) = (json!({"path": "docs/b.md"}), json!({"file": "src/a.rs"}));
    for (call, code) in [
        (write("c1"), "allowed"),
        (json!({"call": "c2", "tool": "fs.write", "args": other}), "trust-require-review"),
        (json!({"call": "c3", "tool": "fs.write", "args": unfit}), "arguments-invalid"),
        (json!({"call": "c4", "tool": "fs.read", "args": other}), "tool-unknown"),
    ] {
        let (verdict, why) = told.said(&call);
        assert_eq!(why, code, "{call}");
        let decided = decide(&service, call);
        assert_eq!((&decided["verdict"], &decided["reasonCode"]), (&json!(verdict), &json!(why)));
    }
    // An acknowledged event is in the next answer.
    post(&service, "panic", &json!({"reason": "a drill"})).expect(200);
    let told = ReplicaView::of_answer(&service.get(SHOWN).expect(200).json());
    assert_eq!(told.said(&write("c5")), ("deny".to_owned(), "panic".to_owned()));
    assert!(told.predict(&write("c5")).denies());
    // After a restart it is the same.
    let service = service.restarted();
    let again = ReplicaView::of_answer(&service.get(SHOWN).expect(200).json());
    assert_eq!(again.pieces, told.pieces);
}

#[test]
fn what_has_not_changed_is_not_handed_out_again() {
    let service = governed("allow");
    guard(&service);
    let of = |name: &str, known: &str| {
        let bearer = bearer(name);
        service.get_with(SHOWN, &[("Authorization", bearer.as_str()), ("If-None-Match", known)])
    };
    let first = of("admin", "\"none\"").expect(200);
    assert_eq!(first.header("cache-control"), Some("private, no-cache"));
    let tag = first.header("etag").unwrap().to_owned();
    let again = of("admin", &tag).expect(304);
    assert!(again.body.is_empty() && again.header("etag") == Some(&tag));
    // Another one is shown another state at the same address.
    for other in ["auditor", "agent"] {
        assert_ne!(of(other, &tag).expect(200).header("etag"), Some(tag.as_str()), "{other}");
    }
    ask(&service, "POST", "/v1/ledgers/main/events", Some(&token("admin")), &event("1", "s")).expect(201);
    assert_ne!(of("admin", &tag).expect(200).header("etag"), Some(tag.as_str()));
}

/// A service on which something was said of two agents, `coder` and `tester`, each of which has a token.
fn of_two_agents() -> TestService {
    let service = TestService::start();
    govern(&service, "allow");
    guard(&service);
    let admin = |kind: &str, data: Value| {
        ask(
            &service,
            "POST",
            "/v1/ledgers/main/events",
            Some(&token("admin")),
            &act(kind, &data).to_string(),
        )
        .expect(201);
    };
    let mut tester = created("tester", "agent", None);
    tester["data"]["agent"] = json!("tester");
    admin("principal.created", tester["data"].clone());
    let limit = json!({"burst": 5, "refill": 1, "period_ms": 1_000});
    for agent in ["coder", "tester"] {
        let scope = json!({"agent": agent});
        admin("mode.configured", json!({"mode": "enforce", "scope": scope}));
        admin("rate.configured", json!({"scope": {"by": "agent", "name": agent}, "limit": limit}));
        let (budget, limits) = (format!("budget-of-{agent}"), json!({"calls": 50}));
        let of_day =
            json!({"budget": budget, "scope": scope, "limits": limits, "period": "day", "on_exceed": "deny"});
        admin("budget.configured", of_day);
        let (grant, expires) = (format!("grant-of-{agent}"), u64::pow(10, 15) * 4);
        admin(
            "grant.given",
            json!({"grant": grant, "scope": {"tool": "no.such", "agent": agent, "context": "-", "workspace": "-"}, "expires": expires}),
        );
        call_as(&service, agent, &format!("call-of-{agent}"));
        admin("agent.suspended", json!({"agent": agent, "reason": format!("{agent} went too far")}));
        admin("agent.resumed", json!({"agent": agent, "reason": format!("{agent} may")}));
    }
    admin("agent.suspended", json!({"agent": "tester", "reason": "tester went too far again"}));
    service
}

/// A call that a person is to look at, in a session: an approval waits for it.
fn call_as(service: &TestService, agent: &str, call: &str) -> u64 {
    let holder = if agent == "coder" { "agent" } else { agent };
    let mut body = write(call);
    body["session"] = json!(format!("session-of-{agent}"));
    let asked =
        ask(service, "POST", "/v1/ledgers/main/decide", Some(&token(holder)), &body.to_string()).expect(200);
    asked.json()["position"].as_str().unwrap().parse().unwrap()
}

/// Nothing in it is another's, and what is its own is there.
fn is_of(agent: &str, text: &str) {
    let other = if agent == "coder" { "tester" } else { "coder" };
    assert!(!text.contains(other), "{text}");
    for part in ["call", "session", "budget", "grant"] {
        assert!(text.contains(&format!("{part}-of-{agent}")), "{part} of {agent}: {text}");
    }
    for holder in ["admin", "operator", "auditor", "agent", "tester"] {
        assert!(!text.contains(&hash(&token(holder))), "what the token of {holder} is known by");
    }
}

#[test]
fn an_executor_is_told_what_concerns_it_and_nothing_of_others() {
    let service = of_two_agents();
    let own = show(&service, "agent", "");
    assert_eq!(own["executor"]["agent"], "coder");
    assert!(own["executor"]["actor"].as_str().unwrap().starts_with("agent:"), "{own}");
    is_of("coder", &own["pieces"].to_string());
    assert_eq!(show(&service, "agent", "?agent=coder")["pieces"], own["pieces"]);
    let other = show(&service, "tester", "")["pieces"].to_string();
    is_of("tester", &other);
    assert!(other.contains("went too far again"), "it is suspended: {other}");
    // A caller that governs both looks at either.
    let seen = show(&service, "operator", "?agent=tester");
    assert_eq!(seen["executor"]["agent"], "tester");
    is_of("tester", &seen["pieces"].to_string());

    let bearer = bearer("agent");
    let mut stream = EventStream::open(&service, WATCHED, &[("Authorization", &bearer)]);
    let (mut told, begin) = ReplicaView::of_watch(&mut stream);
    assert_eq!((&begin["isBound"], &begin["executor"]), (&json!(true), &own["executor"]));
    assert_eq!(told.pieces, own["pieces"].as_array().unwrap().as_slice(), "told at once or bit by bit");
    let others = call_as(&service, "tester", "late-call-of-tester");
    told.catch_up(&mut stream, others);
    let mine = call_as(&service, "coder", "late-call-of-coder");
    told.catch_up(&mut stream, mine);
    is_of("coder", &told.text());
    assert!(told.text().contains("late-call-of-coder"), "{}", told.text());
}

#[test]
fn who_may_not_have_it_is_refused_with_the_reason() {
    let service = of_two_agents();
    let wrong = bearer("nobody");
    for headers in [&[][..], &[("Authorization", wrong.as_str())]] {
        for answer in ask_both(&service, "", headers) {
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"bitacora\""));
            answer.expect_problem(401, "unauthorized");
        }
    }
    let agent = bearer("agent");
    for answer in ask_both(&service, "?agent=tester", &[("Authorization", &agent)]) {
        let problem = answer.expect_problem(403, "forbidden");
        assert_eq!(
            (&problem["needs"], &problem["errors"][0]["parameter"]),
            (&json!("operator"), &json!("agent"))
        );
        assert!(!problem.to_string().contains("went too far"), "{problem}");
    }
    // A token of one ledger is none of another.
    ask(&service, "POST", "/v1/ledgers", Some(&token("admin")), r#"{"name":"other"}"#).expect(201);
    for path in ["policy-cache", "policy-cache:watch"] {
        let target = format!("/v1/ledgers/other/{path}");
        ask(&service, "GET", &target, Some(&token("agent")), "").expect_problem(401, "unauthorized");
    }
}

#[test]
fn what_is_asked_wrongly_is_refused_before_anything_is_told() {
    let service = governed("allow");
    let long = format!("?agent={}", "x".repeat(501));
    let bad = [
        "?agent=a&agent=b",
        "?agent=",
        "?agent=a%00b",
        "?agent=%ff",
        "?agents=a",
        "?after=1",
        "?agent",
        &long,
    ];
    for parameters in bad {
        for answer in ask_both(&service, parameters, &[]) {
            answer.expect_problem(400, "bad-query");
        }
    }
    for answer in ask_both(&service, "", &[("Ledger-Min-Position", "0")]) {
        answer.expect_problem(400, "bad-position");
    }
    for path in ["policy-cache", "policy-cache:watch"] {
        let of = |ledger: &str| service.get_with(&format!("/v1/ledgers/{ledger}/{path}"), &[FOLLOW]);
        of("none").expect_problem(404, "ledger-not-found");
        of("No!").expect_problem(400, "invalid-ledger-name");
        let posted = service.post(&format!("/v1/ledgers/main/{path}"), "application/json", "{}");
        posted.expect_problem(405, "method-not-allowed");
    }
    for form in ["application/json", "application/x-ndjson", "text/html"] {
        refused(&service, WATCHED, &[("Accept", form)]).expect_problem(406, "not-acceptable");
    }
    refused(&service, WATCHED, &[]).expect_problem(406, "not-acceptable");
    // Nobody was left with a place.
    assert!(service.get("/metrics").text().contains("bitacora_http_followers 0\n"));
}

#[test]
fn a_state_that_is_not_there_yet_is_waited_for() {
    let service = governed("allow");
    let next = (service.tip() + 1).to_string();
    let began = std::time::Instant::now();
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| service.get_with(SHOWN, &[("Ledger-Min-Position", &next)]));
        std::thread::sleep(std::time::Duration::from_millis(200));
        post(&service, "panic", &json!({"reason": "a drill"})).expect(200);
        asked.join().unwrap()
    });
    let told = ReplicaView::of_answer(&answer.expect(200).json());
    assert_eq!(told.said(&write("c1")).1, "panic");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "it is answered once it is there");
    let never = (service.tip() + 9).to_string();
    for answer in ask_both(&service, "", &[("Ledger-Min-Position", &never)]) {
        assert_eq!(answer.header("retry-after"), Some("1"));
        answer.expect_problem(503, "projection-behind");
    }
}

#[test]
fn where_nothing_decides_or_too_much_is_known_nothing_is_handed_out() {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut alone = config(folder.path(), &keyring, ServerLimits::default());
    alone.ledgers.options = Options { governing: ReactorChoice::Nothing, ..Options::small() };
    let service = TestService::of(alone, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    for answer in ask_both(&service, "", &[]) {
        answer.expect_problem(503, "not-governed");
    }

    let limits = ServerLimits { max_policy_cache_dimensions: 2, ..ServerLimits::default() };
    let service = TestService::with(limits);
    govern(&service, "allow");
    earn(&service, "fs.write", "a");
    earn(&service, "fs.write", "b");
    let mut stream = EventStream::open(&service, WATCHED, &[]);
    let (told, _) = ReplicaView::of_watch(&mut stream);
    assert_eq!(told.replica.dimensions(), 2);
    service.get(SHOWN).expect(200);
    earn(&service, "fs.write", "c");
    for answer in ask_both(&service, "", &[]) {
        let problem = answer.expect_problem(507, "state-too-large");
        assert_eq!(problem["retryable"], false);
    }
    let mut last = stream.message();
    let began = std::time::Instant::now();
    while last.kind.as_deref() == Some("at") && began.elapsed() < std::time::Duration::from_secs(20) {
        last = stream.message();
    }
    assert_eq!(last.kind.as_deref(), Some("failed"), "{last:?}");
    assert_eq!(last.data.unwrap()["code"], "state-too-large");
    assert_eq!(stream.next(), None);
}

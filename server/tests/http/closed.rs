//! Closed by default: without a token only three paths answer; and the owner of a new ledger.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bitacora_formats::LedgerName;
use bitacora_ledger::Environment;
use bitacora_server::{
    Admission, FirstToken, FirstTokenError, FirstTokens, ListenError, Server, ServerLimits, StartError,
};
use serde_json::{Value, json};

use crate::identities::{append, ask, created, event, guard, hash, paths, target_of, token};
use crate::service::{RawClient, TestService, config, data, head, new_keyring};

const LEDGERS: &str = "/v1/ledgers";
/// The ends of the paths that take exports of OpenTelemetry.
const EXPORTS: [&str; 3] = ["/v1/traces", "/v1/logs", "/v1/metrics"];
/// The paths that answer every caller.
const OPEN_PATHS: [&str; 3] = ["/", "/livez", "/readyz"];

/// A place for first tokens that everybody in a test knows, and how often one was asked for.
#[derive(Default)]
pub(crate) struct KnownFirstTokens {
    asked: AtomicU32,
}

impl FirstTokens for KnownFirstTokens {
    fn first_token(&self, _: &LedgerName) -> Result<FirstToken, FirstTokenError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let hash = serde_json::from_value(hash(&token("first")).into()).unwrap();
        Ok(FirstToken { hash, place: "the test".to_owned() })
    }
}

/// A place that cannot be written.
struct NoPlace;

impl FirstTokens for NoPlace {
    fn first_token(&self, _: &LedgerName) -> Result<FirstToken, FirstTokenError> {
        Err(FirstTokenError("the disk is gone".into()))
    }
}

/// Ends a service and starts it again on the same folder, closed.
fn closed(mut service: TestService, tokens: Arc<dyn FirstTokens>) -> TestService {
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let mut config = config(folder.path(), &service.keyring, ServerLimits::default());
    config.admission = Admission::Tokens(tokens);
    config.unix_socket = Some(folder.path().join("socket"));
    TestService::of(config, folder, Arc::clone(&service.keyring))
}

/// A ledger `main` that was made when the service was open, has no tokens, and is served closed.
fn existing() -> (TestService, Arc<KnownFirstTokens>) {
    let tokens = Arc::new(KnownFirstTokens::default());
    (closed(TestService::start(), Arc::clone(&tokens) as Arc<dyn FirstTokens>), tokens)
}

fn tip(service: &TestService) -> String {
    let answer = ask(service, "GET", "/v1/ledgers/main/head", Some(&token("first")), "");
    answer.expect(200).json()["position"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_token_only_three_paths_answer() {
    let (service, _) = existing();
    let before = tip(&service);
    let paths = paths(&service, &token("first"));
    assert!(paths.len() > 40, "{} paths", paths.len());
    for (path, method) in paths {
        for target in [target_of(&path), target_of(&path).replacen("/main", "/nowhere", 1)] {
            let over_tcp = ask(&service, &method, &target, None, "");
            let mut client =
                RawClient::over(UnixStream::connect(service.folder.path().join("socket")).unwrap());
            client.send(head(&method, &target, &[("Content-Type", "application/json")], Some(0)).as_bytes());
            for answer in [over_tcp, client.answer()] {
                if OPEN_PATHS.contains(&path.as_str()) {
                    assert_eq!(answer.status, 200, "{method} {target}");
                } else {
                    assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"bitacora\""));
                    // Exporters get a status of their own protocol.
                    if EXPORTS.iter().any(|export| path.ends_with(export)) {
                        answer.expect(401);
                    } else {
                        answer.expect_problem(401, "unauthorized");
                    }
                }
            }
            let mut head_only = service.connect();
            head_only.send(head("HEAD", &target, &[], None).as_bytes());
            let status = head_only.read_past(b"\r\n\r\n");
            let is_open = OPEN_PATHS.contains(&path.as_str());
            assert!(is_open || status.contains(" 401 ") || status.contains(" 405 "), "{target}: {status}");
        }
    }
    assert_eq!(tip(&service), before, "nothing was left behind");
    for open in OPEN_PATHS {
        ask(&service, "GET", open, None, "").expect(200);
    }
}

#[test]
fn a_ledger_that_did_not_open_answers_nobody_without_a_token() {
    let mut service = TestService::start();
    service.post(LEDGERS, "application/json", r#"{"name":"broken"}"#).expect(201);
    service.begin_shutdown();
    service.wait().unwrap();
    let segments = data(service.folder.path()).join("ledgers/broken/segments");
    for file in std::fs::read_dir(&segments).unwrap() {
        std::fs::write(file.unwrap().path(), [0xff; 4096]).unwrap();
    }
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    for gone in [None, Some("main")] {
        // Without `main` no single ledger says whose tokens are good for the service.
        if let Some(name) = gone {
            std::fs::remove_dir_all(data(folder.path()).join("ledgers").join(name)).unwrap();
        }
        let mut config = config(folder.path(), &service.keyring, ServerLimits::default());
        config.admission = Admission::Tokens(Arc::new(KnownFirstTokens::default()));
        let service = TestService::of(config, tempfile::tempdir().unwrap(), Arc::clone(&service.keyring));
        for target in ["/v1/ledgers", "/metrics", "/v1/ledgers/broken"] {
            ask(&service, "GET", target, None, "").expect_problem(401, "unauthorized");
        }
        let answer = ask(&service, "GET", "/v1/ledgers/broken/head", None, "");
        assert!(answer.status == 503 || answer.status == 401, "{}", answer.text());
        assert!(
            !answer.text().contains("did not open"),
            "why is told to a token's holder: {}",
            answer.text()
        );
    }
}

#[test]
fn a_ledger_without_tokens_is_given_its_first_admin_once() {
    let (service, tokens) = existing();
    let listed = |service: &TestService| {
        let target = "/v1/ledgers/main/events?type=principal.created";
        ask(service, "GET", target, Some(&token("first")), "").expect(200).json()["events"].clone()
    };
    let made = listed(&service);
    let event = &made[0]["event"];
    assert_eq!((&event["actor"], &event["subject"]), (&json!("admin:local"), &json!("principals")));
    assert_eq!(event["data"]["role"], "admin");
    assert_eq!(event["data"]["token_hash"], hash(&token("first")));
    assert!(!made.to_string().contains("bt_"), "a token never reaches the ledger");
    // It is an admin's: it makes more.
    append(&service, &token("first"), &created("worker", "agent", None)).expect(201);

    let before = tokens.asked.load(Ordering::SeqCst);
    let service = closed(service, Arc::clone(&tokens) as Arc<dyn FirstTokens>);
    assert_eq!(listed(&service).as_array().unwrap().len(), 2, "none was made again");
    assert_eq!(tokens.asked.load(Ordering::SeqCst), before);
    // It stays closed where the service is open.
    let service = service.restarted();
    ask(&service, "GET", "/v1/ledgers/main/head", None, "").expect_problem(401, "unauthorized");
}

#[test]
fn a_first_token_that_nobody_would_find_ends_the_start() {
    let service = TestService::start();
    let (folder, keyring) = (tempfile::tempdir().unwrap(), Arc::clone(&service.keyring));
    let mut service = service;
    service.begin_shutdown();
    service.wait().unwrap();
    let start = |tokens: Arc<dyn FirstTokens>, folder: &std::path::Path| {
        let mut config = config(folder, &keyring, ServerLimits::default());
        config.admission = Admission::Tokens(tokens);
        tokio::runtime::Runtime::new().unwrap().block_on(async { Server::bind(config).await.map(drop) })
    };
    let refused = start(Arc::new(NoPlace), service.folder.path()).unwrap_err();
    assert!(
        matches!(refused, StartError::FirstToken(_)) && refused.to_string().contains("gone"),
        "{refused}"
    );
    // The folder is free for the next one, and a folder without ledgers asks for none.
    start(Arc::new(KnownFirstTokens::default()), service.folder.path()).unwrap();
    start(Arc::new(NoPlace), folder.path()).unwrap();
}

#[test]
fn a_ledger_belongs_to_its_maker() {
    let (service, _) = existing();
    let soon = Environment::real().clock.now().0 + 60_000_000;
    append(&service, &token("first"), &created("ana", "admin", Some(soon))).expect(201);
    append(&service, &token("first"), &created("ben", "operator", None)).expect(201);
    ask(&service, "POST", LEDGERS, Some(&token("ben")), r#"{"name":"anas"}"#)
        .expect_problem(403, "forbidden");
    ask(&service, "POST", LEDGERS, None, r#"{"name":"anas"}"#).expect_problem(401, "unauthorized");
    ask(&service, "POST", LEDGERS, Some(&token("ana")), r#"{"name":"anas"}"#).expect(201);
    let check = |service: &TestService| {
        let target = "/v1/ledgers/anas/events?type=principal.created";
        let principals = ask(service, "GET", target, Some(&token("ana")), "").expect(200).json();
        let event = &principals["events"][0]["event"];
        assert_eq!(principals["events"].as_array().unwrap().len(), 1, "{principals}");
        assert_eq!(event["actor"], format!("admin:{}", &hash(&token("ana"))[..12]));
        assert_eq!((&event["data"]["role"], &event["data"]["expires"]), (&json!("admin"), &json!(soon)));
        for other in [Some("first"), Some("ben"), None] {
            let other = other.map(token);
            ask(service, "GET", target, other.as_deref(), "").expect_problem(401, "unauthorized");
        }
        ask(service, "POST", "/v1/ledgers/anas/panic", Some(&token("ana")), r#"{"reason":"r"}"#).expect(200);
    };
    check(&service);
    check(&closed(service, Arc::new(KnownFirstTokens::default())));
}

#[test]
fn where_the_service_is_open_a_ledger_belongs_to_the_token_that_made_it_or_to_everybody() {
    let service = TestService::start();
    service.post(LEDGERS, "application/json", r#"{"name":"everybodys"}"#).expect(201);
    service.get("/v1/ledgers/everybodys/head").expect(200);
    guard(&service);
    ask(&service, "POST", LEDGERS, Some(&token("admin")), r#"{"name":"admins"}"#).expect(201);
    service.get("/v1/ledgers/admins/head").expect_problem(401, "unauthorized");
    ask(&service, "GET", "/v1/ledgers/admins/head", Some(&token("admin")), "").expect(200);
}

#[test]
fn an_open_service_is_not_reached_from_elsewhere_and_a_closed_one_may_be() {
    let start = |admission: Admission, address: &str, folder: &std::path::Path, allows_remote| {
        let mut config = config(folder, &new_keyring(), ServerLimits::default());
        config.allows_remote = allows_remote;
        (config.admission, config.addresses) = (admission, vec![address.parse().unwrap()]);
        tokio::runtime::Runtime::new().unwrap().block_on(async { Server::bind(config).await.map(drop) })
    };
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = start(Admission::Open, address, folder.path(), true).unwrap_err();
        assert!(matches!(refused, StartError::Listen(ListenError::NotLoopback(_))), "{refused}");
        let tokens = Admission::Tokens(Arc::new(KnownFirstTokens::default()));
        let refused = start(tokens, address, folder.path(), false).unwrap_err();
        assert!(matches!(refused, StartError::Listen(ListenError::Unencrypted(_))), "{refused}");
    }
    assert!(!data(folder.path()).exists(), "what is not begun is not begun for a refusal");
    start(Admission::Tokens(Arc::new(KnownFirstTokens::default())), "0.0.0.0:0", folder.path(), true)
        .unwrap();
}

#[test]
fn the_first_admin_is_an_event_like_any_other() {
    let (service, _) = existing();
    let revoke = |service: &TestService, principal: &Value| {
        append(service, &token("first"), &event("principal.revoked", &json!({"principal": principal})))
    };
    let target = "/v1/ledgers/main/events?type=principal.created";
    let made = ask(&service, "GET", target, Some(&token("first")), "").expect(200).json();
    append(&service, &token("first"), &created("ana", "admin", None)).expect(201);
    revoke(&service, &made["events"][0]["event"]["data"]["principal"]).expect(201);
    ask(&service, "GET", target, Some(&token("first")), "").expect_problem(401, "unauthorized");
    // A lost or revoked first token does not come back by itself.
    let service = closed(service, Arc::new(KnownFirstTokens::default()));
    ask(&service, "GET", target, Some(&token("first")), "").expect_problem(401, "unauthorized");
    ask(&service, "GET", target, Some(&token("ana")), "").expect(200);
}

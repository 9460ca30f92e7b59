//! Web pages: requests of another site's page are refused, in an open service too.

use crate::identities::{ask, guard, paths, target_of, token};
use crate::service::{ServiceAnswer, TestService, config, event, new_keyring};
use bitacora_server::ServerLimits;

/// The headers that browsers send for pages that are not this service's own, other ports of this machine included.
const FOREIGN: [(&str, &str); 8] = [
    ("Origin", "https://evil.example"),
    ("Origin", "null"),
    ("Origin", "http://localhost.evil.example"),
    ("Origin", "file://"),
    ("Origin", "http://127.0.0.1:3000"),
    ("Origin", "http://localhost:3000"),
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Site", "same-site"),
];
const ALLOWED: &str = "https://console.example";

fn with_allowed_origin() -> TestService {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    config.allowed_origins = vec![ALLOWED.parse().unwrap()];
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    service
}

/// No page may read this answer.
fn is_unshared(answer: &ServiceAnswer) -> bool {
    answer.header("access-control-allow-origin").is_none()
}

#[test]
fn a_name_that_is_not_this_machine_is_not_served() {
    let service = TestService::start();
    let tip = service.tip();
    for host in
        ["evil.example", "evil.example:7717", "localhost.evil.example", "0.0.0.0", "10.0.0.1", "[::2]"]
    {
        let append = event("1", "s");
        let request = format!(
            "POST /v1/ledgers/main/events HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{append}",
            append.len()
        );
        let mut client = service.connect();
        client.send(request.as_bytes());
        client.answer().expect_problem(421, "misdirected-host");
        let mut client = service.connect();
        client.send(format!("GET /v1/ledgers/main/events HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.answer().expect_problem(421, "misdirected-host");
    }
    assert_eq!(service.tip(), tip);
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:7717", "[::1]:7717", "[::1]"] {
        let mut client = service.connect();
        client.send(format!("GET /v1/ledgers/main/head HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.answer().expect(200);
    }
}

#[test]
fn no_page_of_another_site_acts_on_any_path_with_a_token_or_without() {
    let open = TestService::start();
    let closed = TestService::start();
    guard(&closed);
    let acts: Vec<_> = {
        let paths = paths(&closed, &token("admin")).into_iter();
        paths.filter(|(_, method)| method != "GET").collect()
    };
    assert!(acts.len() > 20, "{} acts", acts.len());
    let (before, guarded_before) = (open.tip(), tip(&closed));
    for (path, method) in acts {
        let target = target_of(&path);
        for foreign in FOREIGN {
            let headers = [("Content-Type", "application/json"), foreign];
            let answer = open.request(&method, &target, &headers, b"{}");
            assert!(is_unshared(&answer), "{method} {target} {foreign:?}");
            answer.expect_problem(403, "cross-site");
            let bearer = format!("Bearer {}", token("admin"));
            let headers = [headers[0], foreign, ("Authorization", bearer.as_str())];
            let answer = closed.request(&method, &target, &headers, b"{}");
            assert!(is_unshared(&answer), "{method} {target} {foreign:?}");
            answer.expect_problem(403, "cross-site");
        }
    }
    assert_eq!((open.tip(), tip(&closed)), (before, guarded_before));
}

fn tip(service: &TestService) -> String {
    let head = ask(service, "GET", "/v1/ledgers/main/head", Some(&token("admin")), "");
    head.expect(200).json()["position"].as_str().unwrap().to_owned()
}

#[test]
fn a_page_of_another_site_reads_nothing() {
    let service = TestService::start();
    for foreign in FOREIGN {
        let answer = service.get_with("/v1/ledgers/main/events", &[foreign]);
        assert!(is_unshared(&answer), "{foreign:?}");
        answer.expect_problem(403, "cross-site");
        // Facts that every caller may know are told, and no page may read them.
        assert!(is_unshared(&service.get_with("/livez", &[foreign]).expect(200)), "{foreign:?}");
        let preflight = [foreign, ("Access-Control-Request-Method", "POST")];
        let answer = service.request("OPTIONS", "/v1/ledgers/main/events", &preflight, b"");
        assert!(is_unshared(&answer) && answer.status == 405, "{foreign:?}: {}", answer.status);
    }
    guard(&service);
    let bearer = format!("Bearer {}", token("auditor"));
    for foreign in FOREIGN {
        let headers = [foreign, ("Authorization", bearer.as_str())];
        let answer = service.get_with("/v1/ledgers/main/events", &headers).expect(200);
        assert!(is_unshared(&answer), "{foreign:?}");
    }
}

#[test]
fn a_page_of_the_service_itself_acts() {
    let service = TestService::start();
    let own = format!("http://{}", service.address);
    let request = |origin: &str, id: &str| {
        let body = event(id, "s");
        let head = format!(
            "POST /v1/ledgers/main/events HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            service.address,
            body.len()
        );
        let mut client = service.connect();
        client.send(head.as_bytes());
        client.answer()
    };
    request(&own, "1").expect(201);
    request(&own.replace("http:", "https:"), "2").expect_problem(403, "cross-site");
    request(&format!("{own}0"), "3").expect_problem(403, "cross-site");
}

#[test]
fn a_page_of_an_allowed_origin_acts_with_a_token_alone() {
    let service = with_allowed_origin();
    let origin = ("Origin", ALLOWED);
    let far = ("Sec-Fetch-Site", "cross-site");
    service.append_with(&[origin, far], event("1", "s")).expect_problem(403, "cross-site");
    guard(&service);
    service.append_with(&[origin, far], event("1", "s")).expect_problem(403, "cross-site");
    let wrong = ("Authorization", "Bearer bt_wrong");
    service.append_with(&[origin, far, wrong], event("1", "s")).expect_problem(401, "unauthorized");
    let bearer = format!("Bearer {}", token("operator"));
    let answer = service.append_with(&[origin, far, ("Authorization", &bearer)], event("1", "s")).expect(201);
    assert_eq!(answer.header("access-control-allow-origin"), Some(ALLOWED));
    assert_eq!(answer.header("vary"), Some("origin"));
    // Another port, another scheme, a name behind it: none of them was named.
    for other in ["https://console.example:8443", "http://console.example", "https://console.example.evil"] {
        let headers = [("Origin", other), ("Authorization", bearer.as_str())];
        service.append_with(&headers, event("2", "s")).expect_problem(403, "cross-site");
    }
}

#[test]
fn a_browser_is_told_what_a_page_of_an_allowed_origin_may_send() {
    let service = with_allowed_origin();
    let asks =
        [("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "authorization")];
    let headers = [("Origin", ALLOWED), asks[0], asks[1]];
    let answer = service.request("OPTIONS", "/v1/ledgers/main/mode", &headers, b"").expect(204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(ALLOWED));
    assert!(answer.header("access-control-allow-methods").is_some_and(|methods| methods.contains("PUT")));
    assert!(
        answer.header("access-control-allow-headers").is_some_and(|names| names.contains("authorization"))
    );
    assert!(answer.header("access-control-allow-headers").is_some_and(|names| names.contains("prefer")));
    let shown = answer.header("access-control-expose-headers").unwrap_or_default();
    for header in ["ledger-doubt", "ledger-position", "preference-applied", "signature"] {
        assert!(shown.split(", ").any(|name| name == header), "{header} in {shown}");
    }
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

//! The first page of a service without a console: static, for everybody, and closed to everything but itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::identities::guard;
use crate::service::{ServiceAnswer, TestService};

fn page(service: &TestService) -> ServiceAnswer {
    service.get("/").expect(200)
}

/// Returns the text between two tags.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

#[test]
fn a_browser_without_a_token_gets_a_page_that_says_how_to_get_one() {
    let service = TestService::start();
    guard(&service);
    let answer = page(&service);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert!(text.contains("bitacora token create"), "{text}");
    for word in ["main", "admin:", "http://", "https://", "<script", "<form", "<input"] {
        let shown = text.replace("<main>", "").replace("</main>", "");
        assert!(!shown.contains(word), "{word}: it says nothing of the service, and takes nothing");
    }
}

#[test]
fn its_policy_lets_in_its_own_style_alone() {
    let service = TestService::start();
    let answer = page(&service);
    let policy = answer.header("content-security-policy").unwrap().to_owned();
    let text = answer.text();
    let style = STANDARD.encode(Sha256::digest(between(text, "<style>", "</style>")));
    let expected = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(policy, expected);
    assert!(!text.contains(" style=") && !text.contains(" onclick="), "nothing inline besides");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
}

#[test]
fn it_is_not_served_under_a_foreign_name_nor_shared_with_foreign_pages() {
    let service = TestService::start();
    for host in ["evil.example", "evil.example:7717"] {
        let mut client = service.connect();
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.answer().expect_problem(421, "misdirected-host");
    }
    let foreign = service.request("GET", "/", &[("Origin", "https://evil.example")], b"").expect(200);
    assert_eq!(foreign.header("access-control-allow-origin"), None);
    service
        .request("GET", "/", &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")], b"")
        .expect(200);
    service
        .request("POST", "/", &[("Origin", "https://evil.example")], b"")
        .expect_problem(403, "cross-site");
    service.request("POST", "/", &[], b"").expect_problem(405, "method-not-allowed");
}

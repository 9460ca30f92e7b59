//! Web pages must not reach a service that takes every caller for admin.

use crate::service::{Service, event};

#[test]
fn a_name_that_is_not_this_machine_is_not_served() {
    let service = Service::start();
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
    }
    assert_eq!(service.tip(), tip);
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:7717", "[::1]:7717", "[::1]"] {
        let mut client = service.connect();
        client.send(format!("GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.answer().expect(200);
    }
}

#[test]
fn a_page_of_another_site_is_refused() {
    let service = Service::start();
    let tip = service.tip();
    for headers in [
        [("Origin", "https://evil.example")],
        [("Origin", "null")],
        [("Origin", "http://localhost.evil.example")],
        [("Origin", "file://")],
        [("Sec-Fetch-Site", "cross-site")],
    ] {
        service.append_with(&headers, event("1", "s")).expect_problem(403, "cross-site");
        service.get_with("/v1/ledgers/main/events", &headers).expect_problem(403, "cross-site");
    }
    assert_eq!(service.tip(), tip);
    service.append_with(&[("Origin", "http://127.0.0.1:3000")], event("1", "s")).expect(201);
}

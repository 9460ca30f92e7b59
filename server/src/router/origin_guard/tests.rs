use super::*;

const OWN: &str = "127.0.0.1:7717";

fn rules() -> WebRules {
    let allowed = vec!["https://ledger.example".parse().unwrap()];
    WebRules::new(allowed, &["127.0.0.1:7717".parse().unwrap(), "10.1.2.3:80".parse().unwrap()], None)
}

fn request(method: &str, headers: &[(&str, &str)]) -> Request {
    let builder = Request::builder().method(method).uri("/v1/ledgers/main/panic");
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::empty()).unwrap()
}

/// The code of the refusal, if there is one, of a request from this machine.
fn refused(method: &str, headers: &[(&str, &str)]) -> Option<Code> {
    let request = request(method, headers);
    let page = rules().page(request.headers());
    refusal(&rules(), &page, Some(Peer::Tcp), &request).map(|problem| problem.code())
}

#[test]
fn a_page_that_is_not_known_does_not_act_with_a_token_or_without() {
    for page in [
        &[("origin", "http://127.0.0.1:3000")][..],
        &[("origin", "https://127.0.0.1:7717")],
        &[("origin", "http://localhost:7717")],
        &[("origin", "null")],
        &[("origin", "")],
        &[("origin", "http://127.0.0.1:7717"), ("origin", "http://127.0.0.1:7717")],
        &[("origin", "http://127.0.0.1:7717"), ("sec-fetch-site", "cross-site")],
        &[("origin", "https://ledger.example:8443")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "whatever")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    ] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "post"] {
            let headers = [page, &[("host", OWN)]].concat();
            assert_eq!(refused(method, &headers), Some(Code::CrossSite), "{method} {page:?}");
            let headers = [&headers[..], &[("authorization", "Bearer bt_")]].concat();
            assert_eq!(refused(method, &headers), Some(Code::CrossSite), "{method} {page:?} with a token");
        }
    }
}

#[test]
fn a_page_of_the_service_and_a_program_act() {
    for page in [
        &[][..],
        &[("sec-fetch-site", "none")],
        &[("origin", "http://127.0.0.1:7717")],
        &[("origin", "http://127.0.0.1:7717"), ("sec-fetch-site", "same-origin")],
    ] {
        let headers = [page, &[("host", OWN)]].concat();
        assert_eq!(refused("POST", &headers), None, "{page:?}");
    }
    assert_eq!(refused("POST", &[("host", "10.1.2.3"), ("origin", "http://10.1.2.3")]), None);
}

#[test]
fn a_page_of_an_allowed_origin_acts_with_a_token_alone() {
    let page = [("host", OWN), ("origin", "https://ledger.example"), ("sec-fetch-site", "cross-site")];
    assert_eq!(refused("POST", &page), Some(Code::CrossSite));
    assert_eq!(refused("GET", &page), Some(Code::CrossSite));
    let with_token = [&page[..], &[("authorization", "Bearer bt_")]].concat();
    assert_eq!((refused("POST", &with_token), refused("GET", &with_token)), (None, None));
}

/// A name server can point any name here, so a page under that name must not count as one of the service.
#[test]
fn a_name_that_somebody_else_can_point_here_is_not_served() {
    for host in
        ["evil.example", "evil.example:7717", "localhost.evil.example", "0.0.0.0", "10.0.0.1", "[::2]", ""]
    {
        let origin = format!("http://{host}");
        let headers = [("host", host), ("origin", &origin)];
        assert_eq!(refused("POST", &headers), Some(Code::CrossSite), "{host}");
        assert_eq!(refused("GET", &headers), Some(Code::MisdirectedHost), "{host}");
        assert_eq!(refused("POST", &headers[..1]), Some(Code::MisdirectedHost), "{host}");
    }
    for host in
        ["localhost", "LOCALHOST:7717", "127.0.0.1", "127.0.0.1:1", "[::1]:65535", "[::1]", "10.1.2.3"]
    {
        assert_eq!(refused("GET", &[("host", host)]), None, "{host}");
    }
}

#[test]
fn a_service_that_listens_everywhere_is_served_under_each_address_and_no_name() {
    let rules = WebRules::new(vec![], &["0.0.0.0:7717".parse().unwrap()], None);
    assert!(rules.serves(b"10.0.0.1:7717") && rules.serves(b"[2001:db8::1]:7717"));
    assert!(!rules.serves(b"ledger.example:7717"));
}

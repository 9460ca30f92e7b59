//! The cookie that names a session.

use http::{HeaderMap, HeaderValue, header};

use crate::limits::SESSION_LIFE;

/// The path that the cookie is sent to, and to no other.
const PATH: &str = "/console";

/// Returns the value of the session's cookie.
pub(crate) fn cookie_of(headers: &HeaderMap) -> Option<String> {
    named(headers, &name(headers))
}

/// Returns the value of the cookie with this name.
pub(crate) fn named(headers: &HeaderMap, name: &str) -> Option<String> {
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
    let mut pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Returns the header that makes the cookie of a session. One that began at a page of a TLS proxy is sent over TLS alone.
pub(crate) fn session_cookie(headers: &HeaderMap, id: &str) -> Option<HeaderValue> {
    let (name, life) = (name(headers), SESSION_LIFE.as_secs());
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes).unwrap_or_default();
    let secure = if origin.starts_with(b"https://") { "; Secure" } else { "" };
    let text = format!("{name}={id}; Path={PATH}; HttpOnly; SameSite=Strict; Max-Age={life}{secure}");
    HeaderValue::try_from(text).ok()
}

/// Returns the header that removes the cookie.
pub(crate) fn ended_cookie(headers: &HeaderMap) -> Option<HeaderValue> {
    let name = name(headers);
    HeaderValue::try_from(format!("{name}=; Path={PATH}; HttpOnly; SameSite=Strict; Max-Age=0")).ok()
}

/// Cookies do not know ports, so the name has it: two services on one machine keep their sessions apart.
fn name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("bitacora-console-{port}"),
        None => "bitacora-console".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &'static str, cookie: &'static str) -> HeaderMap {
        let pairs = [(header::HOST, host), (header::COOKIE, cookie)];
        pairs.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn services_on_two_ports_keep_their_sessions_apart() {
        let cookies = "bitacora-console-7717=one; bitacora-console=none;bitacora-console-7718=two";
        assert_eq!(cookie_of(&headers("127.0.0.1:7717", cookies)).as_deref(), Some("one"));
        assert_eq!(cookie_of(&headers("127.0.0.1:7718", cookies)).as_deref(), Some("two"));
        assert_eq!(cookie_of(&headers("ledger.example", cookies)).as_deref(), Some("none"));
        assert_eq!(cookie_of(&headers("[::1]:9", cookies)), None);
    }

    #[test]
    fn no_script_and_no_other_site_gets_the_cookie() {
        let cookie = session_cookie(&headers("localhost:1", ""), "abc").unwrap();
        let expected = "bitacora-console-1=abc; Path=/console; HttpOnly; SameSite=Strict; Max-Age=43200";
        assert_eq!(cookie, expected);
        let mut behind_tls = headers("ledger.example", "");
        behind_tls.insert(header::ORIGIN, HeaderValue::from_static("https://ledger.example"));
        let cookie = session_cookie(&behind_tls, "abc").unwrap();
        assert!(cookie.to_str().unwrap().ends_with("; Secure"), "{cookie:?}");
    }
}

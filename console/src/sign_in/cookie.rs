//! The cookie that names a session.

use http::{HeaderMap, HeaderValue, header};

use crate::limits::SESSION_LIFE;

/// The path that the cookie is sent to, and to no other.
const PATH: &str = "/console";
/// The most other paths that a cookie of this name is removed from at once.
const MAX_ENDED_PATHS: usize = 16;

/// Returns the values of all cookies of this name. A page at another port can set some too, so one of them alone may be a session.
pub(crate) fn cookies_of(headers: &HeaderMap) -> Vec<&str> {
    values(headers, &name(headers)).collect()
}

/// Returns the value of the first cookie with this name.
pub(crate) fn named(headers: &HeaderMap, name: &str) -> Option<String> {
    values(headers, name).next().map(str::to_owned)
}

fn values<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    // A cookie of somebody else may hold any bytes: it is passed over, and ours behind it is not.
    let fields = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
    let cookies = fields
        .flat_map(|field| field.split(|byte| *byte == b';'))
        .filter_map(|cookie| str::from_utf8(cookie).ok());
    let pairs = cookies.filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, value)| value)
}

/// Returns the header that makes the cookie of a session. One that began at a page over TLS is sent over TLS alone.
pub(crate) fn session_cookie(headers: &HeaderMap, id: &str) -> Option<HeaderValue> {
    let (name, life) = (name(headers), SESSION_LIFE.as_secs());
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes).unwrap_or_default();
    let secure = if origin.starts_with(b"https://") { "; Secure" } else { "" };
    let text = format!("{name}={id}; Path={PATH}; HttpOnly; SameSite=Strict; Max-Age={life}{secure}");
    HeaderValue::try_from(text).ok()
}

/// Returns the header that removes the cookie.
pub(crate) fn ended_cookie(headers: &HeaderMap) -> Option<HeaderValue> {
    ended_at(headers, PATH)
}

/// Returns the headers that remove cookies of this name from the other paths on the way to an address, where the console sets none.
pub(crate) fn ended_below<'a>(
    headers: &'a HeaderMap,
    address: &'a str,
) -> impl Iterator<Item = HeaderValue> + 'a {
    let path = address.split('?').next().unwrap_or_default().trim_end_matches('/');
    let steps = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let paths = steps.flat_map(move |end| {
        let step = path.get(..end).unwrap_or_default();
        let with_slash = path.get(..=end).map_or_else(|| format!("{step}/"), str::to_owned);
        [step.to_owned(), with_slash]
    });
    let others = paths.filter(|path| !path.is_empty() && path != PATH).take(MAX_ENDED_PATHS);
    others.filter_map(|path| ended_at(headers, &path))
}

fn ended_at(headers: &HeaderMap, path: &str) -> Option<HeaderValue> {
    // In an attribute a `;` would begin another one.
    if path.contains(';') {
        return None;
    }
    let name = name(headers);
    HeaderValue::try_from(format!("{name}=; Path={path}; HttpOnly; SameSite=Strict; Max-Age=0")).ok()
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
        assert_eq!(cookies_of(&headers("127.0.0.1:7717", cookies)), ["one"]);
        assert_eq!(cookies_of(&headers("127.0.0.1:7718", cookies)), ["two"]);
        assert_eq!(cookies_of(&headers("ledger.example", cookies)), ["none"]);
        assert_eq!(cookies_of(&headers("[::1]:9", cookies)), [""; 0]);
        let twice = "bitacora-console-1=a; bitacora-console-1=b";
        assert_eq!(cookies_of(&headers("localhost:1", twice)), ["a", "b"]);
    }

    #[test]
    fn a_cookie_of_somebody_else_hides_none_of_ours() {
        let mut headers = headers("localhost:1", "");
        let fields: [&[u8]; 2] =
            [b"lang=espa\xf1ol; bitacora-console-1=a", "x=\u{f1}; bitacora-console-1=b".as_bytes()];
        for (field, expected) in fields.into_iter().zip(["a", "b"]) {
            headers.insert(header::COOKIE, HeaderValue::from_bytes(field).unwrap());
            assert_eq!(cookies_of(&headers), [expected]);
        }
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

    #[test]
    fn a_cookie_of_another_page_is_removed_from_each_path_on_the_way() {
        let headers = headers("localhost:1", "");
        let ended: Vec<_> = ended_below(&headers, "/console/main/now?x=/y").collect();
        let paths: Vec<_> =
            ended.iter().map(|field| field.to_str().unwrap().split("; ").nth(1).unwrap()).collect();
        let expected =
            ["/", "/console/", "/console/main", "/console/main/", "/console/main/now", "/console/main/now/"];
        assert_eq!(paths, expected.map(|path| format!("Path={path}")));
        assert_eq!(ended_below(&headers, &format!("/console{}", "/a".repeat(500))).count(), MAX_ENDED_PATHS);
    }
}

//! Web pages: requests of another site's page, or under a foreign host name, are refused.
//!
//! A browser sends what any page asks it to. `Origin` and `Sec-Fetch-Site` tell which page that is, and a page cannot forge them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::http::tls::ServiceTls;

/// Names of this machine that no name server can point elsewhere.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The header in which a browser says how the page relates to the service.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origin of a web page, as browsers send it: `scheme://host`, and the port where it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// The text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an origin; name one exactly, as http://HOST:PORT or https://HOST:PORT, without a path")]
pub struct OriginError;

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let text = text.to_ascii_lowercase();
        let (scheme, authority) = text.split_once("://").ok_or(OriginError)?;
        let own_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(OriginError),
        };
        let (host, port) = host_and_port(authority).ok_or(OriginError)?;
        Ok(Self(match port {
            Some(port) if port != own_port => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        }))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Pages and host names that a service knows.
#[derive(Debug, Default)]
pub(crate) struct WebRules {
    /// Origins whose pages may act, with a token.
    allowed: Vec<Origin>,
    /// Addresses that the service listens on.
    addresses: Vec<IpAddr>,
    /// TLS of these addresses.
    tls: Option<Arc<ServiceTls>>,
    /// The same where the hosts that the certificate names are the service's own.
    certified: Option<Arc<ServiceTls>>,
}

/// The page that a request comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SourcePage {
    /// No page at all, or one of this service.
    Own,
    /// A page of an origin that the service was told of, as the header names it.
    Allowed(HeaderValue),
    Foreign,
}

impl WebRules {
    pub(crate) fn new(allowed: Vec<Origin>, addresses: &[SocketAddr], tls: Option<Arc<ServiceTls>>) -> Self {
        let certified = tls.clone();
        Self { allowed, addresses: addresses.iter().map(SocketAddr::ip).collect(), tls, certified }
    }

    /// Returns the rules of an open service: no host of its certificate is its own, since a proxy on this machine may serve it to others.
    pub(crate) fn of_open_service(self) -> Self {
        Self { certified: None, ..self }
    }

    /// Returns the end of the service's certificate, seconds since 1970; `None` without TLS.
    pub(crate) fn certificate_end(&self) -> Option<u64> {
        self.tls.as_ref().map(|tls| tls.times().not_after)
    }

    /// The page that these headers tell of. A page that is not known to be the service's own, or allowed, is foreign.
    pub(crate) fn page(&self, headers: &HeaderMap) -> SourcePage {
        let sites = headers.get_all(SEC_FETCH_SITE);
        let is_from_here =
            sites.iter().all(|site| [b"same-origin".as_slice(), b"none"].contains(&site.as_bytes()));
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) if is_from_here => SourcePage::Own,
            (Some(origin), None) if is_from_here && self.is_own(origin, headers) => SourcePage::Own,
            (Some(origin), None) if self.allows(origin) => SourcePage::Allowed(origin.clone()),
            _ => SourcePage::Foreign,
        }
    }

    /// Returns `true` if a request comes from one of the service's own pages, or from no page: a page of an allowed origin is its own
    /// only where a proxy serves the console under that very origin.
    pub(crate) fn is_own_page(&self, headers: &HeaderMap) -> bool {
        match self.page(headers) {
            SourcePage::Own => true,
            SourcePage::Allowed(origin) => {
                let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
                let authority = origin.as_bytes().splitn(2, |byte| *byte == b'/').nth(1);
                let authority = authority.and_then(|rest| rest.strip_prefix(b"/"));
                authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
            }
            SourcePage::Foreign => false,
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.allowed.iter().any(|allowed| allowed.0.as_bytes() == origin.as_bytes())
    }

    /// Returns `true` for the host of an allowed origin: a proxy passes on the name that it is reached under.
    pub(crate) fn allows_host(&self, host: &[u8]) -> bool {
        let hosts = self.allowed.iter().filter_map(|origin| origin.0.split_once("://"));
        hosts.into_iter().any(|(_, allowed)| allowed.as_bytes().eq_ignore_ascii_case(host))
    }

    /// Returns `true` if an origin is the very address that the request was sent to. Its scheme is the one that the service speaks.
    fn is_own(&self, origin: &HeaderValue, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
        let authority = origin.as_bytes().strip_prefix(self.scheme().as_bytes());
        let authority = authority.and_then(|rest| rest.strip_prefix(b"://")).unwrap_or_default();
        authority.eq_ignore_ascii_case(host) && self.serves(host)
    }

    /// Returns the URL by which a host is reached that is one of this service, or one of an allowed origin.
    pub(crate) fn url_of(&self, host: &[u8]) -> Option<String> {
        let named = str::from_utf8(host).ok()?;
        let scheme = if self.serves(host) {
            self.scheme()
        } else {
            let mut origins = self.allowed.iter().filter_map(|origin| origin.0.split_once("://"));
            origins.find(|(_, allowed)| allowed.eq_ignore_ascii_case(named))?.0
        };
        Some(format!("{scheme}://{named}"))
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns `true` if a host is one of this service: a name of this machine, an address that it listens on, or a name in its
    /// certificate. A name server can point any other name here.
    pub(crate) fn serves(&self, host: &[u8]) -> bool {
        let Some((host, _)) = str::from_utf8(host).ok().and_then(host_and_port) else { return false };
        let is_certified = self.certified.as_ref().is_some_and(|tls| tls.names(host));
        if is_certified || LOOPBACK_NAMES.iter().any(|name| host.eq_ignore_ascii_case(name)) {
            return true;
        }
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let listens = |own: &IpAddr| own.is_unspecified() || address == Some(*own);
        address.is_some() && self.addresses.iter().any(listens)
    }
}

/// Host and port of an authority: `host`, `host:port`, `[::1]:port`.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.strip_prefix('[') {
        Some(_) => authority.find(']')? + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at_checked(end)?;
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        Some(_) => return None,
        None if port.is_empty() => None,
        None => return None,
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_address = inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    (is_address || is_name).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_named_exactly_as_browsers_send_it() {
        let origin = |text: &str| text.parse::<Origin>().map(|origin| origin.to_string());
        for (text, sent) in [
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("HTTPS://Ledger.Example", "https://ledger.example"),
            ("https://ledger.example:443", "https://ledger.example"),
            ("http://ledger.example:443", "http://ledger.example:443"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(sent), "{text}");
        }
        for text in [
            "",
            "*",
            "null",
            "ledger.example",
            "http://",
            "http://x/",
            "http://x/y",
            "http://*.example",
            "http://a@b",
            "http://x:",
            "http://x:1x",
            "http://x:65536",
            "http://[::1",
            "http://[x]",
            "ftp://x",
            "http://x?y",
            "http://é",
        ] {
            assert_eq!(origin(text), Err(OriginError), "{text:?}");
        }
    }
}

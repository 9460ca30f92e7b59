//! The address of a service.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use hyper::Uri;
use hyper::http::uri::PathAndQuery;

use crate::service_trust::ServiceTrust;

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceUrl {
    /// Host and port.
    Tcp(String),
    /// Host and port of a service with TLS.
    Tls {
        /// Host and port.
        authority: String,
        /// Whom the client trusts, and how it proves itself.
        trust: Arc<ServiceTrust>,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// A service in this process, reached by a [`Connector`](crate::Connector). No text is parsed as it.
    Within,
}

/// The error for a text that is not the address of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a service: http://HOST:PORT, https://HOST:PORT or unix:PATH")]
pub struct ServiceUrlError;

impl ServiceUrl {
    /// Returns `true` for a loopback address, `localhost`, a Unix socket or this process.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        let (Self::Tcp(authority) | Self::Tls { authority, .. }) = self else { return true };
        let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

impl ServiceUrl {
    /// Returns the address with this trust, if it is one of TLS.
    #[must_use]
    pub fn trusting(self, trust: ServiceTrust) -> Self {
        match self {
            Self::Tls { authority, .. } => Self::Tls { authority, trust: Arc::new(trust) },
            other => other,
        }
    }

    /// Returns the trust that differs from the system's.
    #[must_use]
    pub fn trust(&self) -> Option<&ServiceTrust> {
        match self {
            Self::Tls { trust, .. } if **trust != ServiceTrust::default() => Some(trust),
            _ => None,
        }
    }
}

impl FromStr for ServiceUrl {
    type Err = ServiceUrlError;

    fn from_str(text: &str) -> Result<Self, ServiceUrlError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(ServiceUrlError) } else { Ok(Self::Unix(path.into())) };
        }
        let uri: Uri = text.parse().map_err(|_| ServiceUrlError)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        match (uri.scheme_str(), authority, uri.path_and_query().map(PathAndQuery::as_str)) {
            (Some("http"), Some(authority), None | Some("/")) => {
                let port = authority.port_u16().unwrap_or(80);
                Ok(Self::Tcp(format!("{}:{port}", authority.host())))
            }
            (Some("https"), Some(authority), None | Some("/")) => {
                let port = authority.port_u16().unwrap_or(443);
                let authority = format!("{}:{port}", authority.host());
                Ok(Self::Tls { authority, trust: Arc::default() })
            }
            _ => Err(ServiceUrlError),
        }
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(f, "http://{host}"),
            Self::Tls { authority, .. } => write!(f, "https://{authority}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Within => f.write_str("the ledger's folder"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_this_machine_is_known_without_asking_a_name_server() {
        for near in [
            "http://127.0.0.1:7717",
            "http://127.9.9.9",
            "http://[::1]:7717",
            "http://LocalHost:1",
            "http://[::ffff:127.0.0.1]:1",
            "https://localhost",
            "unix:/run/x",
        ] {
            assert!(near.parse::<ServiceUrl>().unwrap().is_on_this_machine(), "{near}");
        }
        for far in [
            "http://10.0.0.1:7717",
            "http://ledger.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "http://[::2]:1",
            "http://0.0.0.0",
            "https://localhost.evil.example",
        ] {
            assert!(!far.parse::<ServiceUrl>().unwrap().is_on_this_machine(), "{far}");
        }
    }

    #[test]
    fn a_service_is_named_by_host_and_port_or_by_its_socket() {
        let url = |text: &str| text.parse::<ServiceUrl>();
        assert_eq!(url("http://127.0.0.1:7717"), Ok(ServiceUrl::Tcp("127.0.0.1:7717".into())));
        assert_eq!(url("http://[::1]:7717/"), Ok(ServiceUrl::Tcp("[::1]:7717".into())));
        assert_eq!(url("http://localhost"), Ok(ServiceUrl::Tcp("localhost:80".into())));
        let secure = |authority: &str| ServiceUrl::Tls { authority: authority.into(), trust: Arc::default() };
        assert_eq!(url("https://ledger.example"), Ok(secure("ledger.example:443")));
        assert_eq!(url("https://[::1]:7717/"), Ok(secure("[::1]:7717")));
        assert_eq!(url("unix:/run/bitacora"), Ok(ServiceUrl::Unix("/run/bitacora".into())));
        for text in [
            "",
            "unix:",
            "https://x/y",
            "https://a@b",
            "https://",
            "127.0.0.1:7717",
            "http://",
            "http://x/y",
            "http://x?y",
            "http://a@b",
            "ftp://x",
        ] {
            assert_eq!(url(text), Err(ServiceUrlError), "{text:?}");
        }
    }
}

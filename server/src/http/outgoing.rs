//! Requests that the service makes itself: to witnesses, and to the receiver of notices.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Returns `true` if the URL can be asked over HTTP.
pub(crate) fn is_web_address(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// A client for one address: it follows nobody elsewhere, and keeps no connection open between two requests, which are rare.
pub(crate) fn client(
    url: &Url,
    connect_within: Duration,
    within: Duration,
) -> Result<Client, reqwest::Error> {
    // Another room may have installed it before.
    let _is_installed = rustls::crypto::ring::default_provider().install_default().is_err();
    let client = Client::builder()
        // The answer of another address is not the word of the one that was asked.
        .redirect(Policy::none())
        .connect_timeout(connect_within)
        .timeout(within)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("bitacora/", env!("CARGO_PKG_VERSION")));
    let client = if is_loopback(url) { client.no_proxy() } else { client };
    client.build()
}

/// The last cause says it; those before it are how the client is built.
pub(crate) fn why(error: &reqwest::Error) -> io::Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let kind = if error.is_timeout() { io::ErrorKind::TimedOut } else { io::ErrorKind::Other };
    io::Error::new(kind, cause.to_string())
}

/// A proxy would look for it on its own machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

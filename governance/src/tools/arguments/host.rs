//! Hosts of URLs, read so that no client can read another one.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of a host's name.
const MAX_HOST_BYTES: usize = 253;

/// Reads the host of a URL, or the host itself, in lower case: without credentials, port and final dot. Names that are not ASCII
/// have to come in punycode. `None` where two clients could disagree on it.
pub(super) fn read_host(text: &str) -> Option<String> {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.chars().any(is_odd) {
        return None;
    }
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        // Elsewhere `://` can be part of a query.
        _ => text,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host_and_port = match authority.split_once('@') {
        Some((_, rest)) if rest.contains('@') => return None,
        Some((_, rest)) => rest,
        None => authority,
    };
    if let Some(rest) = host_and_port.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        let address: Ipv6Addr = address.parse().ok().filter(|_| is_port)?;
        return Some(format!("[{address}]"));
    }
    // A colon without a port is more likely the end of a scheme.
    let host = match host_and_port.split_once(':') {
        Some((host, port)) if is_port(port) => host,
        Some(_) => return None,
        None => host_and_port,
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_name = host.split('.').all(is_label) && host.len() <= MAX_HOST_BYTES;
    (is_name && (!is_number(&host) || host.parse::<Ipv4Addr>().is_ok())).then_some(host)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !label.is_empty() && label.len() <= 63 && label.bytes().all(is_plain)
}

/// Returns `true` if clients would take it for an address, in any of the ways that addresses are written.
fn is_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hex = last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hex || last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;

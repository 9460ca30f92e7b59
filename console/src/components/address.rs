//! Addresses of the web, with the host set apart: it is what a reader has to look at.

use maud::{Markup, html};

use super::badge::{Tone, badge};
use super::text::code_text;

/// The parts of an address.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    scheme: &'a str,
    /// The part before the host, up to its `@`.
    user: &'a str,
    host: &'a str,
    rest: &'a str,
}

/// Cuts an address as browsers do: a backslash ends the host as a slash does.
fn parts(address: &str) -> Option<Parts<'_>> {
    let (scheme, behind) = address.split_once("://")?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if scheme.is_empty() || !scheme.bytes().all(is_word) {
        return None;
    }
    let end = behind.find(['/', '?', '#', '\\']).unwrap_or(behind.len());
    let (authority, rest) = behind.split_at(end);
    let at = authority.rfind('@').map_or(0, |at| at + 1);
    let (user, host) = authority.split_at(at);
    Some(Parts { scheme, user, host, rest })
}

/// Returns an address with its host in the foreground. It is no link.
pub(super) fn address(of: &str) -> Markup {
    let Some(parts) = parts(of) else { return html! { pre { (code_text(of)) } } };
    html! {
        p.host { span.quiet-text { "Host " } strong { (code_text(parts.host)) } " "
            @if parts.scheme != "https" { (badge(&format!("{}, not https", parts.scheme), Tone::Waits)) " " }
            @if !parts.user.is_empty() { (badge("a name stands before the host", Tone::Bad)) " " }
            @if !parts.host.is_ascii() { (badge("letters outside ASCII", Tone::Bad)) " " }
            @if parts.host.contains("xn--") { (badge("an international name in ASCII", Tone::Waits)) " " }
        }
        pre.address { span.quiet-text { (parts.scheme) "://" (code_text(parts.user)) } strong { (code_text(parts.host)) } span.quiet-text { (code_text(parts.rest)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_a_browser_takes_for_it() {
        for (address, user, host) in [
            ("https://example.com/a?b#c", "", "example.com"),
            ("https://bank.example@evil.example/", "bank.example@", "evil.example"),
            ("https://evil.example\\@bank.example/", "", "evil.example"),
            ("https://a@b@evil.example:8443?@x", "a@b@", "evil.example:8443"),
            ("http://[::1]:80/", "", "[::1]:80"),
        ] {
            let found = parts(address).unwrap();
            assert_eq!((found.user, found.host), (user, host), "{address}");
        }
        assert_eq!(parts("javascript:alert(1)"), None);
        assert_eq!(parts("no address"), None);
        assert_eq!(parts("a b://x"), None);
    }
}

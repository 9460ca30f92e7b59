//! The grammars that CloudEvents takes from elsewhere: URIs (RFC 3986) and media types (RFC 2045).

/// `pchar` of RFC 3986 without its percent-encoding, beside letters and digits.
const PATH_CHARACTERS: &[u8] = b"-._~!$&'()*+,;=:@";
/// Separators of a media type's tokens (RFC 2045, section 5.1).
const SPECIALS: &[u8] = b"()<>@,;:\\\"/[]?=";

/// `true` for a `URI-reference` (RFC 3986, section 4.1).
pub(super) fn is_uri_reference(text: &str) -> bool {
    match split_scheme(text) {
        Some((_, rest)) => is_hierarchy(rest),
        None => {
            // Without a scheme, a colon in the first segment would make it one.
            let first = text.split(['/', '?', '#']).next().unwrap_or_default();
            !first.contains(':') && is_hierarchy(text)
        }
    }
}

/// `true` for a `URI` (RFC 3986, section 3).
pub(super) fn is_uri(text: &str) -> bool {
    split_scheme(text).is_some_and(|(_, rest)| is_hierarchy(rest))
}

/// `true` for a media type with its parameters (RFC 2045, section 5.1).
pub(super) fn is_media_type(text: &str) -> bool {
    let Some((kind, rest)) = text.split_once('/') else { return false };
    let end = rest.find([';', ' ', '\t']).unwrap_or(rest.len());
    let (subtype, mut rest) = rest.split_at(end);
    if !is_token(kind) || !is_token(subtype) {
        return false;
    }
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return true;
        }
        let Some(parameter) = rest.strip_prefix(';') else { return false };
        let Some((name, value)) = parameter.trim_start_matches([' ', '\t']).split_once('=') else {
            return false;
        };
        let Some(behind) = after_value(value).filter(|_| is_token(name)) else { return false };
        rest = behind;
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let begins = scheme.as_bytes().first()?.is_ascii_alphabetic();
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (begins && scheme.bytes().all(goes_on)).then_some((scheme, rest))
}

/// An authority, if any, a path, a query and a fragment.
fn is_hierarchy(text: &str) -> bool {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let path = match text.strip_prefix("//") {
        None => text,
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if !is_authority(authority) {
                return false;
            }
            path
        }
    };
    is_of(path, b"/") && is_of(query, b"/?") && is_of(fragment, b"/?")
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let (host, port) = match host.rfind(']') {
        // The brackets of an address of IPv6 hold colons.
        Some(end) => {
            let (literal, rest) = host.split_at(end + 1);
            let Some(address) = literal.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
                return false;
            };
            if !is_address(address) || !(rest.is_empty() || rest.starts_with(':')) {
                return false;
            }
            ("", rest.strip_prefix(':').unwrap_or_default())
        }
        None => host.rsplit_once(':').unwrap_or((host, "")),
    };
    let is_name = is_of(host, b"") && !host.contains([':', '@']);
    is_of(user, b"") && !user.contains('@') && is_name && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// An address of IPv6, or of a version to come: `v1.x`.
fn is_address(text: &str) -> bool {
    match text.strip_prefix(['v', 'V']).and_then(|future| future.split_once('.')) {
        Some((version, address)) => {
            let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex(version) && !address.is_empty() && !address.contains(['@', '%']) && is_of(address, b"")
        }
        None => text.parse::<core::net::Ipv6Addr>().is_ok(),
    }
}

/// `true` where every character is `pchar` or one of these.
fn is_of(text: &str, others: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_taken = match byte {
            b'%' => {
                let mut digit = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                digit() && digit()
            }
            _ => byte.is_ascii_alphanumeric() || PATH_CHARACTERS.contains(&byte) || others.contains(&byte),
        };
        if !is_taken {
            return false;
        }
    }
    true
}

fn is_token(text: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_graphic() && !SPECIALS.contains(&byte);
    !text.is_empty() && text.bytes().all(is_taken)
}

/// Returns the text behind a parameter's value, which is a token or a quoted string.
fn after_value(text: &str) -> Option<&str> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return is_token(token).then_some(rest);
    };
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return quoted.get(at + 1..),
            '\\' => {
                characters.next()?;
            }
            _ if character.is_ascii() => (),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first ones are the examples of RFC 3986 (sections 1.1.2 and 5.4) and of CloudEvents (section 3.1.1).
    #[test]
    fn references_and_uris_are_those_of_the_rfc() {
        let uris = [
            "ftp://ftp.is.co.za/rfc/rfc1808.txt",
            "http://www.ietf.org/rfc/rfc2396.txt",
            "ldap://[2001:db8::7]/c=GB?objectClass?one",
            "mailto:John.Doe@example.com",
            "news:comp.infosystems.www.servers.unix",
            "tel:+1-816-555-1212",
            "telnet://192.0.2.16:80/",
            "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
            "https://github.com/cloudevents",
            "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
            "http://a/b/c/d;p?q#s",
            "x://[v1.a:b]:8080/%7Euser",
            "x:",
        ];
        for uri in uris {
            assert!(is_uri(uri) && is_uri_reference(uri), "{uri}");
        }
        let relative = [
            "cloudevents/spec/pull/123",
            "/sensors/tn-1234567/alerts",
            "1-555-123-4567",
            "//g",
            "../../g",
            "?y",
            "g;x=1/../y",
            "#s",
            "./g:h",
            "agent/7",
            "test",
            "",
            "a@b",
        ];
        for reference in relative {
            assert!(!is_uri(reference) && is_uri_reference(reference), "{reference}");
        }
        for bad in [
            "a b",
            "a\u{e4}",
            "%zz",
            "%a",
            "http://a b/",
            "http://[::1/",
            "http://[1:2]/",
            "http://a:8a/",
            "x:<y>",
            "a\"b",
            "1a:b",
            ":a",
            "a^b",
            "a|b",
            "a\\b",
            "{x}",
            "http://a@b@c/",
            "a#b#c",
            "[x]",
            "http://[::1]x/",
        ] {
            assert!(!is_uri(bad) && !is_uri_reference(bad), "{bad}");
        }
    }

    #[test]
    fn media_types_are_those_of_the_rfc() {
        for good in [
            "application/json",
            "text/plain; charset=us-ascii",
            "text/plain;charset=\"us-ascii\" ; x=y",
            "application/vnd.x+json",
            "multipart/mixed; boundary=\"a b;\\\"c\"",
            "x-y/z.1",
        ] {
            assert!(is_media_type(good), "{good}");
        }
        for bad in [
            "json",
            "/json",
            "application/",
            "application /json",
            "application/json;",
            "a/b; c",
            "a/b; =c",
            "a/b; c=",
            "a/b c",
            "a/b/c",
            "a/b; c=\"d",
            "a/b; c=d e",
            "\u{e4}/b",
            "a/b; c=\"\u{e4}\"",
            "a/b, c/d",
        ] {
            assert!(!is_media_type(bad), "{bad}");
        }
    }
}

use super::*;

#[test]
fn a_host_is_read_from_a_url_or_stands_by_itself() {
    for (text, host) in [
        ("https://Docs.Example.COM/a?b#c", "docs.example.com"),
        ("docs.example.com", "docs.example.com"),
        ("docs.example.com:8080/x", "docs.example.com"),
        ("https://user:secret@example.com:443/x", "example.com"),
        ("https://example.com./x", "example.com"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("evil.example/?x=://good.example", "evil.example"),
        ("https://evil.example#@good.example/", "evil.example"),
        ("https://evil.example?@good.example/", "evil.example"),
        ("https://good.example@evil.example/", "evil.example"),
    ] {
        assert_eq!(read_host(text).as_deref(), Some(host), "{text}");
    }
}

#[test]
fn what_two_clients_could_read_differently_is_refused() {
    for text in [
        "",
        "https://",
        "https:///etc/passwd",
        "https://good.example\\@evil.example/",
        "https://a@b@c/",
        "https://exa mple.com/",
        "https://exam\tple.com/",
        "https://b\u{fc}cher.example/",
        "https://evil.example\u{ff0f}.good.example/",
        "https://%65vil.example/",
        "https://good..example/",
        "https://.example/",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https:evil.example",
        "https:/evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.256/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[x]/",
    ] {
        assert_eq!(read_host(text), None, "{text:?}");
    }
}

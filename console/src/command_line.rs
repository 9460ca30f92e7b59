//! Command lines that print what a page shows. Each value is one word of a shell, whoever chose it.

use std::net::{IpAddr, SocketAddr};

use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// The address that programs ask where none is named.
const USUAL_ADDRESSES: [&str; 2] = ["127.0.0.1:7717", "localhost:7717"];

/// A command line that prints what a page shows.
pub(crate) struct CommandLine(String);

/// Returns the option by which a command asks the service at this URL, the one that a browser asked; none where it is the usual one. A name
/// without TLS is that of a proxy, which commands on this machine pass by.
pub(crate) fn url_option(url: &str) -> Option<String> {
    let (scheme, host) = url.split_once("://")?;
    if scheme == "https" {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
        return (!host.is_empty() && host.bytes().all(is_plain)).then(|| format!(" --url {}", quoted(url)));
    }
    let is_usual = USUAL_ADDRESSES.contains(&host);
    let is_direct = host.parse::<SocketAddr>().is_ok()
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || host.split(':').next().is_some_and(|name| name == "localhost");
    (is_direct && !is_usual).then(|| format!(" --url http://{host}"))
}

/// Returns a command of a page that is of no ledger, for the service that the browser asked.
pub(crate) fn command_at(url: &str, words: &str) -> String {
    format!("bitacora{} {words}", url_option(url).unwrap_or_default())
}

impl CommandLine {
    /// A command about the ledger of this visit.
    pub(crate) fn new(visit: &Visit, words: &str) -> Self {
        let mut command = Self(format!("bitacora{}", url_option(&visit.url).unwrap_or_default()));
        if visit.ledger != "main" {
            command = command.option("ledger", Some(&visit.ledger));
        }
        command.0.push_str(&format!(" {words}"));
        command
    }

    /// Adds an argument.
    pub(crate) fn argument(mut self, value: &str) -> Self {
        if value.starts_with('-') {
            self.0.push_str(" --");
        }
        self.0.push_str(&format!(" {}", quoted(value)));
        self
    }

    /// Adds an option, where it has a value.
    pub(crate) fn option(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            let joint = if value.starts_with('-') { '=' } else { ' ' };
            self.0.push_str(&format!(" --{name}{joint}{}", quoted(value)));
        }
        self
    }

    /// Adds the filters of a page that are set.
    pub(crate) fn filters(self, visit: &Visit, names: &[&str]) -> Self {
        names.iter().fold(self, |command, name| command.option(name, visit.query.exact(name)))
    }

    /// Adds the ends of a time span.
    pub(crate) fn span(self, span: &TimeSpan) -> Self {
        span.parameters().iter().fold(self, |command, (name, time)| command.option(name, Some(time)))
    }

    /// Returns the line.
    pub(crate) fn line(self) -> String {
        self.0
    }
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_service_that_the_browser_asked() {
        for (url, option) in [
            ("http://127.0.0.1:7717", None),
            ("http://localhost:7717", None),
            ("http://127.0.0.1:39999", Some(" --url http://127.0.0.1:39999")),
            ("http://localhost:80", Some(" --url http://localhost:80")),
            ("http://localhost", Some(" --url http://localhost")),
            ("http://[::1]:7717", Some(" --url http://[::1]:7717")),
            ("http://192.0.2.7", Some(" --url http://192.0.2.7")),
            ("http://ledger.example", None),
            ("http://localhost;rm -rf:1", None),
            ("https://localhost:7717", Some(" --url https://localhost:7717")),
            ("https://ledger.example", Some(" --url https://ledger.example")),
            ("https://[::1]:7717", Some(" --url 'https://[::1]:7717'")),
            ("https://localhost;rm -rf:1", None),
            ("", None),
        ] {
            assert_eq!(url_option(url).as_deref(), option, "{url}");
        }
        assert_eq!(command_at("http://127.0.0.1:1", "console"), "bitacora --url http://127.0.0.1:1 console");
    }

    #[test]
    fn a_value_is_one_word_of_a_command_line() {
        assert_eq!(quoted("coder-1/explorer"), "coder-1/explorer");
        assert_eq!(quoted("a b; rm -rf ~"), "'a b; rm -rf ~'");
        assert_eq!(quoted("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(CommandLine("x".to_owned()).option("tool", Some("-v")).line(), "x --tool=-v");
    }
}

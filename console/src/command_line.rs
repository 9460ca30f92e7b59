//! Command lines that print what a page shows. Each value is one word of a shell, whoever chose it.

use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// A command line that prints what a page shows.
pub(crate) struct CommandLine(String);

impl CommandLine {
    /// A command about the ledger of this visit.
    pub(crate) fn new(visit: &Visit, words: &str) -> Self {
        let mut command = Self("bitacora".to_owned());
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
        names.iter().fold(self, |command, name| command.option(name, visit.query.get(name)))
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
    fn a_value_is_one_word_of_a_command_line() {
        assert_eq!(quoted("coder-1/explorer"), "coder-1/explorer");
        assert_eq!(quoted("a b; rm -rf ~"), "'a b; rm -rf ~'");
        assert_eq!(quoted("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(CommandLine("x".to_owned()).option("tool", Some("-v")).line(), "x --tool=-v");
    }
}

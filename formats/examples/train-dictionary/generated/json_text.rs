//! JSON as clients write it: compact, or with the spaces that Python's and Ruby's writers put in.

use std::fmt::Display;

/// Writes one object, its members in the order they are given.
pub(crate) struct Object {
    text: String,
    spaced: bool,
}

impl Object {
    pub(crate) fn new(spaced: bool) -> Self {
        Self { text: "{".to_owned(), spaced }
    }

    /// A member whose value is JSON already: a number, an object.
    pub(crate) fn raw(mut self, name: &str, value: impl Display) -> Self {
        if self.text.len() > 1 {
            self.text.push_str(if self.spaced { ", " } else { "," });
        }
        let colon = if self.spaced { ": " } else { ":" };
        self.text.push_str(&format!("\"{name}\"{colon}{value}"));
        self
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        let quoted = serde_json::to_string(value).unwrap();
        self.raw(name, quoted)
    }

    /// A member that is there or not.
    pub(crate) fn maybe(self, there: bool, name: &str, value: &str) -> Self {
        if there { self.text(name, value) } else { self }
    }

    pub(crate) fn list(self, name: &str, values: &[String]) -> Self {
        let comma = if self.spaced { ", " } else { "," };
        self.raw(name, format!("[{}]", values.join(comma)))
    }

    pub(crate) fn end(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

//! JSON objects written member by member, in the order given; JSON values go in unchanged.

use std::fmt::{Display, Write};

/// An object under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonObject(String);

impl JsonObject {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a string.
    pub(crate) fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        push_string(&mut self.0, value);
        self
    }

    /// Adds a string, if there is one.
    pub(crate) fn maybe(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Adds a value whose display is JSON: a number, a boolean or an object.
    pub(crate) fn raw(mut self, key: &str, value: impl Display) -> Self {
        self.key(key);
        // Writing to a string does not fail.
        let _written = write!(self.0, "{value}").is_ok();
        self
    }

    /// Adds such a value, if there is one.
    pub(crate) fn maybe_raw(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, key);
        self.0.push(':');
    }
}

fn push_string(to: &mut String, text: &str) {
    to.push('"');
    for character in text.chars() {
        match character {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\t' => to.push_str("\\t"),
            control if control < ' ' => {
                let _written = write!(to, "\\u{:04x}", u32::from(control)).is_ok();
            }
            other => to.push(other),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_reads_back_as_it_was_written() {
        let awkward = "a \"quoted\" \\ back\nline\ttab \u{1}\u{7f} é 🚢";
        let object = JsonObject::new()
            .text("text", awkward)
            .maybe("none", None)
            .raw("number", 7)
            .maybe_raw("more", Some(true))
            .maybe_raw("less", None::<u64>)
            .end();
        let read: serde_json::Value = serde_json::from_str(&object).unwrap();
        let expected = serde_json::json!({"text": awkward, "number": 7, "more": true});
        assert_eq!(read, expected);
        assert_eq!(JsonObject::new().end(), "{}");
    }
}

//! JSON objects written member by member, in the order given; JSON values go in unchanged.

use std::fmt::{Display, Write};

/// An object under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonObject(String);

impl Default for JsonObject {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonObject {
    /// Begins an object.
    #[must_use]
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a string.
    pub fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        push_string(&mut self.0, value);
        self
    }

    /// Adds a string, if there is one.
    pub fn maybe(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Adds a value whose display is JSON: a number, a boolean or an object.
    pub fn raw(mut self, key: &str, value: impl Display) -> Self {
        self.key(key);
        // Writing to a string does not fail.
        let _written = write!(self.0, "{value}").is_ok();
        self
    }

    /// Adds such a value, if there is one.
    pub fn maybe_raw(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    /// Ends the object and returns its text.
    pub fn end(mut self) -> String {
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

/// Returns a text as a JSON string.
pub fn json_text(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}

/// Returns an array of items that are JSON already.
pub fn json_array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
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

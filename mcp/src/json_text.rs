//! JSON that no reader takes for two messages: without white space, and without characters that some readers end a line at.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Returns a checked JSON text without the white space between its tokens. A message is one line for every reader: some end a
/// line at a carriage return, at U+0085, or at U+2028 and U+2029, so these are escaped in strings.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        match character {
            ' ' | '\t' | '\n' | '\r' if !in_string => continue,
            '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

/// Returns a text as a JSON string, with the same escapes.
pub(crate) fn quoted(text: &str) -> String {
    // A text is always JSON; the empty string stands for the impossible.
    serde_json::to_string(text).map_or_else(|_| "\"\"".to_owned(), |json| compact(&json))
}

/// Reads a value that is in a message already.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the name by which readers that ignore letter case know a member.
pub(crate) fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_for_every_reader() {
        let json = "{ \"a\" : \r [1,\t\"x \\\" \u{2028} \\\\\" ,\n\"\u{85}\u{2029}\"] }";
        let one = compact(json);
        assert_eq!(one, r#"{"a":[1,"x \" \u2028 \\","\u0085\u2029"]}"#);
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&one), value(json));
        assert_eq!(quoted("a\r\u{2028}\"b"), r#""a\r\u2028\"b""#);
    }

    #[test]
    fn names_that_readers_without_letter_case_confuse_are_folded_alike() {
        for other in ["NAME", "Name", "nAmE"] {
            assert_eq!(folded(other), folded("name"));
        }
        assert_eq!(folded("tas\u{212a}"), folded("task"), "the sign of kelvin");
        assert_eq!(folded("argument\u{17f}"), folded("arguments"), "the long s");
    }
}

//! Faults of a JSON text that a person typed, in plain words.

use serde_json::Error;
use serde_json::error::Category;

/// A fault, and its place in the text, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonFault {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) words: String,
}

/// The words of the parser for faults that people make, with ours.
const WORDS: [(&str, &str); 16] = [
    ("EOF while parsing a string", "the text ends within a string: its closing `\"` is missing"),
    ("EOF while parsing an object", "the text ends within an object: its closing `}` is missing"),
    ("EOF while parsing a list", "the text ends within a list: its closing `]` is missing"),
    ("EOF while parsing", "the text ends where a value is missing"),
    ("expected `,` or `}`", "a `,` or a `}` is missing before this place"),
    ("expected `,` or `]`", "a `,` or a `]` is missing before this place"),
    ("expected `:`", "a `:` is missing between a name and its value"),
    ("trailing comma", "a `,` stands before a closing bracket"),
    ("key must be a string", "a name in double quotes is missing here; before a closing `}` stands no `,`"),
    ("trailing characters", "something stands behind the end of the JSON"),
    (
        "expected value",
        "a value is missing: a text in double quotes, a number, `true`, `false`, `null`, a list or an object",
    ),
    ("expected ident", "a word is no JSON: `true`, `false` and `null` are"),
    (
        "control character",
        "a text in double quotes has a line break or another control character; write `\\n` for a line break",
    ),
    ("invalid escape", "a `\\` in a text has to stand before one of `\" \\ / b f n r t u`"),
    ("invalid number", "a number is not written as JSON has it"),
    ("recursion limit", "it is nested too deeply"),
];

impl JsonFault {
    /// Returns the fault that the parser found in this text.
    pub(crate) fn of(error: &Error, text: &str) -> Self {
        let told = error.to_string();
        let told = told.split(" at line ").next().unwrap_or_default();
        let known =
            WORDS.iter().find(|(theirs, _)| told.contains(theirs)).map(|(_, ours)| (*ours).to_owned());
        let words = match (known, error.classify()) {
            (Some(words), _) => words,
            (None, Category::Data) => format!("it is another kind of value: {told}"),
            (None, _) => told.to_owned(),
        };
        Self { line: error.line().max(1), column: column(error, text), words }
    }

    /// Returns the fault with its place, as the end of a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { line, column, words } = self;
        format!("In line {line}, column {column}: {words}.")
    }
}

/// Returns the column of a fault in characters, as people and editors count; the parser counts bytes.
fn column(error: &Error, text: &str) -> usize {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = line.get(..line.floor_char_boundary(error.column())).unwrap_or_default();
    before.chars().count().max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn faults_that_people_make_are_told_in_plain_words_and_at_their_place() {
        for (text, line, column, words) in [
            ("{\"a\": 1\n \"b\": 2}", 2, 2, "a `,` or a `}` is missing"),
            ("{\"a\": [1 2]}", 1, 10, "a `,` or a `]` is missing"),
            ("{\"a\": 1,\n}", 2, 1, "before a closing `}` stands no `,`"),
            ("[1,\n]", 2, 1, "a value is missing"),
            ("{'a': 1}", 1, 2, "double quotes"),
            ("{\"a\" 1}", 1, 6, "a `:` is missing"),
            ("{\"a\": 1", 1, 7, "closing `}` is missing"),
            ("{\"a\": \"x", 1, 8, "closing `\"` is missing"),
            ("{\"a\": \"x\ny\"}", 1, 8, "write `\\n`"),
            ("{\"a\": \"\\d\"}", 1, 9, "a `\\` in a text"),
            ("{\"a\": tru}", 1, 10, "a word is no JSON"),
            ("{\"a\": 01}", 1, 8, "a number"),
            ("{\"a\": }", 1, 7, "a value is missing"),
            ("{} x", 1, 4, "behind the end"),
            ("", 1, 1, "the text ends"),
            ("{\"é\": \"日本\" 1}", 1, 12, "a `,` or a `}` is missing"),
        ] {
            let fault = JsonFault::of(&RawValue::from_string(text.to_owned()).unwrap_err(), text);
            assert!(fault.words.contains(words), "{text}: {fault:?}");
            assert_eq!((fault.line, fault.column), (line, column), "{text}: {fault:?}");
            assert!(!fault.sentence().contains("at line"), "{text}");
        }
    }
}

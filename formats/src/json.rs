//! JSON that every reader understands alike: I-JSON (RFC 7493), checked and kept as its bytes.
//!
//! `serde_json` reads the grammar. The visitor here refuses further faults: duplicate keys, numbers that lose digits,
//! deep nesting. Nothing is ever re-serialised.

#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::limits::{MAX_JSON_DEPTH, MAX_JSON_NUMBER};

pub use text::write_json_text;

/// Keys of one object up to which each pair is compared; above it they are sorted.
const FEW_KEYS: usize = 12;
/// The bound of numbers with a fraction or an exponent: 2^53 - 8. They are read as a double that may be a few units
/// off. With this distance, none past 2^53 is taken.
const FRACTION_LIMIT: f64 = 9_007_199_254_740_984.0;
/// Bytes of a JSON pointer in an error; the steps that would go past it are left out.
const MAX_POINTER_BYTES: usize = 256;

/// One JSON value that has passed [`check_json`], as the bytes it was written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<'a>(Cow<'a, [u8]>);

impl<'a> Json<'a> {
    /// Takes one JSON value; white space around it is not part of it and is cut.
    ///
    /// # Errors
    ///
    /// Anything that [`check_json`] refuses.
    pub fn check(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, JsonError> {
        let bytes = bytes.into();
        check_json(&bytes)?;
        Ok(Self(match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(without_outer_space(bytes)),
            Cow::Owned(bytes) if without_outer_space(&bytes).len() == bytes.len() => Cow::Owned(bytes),
            Cow::Owned(bytes) => Cow::Owned(without_outer_space(&bytes).to_vec()),
        }))
    }

    /// Takes bytes that were checked before they were stored and have been authenticated since.
    #[must_use]
    pub fn stored(bytes: Cow<'a, [u8]>) -> Self {
        Self(bytes)
    }

    /// The bytes as the client wrote them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same value, on loan: its bytes are neither copied nor checked again.
    #[must_use]
    pub fn borrowed(&self) -> Json<'_> {
        Json(Cow::Borrowed(&self.0))
    }

    /// The same value with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }
}

impl Deref for Json<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn without_outer_space(bytes: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = bytes.iter().position(|byte| !is_space(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    bytes.get(start..end).unwrap_or_default()
}

/// An error in bytes that should be one JSON value, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The kind of error.
    pub kind: JsonErrorKind,
    /// The value it is in, as a JSON pointer (RFC 6901); the last steps may be missing.
    pub pointer: String,
    /// The line, from 1.
    pub line: usize,
    /// The byte in the line, from 1; 0 if the line has not begun.
    pub column: usize,
}

/// The ways in which bytes are not the JSON that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// Not JSON's grammar; also `NaN`, a second value after the first, or a byte order mark.
    #[error("not json")]
    Syntax,
    /// The bytes end before the value does.
    #[error("json ends early; send all of it")]
    Truncated,
    /// Not UTF-8.
    #[error("not utf-8; send json in utf-8")]
    InvalidUtf8,
    /// An object has two members of the same name.
    #[error("duplicate key; name each member once")]
    DuplicateKey,
    /// Objects and arrays within one another beyond [`MAX_JSON_DEPTH`].
    #[error("nested deeper than {MAX_JSON_DEPTH}; flatten it")]
    TooDeep,
    /// A number beyond [`MAX_JSON_NUMBER`], where readers disagree about its digits.
    #[error(
        "number beyond 2^53, which readers round; send a smaller one, or a string where a string is taken"
    )]
    NumberRange,
    /// A `\uD800`–`\uDFFF` escape without its other half.
    #[error("lone surrogate, which is no character; escape both halves or send utf-8")]
    LoneSurrogate,
    /// U+0000 in a string or a key.
    #[error("nul character in a string; leave it out")]
    Nul,
}

impl JsonErrorKind {
    /// The stable name of the problem in answers over HTTP.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "not-json",
            Self::Truncated => "truncated-json",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::DuplicateKey => "duplicate-key",
            Self::TooDeep => "too-deep",
            Self::NumberRange => "number-range",
            Self::LoneSurrogate => "lone-surrogate",
            Self::Nul => "nul-character",
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)?;
        if !self.pointer.is_empty() {
            write!(f, ", at {}", self.pointer.escape_debug())?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for JsonError {}

/// Checks that `bytes` are one JSON value within I-JSON and the limits on depth and numbers.
///
/// # Errors
///
/// The first problem, in reading order; a duplicate key is found where its object ends.
pub fn check_json(bytes: &[u8]) -> Result<(), JsonError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => check_json_text(text),
        Err(error) => Err(invalid_utf8(bytes, error.valid_up_to())),
    }
}

/// [`check_json`] for a text that is known to be UTF-8.
pub(crate) fn check_json_text(text: &str) -> Result<(), JsonError> {
    let mut checker = Checker::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Value { checker: &mut checker, depth: 0 }.deserialize(&mut deserializer);
    match read.and_then(|()| deserializer.end()) {
        Ok(()) => Ok(()),
        Err(error) => Err(checker.explain(&error, text.as_bytes())),
    }
}

/// The error for bytes that are UTF-8 only up to `valid_up_to`.
pub(crate) fn invalid_utf8(bytes: &[u8], valid_up_to: usize) -> JsonError {
    let valid = bytes.get(..valid_up_to).unwrap_or_default();
    let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    JsonError { kind: JsonErrorKind::InvalidUtf8, pointer: String::new(), line, column }
}

/// Returns the kind of problem that `serde_json` met on its own, in a text that the visitor did not refuse.
///
/// Its error codes are private, so some kinds are told by their messages; a test holds them to it.
pub(crate) fn grammar_problem(error: &serde_json::Error, bytes: &[u8]) -> JsonErrorKind {
    let message = error.to_string();
    // `1.` and `-` at the very end are called invalid numbers, although more might follow.
    let cut_number = message.starts_with("invalid number")
        && matches!(bytes.last(), Some(b'-' | b'+' | b'.' | b'e' | b'E'))
        && is_end(bytes, error.line(), error.column());
    if error.is_eof() || cut_number {
        JsonErrorKind::Truncated
    } else if message.starts_with("lone leading surrogate")
        || message.starts_with("unexpected end of hex escape")
    {
        JsonErrorKind::LoneSurrogate
    } else if message.starts_with("number out of range") {
        JsonErrorKind::NumberRange
    } else if message.starts_with("control character")
        && byte_at(bytes, error.line(), error.column()) == Some(0)
    {
        JsonErrorKind::Nul
    } else {
        JsonErrorKind::Syntax
    }
}

/// The byte that a `serde_json` error's line and column point to.
fn byte_at(bytes: &[u8], line: usize, column: usize) -> Option<u8> {
    let line = bytes.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
    line.get(column.checked_sub(1)?).copied()
}

/// Returns `true` if a line and column of a `serde_json` error are the last byte there is.
fn is_end(bytes: &[u8], line: usize, column: usize) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').skip(line.saturating_sub(1));
    lines.next().is_some_and(|last| last.len() == column) && lines.next().is_none()
}

/// The state along the way from the root to the value being read.
#[derive(Default)]
struct Checker<'de> {
    /// The keys of every open object, outermost first; an object knows where its own begin.
    keys: Vec<Cow<'de, str>>,
    /// The problem that the visitor met; the deserializer's own error type cannot carry it.
    problem: Option<JsonErrorKind>,
    /// The steps from the problem to the root, written while the calls return.
    steps: Vec<Step>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl<'de> Checker<'de> {
    fn refuse<E: Error>(&mut self, kind: JsonErrorKind) -> E {
        self.problem.get_or_insert(kind);
        E::custom(kind)
    }

    fn check_text<E: Error>(&mut self, text: &str) -> Result<(), E> {
        if text.as_bytes().contains(&0) { Err(self.refuse(JsonErrorKind::Nul)) } else { Ok(()) }
    }

    fn step_key(&mut self, key: usize) {
        if let Some(key) = self.keys.get(key) {
            // A step that is too long is cut with the pointer; no need to copy it whole.
            let shown = key.get(..key.floor_char_boundary(MAX_POINTER_BYTES + 1)).unwrap_or_default();
            self.steps.push(Step::Key(shown.to_owned()));
        }
    }

    /// The position of the first duplicate among the keys from `start` on, which may be reordered.
    fn duplicate_key(&mut self, start: usize) -> Option<usize> {
        let keys = self.keys.get_mut(start..)?;
        if keys.len() <= FEW_KEYS {
            let repeated = |(at, key): (usize, &Cow<'_, str>)| {
                keys.get(..at).is_some_and(|before| before.contains(key)).then_some(start + at)
            };
            return keys.iter().enumerate().find_map(repeated);
        }
        keys.sort_unstable();
        let first = keys.windows(2).position(|pair| matches!(pair, [one, other] if one == other))?;
        Some(start + first)
    }

    fn explain(&self, error: &serde_json::Error, bytes: &[u8]) -> JsonError {
        let kind = self.problem.unwrap_or_else(|| grammar_problem(error, bytes));
        let mut pointer = String::new();
        for step in self.steps.iter().rev() {
            let token = match step {
                Step::Key(key) => key.replace('~', "~0").replace('/', "~1"),
                Step::Index(index) => index.to_string(),
            };
            if pointer.len() + 1 + token.len() > MAX_POINTER_BYTES {
                break;
            }
            pointer.push('/');
            pointer.push_str(&token);
        }
        JsonError { kind, pointer, line: error.line(), column: error.column() }
    }
}

/// Reads one value at a depth and keeps nothing of it.
struct Value<'c, 'de> {
    checker: &'c mut Checker<'de>,
    depth: usize,
}

impl<'de> Value<'_, 'de> {
    fn deeper<E: Error>(&mut self) -> Result<usize, E> {
        if self.depth < MAX_JSON_DEPTH {
            Ok(self.depth + 1)
        } else {
            Err(self.checker.refuse(JsonErrorKind::TooDeep))
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _value: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        if value <= MAX_JSON_NUMBER { Ok(()) } else { Err(self.checker.refuse(JsonErrorKind::NumberRange)) }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit_u64(value.unsigned_abs())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if value.abs() < FRACTION_LIMIT {
            Ok(())
        } else {
            Err(self.checker.refuse(JsonErrorKind::NumberRange))
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.checker.check_text(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let depth = self.deeper()?;
        let mut index = 0;
        loop {
            match items.next_element_seed(Value { checker: &mut *self.checker, depth }) {
                Ok(Some(())) => index += 1,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.checker.steps.push(Step::Index(index));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let depth = self.deeper()?;
        let first = self.checker.keys.len();
        while members.next_key_seed(Key { checker: &mut *self.checker })?.is_some() {
            let key = self.checker.keys.len() - 1;
            if let Err(error) = members.next_value_seed(Value { checker: &mut *self.checker, depth }) {
                self.checker.step_key(key);
                return Err(error);
            }
        }
        if let Some(key) = self.checker.duplicate_key(first) {
            self.checker.step_key(key);
            return Err(self.checker.refuse(JsonErrorKind::DuplicateKey));
        }
        self.checker.keys.truncate(first);
        Ok(())
    }
}

/// Reads one key onto the checker's keys.
struct Key<'c, 'de> {
    checker: &'c mut Checker<'de>,
}

impl<'de> DeserializeSeed<'de> for Key<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<(), E> {
        self.checker.check_text(key)?;
        self.checker.keys.push(Cow::Borrowed(key));
        Ok(())
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.checker.check_text(key)?;
        self.checker.keys.push(Cow::Owned(key.to_owned()));
        Ok(())
    }
}

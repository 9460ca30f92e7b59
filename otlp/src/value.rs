//! Values of attributes, and the JSON that they are kept as.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bitacora_formats::limits::MAX_JSON_NUMBER;
use bitacora_formats::write_json_text;
use sha2::{Digest, Sha256};

use crate::limits::MAX_OTLP_TEXT_BYTES;

/// Names up to this number are compared with each other; more are put into a set.
const COMPARED_NAMES: usize = 32;

/// An attribute.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Attribute<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) value: AnyValue<'a>,
}

/// A value of an attribute.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum AnyValue<'a> {
    #[default]
    Empty,
    Text(Cow<'a, str>),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(Cow<'a, [u8]>),
    List(Vec<Self>),
    Map(Vec<Attribute<'a>>),
}

impl AnyValue<'_> {
    /// Returns the text, where it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a whole number that is not negative. Some senders write numbers as texts.
    pub(crate) fn as_count(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::Double(number) => whole(*number),
            Self::Text(text) => text.parse().ok().or_else(|| whole(text.parse().ok()?)),
            _ => None,
        }
    }

    /// Returns a number that is not negative.
    pub(crate) fn as_amount(&self) -> Option<f64> {
        let number = match self {
            Self::Double(number) => *number,
            Self::Text(text) => text.parse().ok()?,
            // A count of dollars is far below what a double holds.
            Self::Int(number) => f64::from(i32::try_from(*number).ok()?),
            _ => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// Returns a truth value. Some senders write it as a text.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Text(text) if text == "true" => Some(true),
            Self::Text(text) if text == "false" => Some(false),
            _ => None,
        }
    }

    /// Appends it as JSON that any event may hold.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.extend_from_slice(b"null"),
            Self::Text(text) => write_text(text, out),
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Int(number) if number.unsigned_abs() <= MAX_JSON_NUMBER => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            Self::Int(number) => write_text(&number.to_string(), out),
            Self::Double(number) => write_double(*number, out),
            Self::Bytes(bytes) => write_bytes(bytes, out),
            Self::List(values) => {
                out.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    value.write(out);
                }
                out.push(b']');
            }
            Self::Map(members) => write_members(members.iter(), out),
        }
    }
}

/// Appends attributes as an object. Of two of one name the first counts.
pub(crate) fn write_members<'m, 'a: 'm>(members: impl Iterator<Item = &'m Attribute<'a>>, out: &mut Vec<u8>) {
    let mut seen = SeenNames::default();
    out.push(b'{');
    let mut is_first = true;
    for member in members {
        let key = without_nul(&member.key);
        if !seen.insert(key.clone()) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        write_json_text(&key, out);
        out.push(b':');
        member.value.write(out);
    }
    out.push(b'}');
}

/// The names of an object so far.
#[derive(Default)]
struct SeenNames<'m> {
    few: Vec<Cow<'m, str>>,
    many: HashSet<Cow<'m, str>>,
}

impl<'m> SeenNames<'m> {
    fn insert(&mut self, name: Cow<'m, str>) -> bool {
        if self.few.contains(&name) {
            return false;
        }
        if self.few.len() < COMPARED_NAMES {
            self.few.push(name);
            return true;
        }
        self.many.insert(name)
    }
}

/// Appends a text as JSON; a long one as its digest and length.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    if text.len() > MAX_OTLP_TEXT_BYTES {
        write_digest(text.as_bytes(), out);
    } else {
        write_json_text(&without_nul(text), out);
    }
}

/// JSON of an event holds no U+0000.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte == 0) {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() > MAX_OTLP_TEXT_BYTES {
        write_digest(bytes, out);
    } else {
        write_json_text(&STANDARD.encode(bytes), out);
    }
}

fn write_digest(bytes: &[u8], out: &mut Vec<u8>) {
    let digest = hex::encode(Sha256::digest(bytes));
    out.extend_from_slice(format!(r#"{{"sha256":"{digest}","bytes":{}}}"#, bytes.len()).as_bytes());
}

/// Appends a number that reading does not round; any other as a text.
fn write_double(number: f64, out: &mut Vec<u8>) {
    // The bound itself has no fraction, and so is exact.
    let bound = MAX_JSON_NUMBER as f64 - 8.0;
    if number.is_nan() {
        out.extend_from_slice(br#""NaN""#);
    } else if number.is_infinite() {
        out.extend_from_slice(if number > 0.0 { br#""Infinity""# } else { br#""-Infinity""# });
    } else if number.abs() < bound {
        out.extend_from_slice(
            serde_json::Number::from_f64(number).map_or_else(String::new, |n| n.to_string()).as_bytes(),
        );
    } else {
        write_json_text(&number.to_string(), out);
    }
}

/// A double as a whole number, where it is one that is not negative.
fn whole(number: f64) -> Option<u64> {
    let is_whole = number >= 0.0 && number <= MAX_JSON_NUMBER as f64 && number.fract() == 0.0;
    // Its text has no fraction and no exponent.
    is_whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &AnyValue<'_>) -> String {
        let mut out = Vec::new();
        value.write(&mut out);
        let text = String::from_utf8(out).unwrap();
        bitacora_formats::check_json(text.as_bytes()).unwrap();
        text
    }

    #[test]
    fn every_value_is_json_that_an_event_may_hold() {
        let text = |text: &'static str| AnyValue::Text(text.into());
        assert_eq!(json(&text("a\0\"b\u{1}")), "\"a\u{fffd}\\\"b\\u0001\"");
        assert_eq!(json(&AnyValue::Int(-9_007_199_254_740_992)), "-9007199254740992");
        assert_eq!(json(&AnyValue::Int(i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(json(&AnyValue::Double(0.1)), "0.1");
        assert_eq!(json(&AnyValue::Double(f64::NAN)), "\"NaN\"");
        assert_eq!(json(&AnyValue::Double(f64::NEG_INFINITY)), "\"-Infinity\"");
        assert_eq!(json(&AnyValue::Double(1e300)).len(), 303);
        assert_eq!(json(&AnyValue::Double(5e-324)), "5e-324");
        assert_eq!(json(&AnyValue::Bytes(Cow::Borrowed(&[0, 255]))), "\"AP8=\"");
        assert_eq!(json(&AnyValue::List(vec![AnyValue::Empty, AnyValue::Bool(true)])), "[null,true]");
    }

    #[test]
    fn of_two_members_of_one_name_the_first_counts() {
        let member = |key: String, number| Attribute { key: key.into(), value: AnyValue::Int(number) };
        let twice = AnyValue::Map(vec![member("a".into(), 1), member("b".into(), 2), member("a".into(), 3)]);
        assert_eq!(json(&twice), r#"{"a":1,"b":2}"#);
        let nul = AnyValue::Map(vec![member("\0".into(), 1), member("\u{fffd}".into(), 2)]);
        assert_eq!(json(&nul), "{\"\u{fffd}\":1}");
        let many = (0..100).chain(0..100).map(|name| member(name.to_string(), name)).collect();
        assert_eq!(json(&AnyValue::Map(many)).matches(':').count(), 100);
    }

    #[test]
    fn a_long_text_is_kept_as_its_digest() {
        let long = "x".repeat(MAX_OTLP_TEXT_BYTES + 1);
        let kept = json(&AnyValue::Text(long.as_str().into()));
        let expected = hex::encode(Sha256::digest(long.as_bytes()));
        assert_eq!(kept, format!(r#"{{"sha256":"{expected}","bytes":16385}}"#));
        assert_eq!(json(&AnyValue::Text(long[1..].into())).len(), MAX_OTLP_TEXT_BYTES + 2);
    }

    #[test]
    fn numbers_are_read_from_texts_too() {
        let text = |text: &'static str| AnyValue::Text(text.into());
        assert_eq!(text("12").as_count(), Some(12));
        assert_eq!(text("12.0").as_count(), Some(12));
        assert_eq!(AnyValue::Double(12.5).as_count(), None);
        assert_eq!(AnyValue::Int(-1).as_count(), None);
        assert_eq!(text("0.0018").as_amount(), Some(0.0018));
        assert_eq!(text("-1").as_amount(), None);
        assert_eq!(text("inf").as_amount(), None);
        assert_eq!((text("true").as_bool(), text("yes").as_bool()), (Some(true), None));
    }
}

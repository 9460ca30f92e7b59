//! JSON answers: of types of the interface, or written straight into their bytes where that is worth it.

use bitacora_formats::write_json_text;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::problem::{Code, Problem};

/// Returns an answer of the interface as JSON. None of ours fails to become that.
pub(crate) fn json_of(answer: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(answer).map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// Returns a part of an answer that has a schema of its own. Its members keep their order.
pub(crate) fn raw_json(part: &impl Serialize) -> Result<Box<RawValue>, Problem> {
    to_raw_value(part).map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// Returns the word that a value without members is written as.
pub(crate) fn word_of(value: &impl Serialize) -> Result<String, Problem> {
    let word = serde_json::to_value(value).and_then(serde_json::from_value);
    word.map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// Returns bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    write_hex(bytes, &mut digits);
    digits.into_iter().map(char::from).collect()
}

/// Writes one JSON value after another, with the commas between them.
pub(crate) struct JsonWriter {
    bytes: Vec<u8>,
    needs_comma: bool,
}

impl JsonWriter {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), needs_comma: false }
    }

    /// Goes on behind what is written already.
    pub(crate) fn behind(bytes: Vec<u8>) -> Self {
        Self { bytes, needs_comma: false }
    }

    pub(crate) fn begin_object(&mut self) {
        self.begin(b'{');
    }

    pub(crate) fn end_object(&mut self) {
        self.end(b'}');
    }

    pub(crate) fn begin_array(&mut self) {
        self.begin(b'[');
    }

    pub(crate) fn end_array(&mut self) {
        self.end(b']');
    }

    /// The name of the member whose value is written next. It is one of ours, without anything to be escaped.
    pub(crate) fn key(&mut self, name: &'static str) {
        self.comma();
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        self.needs_comma = false;
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.comma();
        write_json_text(text, &mut self.bytes);
        self.needs_comma = true;
    }

    pub(crate) fn text_member(&mut self, name: &'static str, text: &str) {
        self.key(name);
        self.text(text);
    }

    /// A number as a decimal string: positions and versions, which may be past 2^53.
    pub(crate) fn place_member(&mut self, name: &'static str, number: u64) {
        self.key(name);
        self.bytes.push(b'"');
        write_decimal(number, &mut self.bytes);
        self.bytes.push(b'"');
        self.needs_comma = true;
    }

    pub(crate) fn number_member(&mut self, name: &'static str, number: u64) {
        self.key(name);
        write_decimal(number, &mut self.bytes);
        self.needs_comma = true;
    }

    pub(crate) fn bool_member(&mut self, name: &'static str, value: bool) {
        self.key(name);
        self.bytes.extend_from_slice(if value { b"true" } else { b"false" });
        self.needs_comma = true;
    }

    /// Bytes as lower-case hexadecimal.
    pub(crate) fn hex_member(&mut self, name: &'static str, bytes: &[u8]) {
        self.key(name);
        self.bytes.push(b'"');
        write_hex(bytes, &mut self.bytes);
        self.bytes.push(b'"');
        self.needs_comma = true;
    }

    /// A value written by someone else, which must be one JSON value.
    pub(crate) fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.comma();
        write(&mut self.bytes);
        self.needs_comma = true;
    }

    /// Ends a line of NDJSON.
    pub(crate) fn end_line(&mut self) {
        self.bytes.push(b'\n');
        self.needs_comma = false;
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn begin(&mut self, bracket: u8) {
        self.comma();
        self.bytes.push(bracket);
        self.needs_comma = false;
    }

    fn end(&mut self, bracket: u8) {
        self.bytes.push(bracket);
        self.needs_comma = true;
    }

    fn comma(&mut self) {
        if self.needs_comma {
            self.bytes.push(b',');
        }
    }
}

pub(crate) fn write_decimal(number: u64, out: &mut Vec<u8>) {
    // Digits of the largest number.
    let mut digits = [0; 20];
    let (mut rest, mut used) = (number, 0);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.split_at(digits.len() - used).1);
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
    for bytes in bytes.chunks(32) {
        let mut digits = [[0; 2]; 32];
        for (pair, byte) in digits.iter_mut().zip(bytes) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        out.extend_from_slice(digits.as_flattened().split_at(2 * bytes.len()).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_values_and_nowhere_else() {
        let mut json = JsonWriter::with_capacity(0);
        json.begin_object();
        json.key("a");
        json.begin_array();
        json.text("x");
        json.begin_object();
        json.end_object();
        json.end_array();
        json.place_member("b", u64::MAX);
        json.number_member("c", 0);
        json.hex_member("d", &[0, 0xaf]);
        json.bool_member("e", false);
        json.end_object();
        json.end_line();
        assert_eq!(
            String::from_utf8(json.into_bytes()).unwrap(),
            "{\"a\":[\"x\",{}],\"b\":\"18446744073709551615\",\"c\":0,\"d\":\"00af\",\"e\":false}\n"
        );
    }
}

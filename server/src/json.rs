//! JSON answers, written straight into their bytes.

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

    /// The name of the member whose value is written next.
    pub(crate) fn key(&mut self, name: &str) {
        self.text(name);
        self.bytes.push(b':');
        self.needs_comma = false;
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.comma();
        write_text(text, &mut self.bytes);
        self.needs_comma = true;
    }

    pub(crate) fn text_member(&mut self, name: &str, text: &str) {
        self.key(name);
        self.text(text);
    }

    /// A number as a decimal string: positions and versions, which may be past 2^53.
    pub(crate) fn place_member(&mut self, name: &str, number: u64) {
        self.key(name);
        self.bytes.push(b'"');
        write_decimal(number, &mut self.bytes);
        self.bytes.push(b'"');
        self.needs_comma = true;
    }

    pub(crate) fn number_member(&mut self, name: &str, number: u64) {
        self.key(name);
        write_decimal(number, &mut self.bytes);
        self.needs_comma = true;
    }

    pub(crate) fn bool_member(&mut self, name: &str, value: bool) {
        self.key(name);
        self.bytes.extend_from_slice(if value { b"true" } else { b"false" });
        self.needs_comma = true;
    }

    /// Bytes as lower-case hexadecimal.
    pub(crate) fn hex_member(&mut self, name: &str, bytes: &[u8]) {
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

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let Some(byte) = special.bytes().next() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                out.extend_from_slice(b"\\u00");
                write_hex(&[control], out);
            }
        }
        rest = special.split_at(1).1;
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

pub(crate) fn write_decimal(number: u64, out: &mut Vec<u8>) {
    let start = out.len();
    let mut rest = number;
    loop {
        out.push(b'0' + u8::try_from(rest % 10).unwrap_or_default());
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
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

    #[test]
    fn texts_are_escaped_as_serde_json_reads_them() {
        for text in ["", "plain", "a\"b\\c", "\u{0}\u{1f}\n\r\t", "é\u{2028}😀", "\u{7f}"] {
            let mut out = Vec::new();
            write_text(text, &mut out);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}

//! Texts as JSON strings.

/// The same byte in each place of a word.
const fn everywhere(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Appends a JSON string. Only characters that JSON requires are escaped; everything else stays UTF-8.
pub fn write_json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = first_special(rest) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((special, behind)) = special.split_first() else { break };
        match special {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *special]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                out.extend_from_slice(&[
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    hex_digit(control >> 4),
                    hex_digit(control & 15),
                ]);
            }
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns the index of the first byte that must be escaped. It looks at eight bytes at a time: nearly every text has none.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special_marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))?;
    Some(words.len() * 8 + at)
}

/// The highest bit of the first byte that must be escaped; bits above it mean nothing.
const fn special_marks(word: u64) -> u64 {
    const fn below(word: u64, limit: u8) -> u64 {
        word.wrapping_sub(everywhere(limit)) & !word
    }
    let marks = below(word, b' ') | below(word ^ everywhere(b'"'), 1) | below(word ^ everywhere(b'\\'), 1);
    marks & everywhere(0x80)
}

const fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write_json_text(text, &mut out);
        out
    }

    #[test]
    fn texts_are_escaped_as_serde_json_reads_them() {
        for text in
            ["", "plain", "a\"b\\c", "\u{0}\u{1f}\n\r\t", "é\u{2028}😀", "\u{7f}", "\u{80}\u{a2}\u{dc}"]
        {
            assert_eq!(serde_json::from_slice::<String>(&written(text)).unwrap(), text);
        }
        assert_eq!(written("a\"b\u{1}\n"), b"\"a\\\"b\\u0001\\n\"");
    }

    #[test]
    fn each_byte_is_judged_alike_wherever_it_stands() {
        for character in (0..0x180).filter_map(char::from_u32) {
            for before in 0..18 {
                for after in [0, 1, 9] {
                    let text = format!("{}{character}{}", "x".repeat(before), "é".repeat(after));
                    let bytes = written(&text);
                    assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
                    let is_special = matches!(character, '"' | '\\' | '\0'..='\u{1f}');
                    assert_eq!(bytes.len() > text.len() + 2, is_special, "{text:?}");
                }
            }
        }
    }
}

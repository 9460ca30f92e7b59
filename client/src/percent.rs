//! Texts in the address of a resource.

/// The text with every byte but letters, digits and `-._~` as `%` and two digits (RFC 3986, unreserved characters).
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().map_or('0', char::from);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', digit(byte >> 4), digit(byte & 0xF)]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_place_in_an_address() {
        assert_eq!(percent_encoded("run/7?a&b=c d#é%"), "run%2F7%3Fa%26b%3Dc%20d%23%C3%A9%25");
        assert_eq!(percent_encoded("aZ09-._~"), "aZ09-._~");
    }
}

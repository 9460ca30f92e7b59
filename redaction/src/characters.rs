//! The characters of a JSON string, read in place: an escape is one character and never cut.

/// Stands for every character outside ASCII, which no secret holds but a password may.
pub(super) const NOT_ASCII: u8 = 0x80;

/// The character at `at` and the bytes it takes; `None` at the end of the string or of the text.
#[inline]
pub(super) fn character(json: &[u8], at: usize) -> Option<(u8, usize)> {
    match *json.get(at)? {
        b'"' => None,
        b'\\' => escaped_character(json, at),
        plain => Some((plain.min(NOT_ASCII), 1)),
    }
}

fn escaped_character(json: &[u8], at: usize) -> Option<(u8, usize)> {
    let character = match *json.get(at + 1)? {
        b'u' => {
            let digits = json.get(at + 2..)?.first_chunk()?;
            return Some((escaped_unit(*digits)?, 6));
        }
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        itself => itself,
    };
    Some((character, 2))
}

/// The character of `\u` and these four digits.
fn escaped_unit(digits: [u8; 4]) -> Option<u8> {
    let mut value = 0_u32;
    for digit in digits {
        value = value * 16 + char::from(digit).to_digit(16)?;
    }
    Some(u8::try_from(value).unwrap_or(NOT_ASCII).min(NOT_ASCII))
}

/// Characters of one class, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct CharacterRun {
    /// The end of the run, in bytes.
    pub(super) end: usize,
    /// The number of characters.
    pub(super) length: usize,
    pub(super) digits: usize,
    /// The most letters and digits in a row.
    pub(super) longest_word: usize,
}

/// The run from `at` of at most `most` characters that are `allowed`.
pub(super) fn run(json: &[u8], at: usize, most: usize, allowed: impl Fn(u8) -> bool) -> CharacterRun {
    let mut run = CharacterRun { end: at, length: 0, digits: 0, longest_word: 0 };
    let mut word = 0;
    while run.length < most
        && let Some((character, bytes)) = character(json, run.end)
        && allowed(character)
    {
        run.end += bytes;
        run.length += 1;
        run.digits += usize::from(character.is_ascii_digit());
        word = if character.is_ascii_alphanumeric() { word + 1 } else { 0 };
        run.longest_word = run.longest_word.max(word);
    }
    run
}

/// Returns `true` if a secret may begin at `at`: neither inside an escape nor after a character that `joins` it to a longer word.
///
/// Where the last secret ended (`replaced`) its replacement's bracket will stand, whatever stood there. An escape may be
/// that of JSON inside JSON, which is why `\\n` ends a word too.
pub(super) fn begins(json: &[u8], at: usize, replaced: usize, joins: impl Fn(u8) -> bool) -> bool {
    if at == replaced {
        return true;
    }
    match json.get(..at).unwrap_or_default() {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'/' | b'"'] => true,
        [.., b'\\', b'u', a, b, c, d] => escaped_unit([*a, *b, *c, *d]).is_some_and(|before| !joins(before)),
        before @ [.., b'\\'] => before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0,
        [.., before] => !joins(*before),
        [] => true,
    }
}

/// The end of the string that was asked about last; a long string with many secrets is scanned once.
#[derive(Debug, Default)]
pub(super) struct StringEnd {
    end: usize,
    is_value: bool,
}

impl StringEnd {
    /// Returns `true` if the string around `at` is a value and not the name of a member. `at` is the place of a character or the string's
    /// end; calls must come with rising `at`.
    pub(super) fn is_value(&mut self, json: &[u8], at: usize) -> bool {
        if at > self.end {
            let mut end = at;
            while let Some((_, bytes)) = character(json, end) {
                end += bytes;
            }
            let after = json.get(end..).unwrap_or_default();
            let mut next = after.iter().skip(1).filter(|byte| !byte.is_ascii_whitespace());
            self.end = end;
            self.is_value = after.first() == Some(&b'"') && next.next() != Some(&b':');
        }
        self.is_value
    }
}

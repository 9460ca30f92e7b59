//! Long places, shortened so that different ones stay different.

use sha2::{Digest, Sha256};

use super::{NO_CONTEXT, PlaceText};

/// Bytes of a place that is kept whole.
const MAX_WHOLE_BYTES: usize = 256;
/// Bytes of a longer one that are kept before its digest.
const HEAD_BYTES: usize = 200;

/// Digits of that digest.
const DIGEST_DIGITS: usize = 32;

/// Returns the text as it is recorded: whole, or its beginning and a digest of all of it. Characters that a terminal would obey are
/// written as their numbers.
pub(crate) fn shortened(text: &str) -> PlaceText {
    let mut shown = String::with_capacity(text.len().min(MAX_WHOLE_BYTES));
    for character in text.chars().take(MAX_WHOLE_BYTES + 1) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if shown.len() > MAX_WHOLE_BYTES {
        shown.truncate(shown.floor_char_boundary(HEAD_BYTES));
        let digest = Sha256::digest(text.as_bytes());
        shown.push('~');
        digest.iter().take(DIGEST_DIGITS / 2).for_each(|byte| shown.push_str(&format!("{byte:02x}")));
    }
    PlaceText::new(shown).unwrap_or_else(|_| no_context())
}

/// Returns `true` if a recorded place is the beginning of a longer one, or may be taken for it.
pub(crate) fn is_cut(place: &str) -> bool {
    place.len() > HEAD_BYTES
        && place.rsplit_once('~').is_some_and(|(_, digest)| digest.len() == DIGEST_DIGITS)
}

#[expect(clippy::expect_used, reason = "a text of one character is a text")]
fn no_context() -> PlaceText {
    PlaceText::new(NO_CONTEXT).expect("`-` is short and plain")
}

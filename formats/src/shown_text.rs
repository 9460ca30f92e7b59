//! Text from elsewhere, made safe to show on a terminal or a page.

use std::borrow::Cow;

use crate::note::is_bidi_control;

/// Returns the text without characters that would control a terminal: events and answers come from elsewhere.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if controls_terminal(character) {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// Returns the JSON with characters that would control a terminal escaped as JSON has it, which keeps the meaning. The
/// JSON has no line breaks between its tokens.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(controls_terminal) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if controls_terminal(character) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            units.iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

/// Returns the beginning of a text, with a mark where it is cut.
#[must_use]
pub fn shortened(text: &str, characters: usize) -> String {
    let mut shown: String = text.chars().take(characters).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Returns `true` if the character would control a terminal or the text around it, or be invisible, instead of being
/// shown.
fn controls_terminal(character: char) -> bool {
    character.is_control() || is_bidi_control(character) || is_invisible(character)
}

/// Returns `true` for separators of lines, and for characters that a terminal may show as nothing: Unicode's property
/// `Default_Ignorable_Code_Point`. A person who reads `push` must not approve another word.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_controls_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\u{9b}c\n"), "a\\u{1b}[2Jb\\u{9b}c\\n");
        assert_eq!(printable("a\u{202e}b\u{2069}\u{e9}"), "a\\u{202e}b\\u{2069}\u{e9}");
        assert_eq!(
            printable_json("{\"a\u{9b}\":\"\u{202e}\u{7f}\u{e9}\"}"),
            "{\"a\\u009b\":\"\\u202e\\u007f\u{e9}\"}"
        );
        assert!(matches!(printable_json("{\"\u{e9}\":1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_character_is_invisible() {
        assert_eq!(printable("git pu\u{200b}sh\u{2028}\u{e0041}"), "git pu\\u{200b}sh\\u{2028}\\u{e0041}");
        assert_eq!(printable_json("[\"\u{ad}\u{e0041}\"]"), "[\"\\u00ad\\udb40\\udc41\"]");
    }

    #[test]
    fn a_text_longer_than_it_may_be_is_cut_with_a_mark() {
        assert_eq!((shortened("ßß", 2), shortened("ßßß", 2)), ("ßß".to_owned(), "ßß…".to_owned()));
    }
}

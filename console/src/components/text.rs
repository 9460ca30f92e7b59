//! Texts that anybody may have written: shown as text, with nothing hidden in them.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, Script};
use icu_properties::{CodePointMapData, CodePointSetData};
use maud::{Markup, PreEscaped, html};

use crate::limits::{MAX_SHOWN_CHARS, SHOWN_CHARS};

/// Returns a text on which a browser acts in no way. Characters that are not seen, or that turn others around, are shown by their number.
/// In a word of Latin letters, letters of another script are marked.
pub(crate) fn text(of: &str) -> Markup {
    let mut escaped = String::with_capacity(of.len());
    for word in of.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
        let is_mixed = mixes_scripts(word);
        for letter in word.chars() {
            push_visible(&mut escaped, letter, is_mixed);
        }
    }
    PreEscaped(escaped)
}

/// Returns a text as it stands, with its lines; folded where it is long, and cut where it is too long for a page.
pub(crate) fn long_text(of: &str) -> Markup {
    let characters = of.chars().count();
    let shown: String = of.chars().take(MAX_SHOWN_CHARS).collect();
    let cut = html! { @if characters > MAX_SHOWN_CHARS {
        p.note { "The first " (MAX_SHOWN_CHARS) " of " (characters) " characters are shown." }
    } };
    if characters <= SHOWN_CHARS {
        return html! { pre { (text(&shown)) } };
    }
    let first: String = of.chars().take(SHOWN_CHARS).collect();
    html! {
        pre { (text(&first)) "…" }
        details { summary { "Show all " (characters) " characters" } pre { (text(&shown)) } (cut) }
    }
}

fn push_visible(escaped: &mut String, letter: char, is_mixed: bool) {
    match letter {
        '&' => escaped.push_str("&amp;"),
        '<' => escaped.push_str("&lt;"),
        '>' => escaped.push_str("&gt;"),
        '"' => escaped.push_str("&quot;"),
        '\'' => escaped.push_str("&#39;"),
        '\n' | ' ' => escaped.push(letter),
        '\t' => escaped.push_str("<span class=\"unseen\">\\t</span>"),
        '\r' => escaped.push_str("<span class=\"unseen\">\\r</span>"),
        letter if is_unseen(letter) => {
            escaped.push_str(&format!("<span class=\"unseen\">U+{:04X}</span>", u32::from(letter)));
        }
        letter if is_mixed && !is_latin_or_common(letter) => {
            let number = u32::from(letter);
            escaped.push_str(&format!(
                "<span class=\"lookalike\" title=\"U+{number:04X}, of another script\">{letter}</span>"
            ));
        }
        letter => escaped.push(letter),
    }
}

/// Returns `true` for characters that nobody sees as such: controls, formats, unassigned ones, and blanks that are no space.
fn is_unseen(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(letter);
    let is_hidden = matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Unassigned
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
    );
    is_hidden || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(letter)
}

fn is_latin_or_common(letter: char) -> bool {
    letter.is_ascii()
        || matches!(
            CodePointMapData::<Script>::new().get(letter),
            Script::Latin | Script::Common | Script::Inherited
        )
}

/// Returns `true` for a word that has Latin letters and others.
fn mixes_scripts(word: &str) -> bool {
    !word.is_ascii()
        && word.chars().any(|letter| letter.is_ascii_alphabetic())
        && word.chars().any(|letter| !is_latin_or_common(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        let shown = text("<script>alert(\"1\")</script>&'").into_string();
        assert_eq!(shown, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
    }

    #[test]
    fn what_is_not_seen_is_shown_by_its_number() {
        for (letter, number) in [
            ('\u{202e}', "202E"),
            ('\u{200b}', "200B"),
            ('\u{2066}', "2066"),
            ('\u{1b}', "001B"),
            ('\u{ad}', "00AD"),
            ('\u{a0}', "00A0"),
            ('\u{2028}', "2028"),
            ('\u{115f}', "115F"),
            ('\u{e0041}', "E0041"),
        ] {
            let shown = text(&format!("rm{letter}x")).into_string();
            assert_eq!(shown, format!("rm<span class=\"unseen\">U+{number}</span>x"));
        }
    }

    #[test]
    fn letters_of_another_script_are_marked_in_latin_words_alone() {
        assert!(text("p\u{0430}ypal.com").into_string().contains("lookalike"));
        for whole in ["привет мир", "naïve café", "日本語 text", "α = 1"] {
            assert!(!text(whole).into_string().contains("lookalike"), "{whole}");
        }
    }

    #[test]
    fn a_long_text_is_folded_and_a_longer_one_cut() {
        assert!(!long_text(&"x".repeat(SHOWN_CHARS)).into_string().contains("<details>"));
        let folded = long_text(&"x".repeat(SHOWN_CHARS + 1)).into_string();
        assert!(folded.contains("Show all 2001 characters"));
        let cut = long_text(&"x".repeat(10_000_000)).into_string();
        assert!(cut.len() < 3 * MAX_SHOWN_CHARS);
        assert!(cut.contains("The first 100000 of 10000000 characters are shown."));
    }
}

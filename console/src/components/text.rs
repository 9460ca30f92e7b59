//! Texts that anybody may have written: shown as text, with nothing hidden in them.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, Script};
use icu_properties::{CodePointMapData, CodePointSetData};
use maud::{Markup, PreEscaped, html};

use crate::limits::{MAX_SHOWN_CHARS, SHOWN_CHARS};

/// Returns a text on which a browser acts in no way. Characters that are not seen, or that turn others around, are shown by their number.
/// In a word of Latin letters, letters of another script are marked.
pub(crate) fn text(of: &str) -> Markup {
    words(of, mixes_scripts)
}

/// Returns a line of a source or a document. Besides, words of another script are marked all of whose letters look like Latin ones: in a
/// name that a program compares, nobody sees the difference.
pub(crate) fn source_text(of: &str) -> Markup {
    words(of, |word| mixes_scripts(word) || imitates_latin(word))
}

fn words(of: &str, is_marked: fn(&str) -> bool) -> Markup {
    let mut escaped = String::with_capacity(of.len());
    for word in of.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
        let is_marked = is_marked(word);
        for letter in word.chars() {
            push_visible(&mut escaped, letter, is_marked);
        }
    }
    PreEscaped(escaped)
}

/// Returns a text for a place that takes no markup, as a page's title. What is not seen stands there by its number.
pub(crate) fn plain_text(of: &str) -> String {
    of.chars().fold(String::with_capacity(of.len()), |mut plain, letter| {
        if is_unseen(letter) {
            plain.push_str(&number(letter));
        } else {
            plain.push(letter);
        }
        plain
    })
}

/// Returns a word that decides what runs, as a command, a path, a host or a tool: each character outside ASCII is marked, and so are lines.
pub(crate) fn code_text(of: &str) -> Markup {
    code(of, false)
}

/// Returns the same for a block of lines, in which lines are seen as such.
pub(crate) fn code_lines(of: &str) -> Markup {
    code(of, true)
}

fn code(of: &str, has_lines: bool) -> Markup {
    let mut escaped = String::with_capacity(of.len());
    let mut foreign = String::new();
    for letter in of.chars() {
        let is_foreign = !letter.is_ascii() && !is_unseen(letter) && !is_combining(letter);
        if !is_foreign || foreign.chars().count() == MARKED_TOGETHER {
            push_foreign(&mut escaped, &mut foreign);
        }
        match letter {
            letter if is_foreign => foreign.push(letter),
            '\n' if !has_lines => escaped.push_str("<span class=\"unseen\">\\n</span>"),
            letter if is_combining(letter) => push_number(&mut escaped, letter),
            letter => push_visible(&mut escaped, letter, false),
        }
    }
    push_foreign(&mut escaped, &mut foreign);
    PreEscaped(escaped)
}

/// Returns a name that somebody else chose, in a box, so that it does not read as words of the console, nor turns around what stands by it.
pub(crate) fn name(of: &str) -> Markup {
    html! { bdi { code.name { (text(of)) } } }
}

/// Returns a name of which a line shows no more than its beginning. The whole of it is told where a pointer rests on it.
pub(crate) fn clipped_name(of: &str) -> Markup {
    let begin: String = of.chars().take(NAME_CHARS).collect();
    if begin.len() == of.len() {
        return name(of);
    }
    html! { bdi title=(plain_text(of)) { code.name { (text(&begin)) "…" } } }
}

/// Returns the same of a word that decides what runs, with each character outside ASCII marked.
pub(crate) fn code_name(of: &str) -> Markup {
    html! { bdi { code.name { (code_text(of)) } } }
}

/// Returns a sentence of the console or of the interface, in which names stand between backticks, with each name in its
/// box. A name without an end was cut, and ends there.
pub(crate) fn sentence(of: &str) -> Markup {
    html! { @for (at, part) in of.split('`').enumerate() {
        @if at.is_multiple_of(2) { (text(part)) } @else { (name(part)) }
    } }
}

/// Returns a name for a sentence: between backticks, with none in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// The characters of a name in a line that has other words too.
const NAME_CHARS: usize = 200;
/// The most characters that one mark tells the numbers of.
const MARKED_TOGETHER: usize = 16;

/// Adds characters outside ASCII under one mark, and leaves none of them.
fn push_foreign(escaped: &mut String, foreign: &mut String) {
    if foreign.is_empty() {
        return;
    }
    let numbers: Vec<String> = foreign.chars().map(number).collect();
    let mark =
        format!("<span class=\"lookalike\" title=\"{}, not ASCII\">{foreign}</span>", numbers.join(" "));
    escaped.push_str(&mark);
    foreign.clear();
}

/// Returns a text as it stands, with its lines; folded where it is long, and cut where it is too long for a page.
pub(crate) fn long_text(of: &str) -> Markup {
    long(of, text)
}

/// Returns the same of a text that decides what runs.
pub(crate) fn long_code(of: &str) -> Markup {
    long(of, code_lines)
}

/// Returns the same of a source or a document.
pub(crate) fn long_source(of: &str) -> Markup {
    long(of, source_text)
}

fn long(of: &str, show: fn(&str) -> Markup) -> Markup {
    let characters = of.chars().count();
    let is_cut = characters > MAX_SHOWN_CHARS;
    let shown: String = of.chars().take(MAX_SHOWN_CHARS).collect();
    if characters <= SHOWN_CHARS {
        return html! { pre { (show(&shown)) } };
    }
    let first: String = of.chars().take(SHOWN_CHARS).collect();
    let hidden = characters - SHOWN_CHARS;
    html! {
        pre { (show(&first)) "…" }
        details {
            summary {
                @if is_cut { "Show the first " (MAX_SHOWN_CHARS) " of " (characters) " characters" }
                @else { "Show all " (characters) " characters (" (hidden) " hidden)" }
            }
            pre { (show(&shown)) }
            @if is_cut { p.note { "The first " (MAX_SHOWN_CHARS) " of " (characters) " characters are shown." } }
        }
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
        letter if is_unseen(letter) => push_number(escaped, letter),
        letter if is_mixed && !is_latin_or_common(letter) => {
            let number = number(letter);
            escaped.push_str(&format!(
                "<span class=\"lookalike\" title=\"{number}, of another script\">{letter}</span>"
            ));
        }
        letter => escaped.push(letter),
    }
}

fn push_number(escaped: &mut String, letter: char) {
    escaped.push_str(&format!("<span class=\"unseen\">{}</span>", number(letter)));
}

fn number(of: char) -> String {
    format!("U+{:04X}", u32::from(of))
}

/// Returns `true` for marks that are drawn over or under another character.
fn is_combining(letter: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    let category = CodePointMapData::<GeneralCategory>::new().get(letter);
    matches!(category, NonspacingMark | SpacingMark | EnclosingMark)
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

/// Letters of Cyrillic, Greek and Armenian that look like a Latin one in most fonts (Unicode's `confusables.txt`).
const LATIN_TWINS: &str = "аԁеһіјӏորսօоԛрсѕтухѵԝүзꙮАВЕЗНІЈКМОРСЅТХУԌԚԜҮνορυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ";

/// Returns `true` for a word of letters that all look like Latin ones, and none of them is.
fn imitates_latin(word: &str) -> bool {
    let mut letters = word.chars().filter(|letter| letter.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(|letter| LATIN_TWINS.contains(letter))
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
    fn a_title_turns_nothing_around() {
        assert_eq!(plain_text("Call \u{202e}gnp.exe <b>\0"), "Call U+202Egnp.exe <b>U+0000");
    }

    #[test]
    fn letters_of_another_script_are_marked_in_latin_words_alone() {
        assert!(text("p\u{0430}ypal.com").into_string().contains("lookalike"));
        for whole in ["привет мир", "naïve café", "日本語 text", "α = 1"] {
            assert!(!text(whole).into_string().contains("lookalike"), "{whole}");
        }
    }

    #[test]
    fn a_name_in_a_sentence_does_not_leave_its_box() {
        let shown =
            sentence(&format!("Agent {} may go on.", quoted("x`. Everything is fine. `"))).into_string();
        let boxed = "<bdi><code class=\"name\">x&#39;. Everything is fine. &#39;</code></bdi>";
        assert_eq!(shown, format!("Agent {boxed} may go on."));
        let cut = sentence("No tool `Read is registered; appr").into_string();
        assert_eq!(cut, "No tool <bdi><code class=\"name\">Read is registered; appr</code></bdi>");
    }

    #[test]
    fn a_name_that_is_too_long_for_a_line_is_clipped() {
        let fits = "é".repeat(NAME_CHARS);
        assert_eq!(clipped_name(&fits).into_string(), name(&fits).into_string());
        let shown = clipped_name(&format!("{fits}\u{202e}<b>")).into_string();
        assert_eq!(
            shown,
            format!("<bdi title=\"{fits}U+202E&lt;b&gt;\"><code class=\"name\">{fits}…</code></bdi>")
        );
    }

    #[test]
    fn in_a_source_words_that_imitate_latin_ones_are_marked() {
        for imitation in ["сору", "= ехес(", "Ν", "аdmin", "х1"] {
            assert!(source_text(imitation).into_string().contains("lookalike"), "{imitation}");
        }
        for other in ["привет, мир", "日本語", "naïve café", "λ. x", "copy", ""] {
            assert!(!source_text(other).into_string().contains("lookalike"), "{other}");
        }
        assert!(!text("а сору").into_string().contains("lookalike"), "prose is read, not compared");
    }

    #[test]
    fn every_character_outside_ascii_is_marked_in_what_runs() {
        for (of, number) in [
            ("\u{0441}\u{0430}\u{0441}\u{0435}", "U+0441 U+0430"),
            ("a\u{2215}b", "U+2215"),
            ("\u{ff52}m", "U+FF52"),
        ] {
            let shown = code_text(of).into_string();
            assert!(shown.contains("lookalike") && shown.contains(number), "{shown}");
        }
        assert_eq!(code_text("e\u{338}").into_string(), "e<span class=\"unseen\">U+0338</span>");
        assert_eq!(code_text("a\n b").into_string(), "a<span class=\"unseen\">\\n</span> b");
        assert_eq!(code_lines("a\n<b").into_string(), "a\n&lt;b");
        assert!(code_lines(&"\u{0441}".repeat(MAX_SHOWN_CHARS)).into_string().len() < 20 * MAX_SHOWN_CHARS);
    }

    #[test]
    fn a_long_text_is_folded_and_a_longer_one_cut() {
        assert!(!long_text(&"x".repeat(SHOWN_CHARS)).into_string().contains("<details>"));
        let folded = long_text(&"x".repeat(SHOWN_CHARS + 1)).into_string();
        assert!(folded.contains("Show all 2001 characters (1 hidden)"));
        let cut = long_text(&"x".repeat(10_000_000)).into_string();
        assert!(cut.len() < 3 * MAX_SHOWN_CHARS);
        assert!(cut.contains("The first 100000 of 10000000 characters are shown."));
    }
}

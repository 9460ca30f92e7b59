//! The difference of two texts: whole lines, and in them the words that differ.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::{ChangeTag, DiffTag, TextDiff};

use super::text::{long_source, source_text};

/// The time that a difference may take. What is not compared by then is told as taken out and put in.
const DIFF_TIME: Duration = Duration::from_millis(40);
/// The time for short texts: they never take it, however busy the machine is.
const SHORT_DIFF_TIME: Duration = Duration::from_secs(2);
/// The longest text that is short, bytes.
const SHORT_DIFF_BYTES: usize = 4 * 1024;
/// The longest text that is compared, bytes.
const MAX_DIFF_BYTES: usize = 256 * 1024;
/// The most lines that are shown one by one.
const MAX_DIFF_LINES: usize = 8_000;
/// The lines around a difference that are shown with it.
const CONTEXT_LINES: usize = 3;
/// The lines of a difference that are shown before it is folded.
const SHOWN_LINES: usize = 60;

/// Returns the difference of a new text from an old one.
pub(crate) fn difference(old: &str, new: &str) -> Markup {
    let lines_of_both = old.lines().count() + new.lines().count();
    if old.len().max(new.len()) > MAX_DIFF_BYTES || lines_of_both > MAX_DIFF_LINES {
        return html! {
            p.note { "The texts are too long to be compared." }
            h4 { "Taken out" } (long_source(old))
            h4 { "Put in" } (long_source(new))
        };
    }
    let is_short = old.len().max(new.len()) <= SHORT_DIFF_BYTES;
    let until = Instant::now() + if is_short { SHORT_DIFF_TIME } else { DIFF_TIME };
    let compared = TextDiff::configure().deadline(until).diff_lines(old, new);
    let taken = |tag| compared.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (out, put) = (taken(ChangeTag::Delete), taken(ChangeTag::Insert));
    html! {
        p.diff-sum { ins { "+" (put) } " " del { "−" (out) } " lines" }
        @if out + put == 0 { p.note { "The texts are the same." } }
        (folded(lines(&compared, until)))
    }
}

/// Returns a text that is new as a whole.
pub(crate) fn all_new(new: &str) -> Markup {
    if new.lines().count() > MAX_DIFF_LINES {
        return long_source(new);
    }
    folded(new.split_inclusive('\n').map(|line| Line { shown: new_line(line), is_far: false }).collect())
}

fn new_line(of: &str) -> Markup {
    html! { span.line.put { span.sign { "+ " } (line_text(of)) "\n" } }
}

/// A line of a difference.
struct Line {
    shown: Markup,
    /// `true` for one that stays, and stands by none that changes.
    is_far: bool,
}

/// Returns lines, of which those that are far from a change are folded, and so are those behind the first ones.
fn folded(mut lines: Vec<Line>) -> Markup {
    let all = lines.len();
    let near = lines.iter().enumerate().filter(|(_, line)| !line.is_far);
    let end = near.map(|(at, _)| at).nth(SHOWN_LINES).unwrap_or(all);
    let rest = lines.split_off(end);
    html! {
        @for run in lines.chunk_by(|one, next| one.is_far == next.is_far) {
            @if run.first().is_some_and(|line| line.is_far) {
                details { summary { "Show " (run.len()) " lines that stay as they are (hidden)" } (block(run)) }
            } @else { (block(run)) }
        }
        @if !rest.is_empty() {
            details { summary { "Show all " (all) " lines (" (rest.len()) " hidden)" } (block(&rest)) }
        }
    }
}

fn block(lines: &[Line]) -> Markup {
    html! { pre.diff tabindex="0" { @for line in lines { (line.shown) } } }
}

fn lines<'a>(compared: &TextDiff<'a, 'a, str>, until: Instant) -> Vec<Line> {
    let ops = compared.ops();
    let mut lines = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let same = if op.tag() == DiffTag::Equal { op.old_range().len() } else { 0 };
        let before = if at == 0 { 0 } else { CONTEXT_LINES };
        let after = if at + 1 == ops.len() { 0 } else { CONTEXT_LINES };
        let far = before..same.saturating_sub(after);
        for (nth, change) in compared.iter_inline_changes_deadline(op, Some(until)).enumerate() {
            let parts: Vec<(bool, &str)> = change.values().to_vec();
            let is_far = far.len() > 1 && far.contains(&nth);
            lines.push(Line { shown: line(change.tag(), &parts), is_far });
        }
    }
    lines
}

fn line(tag: ChangeTag, parts: &[(bool, &str)]) -> Markup {
    // Of a line that is new or gone as a whole, no word is more so than others.
    let is_whole = parts.iter().all(|(is_marked, part)| *is_marked || part.trim().is_empty());
    let words = |is_out: bool| {
        html! { @for (is_marked, part) in parts {
            @let shown = line_text(part);
            @if !*is_marked || is_whole { (shown) }
            @else if is_out { del { (shown) } }
            @else { ins { (shown) } }
        } }
    };
    match tag {
        ChangeTag::Equal => {
            html! { span.line { span.sign { "  " } @for (_, part) in parts { (line_text(part)) } "\n" } }
        }
        ChangeTag::Delete => html! { span.line.out { span.sign { "− " } (words(true)) "\n" } },
        ChangeTag::Insert => html! { span.line.put { span.sign { "+ " } (words(false)) "\n" } },
    }
}

fn line_text(of: &str) -> Markup {
    source_text(of.strip_suffix('\n').unwrap_or(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked_in_their_lines() {
        let shown = difference("a\nsum of lines\nz\n", "a\nsum of rows\nz\n").into_string();
        assert!(shown.contains("sum of <del>lines</del>"), "{shown}");
        assert!(shown.contains("sum of <ins>rows</ins>"), "{shown}");
        assert!(!shown.contains("<del>a"), "{shown}");
    }

    #[test]
    fn every_line_is_there_and_what_is_folded_is_counted() {
        let old: String = (0..300).map(|n| format!("line {n};\n")).collect();
        let shown = difference(&old, &old.replace("line 150;", "row 150;")).into_string();
        for n in 0..300 {
            assert!(shown.contains(&format!(" {n};")), "{n}");
        }
        assert!(shown.contains("Show 147 lines that stay as they are"), "{shown}");
        let new = all_new(&old).into_string();
        assert!(new.contains("Show all 300 lines (240 hidden)") && new.contains("line 299;"), "{new}");
    }

    #[test]
    fn lines_that_are_new_or_gone_as_a_whole_have_no_boxes() {
        let shown = difference("a\nb\n", "a\nb\nc d e\n").into_string();
        let lines = shown.split_once("<pre").unwrap().1;
        assert!(!lines.contains("<ins>") && lines.contains("c d e"), "{shown}");
        let other = difference("    let a = b;\n", "    match c {\n    }\n").into_string();
        let lines = other.split_once("<pre").unwrap().1;
        assert!(!lines.contains("<ins>") && !lines.contains("<del>"), "{other}");
    }

    #[test]
    fn markup_in_either_text_is_text() {
        let shown = difference("<b>\n", "</pre><script>\n").into_string();
        assert!(!shown.contains("<b>") && !shown.contains("<script>"), "{shown}");
    }

    #[test]
    fn a_word_that_imitates_another_one_is_marked() {
        let shown =
            difference("if (scope) {\n", "if (\u{455}\u{441}\u{43e}\u{440}\u{435}) { // это\n").into_string();
        assert_eq!(shown.matches("lookalike").count(), 5, "{shown}");
    }

    #[test]
    fn texts_that_share_nothing_take_no_longer() {
        let [old, new] =
            ["a", "b"].map(|word| (0..30_000).map(|n| format!("{word}{n}\n")).collect::<String>());
        let begun = Instant::now();
        let shown = difference(&old[..60_000], &new[..60_000]);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(shown.into_string().contains("Show all"));
    }
}

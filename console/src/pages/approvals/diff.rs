//! The difference of two texts: whole lines, and in them the words that differ.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::{ChangeTag, DiffOp, TextDiff};

use crate::components::{long_text, text};

/// The time that a difference may take. What is not compared by then is told as taken out and put in.
const DIFF_TIME: Duration = Duration::from_millis(40);
/// The longest text that is compared, bytes.
const MAX_DIFF_BYTES: usize = 64 * 1024;
/// The lines around a difference that are shown with it.
const CONTEXT_LINES: usize = 3;
/// The lines of a difference that are shown before it is folded.
const SHOWN_LINES: usize = 60;

/// Returns the difference of a new text from an old one.
pub(super) fn difference(old: &str, new: &str) -> Markup {
    if old.len().max(new.len()) > MAX_DIFF_BYTES {
        return html! {
            p.note { "The texts are too long to be compared." }
            h4 { "Taken out" } (long_text(old))
            h4 { "Put in" } (long_text(new))
        };
    }
    let until = Instant::now() + DIFF_TIME;
    let compared = TextDiff::configure().deadline(until).diff_lines(old, new);
    let groups = compared.grouped_ops(CONTEXT_LINES);
    let lines: Vec<Markup> = groups.iter().flat_map(|group| hunk(&compared, group, until)).collect();
    let taken = |tag| compared.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (out, put) = (taken(ChangeTag::Delete), taken(ChangeTag::Insert));
    html! {
        p.diff-sum { ins { "+" (put) } " " del { "−" (out) } " lines" }
        @if lines.is_empty() { p.note { "The texts are the same." } }
        @else if lines.len() <= SHOWN_LINES { (block(&lines)) }
        @else {
            (block(lines.get(..SHOWN_LINES).unwrap_or_default()))
            details { summary { "Show all " (lines.len()) " lines" } (block(&lines)) }
        }
    }
}

/// Returns a text that is new as a whole.
pub(super) fn all_new(new: &str) -> Markup {
    let lines: Vec<Markup> = new.split_inclusive('\n').take(SHOWN_LINES + 1).map(new_line).collect();
    if lines.len() > SHOWN_LINES { long_text(new) } else { block(&lines) }
}

fn new_line(of: &str) -> Markup {
    html! { span.line.put { span.sign { "+ " } ins { (line_text(of)) } "\n" } }
}

fn block(lines: &[Markup]) -> Markup {
    html! { pre.diff tabindex="0" { @for line in lines { (line) } } }
}

/// Returns the lines of differences that lie close together, after a mark of what is left out before them.
fn hunk<'a>(compared: &TextDiff<'a, 'a, str>, group: &[DiffOp], until: Instant) -> Vec<Markup> {
    let start = group.first().map_or(0, |op| op.old_range().start);
    let mut lines = Vec::new();
    if start > 0 {
        lines.push(html! { span.line.gap { "⋯ line " (start + 1) "\n" } });
    }
    for op in group {
        for change in compared.iter_inline_changes_deadline(op, Some(until)) {
            let parts: Vec<(bool, &str)> = change.values().to_vec();
            lines.push(line(change.tag(), &parts));
        }
    }
    lines
}

fn line(tag: ChangeTag, parts: &[(bool, &str)]) -> Markup {
    let has_marks = parts.iter().any(|(is_marked, _)| *is_marked);
    let words = |is_out: bool| {
        html! { @for (is_marked, part) in parts {
            @let shown = line_text(part);
            @if !*is_marked && has_marks { (shown) }
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
    text(of.strip_suffix('\n').unwrap_or(of))
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
    fn markup_in_either_text_is_text() {
        let shown = difference("<b>\n", "</pre><script>\n").into_string();
        assert!(!shown.contains("<b>") && !shown.contains("<script>"), "{shown}");
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

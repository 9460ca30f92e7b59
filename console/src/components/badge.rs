//! Words for states, with a colour. The colour never says more than the word.

use maud::{Markup, html};

use super::text;

/// The colour of a badge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Waits,
    Bad,
    Plain,
}

/// Returns a word in a colour.
pub(crate) fn badge(word: &str, tone: Tone) -> Markup {
    let class = match tone {
        Tone::Good => "badge good",
        Tone::Waits => "badge waits",
        Tone::Bad => "badge bad",
        Tone::Plain => "badge",
    };
    html! { span class=(class) { (text(word)) } }
}

/// Returns a verdict, the state of a call, an approval or a breaker.
pub(crate) fn verdict_badge(word: &str) -> Markup {
    let tone = match word {
        "allow" | "ok" | "approved" | "edited" | "consumed" | "closed" | "ready" | "completed" => Tone::Good,
        "review" | "pending" | "open" | "running" | "paused" | "half_open" => Tone::Waits,
        "deny" | "denied" | "error" | "rejected" | "blocked" | "timeout" | "failed" | "aborted" => Tone::Bad,
        _ => Tone::Plain,
    };
    badge(word, tone)
}

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

/// Returns the standing of a dimension in words.
pub(crate) fn standing_badge(standing: &str) -> Markup {
    match standing {
        "auto_approve" => badge("runs alone", Tone::Good),
        "require_review" => badge("reviewed", Tone::Waits),
        "blocked" => badge("blocked", Tone::Bad),
        other => badge(other, Tone::Plain),
    }
}

/// Returns the enforcement mode.
pub(crate) fn mode_badge(mode: &str) -> Markup {
    badge(mode, if mode == "enforce" { Tone::Good } else { Tone::Waits })
}

/// Returns the effect of a mode on calls, in a sentence.
pub(crate) fn mode_words(mode: &str) -> &'static str {
    match mode {
        "enforce" => "Decisions hold: a call that is not allowed does not run.",
        "observe" => {
            "The gate records its decisions and stops no call. A stop of everything and suspensions still hold."
        }
        _ => "",
    }
}

/// Returns the state of a ledger.
pub(crate) fn ledger_badge(state: &str) -> Markup {
    let tone = match state {
        "ready" => Tone::Good,
        "read-only" | "waiting" | "closing" => Tone::Waits,
        _ => Tone::Bad,
    };
    badge(state, tone)
}

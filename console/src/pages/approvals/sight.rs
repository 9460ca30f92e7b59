//! The call in sight: what a page does not show whole, nobody approves on it.

use bitacora_api::ApprovalAnswer;
use maud::{Markup, html};

use super::background::Background;
use crate::command_line::CommandLine;
use crate::components::code_text;
use crate::json::pretty;
use crate::limits::MAX_SHOWN_CHARS;
use crate::visit::Visit;

/// The reason for which a page does not show the whole of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseen {
    /// The record of the call cannot be read.
    Unread,
    /// The arguments are too long.
    TooLong,
    /// Only a digest of the arguments is recorded.
    NotRecorded,
}

impl Unseen {
    /// Returns why a page of this answer does not show the whole call; nothing where it does.
    pub(super) fn of(approval: &ApprovalAnswer) -> Option<Self> {
        if approval.unread.is_some() {
            return Some(Self::Unread);
        }
        if approval.args_bytes.is_some() {
            return Some(Self::TooLong);
        }
        match &approval.args {
            // No text of the card is longer than the arguments in lines.
            Some(args) => (pretty(args.get()).chars().count() > MAX_SHOWN_CHARS).then_some(Self::TooLong),
            // That call has run: the question is another one.
            None if approval.about.as_deref() == Some("rollback") => None,
            None => Some(Self::NotRecorded),
        }
    }

    /// Returns why there is no approving here.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Unread => "The record of this call cannot be read, so the console does not approve it.",
            Self::TooLong => {
                "The arguments are too long to be shown whole, so the console does not approve the call."
            }
            Self::NotRecorded => {
                "The arguments are not recorded, so nobody sees here what would run, and the console does not approve the call."
            }
        }
    }
}

/// Returns, in a list, the way to the page of the approval.
pub(super) fn way_to_read(visit: &Visit, approval: &ApprovalAnswer) -> Markup {
    html! { p.unread {
        "Not all of this call is shown here. "
        a.button href=(visit.page(&["approvals", &approval.id])) { "Read it whole, then answer" }
    } }
}

/// Returns, on the page of the approval, how to read and to approve the call without the console.
pub(super) fn way_without_page(
    visit: &Visit,
    approval: &ApprovalAnswer,
    unseen: Unseen,
    behind: Option<&Background>,
) -> Markup {
    let request = behind.and_then(|behind| behind.request.as_deref());
    let before = request.and_then(|request| request.parse::<u64>().ok()).map(|at| at.saturating_sub(1));
    html! {
        div.unread {
            p { (unseen.reason()) " Read it, then approve it on the command line:" }
            pre {
                @if let (Some(request), Some(before)) = (request, before) { (code_text(&read_line(visit, before, request))) "\n" }
                (code_text(&CommandLine::new(visit, "approvals approve").argument(&approval.id).line()))
            }
            @if let Some(request) = request {
                p { a href=(visit.page(&["events", request])) { "The event that asked for it" } }
            }
        }
    }
}

/// Returns the command line that prints one event.
fn read_line(visit: &Visit, before: u64, position: &str) -> String {
    let line = CommandLine::new(visit, "read").option("after", Some(&before.to_string()));
    line.option("until", Some(position)).line() + " --json"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(more: &str) -> ApprovalAnswer {
        let json = format!(
            r#"{{"id":"a1","status":"pending","call":"c1","tool":"deploy","approvers":[],"asked":"","expires":"","position":"2"{more}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn only_what_is_shown_whole_may_be_approved() {
        let long = format!(r#","args":{{"text":"{}"}}"#, "x".repeat(MAX_SHOWN_CHARS));
        for (more, unseen) in [
            (r#","args":{"to":"x"}"#, None),
            (r#","argsBytes":3000"#, Some(Unseen::TooLong)),
            (&long, Some(Unseen::TooLong)),
            (r#","unread":"it is damaged","args":{}"#, Some(Unseen::Unread)),
            (r#","actionDigest":"sha256:x""#, Some(Unseen::NotRecorded)),
            (r#","about":"rollback""#, None),
        ] {
            assert_eq!(Unseen::of(&approval(more)), unseen, "{more:.60}");
        }
    }
}

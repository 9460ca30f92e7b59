//! The answers of approvals that events of a timeline ask for. An answer is of the person, and names no session.

use std::collections::HashMap;

use bitacora_api::{ApprovalAnswer, PENDING, StoredEvent, paths};
use maud::{Markup, html};
use tokio::task::JoinSet;

use super::Event;
use crate::components::{approval_link, moment, not_told};
use crate::page_error::PageError;
use crate::pages::approvals::outcome;
use crate::visit::Visit;

/// The type of the event that asks for an approval.
const ASKED: &str = "approval.requested";
/// The most answers that are asked for at once.
const AT_ONCE: usize = 8;

/// The answers of the approvals of a timeline, by approval.
#[derive(Default)]
pub(crate) struct Answers(HashMap<String, Result<ApprovalAnswer, PageError>>);

impl Answers {
    /// Asks for the answers of those approvals that these events ask for.
    pub(crate) async fn load(visit: &Visit, events: &[StoredEvent]) -> Self {
        let mut asked = asked(events).into_iter();
        let mut answers = HashMap::new();
        let mut loading = JoinSet::new();
        loop {
            while loading.len() < AT_ONCE
                && let Some(id) = asked.next()
            {
                let visit = visit.clone();
                loading.spawn(async move {
                    let found = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[&id], "").await;
                    (id, found.map(|answered| answered.value))
                });
            }
            match loading.join_next().await {
                Some(Ok((id, found))) => answers.insert(id, found),
                Some(Err(_)) => continue,
                None => return Self(answers),
            };
        }
    }

    /// Returns what became of the approval that an event asks for: who answered, how and when.
    pub(super) fn of(&self, visit: &Visit, event: &Event<'_>) -> Markup {
        let Some(found) =
            event.word("approval").filter(|_| event.kind() == ASKED).and_then(|id| self.0.get(id))
        else {
            return html! {};
        };
        html! { div.answered { @match found {
            Err(error) => (not_told(error)),
            Ok(approval) if approval.status == PENDING => { "Nobody has answered " (approval_link(visit, &approval.id)) " yet." },
            Ok(approval) => {
                @if let Some(at) = approval.resolution.as_ref().and_then(|found| found.at.as_deref()) { (moment(&visit.zone, at)) " " }
                (outcome(visit, approval))
            },
        } } }
    }
}

/// Returns the approvals that events ask for, each once.
fn asked(events: &[StoredEvent]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for event in events.iter().map(Event::read).filter(|event| event.kind() == ASKED) {
        if let Some(id) = event.word("approval").filter(|id| !all.iter().any(|known| known == id)) {
            all.push(id.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_approval_that_is_asked_for_is_looked_up_once() {
        let stored = |kind: &str, approval: &str| -> StoredEvent {
            let json = format!(
                r#"{{"position":"1","commitment":"","recordedAt":"t","streamVersion":"1","derived":false,"redactions":0,"erased":false,
                    "event":{{"type":"{kind}","data":{{"approval":"{approval}"}}}}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let events =
            [stored(ASKED, "a"), stored("approval.consumed", "b"), stored(ASKED, "c"), stored(ASKED, "a")];
        assert_eq!(asked(&events), ["a", "c"]);
    }
}

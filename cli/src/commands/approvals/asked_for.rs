//! The request behind an approval, in words: the tool and its arguments, read from the log.

use bitacora_api::ApprovalAnswer;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ledger_access::service::ServiceClient;

/// The needed members of an event as the service answers it.
#[derive(Deserialize)]
struct EventEnvelope {
    event: EventMembers,
}

#[derive(Deserialize)]
struct EventMembers {
    causationid: Option<String>,
    #[serde(default)]
    data: Option<RequestData>,
}

#[derive(Deserialize)]
struct RequestData {
    tool: Option<String>,
    args: Option<Box<RawValue>>,
}

/// The `about` of an approval that asks whether the effect of a call is to be rolled back.
const ABOUT_ROLLBACK: &str = "rollback";

/// Returns the tool and its arguments, where they can be read: a request may hold only their digest.
pub(super) fn asked_for(service: &mut ServiceClient, approval: &ApprovalAnswer) -> Option<String> {
    if approval.about.as_deref() == Some(ABOUT_ROLLBACK) {
        let contract =
            approval.contract.as_deref().map_or_else(String::new, |name| format!(" (contract {name})"));
        return Some(format!("undo what the call did with {}{contract}", approval.tool));
    }
    let cause = stored(service, &approval.position)?.event.causationid?;
    let asked = stored(service, &cause)?.event.data?;
    Some(format!("{} {}", asked.tool?, asked.args?.get()))
}

fn stored(service: &mut ServiceClient, position: &str) -> Option<EventEnvelope> {
    // It comes from the service, and goes into a path.
    let position: u64 = position.parse().ok()?;
    service.get(&format!("events/{position}")).ok()?.read().ok()
}

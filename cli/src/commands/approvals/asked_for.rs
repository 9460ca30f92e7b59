//! What an approval is for, in words: the tool and its arguments, read from the request that it rests on.

use bitacora_server::answers::ApprovalAnswer;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::service::Service;

/// An event as the service answers it, as far as it matters here.
#[derive(Deserialize)]
struct Stored {
    event: Told,
}

#[derive(Deserialize)]
struct Told {
    causationid: Option<String>,
    #[serde(default)]
    data: Option<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    tool: Option<String>,
    args: Option<Box<RawValue>>,
}

/// What an approval says that it is about where it is asked whether what a call did is to be undone.
const ABOUT_ROLLBACK: &str = "rollback";

/// The tool and its arguments, where they can be read: a request may have brought their digest alone.
pub(super) fn asked_for(service: &mut Service, approval: &ApprovalAnswer) -> Option<String> {
    if approval.about.as_deref() == Some(ABOUT_ROLLBACK) {
        let contract =
            approval.contract.as_deref().map_or_else(String::new, |name| format!(" (contract {name})"));
        return Some(format!("undo what the call did with {}{contract}", approval.tool));
    }
    let cause = stored(service, &approval.position)?.event.causationid?;
    let asked = stored(service, &cause)?.event.data?;
    Some(format!("{} {}", asked.tool?, asked.args?.get()))
}

fn stored(service: &mut Service, position: &str) -> Option<Stored> {
    // It comes from the service, and goes into a path.
    let position: u64 = position.parse().ok()?;
    service.get(&format!("events/{position}")).ok()?.read().ok()
}

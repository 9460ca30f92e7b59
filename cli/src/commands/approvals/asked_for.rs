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

/// The tool and its arguments, where they can be read: a request may have brought their digest alone.
pub(super) fn asked_for(service: &mut Service, approval: &ApprovalAnswer) -> Option<String> {
    let cause = stored(service, &approval.position)?.event.causationid?;
    let asked = stored(service, &cause)?.event.data?;
    Some(format!("{} {}", asked.tool?, asked.args?.get()))
}

fn stored(service: &mut Service, position: &str) -> Option<Stored> {
    // It comes from the service, and goes into a path.
    let position: u64 = position.parse().ok()?;
    service.get(&format!("events/{position}")).ok()?.read().ok()
}

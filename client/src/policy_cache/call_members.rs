//! The `tool.requested` event that a call would be recorded as.

use std::collections::BTreeMap;
use std::fmt::Display;

use bitacora_governance::{CallMembers, take_call};
use bitacora_vocabulary::Name;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::CallRequest;

/// The error for a call that the ledger would not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the member `{member}` of the call is not taken: {fault}")]
pub struct InvalidCall {
    /// The member.
    pub member: &'static str,
    /// The fault.
    pub fault: String,
}

/// The request event of a call.
pub(super) struct CallRequestEvent {
    /// The data of its request.
    pub(super) request: Vec<u8>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) run: Option<String>,
}

/// The members of a call by name, as they are sent.
struct RawCallMembers<'a>(BTreeMap<&'a str, &'a RawValue>);

impl<'a> CallMembers<'a> for RawCallMembers<'a> {
    type Error = InvalidCall;

    fn take<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<Option<T>, InvalidCall> {
        let Some(value) = self.0.remove(name).filter(|value| value.get() != "null") else { return Ok(None) };
        serde_json::from_str(value.get()).map(Some).map_err(|error| self.bad(name, &error))
    }

    fn bad(&self, member: &'static str, fault: &dyn Display) -> InvalidCall {
        InvalidCall { member, fault: fault.to_string() }
    }
}

/// Returns the request event that the ledger would record for a call.
pub(super) fn predicted(call: &CallRequest) -> Result<CallRequestEvent, InvalidCall> {
    let unfit = |error: serde_json::Error| InvalidCall { member: "call", fault: error.to_string() };
    // As it is sent, so that nothing is read here in another way than there.
    let sent = serde_json::to_string(call).map_err(unfit)?;
    let mut members = RawCallMembers(serde_json::from_str(&sent).map_err(unfit)?);
    let id: Option<Name> = members.take("call")?;
    let id = id.ok_or_else(|| members.bad("call", &"it is missing"))?;
    let (agent, session): (Option<String>, Option<String>) =
        (members.take("agent")?, members.take("session")?);
    let run: Option<String> = members.take("run")?;
    let request = take_call(&mut members, id, run.as_deref())?;
    let request = serde_json::to_vec(&request).map_err(unfit)?;
    Ok(CallRequestEvent { request, agent, session, run })
}

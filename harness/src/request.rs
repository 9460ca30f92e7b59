//! The requests to the ledger that a tool call of a harness becomes.

use bitacora_api::{ContentRequest, DecideRequest, OutcomeRequest};
use sha2::{Digest, Sha256};

use crate::error::HookError;
use crate::event::{HookInput, ToolCall, ToolEnd};
use crate::limits::{MAX_CALL_BYTES, MAX_NAME_BYTES};

/// Returns the request for a decision about a call. `call` names the call where the harness does not.
///
/// # Errors
/// A name is missing or too long.
pub fn decide_request(
    input: &HookInput,
    tool_call: &ToolCall,
    call: Option<&str>,
    interactive: bool,
) -> Result<DecideRequest, HookError> {
    Ok(DecideRequest {
        call: call_id(tool_call.call.as_deref(), call)?,
        tool: name("tool_name", &tool_call.tool)?,
        server: None,
        args: Some(tool_call.args.clone()),
        args_digest: None,
        model: input.model.as_deref().map(|model| name("model", model)).transpose()?,
        task_type: None,
        run: subagent_run(input)?,
        session: Some(name("session_id", &input.session)?),
        agent: None,
        cwd: input.cwd.clone(),
        idempotency_key: None,
        approval: None,
        interactive: Some(interactive),
        deadline_ms: None,
        estimate: None,
        blast_radius: None,
    })
}

/// Returns the report of a call's end. `call` names the call where the harness does not.
///
/// # Errors
/// A name is missing or too long.
pub fn outcome_request(
    input: &HookInput,
    end: &ToolEnd,
    call: Option<&str>,
) -> Result<OutcomeRequest, HookError> {
    let output = (end.output_bytes.is_some() || end.output_tail.is_some()).then(|| ContentRequest {
        digest: None,
        bytes: end.output_bytes,
        tail: end.output_tail.clone(),
    });
    Ok(OutcomeRequest {
        call: call_id(end.call.as_deref(), call)?,
        status: end.status.word().to_owned(),
        error_type: end.error.map(str::to_owned),
        exit_code: end.exit_code,
        duration_ms: end.duration_ms,
        tokens: None,
        cost_usd: None,
        input: None,
        output,
        artifacts: None,
        post_check_passed: None,
        session: Some(name("session_id", &input.session)?),
        run: subagent_run(input)?,
        agent: None,
    })
}

/// A subagent's work is a run of the session.
fn subagent_run(input: &HookInput) -> Result<Option<String>, HookError> {
    input.subagent.as_ref().map(|subagent| name("agent_id", &subagent.id)).transpose()
}

fn call_id(of_harness: Option<&str>, given: Option<&str>) -> Result<String, HookError> {
    let call = of_harness.or(given).filter(|call| !call.is_empty());
    let call =
        call.ok_or_else(|| HookError::Missing { event: "tool call".to_owned(), member: "tool_use_id" })?;
    within("tool_use_id", call, MAX_CALL_BYTES)
}

fn name(member: &'static str, text: &str) -> Result<String, HookError> {
    within(member, text, MAX_NAME_BYTES)
}

fn within(member: &'static str, text: &str, limit: usize) -> Result<String, HookError> {
    if text.len() > limit {
        return Err(HookError::TooLong { member, bytes: text.len(), limit });
    }
    Ok(text.to_owned())
}

/// Returns the digest by which the two ends of a call without an id are paired: of session, tool and arguments.
#[must_use]
pub fn pairing_digest(session: &str, tool: &str, args: &str) -> String {
    let mut digest = Sha256::new();
    for part in [session, tool, args] {
        // The length keeps neighbours from running into each other.
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(part.as_bytes());
    }
    hex::encode(digest.finalize())
}

//! Claude Code: `permissionDecision` of `PreToolUse`.
//!
//! A hook that says nothing leaves the call to the user's own permission rules. `ask` shows the harness's prompt to a person.
//! Without a person there, as with `claude -p`, a review is a deny that names the approval.

use serde::Serialize;

use crate::answer::{HookVerdict, NO_OPINION};
use crate::error::HookError;
use crate::event::HookInput;
use crate::shared_json;

/// The output of a hook before a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreToolUseOutput<'a> {
    hook_specific_output: PermissionOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionOutput<'a> {
    hook_event_name: &'static str,
    permission_decision: &'static str,
    permission_decision_reason: &'a str,
}

pub(crate) fn read(input: &[u8]) -> Result<HookInput, HookError> {
    shared_json::read(input)
}

pub(crate) fn answer(verdict: &HookVerdict<'_>) -> String {
    let word = match verdict {
        HookVerdict::Allow => return NO_OPINION.to_owned(),
        HookVerdict::Approved { .. } => "allow",
        HookVerdict::Review { interactive: true, .. } => "ask",
        HookVerdict::Review { .. } | HookVerdict::Deny { .. } => "deny",
    };
    permission(word, &verdict.reason())
}

/// Writes a decision with its reason.
pub(crate) fn permission(word: &'static str, reason: &str) -> String {
    let hook_specific_output = PermissionOutput {
        hook_event_name: "PreToolUse",
        permission_decision: word,
        permission_decision_reason: reason,
    };
    // A struct of texts is always written.
    serde_json::to_string(&PreToolUseOutput { hook_specific_output }).unwrap_or_default()
}

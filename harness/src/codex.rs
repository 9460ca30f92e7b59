//! Codex: the same JSON as Claude Code, of which only a deny is obeyed.
//!
//! Codex reads `allow` and `ask` and then runs the call, so a review is a deny that names the approval.

use crate::answer::{HookVerdict, NO_OPINION};
use crate::claude::permission;
use crate::error::HookError;
use crate::event::HookInput;
use crate::shared_json;

pub(crate) fn read(input: &[u8]) -> Result<HookInput, HookError> {
    shared_json::read(input)
}

pub(crate) fn answer(verdict: &HookVerdict<'_>) -> String {
    match verdict {
        HookVerdict::Allow | HookVerdict::Approved { .. } => NO_OPINION.to_owned(),
        HookVerdict::Review { .. } | HookVerdict::Deny { .. } => permission("deny", &verdict.reason()),
    }
}

//! Cursor: `permission` of `preToolUse`.
//!
//! The members are those of Cursor's own description. No test drives Cursor itself, which has no version without a window.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::HookVerdict;
use crate::error::HookError;
use crate::event::{HookEvent, HookInput, ToolCall, ToolEnd, ToolStatus};
use crate::shared_json::tail;

#[derive(Deserialize)]
struct CursorInput<'a> {
    hook_event_name: String,
    conversation_id: String,
    model: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    workspace_roots: Vec<String>,
    transcript_path: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    tool_output: Option<String>,
    tool_use_id: Option<String>,
    /// Milliseconds.
    duration: Option<f64>,
    error_message: Option<String>,
    failure_type: Option<String>,
    prompt: Option<String>,
    reason: Option<String>,
}

#[derive(Serialize)]
struct CursorOutput<'a> {
    permission: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    user_message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    agent_message: &'a str,
}

pub(crate) fn read(input: &[u8]) -> Result<HookInput, HookError> {
    let read: CursorInput<'_> = serde_json::from_slice(input).map_err(|error| HookError::json(&error))?;
    let event = match read.hook_event_name.as_str() {
        "preToolUse" => {
            let (tool, args) = read.tool()?;
            HookEvent::BeforeTool(ToolCall { call: read.tool_use_id.clone(), tool, args })
        }
        "postToolUse" => {
            let output = read.tool_output.clone().unwrap_or_default();
            HookEvent::AfterTool(read.end(ToolStatus::Ok, None, &output)?)
        }
        "postToolUseFailure" => {
            let output = read.error_message.clone().unwrap_or_default();
            let (status, error) = match read.failure_type.as_deref() {
                Some("timeout") => (ToolStatus::Timeout, None),
                Some("permission_denied") => (ToolStatus::Rejected, None),
                _ => (ToolStatus::Error, Some("error")),
            };
            HookEvent::AfterTool(read.end(status, error, &output)?)
        }
        "sessionStart" => HookEvent::SessionStarted,
        "sessionEnd" => HookEvent::SessionEnded(read.reason.clone().unwrap_or_default()),
        "beforeSubmitPrompt" => HookEvent::Prompted(read.prompt.clone().unwrap_or_default()),
        "stop" => HookEvent::TurnEnded,
        other => HookEvent::Other(other.to_owned()),
    };
    Ok(HookInput {
        cwd: read.cwd.or_else(|| read.workspace_roots.into_iter().next()),
        session: read.conversation_id,
        model: read.model,
        subagent: None,
        transcript: read.transcript_path,
        event,
    })
}

impl CursorInput<'_> {
    fn missing(&self, member: &'static str) -> HookError {
        HookError::Missing { event: self.hook_event_name.clone(), member }
    }

    fn tool(&self) -> Result<(String, Box<RawValue>), HookError> {
        let tool = self.tool_name.clone().ok_or_else(|| self.missing("tool_name"))?;
        let args = self.tool_input.ok_or_else(|| self.missing("tool_input"))?;
        Ok((tool, args.to_owned()))
    }

    fn end(
        &self,
        status: ToolStatus,
        error: Option<&'static str>,
        output: &str,
    ) -> Result<ToolEnd, HookError> {
        let (tool, args) = self.tool()?;
        Ok(ToolEnd {
            call: self.tool_use_id.clone(),
            tool,
            args,
            status,
            error,
            exit_code: None,
            duration_ms: self.duration.and_then(whole_milliseconds),
            output_bytes: u64::try_from(output.len()).ok(),
            output_tail: Some(tail(output).to_owned()),
        })
    }
}

/// Rounds a duration down. Negative and absurd ones are none.
fn whole_milliseconds(duration: f64) -> Option<u64> {
    let text = format!("{duration:.0}");
    text.parse().ok()
}

pub(crate) fn answer(verdict: &HookVerdict<'_>) -> String {
    let permission = match verdict {
        HookVerdict::Allow | HookVerdict::Approved { .. } => "allow",
        HookVerdict::Review { interactive: true, .. } => "ask",
        HookVerdict::Review { .. } | HookVerdict::Deny { .. } => "deny",
    };
    let reason = if permission == "allow" { String::new() } else { verdict.reason() };
    let output = CursorOutput { permission, user_message: &reason, agent_message: &reason };
    serde_json::to_string(&output).unwrap_or_default()
}

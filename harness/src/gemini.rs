//! Gemini CLI: `decision` of `BeforeTool`, which knows no question to the user.
//!
//! Its hooks carry no id of the call. The process that runs as the hook pairs the two ends of a call.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::HookVerdict;
use crate::error::HookError;
use crate::event::{HookEvent, HookInput, ToolCall, ToolEnd, ToolStatus};
use crate::shared_json::tail;

/// Gemini's name of its shell.
const OWN_SHELL: &str = "run_shell_command";
/// The name by which the other harnesses call theirs, with the same argument: one policy is for all of them.
const SHELL: &str = "Bash";

#[derive(Deserialize)]
struct GeminiInput<'a> {
    hook_event_name: String,
    session_id: String,
    transcript_path: Option<String>,
    cwd: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    reason: Option<String>,
    prompt: Option<String>,
}

/// The part of a tool's answer that tells whether it failed.
#[derive(Deserialize)]
struct ToolResponse<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct GeminiOutput<'a> {
    decision: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

pub(crate) fn read(input: &[u8]) -> Result<HookInput, HookError> {
    let read: GeminiInput<'_> = serde_json::from_slice(input).map_err(|error| HookError::json(&error))?;
    let event = match read.hook_event_name.as_str() {
        "BeforeTool" => {
            let (tool, args) = read.tool()?;
            HookEvent::BeforeTool(ToolCall { call: None, tool, args })
        }
        "AfterTool" => HookEvent::AfterTool(read.end()?),
        "SessionStart" => HookEvent::SessionStarted,
        "SessionEnd" => HookEvent::SessionEnded(read.reason.clone().unwrap_or_default()),
        "BeforeAgent" => HookEvent::Prompted(read.prompt.clone().unwrap_or_default()),
        "AfterAgent" => HookEvent::TurnEnded,
        other => HookEvent::Other(other.to_owned()),
    };
    Ok(HookInput {
        session: read.session_id,
        cwd: read.cwd,
        model: None,
        subagent: None,
        transcript: read.transcript_path,
        event,
    })
}

impl GeminiInput<'_> {
    fn missing(&self, member: &'static str) -> HookError {
        HookError::Missing { event: self.hook_event_name.clone(), member }
    }

    fn tool(&self) -> Result<(String, Box<RawValue>), HookError> {
        let tool = self.tool_name.clone().ok_or_else(|| self.missing("tool_name"))?;
        let tool = if tool == OWN_SHELL { SHELL.to_owned() } else { tool };
        let args = self.tool_input.ok_or_else(|| self.missing("tool_input"))?;
        Ok((tool, args.to_owned()))
    }

    fn end(&self) -> Result<ToolEnd, HookError> {
        let (tool, args) = self.tool()?;
        let output = self.tool_response.map(RawValue::get).unwrap_or_default();
        let response = serde_json::from_str::<ToolResponse<'_>>(output).ok();
        let failed = response.and_then(|response| response.error).is_some_and(|error| error.get() != "null");
        Ok(ToolEnd {
            call: None,
            tool,
            args,
            status: if failed { ToolStatus::Error } else { ToolStatus::Ok },
            error: failed.then_some("error"),
            exit_code: None,
            duration_ms: None,
            output_bytes: u64::try_from(output.len()).ok(),
            output_tail: Some(tail(output).to_owned()),
        })
    }
}

pub(crate) fn answer(verdict: &HookVerdict<'_>) -> String {
    let decision = match verdict {
        HookVerdict::Allow | HookVerdict::Approved { .. } => "allow",
        HookVerdict::Review { .. } | HookVerdict::Deny { .. } => "deny",
    };
    let reason = if decision == "deny" { verdict.reason() } else { String::new() };
    serde_json::to_string(&GeminiOutput { decision, reason: &reason }).unwrap_or_default()
}

//! The hook JSON that Claude Code and Codex share.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::HookError;
use crate::event::{HookEvent, HookInput, Subagent, ToolCall, ToolEnd, ToolStatus};
use crate::limits::OUTPUT_TAIL_BYTES;

/// The members that are read. Others are the harness's own, and new versions add some.
#[derive(Deserialize)]
struct SharedInput<'a> {
    hook_event_name: String,
    session_id: String,
    transcript_path: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    duration_ms: Option<u64>,
    error: Option<String>,
    is_interrupt: Option<bool>,
    reason: Option<String>,
    prompt: Option<String>,
}

/// Reads the input of a hook.
pub(crate) fn read(input: &[u8]) -> Result<HookInput, HookError> {
    let read: SharedInput<'_> = serde_json::from_slice(input).map_err(|error| HookError::json(&error))?;
    let event = read.event()?;
    Ok(HookInput {
        subagent: read.agent_id.map(|id| Subagent { id, kind: read.agent_type }),
        session: read.session_id,
        cwd: read.cwd,
        model: read.model,
        transcript: read.transcript_path,
        event,
    })
}

impl SharedInput<'_> {
    fn event(&self) -> Result<HookEvent, HookError> {
        Ok(match self.hook_event_name.as_str() {
            "PreToolUse" => {
                let (tool, args) = self.tool()?;
                HookEvent::BeforeTool(ToolCall { call: self.tool_use_id.clone(), tool, args })
            }
            "PostToolUse" => HookEvent::AfterTool(self.end(ToolStatus::Ok, None)?),
            "PostToolUseFailure" => HookEvent::AfterTool(self.failure()?),
            "SessionStart" => HookEvent::SessionStarted,
            "SessionEnd" => HookEvent::SessionEnded(self.reason.clone().unwrap_or_default()),
            "UserPromptSubmit" => HookEvent::Prompted(self.prompt.clone().unwrap_or_default()),
            "Stop" => HookEvent::TurnEnded,
            "SubagentStart" => HookEvent::SubagentStarted,
            "SubagentStop" => HookEvent::SubagentEnded,
            other => HookEvent::Other(other.to_owned()),
        })
    }

    fn missing(&self, member: &'static str) -> HookError {
        HookError::Missing { event: self.hook_event_name.clone(), member }
    }

    fn tool(&self) -> Result<(String, Box<RawValue>), HookError> {
        let tool = self.tool_name.clone().ok_or_else(|| self.missing("tool_name"))?;
        let args = self.tool_input.ok_or_else(|| self.missing("tool_input"))?;
        Ok((tool, args.to_owned()))
    }

    fn end(&self, status: ToolStatus, error: Option<&'static str>) -> Result<ToolEnd, HookError> {
        let (tool, args) = self.tool()?;
        let output = self.tool_response.map(RawValue::get);
        Ok(ToolEnd {
            call: self.tool_use_id.clone(),
            tool,
            args,
            status,
            error,
            exit_code: None,
            duration_ms: self.duration_ms,
            output_bytes: output.and_then(|output| u64::try_from(output.len()).ok()),
            output_tail: output.map(tail_of_output),
        })
    }

    /// A failure has only a text. The words are those by which transcripts are read, too.
    fn failure(&self) -> Result<ToolEnd, HookError> {
        let text = self.error.as_deref().unwrap_or_default();
        let exit_code = text.strip_prefix("Exit code ").map(exit_code_at_start);
        let (status, error) = if self.is_interrupt == Some(true) {
            (ToolStatus::Interrupted, None)
        } else if exit_code.is_some() {
            (ToolStatus::Error, Some("exit_code"))
        } else if text.starts_with("<tool_use_error>") {
            (ToolStatus::Error, Some("tool_use_error"))
        } else {
            (ToolStatus::Error, Some("error"))
        };
        let end = self.end(status, error)?;
        Ok(ToolEnd {
            exit_code: exit_code.flatten(),
            output_bytes: u64::try_from(text.len()).ok(),
            output_tail: Some(tail(text).to_owned()),
            ..end
        })
    }
}

/// Reads the number that a text begins with.
fn exit_code_at_start(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// Returns the end of what a tool gave back: of a program's output the text itself, of other answers their JSON.
fn tail_of_output(output: &str) -> String {
    #[derive(Deserialize)]
    struct ProgramOutput {
        stdout: String,
        #[serde(default)]
        stderr: String,
    }
    match serde_json::from_str::<ProgramOutput>(output) {
        Ok(ProgramOutput { stdout, stderr }) if stderr.is_empty() => tail(&stdout).to_owned(),
        Ok(ProgramOutput { stderr, .. }) => tail(&stderr).to_owned(),
        Err(_) => tail(output).to_owned(),
    }
}

/// Returns the end of a text, up to the limit.
pub(crate) fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(OUTPUT_TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start = start.saturating_add(1);
    }
    text.get(start..).unwrap_or_default()
}

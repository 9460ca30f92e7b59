//! The input of a hook, in the words of the ledger.

use serde_json::value::RawValue;

/// One run of a hook.
#[derive(Debug, Clone)]
pub struct HookInput {
    /// The session.
    pub session: String,
    /// The working folder.
    pub cwd: Option<String>,
    /// The model, where the harness names it.
    pub model: Option<String>,
    /// The subagent that the hook runs in; `None` in the session's own agent.
    pub subagent: Option<Subagent>,
    /// The file that the harness writes the session to.
    pub transcript: Option<String>,
    /// The event.
    pub event: HookEvent,
}

/// An agent that works for the session's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: Option<String>,
}

/// An event of the harness.
#[derive(Debug, Clone)]
pub enum HookEvent {
    /// A tool is about to be called; the harness waits for a verdict.
    BeforeTool(ToolCall),
    /// A tool call ended.
    AfterTool(ToolEnd),
    /// A session began, or went on.
    SessionStarted,
    /// A session ended, for this reason.
    SessionEnded(String),
    /// A person, or a program for one, sent this prompt.
    Prompted(String),
    /// The agent ended its turn.
    TurnEnded,
    /// A subagent began.
    SubagentStarted,
    /// A subagent ended.
    SubagentEnded,
    /// Something that is not recorded, by the harness's name of it.
    Other(String),
}

/// A tool call that waits for a verdict.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The harness's id of the call. Some harnesses have none.
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments, byte for byte.
    pub args: Box<RawValue>,
}

/// The end of a tool call.
#[derive(Debug, Clone)]
pub struct ToolEnd {
    /// The harness's id of the call. Some harnesses have none.
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments, by which a call without an id is found again.
    pub args: Box<RawValue>,
    /// The way in which it ended.
    pub status: ToolStatus,
    /// The kind of error, in one word.
    pub error: Option<&'static str>,
    /// The exit code of its program.
    pub exit_code: Option<i64>,
    /// The duration, milliseconds.
    pub duration_ms: Option<u64>,
    /// The length of its output, bytes.
    pub output_bytes: Option<u64>,
    /// The last part of its output.
    pub output_tail: Option<String>,
}

/// The way in which a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// It did what it should.
    Ok,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
    /// Somebody interrupted it.
    Interrupted,
    /// Somebody rejected it, so it did not run.
    Rejected,
}

impl ToolStatus {
    /// Returns the word of an outcome.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Rejected => "rejected",
        }
    }
}

//! What is asked before a call, and told after it.

use bitacora_formats::{JsonError, check_json};
use serde::Serialize;
use serde_json::value::RawValue;

/// The text is not JSON that the ledger takes.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the arguments: {0}")]
pub struct NotJson(#[from] JsonError);

/// A call of a tool that is to be decided. Its id is the executor's choice, a new one for each call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    call: String,
    tool: String,
    args: Option<Box<RawValue>>,
    /// The server that the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The agent that calls, where the token does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that asked for the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What kind of task it is part of.
    #[serde(rename = "task_type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The session it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The folder that paths in the arguments are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The approval that a person has given for this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// One effect for one key: a repeated call gets the result of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What it will cost, in US dollars with up to six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
    /// How long it may take, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Whether a person is there to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
}

impl CallRequest {
    /// A call of this tool without arguments.
    #[must_use]
    pub fn new(call: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            call: call.into(),
            tool: tool.into(),
            args: None,
            server: None,
            agent: None,
            model: None,
            task_type: None,
            session: None,
            run: None,
            cwd: None,
            approval: None,
            idempotency_key: None,
            estimate: None,
            deadline_ms: None,
            interactive: None,
        }
    }

    /// With these arguments, a JSON text that is kept as it is.
    ///
    /// # Errors
    /// [`NotJson`].
    pub fn with_args(mut self, args: &str) -> Result<Self, NotJson> {
        check_json(args.as_bytes())?;
        self.args = RawValue::from_string(args.to_owned()).ok();
        Ok(self)
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeStatus {
    /// It did what it was called for.
    Ok,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
    /// It was broken off.
    Interrupted,
    /// A person did not let it run.
    Rejected,
    /// Something else did not let it run.
    Blocked,
}

/// How a call ended, and what it took.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeReport {
    call: String,
    status: OutcomeStatus,
    /// What went wrong, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What its program ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it cost, in US dollars with up to six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// What the check after it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_check_passed: Option<bool>,
    /// The agent that called, as it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session, as it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run, as it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl OutcomeReport {
    /// The call ended so.
    #[must_use]
    pub fn new(call: impl Into<String>, status: OutcomeStatus) -> Self {
        Self {
            call: call.into(),
            status,
            error_type: None,
            exit_code: None,
            duration_ms: None,
            cost_usd: None,
            post_check_passed: None,
            agent: None,
            session: None,
            run: None,
        }
    }

    /// The call did what it was called for.
    #[must_use]
    pub fn ok(call: impl Into<String>) -> Self {
        Self::new(call, OutcomeStatus::Ok)
    }
}

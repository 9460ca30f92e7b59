//! The request before a call, and the report after it.

use bitacora_formats::{JsonError, check_json};
use serde::Serialize;
use serde_json::value::RawValue;

/// The error for a text that is not JSON that the ledger takes.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the arguments: {0}")]
pub struct InvalidJson(#[from] JsonError);

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
    /// The kind of task that it is part of.
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
    /// The estimated cost, in US dollars with up to six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
    /// The time that the call may take, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Set when a person is there to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
}

impl CallRequest {
    /// Returns a call of this tool without arguments.
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

    /// Returns the call's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.call
    }

    /// Sets the arguments: a JSON text that is kept as it is.
    ///
    /// # Errors
    /// [`InvalidJson`].
    pub fn with_args(mut self, args: &str) -> Result<Self, InvalidJson> {
        check_json(args.as_bytes())?;
        self.args = RawValue::from_string(args.to_owned()).ok();
        Ok(self)
    }
}

/// The status with which a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeStatus {
    /// The call did what it was called for.
    Ok,
    /// The call failed.
    Error,
    /// The call took too long.
    Timeout,
    /// The call was interrupted.
    Interrupted,
    /// A person rejected the call.
    Rejected,
    /// Something other than a person blocked the call.
    Blocked,
}

/// The report of a call's end, and of the resources it used.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeReport {
    call: String,
    status: OutcomeStatus,
    /// The kind of error, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The exit code of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The duration, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The cost, in US dollars with up to six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The result of the check after the call.
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
    /// Returns the report of a call that ended with this status.
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

    /// Returns the report of a call that did what it was called for.
    #[must_use]
    pub fn ok(call: impl Into<String>) -> Self {
        Self::new(call, OutcomeStatus::Ok)
    }
}

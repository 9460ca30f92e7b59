//! One call: its row, and its answer in the HTTP interface.

use bitacora_api::{
    CallAnswer, CallApprovalAnswer, CallArtifactAnswer, CallDecisionAnswer, CallOutcomeAnswer, PENDING,
};
use bitacora_formats::{Micros, format_time, format_usd};
use serde::{Deserialize, Serialize};

use crate::call_state::CallState;
use crate::import_times::{ImportOrigin, KnownImports};

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSummary {
    /// The position of its first request; that of its end if only the end is recorded.
    pub position: u64,
    /// The time of that, microseconds since 1970; for an accepted import, the time that the imported event states.
    pub time: u64,
    /// The time of its recording.
    #[serde(skip)]
    pub recorded: u64,
    /// The import that brought it, and when it says that it happened.
    pub brought: Option<ImportOrigin>,
    /// Its id. It is another call's after this one has ended, and may be that of calls that were recorded elsewhere.
    pub call: String,
    /// The position of the earlier call with this id.
    pub earlier: Option<u64>,
    /// The tool; `-` where only the call's end is recorded.
    pub tool: String,
    /// The server that the tool belongs to.
    pub server: Option<String>,
    /// The model that asked.
    pub model: Option<String>,
    /// The task type that it worked on.
    pub task_type: Option<String>,
    /// The actor that wrote the request.
    pub actor: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The number of requests before it ended.
    pub asked: u32,
    /// `true` if it was recorded elsewhere and brought here.
    pub imported: bool,
    /// The last decision on it.
    pub decision: Option<CallDecision>,
    /// The approval that it waited for last, and what became of that.
    pub approval: Option<CallApproval>,
    /// Its state while no end is recorded.
    pub state: CallState,
    /// Its end.
    pub outcome: Option<CallOutcome>,
    /// `true` if the end came only after the call was given up.
    pub late: bool,
}

impl CallSummary {
    /// Sets its times as they are believed now.
    pub(super) fn settle(mut self, imports: &KnownImports) -> Self {
        self.recorded = self.time;
        self.time = imports.happened(self.recorded, self.brought.as_ref());
        if let Some(outcome) = &mut self.outcome {
            outcome.time = imports.happened(outcome.time, outcome.brought.as_ref());
        }
        self
    }

    /// Returns the outcome in one word: its end, else its state.
    #[must_use]
    pub fn came_to(&self) -> &str {
        self.outcome.as_ref().map_or(self.state.as_str(), |outcome| &outcome.status)
    }
}

impl From<CallSummary> for CallAnswer {
    fn from(call: CallSummary) -> Self {
        Self {
            state: outcome_word(call.came_to()).to_owned(),
            position: call.position.to_string(),
            time: format_time(Micros(call.time)),
            recorded: format_time(Micros(call.recorded)),
            call: call.call,
            earlier: call.earlier.map(|position| position.to_string()),
            tool: call.tool,
            server: call.server,
            model: call.model,
            task_type: call.task_type,
            actor: call.actor,
            agent: call.agent,
            session: call.session,
            run: call.run,
            asked: call.asked,
            imported: call.imported,
            decision: call.decision.map(Into::into),
            approval: call.approval.map(Into::into),
            outcome: call.outcome.map(Into::into),
            late: call.late,
        }
    }
}

/// Returns an outcome in the word of the HTTP interface, of the word that rows are found by.
#[must_use]
pub fn outcome_word(stored: &str) -> &str {
    if stored == CallState::Waiting.as_str() { PENDING } else { stored }
}

/// A decision on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDecision {
    /// The position of the decision.
    pub position: u64,
    /// `allow`, `review` or `deny`.
    pub verdict: String,
    /// `observe` or `enforce`.
    pub mode: String,
    /// The reason as a code.
    pub reason_code: String,
    /// The reason, in words.
    pub reason: String,
    /// The rule of the policy that matched.
    pub rule: Option<String>,
    /// The policy's version.
    pub policy_version: Option<u64>,
    /// The context of its dimension.
    pub context: Option<String>,
}

impl From<CallDecision> for CallDecisionAnswer {
    fn from(decision: CallDecision) -> Self {
        Self {
            position: decision.position.to_string(),
            verdict: decision.verdict,
            mode: decision.mode,
            reason_code: decision.reason_code,
            reason: decision.reason,
            rule: decision.rule,
            policy_version: decision.policy_version.map(|version| version.to_string()),
            context: decision.context,
        }
    }
}

/// An approval that a call waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallApproval {
    /// Its id.
    pub approval: String,
    /// The position of the request for approval.
    pub position: u64,
    /// The time of that, microseconds since 1970.
    pub time: u64,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    pub resolution: Option<String>,
    /// The actor that resolved it.
    pub by: Option<String>,
    /// The position of the resolution.
    pub resolved_position: Option<u64>,
    /// The time of the resolution, microseconds since 1970.
    pub resolved_time: Option<u64>,
}

impl From<CallApproval> for CallApprovalAnswer {
    fn from(approval: CallApproval) -> Self {
        let waited = approval.resolved_time.map(|resolved| resolved.saturating_sub(approval.time));
        Self {
            id: approval.approval,
            position: approval.position.to_string(),
            time: format_time(Micros(approval.time)),
            resolution: approval.resolution,
            by: approval.by,
            resolved_position: approval.resolved_position.map(|position| position.to_string()),
            waited_ms: waited.map(|waited| waited / 1_000),
        }
    }
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// The position of the outcome.
    pub position: u64,
    /// The time of the outcome, microseconds since 1970.
    pub time: u64,
    /// The import that brought it, and when it says that it happened.
    pub brought: Option<ImportOrigin>,
    /// `ok`, `error`, `timeout`, `interrupted`, `rejected` or `blocked`.
    pub status: String,
    /// The kind of error, in one word.
    pub error_type: Option<String>,
    /// The exit code of its program.
    pub exit_code: Option<i64>,
    /// The duration in milliseconds, as the caller told it.
    pub duration_ms: Option<u64>,
    /// The cost in micro-USD.
    pub cost_micro_usd: Option<u64>,
    /// A summary of its input, without secrets.
    pub input_summary: Option<String>,
    /// A summary of its output, without secrets.
    pub summary: Option<String>,
    /// The artifacts that it made or changed.
    pub artifacts: Vec<CallArtifact>,
}

impl From<CallOutcome> for CallOutcomeAnswer {
    fn from(outcome: CallOutcome) -> Self {
        Self {
            position: outcome.position.to_string(),
            time: format_time(Micros(outcome.time)),
            status: outcome.status,
            error_type: outcome.error_type,
            exit_code: outcome.exit_code,
            duration_ms: outcome.duration_ms,
            cost_usd: outcome.cost_micro_usd.map(|cost| format_usd(cost.into())),
            input_summary: outcome.input_summary,
            summary: outcome.summary,
            artifacts: outcome.artifacts.into_iter().map(Into::into).collect(),
        }
    }
}

/// Something that a call made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallArtifact {
    /// Its name, mostly a path.
    pub path: String,
    /// Its kind, where that was told.
    pub kind: Option<String>,
    /// Its digest, likewise.
    pub digest: Option<String>,
}

impl From<CallArtifact> for CallArtifactAnswer {
    fn from(CallArtifact { path, kind, digest }: CallArtifact) -> Self {
        Self { path, kind, digest }
    }
}

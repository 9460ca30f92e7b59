//! The outcome of a call, and its observation of trust.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    Assurance, BlockedStatus, CompletedStatus, ExitCode, FailedStatus, MicroUsd, Milliseconds, Mode, Name,
    ToolBlocked, ToolCompleted, ToolFailed, TrustObserved, TrustOutcome, Verdict,
};

use crate::budgets::spend::{Spend, all_tokens};
use crate::calls::OpenCall;
use crate::version::has_no_dead_ends;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The call.
    pub call: Name,
    /// The way in which it ended.
    pub ending: CallEnding,
    /// The result of the check after it.
    pub post_check_passed: Option<bool>,
    /// The time that it took.
    pub duration_ms: Option<Milliseconds>,
    /// Its cost.
    pub cost_micro_usd: Option<MicroUsd>,
    /// Tokens that a model used for it.
    pub tokens: Option<u64>,
    /// `true` if its program ended with another exit code than 0.
    pub has_failed_exit: bool,
    /// `true` if it was recorded elsewhere.
    pub imported: bool,
    /// The id of the approval that a failed check asks for.
    pub drawn_approval: Option<Name>,
}

/// The ways in which calls end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    /// A success.
    Ok,
    /// An error.
    Error,
    /// A timeout.
    Timeout,
    /// An interruption: nobody's fault.
    Interrupted,
    /// A person's rejection; it did not run.
    Rejected,
    /// A block by something else; it did not run.
    Blocked,
}

macro_rules! ended {
    ($data:ident, $ending:expr) => {
        impl From<$data> for Outcome {
            fn from(data: $data) -> Self {
                Self {
                    ending: $ending(data.status),
                    call: data.call,
                    post_check_passed: data.post_check_passed,
                    duration_ms: data.duration_ms,
                    cost_micro_usd: data.cost_micro_usd,
                    tokens: data.tokens.as_ref().map(all_tokens),
                    has_failed_exit: has_failed_exit(data.exit_code, data.error_type.as_ref()),
                    imported: false,
                    drawn_approval: None,
                }
            }
        }
    };
}

ended!(ToolCompleted, |CompletedStatus::Ok| CallEnding::Ok);
ended!(ToolFailed, |status| match status {
    FailedStatus::Error => CallEnding::Error,
    FailedStatus::Timeout => CallEnding::Timeout,
    FailedStatus::Interrupted => CallEnding::Interrupted,
});
ended!(ToolBlocked, |status| match status {
    BlockedStatus::Rejected => CallEnding::Rejected,
    BlockedStatus::Blocked => CallEnding::Blocked,
});

/// The `error_type` of a program that ended with another exit code than 0, where its number is not told.
const EXIT_CODE: &str = "exit_code";

fn has_failed_exit(code: Option<ExitCode>, error_type: Option<&Name>) -> bool {
    code.map_or_else(|| error_type.is_some_and(|kind| kind.as_str() == EXIT_CODE), |code| code != 0)
}

impl CallEnding {
    /// Returns `true` if the call was made at all.
    #[must_use]
    pub const fn has_run(self) -> bool {
        !matches!(self, Self::Rejected | Self::Blocked)
    }
}

impl Outcome {
    /// Returns `true` if the call was made, and the check after it failed: its effects may have to be undone.
    pub(crate) fn has_failed_check(&self) -> bool {
        self.ending.has_run() && self.post_check_passed == Some(false)
    }

    /// Returns the spending of the call, given its reservation: figures that are not told stay as they were estimated.
    pub(crate) fn spend(&self, reserved: Spend) -> Spend {
        if !self.ending.has_run() {
            return Spend::default();
        }
        Spend {
            cost_micro_usd: self.cost_micro_usd.map_or(reserved.cost_micro_usd, MicroUsd::get),
            tokens: self.tokens.unwrap_or(reserved.tokens),
            duration_ms: self.duration_ms.map_or(reserved.duration_ms, Milliseconds::get),
            ..reserved
        }
    }

    /// Returns the same outcome as reported at this time: a success after the deadline becomes a timeout.
    #[must_use]
    pub fn at(&self, time: Micros, deadline: Micros) -> Self {
        let is_late = self.ending == CallEnding::Ok && time >= deadline;
        Self { ending: if is_late { CallEnding::Timeout } else { self.ending }, ..self.clone() }
    }

    /// Returns the observation of its dimension; `None` where there is none.
    ///
    /// A good outcome counts only with a person's approval, with an allow that was in effect, or if it was imported. A failed check
    /// after the call is an error in any case. From version 6 of the rules on an exit code says nothing, unless the policy counts
    /// it.
    #[must_use]
    pub fn observation(&self, open: &OpenCall) -> Option<TrustObserved> {
        if open.is_counted || open.outcome.uncounted {
            return None;
        }
        let has_failed_exit = self.has_failed_exit && has_no_dead_ends(open.rules);
        let outcome = match self.ending {
            CallEnding::Interrupted | CallEnding::Blocked => return None,
            CallEnding::Rejected => TrustOutcome::Rejected,
            CallEnding::Timeout => TrustOutcome::Timeout,
            CallEnding::Error | CallEnding::Ok if self.post_check_passed == Some(false) => {
                TrustOutcome::Error
            }
            CallEnding::Error | CallEnding::Ok if has_failed_exit && !open.outcome.exit_codes_count => {
                TrustOutcome::ChecksFailed
            }
            CallEnding::Ok if has_failed_exit => TrustOutcome::Error,
            CallEnding::Error => TrustOutcome::Error,
            CallEnding::Ok if open.imported || open.by_person => TrustOutcome::Approved,
            CallEnding::Ok if open.mode == Mode::Enforce && open.verdict == Verdict::Allow => {
                TrustOutcome::AutoApproved
            }
            CallEnding::Ok => return None,
        };
        Some(TrustObserved {
            dimension: open.dimension.clone(),
            outcome,
            post_check_passed: self.post_check_passed,
            duration_ms: self.duration_ms,
            tokens: None,
            cost_micro_usd: self.cost_micro_usd,
            call: Some(self.call.clone()),
            trial: open.trial.map(|trial| trial.0),
            assurance: open.imported.then_some(Assurance::Imported),
            unreported: false,
        })
    }
}

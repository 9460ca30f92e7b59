//! The finding of one step about a call.

use bitacora_vocabulary::{ReasonCode, Step, Verdict};

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepFinding {
    pub(crate) step: Step,
    pub(crate) verdict: Verdict,
    pub(crate) code: ReasonCode,
    /// The detail that the words of the reason name.
    pub(crate) detail: Option<String>,
}

/// The verdict of one step, its reason, and the detail that the words of the reason name; `None` where the step allows.
pub(crate) type StepObjection = Option<(Verdict, ReasonCode, Option<String>)>;

/// Returns a denial for this reason.
pub(crate) const fn deny(code: ReasonCode) -> StepObjection {
    Some((Verdict::Deny, code, None))
}

/// Returns a review for this reason.
pub(crate) const fn review(code: ReasonCode) -> StepObjection {
    Some((Verdict::Review, code, None))
}

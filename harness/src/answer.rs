//! The verdict that a hook hands to its harness.

use crate::limits::MAX_REASON_BYTES;

/// The output of a hook that leaves everything to the harness and its user's own rules.
pub const NO_OPINION: &str = "{}";

/// The ledger's verdict about a call, as far as a harness needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookVerdict<'a> {
    /// The call may run. The harness's own rules still apply.
    Allow,
    /// A person approved this very call. The harness need not ask again.
    Approved {
        /// The approval.
        approval: &'a str,
    },
    /// A person has to approve the call first.
    Review {
        /// The reason.
        reason: &'a str,
        /// The approval that waits.
        approval: Option<&'a str>,
        /// `true` if the harness's user is there to be asked.
        interactive: bool,
    },
    /// The call may not run.
    Deny {
        /// The reason.
        reason: &'a str,
    },
}

impl HookVerdict<'_> {
    /// Returns the reason for a call that does not run, with the way to get it approved.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Allow => String::new(),
            Self::Approved { approval } => format!("Approval {approval} allows this call once."),
            Self::Deny { reason } => shortened(reason).to_owned(),
            Self::Review { reason, approval: None, .. } => {
                format!("{} A person has to look at this call first.", shortened(reason))
            }
            Self::Review { reason, approval: Some(approval), .. } => format!(
                "{} Approval {approval} is pending: a person approves it with `bitacora approvals approve {approval}`. \
                 Then make the same call again.",
                shortened(reason)
            ),
        }
    }
}

/// Returns the beginning of a reason, up to the limit.
fn shortened(reason: &str) -> &str {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    reason.get(..end).unwrap_or_default()
}

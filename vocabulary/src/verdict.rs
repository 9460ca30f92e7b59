//! Verdicts on calls, and the enforcement mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict on a tool call, from the mildest to the strictest: of several, the greatest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person has to say so first.
    Review,
    /// It may not run.
    Deny,
}

impl Verdict {
    /// As events and answers write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Review => "review",
            Self::Deny => "deny",
        }
    }
}

/// The enforcement mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The verdict is recorded, and the call is allowed in any case.
    Observe,
    /// The verdict holds.
    Enforce,
}

//! The fit of a call and a condition.

/// The fit of a condition, from the weakest: of several that must all hold, the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConditionMatch {
    No,
    Perhaps,
    Yes,
}

impl From<bool> for ConditionMatch {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

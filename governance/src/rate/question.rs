//! The question for the rates about a call, and the reasons for which a call or a limit is refused.

use bitacora_vocabulary::{BoundedText, MAX_RATE_CALLS, MAX_RATE_PERIOD_MS, Milliseconds, RateBy, RateScope};

/// Limits that may be configured.
pub const MAX_RATE_LIMITS: usize = 4_096;
/// Buckets that are not full. A call that needs one more is not taken.
pub const MAX_RATE_BUCKETS: usize = 65_536;

/// The owners of the tokens that a call takes. The tool must be one that the registry knows: names that callers invent would fill
/// the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuestion<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The role.
    pub role: &'a str,
}

impl RateQuestion<'_> {
    /// Returns the scopes that a call counts in.
    pub(crate) fn scopes(&self) -> [RateScope; 3] {
        [(RateBy::Tool, self.tool), (RateBy::Agent, self.agent), (RateBy::Role, self.role)].map(
            |(by, name)| {
                // A name that no event can hold is counted under one that stands for what is not known.
                let name = BoundedText::new(name).or_else(|_| BoundedText::new("-")).ok();
                RateScope { by, name }
            },
        )
    }
}

/// The reason for which a call is not taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RateRefusal {
    /// A bucket is empty.
    #[error("too many calls of this {}; ask again in {} ms", word(*by), retry_after.get())]
    Limited {
        /// The kind of its owner.
        by: RateBy,
        /// The time until the next token, at the earliest.
        retry_after: Milliseconds,
    },
    /// There are [`MAX_RATE_BUCKETS`].
    #[error(
        "{MAX_RATE_BUCKETS} callers are counted; ask again when some of them have been quiet for a while"
    )]
    Full,
}

/// A limit cannot be taken. The ones before it hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Its numbers are out of bounds.
    #[error("a limit has at most {MAX_RATE_CALLS} calls, and a period of 1 to {MAX_RATE_PERIOD_MS} ms")]
    Numbers,
    /// There are [`MAX_RATE_LIMITS`].
    #[error("{MAX_RATE_LIMITS} limits are configured; take one away first")]
    TooMany,
}

/// Returns the word for the owner of a bucket.
pub(crate) const fn word(by: RateBy) -> &'static str {
    match by {
        RateBy::Tool => "tool",
        RateBy::Agent => "agent",
        RateBy::Role => "role",
    }
}

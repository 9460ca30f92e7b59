//! The retention policy: how long events are kept, and the removal of those whose time is over.
//!
//! Only the service writes these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedNumber, Count, EventData, EventPosition, FreeText, Glob, Name, Sha256Text};

/// Days that a rule keeps events at least, unless it says why it keeps them shorter: six months.
pub const RETENTION_MINIMUM_DAYS: u32 = 180;
/// Days that a rule keeps events at most: a hundred years.
pub const MAX_KEEP_DAYS: u32 = 36_500;
/// Rules of a retention policy.
pub const MAX_RETENTION_RULES: usize = 64;
/// Globs of one part of a retention rule.
pub const MAX_RETENTION_GLOBS: usize = 32;

/// Globs of one part of a retention rule.
pub type RetentionGlobs = BoundedList<Glob, 1, MAX_RETENTION_GLOBS>;
/// The rules of a retention policy.
pub type RetentionRules = BoundedList<RetentionRule, 0, MAX_RETENTION_RULES>;

/// `retention.changed`: this is the whole retention policy from here on. Without a rule everything is kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetentionChanged {
    /// The rules. Several that match an event keep it as long as the longest of them; an event that none matches is kept for ever.
    pub rules: RetentionRules,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// One rule of a retention policy: how long the events are kept that agree with every part that is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionRule {
    /// Its name; no two rules of a policy share one.
    pub rule: Name,
    /// Days from an event's time of recording on. Fewer than 180 take a reason in `shorter_because`.
    pub keep_days: BoundedNumber<1, MAX_KEEP_DAYS>,
    /// The types: globs, in the dialect of policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<RetentionGlobs>,
    /// The streams: globs, in the dialect of policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<RetentionGlobs>,
    /// `true`: events that name a data subject; `false`: those that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<bool>,
    /// The reason for which these events are kept for less than six months.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shorter_because: Option<FreeText>,
}

/// `retention.expired`: events of a range were removed from an archive, because their time under the retention policy was over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetentionExpired {
    /// The first event of the range.
    pub first: EventPosition,
    /// The last one.
    pub last: EventPosition,
    /// Events that were removed.
    pub events: Count,
    /// The name of the archive that takes the place of the one with these events.
    pub archive: Name,
    /// The revision of that archive.
    pub revision: Count,
    /// SHA-256 of its signed manifest.
    pub manifest_sha256: Sha256Text,
    /// The event that set the policy under which they were removed.
    pub policy: EventPosition,
}

impl EventData for RetentionChanged {
    const KIND: &'static str = "retention.changed";
    const VERSION: u32 = 1;
}

impl EventData for RetentionExpired {
    const KIND: &'static str = "retention.expired";
    const VERSION: u32 = 1;
}

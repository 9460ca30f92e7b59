//! Times of people and calls, from a policy or from a tool's registration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BoundedNumber;

/// The longest time that a person may be given, in seconds: 30 days.
pub const MAX_APPROVAL_S: u32 = 30 * 86_400;
/// The longest time after a decision in which a call may begin, in seconds: a day.
pub const MAX_START_S: u32 = 86_400;
/// The longest time that a call of a tool without a registration may take, in seconds: 30 days.
pub const MAX_CALL_S: u32 = 30 * 86_400;
/// The longest time for which critical calls of a blocked dimension are denied, in seconds: 30 days.
pub const MAX_BLOCKED_S: u32 = 30 * 86_400;
/// The longest time between two calls without a session that are counted together, in seconds: a day.
pub const MAX_ALONE_S: u32 = 86_400;

/// The longest time after which a run without an end is told of, in seconds: 30 days.
pub const MAX_RUN_S: u32 = 30 * 86_400;

/// Seconds that a person has to answer.
pub type ApprovalSeconds = BoundedNumber<1, MAX_APPROVAL_S>;
/// Seconds in which a call may begin.
pub type StartSeconds = BoundedNumber<1, MAX_START_S>;

/// The answer to a call whose approval nobody resolved in time. None of them lets it run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalEnd {
    /// The same call asks for another approval.
    #[default]
    Review,
    /// The same call is denied for as long again, up to a day.
    Deny,
}

/// The times of a policy. A member that is left out is as shipped. It refuses members that it does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTimes {
    /// Seconds that a person has to answer. A day as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_s: Option<ApprovalSeconds>,
    /// The answer to a call whose approval nobody resolved in time. `review` as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_end: Option<ApprovalEnd>,
    /// Seconds after its decision in which a call may begin. 300 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<StartSeconds>,
    /// Seconds after its decision in which a call of a tool without a registration ends; then it is recorded as a timeout. 3,600 as
    /// shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_s: Option<BoundedNumber<1, MAX_CALL_S>>,
    /// Seconds after the last outcome of a blocked dimension for which its critical calls are denied; then a person looks at them. A
    /// day as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_s: Option<BoundedNumber<1, MAX_BLOCKED_S>>,
    /// Seconds after its beginning from which on a run that has told no end is told of. A day as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_s: Option<BoundedNumber<1, MAX_RUN_S>>,
    /// Seconds between two calls that name neither a session nor a run, up to which they are counted together. 600 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_s: Option<BoundedNumber<1, MAX_ALONE_S>>,
}

/// The times of a tool, which hold in the place of a policy's. It refuses members that it does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolTimes {
    /// Seconds that a person has to answer for one of its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_s: Option<ApprovalSeconds>,
    /// The answer to one of its calls whose approval nobody resolved in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_end: Option<ApprovalEnd>,
    /// Seconds after its decision in which one of its calls may begin. Then it has its `timeout_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<StartSeconds>,
}

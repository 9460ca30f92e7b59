//! The trust in the ledger's time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The trust in the ledger's time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClockAnswer {
    /// `true` if calls are decided by it.
    pub trusted: bool,
    /// The latest time that decided, RFC 3339. It never goes back.
    pub governed_time: String,
    /// Microseconds that governed time is ahead of the clock, since a correction of it was accepted. 0 while a jump is not accepted.
    pub offset_us: u64,
    /// The jump that nobody has accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jump: Option<ClockJumpAnswer>,
}

/// A jump of the clock.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClockJumpAnswer {
    /// The position of its event.
    pub position: String,
    /// The time that the clock should have shown, RFC 3339.
    pub from: String,
    /// The time that it showed.
    pub to: String,
    /// `forward` or `back`.
    pub direction: String,
}

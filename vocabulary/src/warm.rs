//! The cut of warm data: the position behind which rows of read models stay on the disk.
//!
//! Only the service writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedNumber, EventData, EventPosition, MAX_KEEP_DAYS};

/// Days that rows stay warm at least.
pub const MIN_WARM_DAYS: u32 = 30;

/// Days that rows stay warm.
pub type WarmDays = BoundedNumber<MIN_WARM_DAYS, MAX_KEEP_DAYS>;

/// `warm.cut`: rows of read models that no event behind a position wrote leave the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmCut {
    /// The position.
    pub through: EventPosition,
    /// Days that rows stay, as the service was told.
    pub keep_days: WarmDays,
}

impl EventData for WarmCut {
    const KIND: &'static str = "warm.cut";
    const VERSION: u32 = 1;
}

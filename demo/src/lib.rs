//! The demo that `quickstart` shows: a recorded hour of invented agents, the tools that they call, and a few calls that are decided
//! while somebody looks.
//!
//! Everything goes through the public interface, so it may not know the ledger or the service. It reads no files and no clock.

mod act;
mod connected_ledger;
mod governing;
mod hour;

pub use act::{Act, DemoAgent, PlayedAct};
pub use connected_ledger::ConnectedLedger;
pub use governing::DecisionCounts;
pub use hour::{DemoHour, recorded_hour};

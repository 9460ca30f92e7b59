//! The types of events that governance reads and writes, and what their data must hold.
//!
//! Each is a struct that is read from an event's `data`: members it does not know are kept with the event and ignored here;
//! an enum's unknown or missing value is refused, never defaulted. The JSON Schemas that are published are made from the same
//! structs.

mod amounts;
mod approval;
mod decision;
mod text;
mod verdict;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use amounts::{AmountError, MicroUsd, Milliseconds, Tokens};
pub use approval::{
    ApprovalConsumed, ApprovalRequested, ApprovalResolved, GrantGiven, GrantRevoked, GrantScope, Note,
    Resolution,
};
pub use decision::{
    BreakerCondition, DecisionInputs, DecisionMade, DimensionParts, LadderStep, Obligations, ReasonCode,
    ReasonText, Step,
};
pub use text::{BoundedText, Name, TextError};
pub use verdict::{Mode, Verdict};

/// The data of one type of event.
pub trait EventData: Serialize + DeserializeOwned + schemars::JsonSchema {
    /// The event's `type`.
    const KIND: &'static str;
    /// Counts up when what is required of the data changes. Older versions stay readable.
    const VERSION: u32;
}

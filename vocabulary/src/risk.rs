//! The risk of a tool: its possible effects on the world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The possible effects of a tool on the world, from the mildest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It looks.
    Read,
    /// It changes things that can be changed back.
    Write,
    /// It changes things that cannot.
    Destructive,
}

//! What stops agents, all of them or one.

use std::collections::BTreeMap;

use bitacora_formats::vocabulary::AgentName;
use serde::{Deserialize, Serialize};

/// What is stopped, each with the operator's reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// Everything.
    pub panic: Option<String>,
    /// These agents.
    pub suspended: BTreeMap<AgentName, String>,
}

//! The stops of agents: all of them, or one.

use std::collections::BTreeMap;

use bitacora_vocabulary::AgentName;
use serde::{Deserialize, Serialize};

/// The stops in force, each with the operator's reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspensions {
    /// Everything.
    pub panic: Option<String>,
    /// These agents.
    pub suspended: BTreeMap<AgentName, String>,
}

impl Suspensions {
    /// Returns the stops of one agent's calls.
    pub(crate) fn of_agent(&self, agent: Option<&str>) -> Self {
        let own = agent.and_then(|agent| self.suspended.get_key_value(agent));
        let suspended = own.into_iter().map(|(agent, reason)| (agent.clone(), reason.clone())).collect();
        Self { panic: self.panic.clone(), suspended }
    }
}

//! The executor whose part of a state a replica holds.

use bitacora_vocabulary::{BudgetScope, ModeScope, RateBy, RateScope};
use serde::{Deserialize, Serialize};

use crate::undo::per_agent_quota::NOBODY;

/// The caller of calls, as it is recorded: no more than is needed to find the part that concerns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executor {
    /// The agent whose calls they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The sender of the requests: the role, and behind a colon the holder of it.
    pub actor: String,
}

impl Executor {
    /// Returns the role in which it asks.
    #[must_use]
    pub fn role(&self) -> &str {
        self.actor.split_once(':').map_or(self.actor.as_str(), |(role, _)| role)
    }

    /// Returns `true` if a rule for this agent and role, or for all, is about this executor's calls.
    fn is_in_scope(&self, agent: Option<&str>, role: Option<&str>) -> bool {
        (agent.is_none() || agent == self.agent.as_deref()) && role.is_none_or(|role| role == self.role())
    }

    pub(crate) fn is_own(&self, agent: Option<&str>) -> bool {
        agent == self.agent.as_deref()
    }

    /// Returns the agent under which it is counted; a caller without a name counts as one agent.
    pub(crate) fn counted(&self) -> &str {
        self.agent.as_deref().unwrap_or(NOBODY)
    }

    pub(crate) fn is_in_mode(&self, scope: &ModeScope) -> bool {
        self.is_in_scope(scope.agent.as_deref(), scope.role.as_deref())
    }

    pub(crate) fn is_in_budget(&self, scope: &BudgetScope) -> bool {
        self.is_in_scope(scope.agent.as_deref(), scope.role.as_deref())
    }

    pub(crate) fn is_in_rate(&self, scope: &RateScope) -> bool {
        let name = scope.name.as_deref();
        match scope.by {
            RateBy::Tool => true,
            RateBy::Agent => name.is_none_or(|name| name == self.counted()),
            RateBy::Role => name.is_none_or(|name| name == self.role()),
        }
    }
}

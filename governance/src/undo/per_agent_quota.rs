//! Each agent's share of the entries of a map, so that one agent does not fill it for all.

use serde::{Deserialize, Serialize};

use crate::undo::undo_map::UndoMap;

/// The caller where no agent is named.
pub(crate) const NOBODY: &str = "-";

/// Entries by agent; an agent without any is not there. All callers that name no agent share one count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PerAgentQuota {
    by_agent: UndoMap<String, u64>,
}

impl PerAgentQuota {
    pub(crate) fn held(&self, agent: Option<&str>) -> usize {
        let held = self.by_agent.get(agent.unwrap_or(NOBODY)).copied().unwrap_or_default();
        usize::try_from(held).unwrap_or(usize::MAX)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_agent.len() == 0
    }

    /// Sets the share of this agent, and removes all others.
    pub(crate) fn hold_only(&mut self, agent: Option<&str>, held: usize) {
        self.clear();
        if held > 0 {
            let held = u64::try_from(held).unwrap_or(u64::MAX);
            self.by_agent.insert(agent.unwrap_or(NOBODY).to_owned(), held);
        }
    }

    pub(crate) fn add(&mut self, agent: Option<&str>) {
        let agent = agent.unwrap_or(NOBODY).to_owned();
        self.by_agent.change_or(&agent, || 0, |held| *held = held.saturating_add(1));
    }

    pub(crate) fn take(&mut self, agent: Option<&str>) {
        let agent = agent.unwrap_or(NOBODY).to_owned();
        let left = self.by_agent.change(&agent, |held| {
            *held = held.saturating_sub(1);
            *held
        });
        if left == Some(0) {
            self.by_agent.remove(&agent);
        }
    }

    pub(crate) fn clear(&mut self) {
        let agents: Vec<_> = self.by_agent.iter().map(|(agent, _)| agent.clone()).collect();
        agents.iter().for_each(|agent| self.by_agent.remove(agent));
    }

    pub(crate) fn pause(&mut self) {
        self.by_agent.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_agent.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_agent.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_agent.discard();
    }
}

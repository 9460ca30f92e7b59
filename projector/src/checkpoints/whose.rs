//! The owner of a thread: the agent that saved in it first.
//! Saves and deletions of another agent in it count for nothing.

use bitacora_vocabulary::Role;
use serde::{Deserialize, Serialize};

use crate::models::FoldEvent;

/// The owner of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Owner {
    /// Nobody's: what came first named no agent, as where nobody needs a token. Anybody goes on in it.
    Nobody,
    /// This agent's.
    Agent(String),
}

/// The sender of an event about a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender<'a> {
    agent: Option<&'a str>,
    /// `true` for an operator or an admin, who govern what agents keep.
    pub(super) governs: bool,
}

impl<'a> Sender<'a> {
    pub(super) fn of(event: &'a FoldEvent<'_>) -> Self {
        Self::new(event.record.actor.as_deref(), event.record.agent.as_deref())
    }

    pub(super) fn new(actor: Option<&str>, agent: Option<&'a str>) -> Self {
        let role = actor.and_then(|actor| actor.split_once(':')).map(|(role, _)| role);
        let governs = [Role::Operator, Role::Admin].iter().any(|governing| role == Some(governing.as_str()));
        Self { agent, governs }
    }

    /// Returns the owner of a thread that it begins.
    pub(super) fn owner(&self) -> Owner {
        self.agent.map_or(Owner::Nobody, |agent| Owner::Agent(agent.to_owned()))
    }

    /// Returns `true` if it may save and delete in a thread of this owner.
    pub(super) fn may_act(&self, owner: Option<&Owner>) -> bool {
        match owner {
            None | Some(Owner::Nobody) => true,
            Some(Owner::Agent(owner)) => self.governs || self.agent.is_none_or(|agent| agent == owner),
        }
    }
}

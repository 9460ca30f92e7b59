//! The enforcement mode of an agent, and its earlier one.

use bitacora_api::{ModeAnswer, ModeRequest, ModeScopeAnswer, ScopedMode};
use hyper::Method;

use crate::error::CommandError;
use crate::ledger_access::context::CommandContext;

/// The mode of an agent's calls before connecting.
pub(super) struct AgentMode {
    pub(super) agent: String,
    pub(super) before: String,
}

impl AgentMode {
    /// Reads the mode.
    pub(super) fn read(agent: String, context: &mut CommandContext) -> Result<Self, CommandError> {
        let all: ModeAnswer = context.read("mode")?;
        let scopes: Vec<ScopedMode> = context.items::<ModeAnswer>("mode")?;
        let is_own = |scope: &ModeScopeAnswer| {
            scope.agent.as_ref() == Some(&agent) && scope.tool.is_none() && scope.role.is_none()
        };
        let own = scopes.into_iter().find(|scoped| is_own(&scoped.scope));
        let before = own.map_or(all.mode, |scoped| scoped.mode);
        Ok(Self { agent, before })
    }

    /// Sets the mode.
    pub(super) fn set(&self, mode: &str, context: &mut CommandContext) -> Result<(), CommandError> {
        let scope = ModeScopeAnswer { tool: None, agent: Some(self.agent.clone()), role: None };
        let request = ModeRequest { mode: mode.to_owned(), scope: Some(scope), note: None };
        context.send(&Method::PUT, "mode", Some(&request)).map(|_| ())
    }

    /// Sets the mode that was there before.
    pub(super) fn restore(&self, context: &mut CommandContext) -> Result<(), CommandError> {
        self.set(&self.before, context)
    }
}

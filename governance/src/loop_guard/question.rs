//! A call, as the loop detection sees it.

use bitacora_formats::Micros;
use bitacora_vocabulary::Sha256Text;

use super::{CallSignature, LoopKey, WatchScope};
use crate::undo::per_agent_quota::NOBODY;
use crate::version::is_strict;

/// A call, as the loop detection sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopQuestion<'a> {
    pub(crate) call: &'a str,
    /// `true` if it was asked for before and is not over: it waits for a person, or came too early.
    pub(crate) is_open: bool,
    /// `true` if it waits for a person.
    pub(crate) is_reviewed: bool,
    /// The version of the rules by which it is judged.
    pub(crate) rules: u32,
    /// The tool, with its server.
    pub(crate) tool: &'a str,
    /// The digest of the arguments that matter: by the newest rules the binding fields, before them all.
    pub(crate) args: Option<&'a Sha256Text>,
    /// `true` if it polls for something.
    pub(crate) poll: bool,
    pub(crate) agent: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
    /// The folder of its session, where that is known.
    pub(crate) session_folder: Option<&'a Sha256Text>,
    /// The time after the last call within which a call without a session and a run goes on from those before.
    pub(crate) alone: Micros,
}

impl LoopQuestion<'_> {
    pub(super) fn names(&self) -> [Option<LoopKey>; 2] {
        LoopKey::of(self.agent, self.session, self.run, self.rules)
    }

    /// Returns the agent that does it, where that is told.
    pub(super) fn doer(&self) -> Option<&str> {
        is_strict(self.rules).then(|| self.agent.unwrap_or(NOBODY))
    }

    pub(super) fn action(&self) -> Option<CallSignature> {
        let agent = self.doer().map(str::to_owned);
        self.args.map(|args| CallSignature { tool: self.tool.to_owned(), args: args.clone(), agent })
    }

    pub(super) fn does(&self, action: &CallSignature) -> bool {
        action.tool == self.tool && Some(&action.args) == self.args && action.agent.as_deref() == self.doer()
    }

    /// Returns the scopes in which it is watched, in the order of their names.
    pub(super) fn places(&self) -> impl Iterator<Item = WatchScope> {
        let run = self.run.map(|_| WatchScope::Run);
        let places = run.into_iter().chain(self.session.map(|_| WatchScope::Session));
        places.chain((self.run.is_none() && self.session.is_none()).then_some(WatchScope::Alone))
    }
}

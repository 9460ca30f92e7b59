//! The modes: whether verdicts are enforced, for each scope of calls.

use std::collections::BTreeMap;

use bitacora_vocabulary::{Mode, ModeConfigured, ModeScope};
use serde::{Deserialize, Serialize};

use crate::calls::executor::Executor;

/// The mode of each scope. A call without a configured mode is enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// The mode of all calls that no scope is about.
    all: Option<Mode>,
    #[serde(with = "pairs")]
    scoped: BTreeMap<ModeScope, Mode>,
}

/// The call whose mode is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a str,
    pub(crate) agent: Option<&'a str>,
    pub(crate) role: &'a str,
}

impl Modes {
    /// Returns the mode of a call: of several scopes that are about it the one that names the most, and of those the strictest.
    pub(crate) fn of(&self, subject: &Subject<'_>) -> Mode {
        let about = |scope: &ModeScope| {
            scope.tool.as_ref().is_none_or(|tool| tool.as_str() == subject.tool)
                && scope.agent.as_ref().is_none_or(|agent| Some(agent.as_str()) == subject.agent)
                && scope.role.as_ref().is_none_or(|role| role.as_str() == subject.role)
        };
        let scoped = self.scoped.iter().filter(|(scope, _)| about(scope));
        let narrowest = scoped.map(|(scope, mode)| (named(scope), *mode)).max();
        narrowest.map(|(_, mode)| mode).or(self.all).unwrap_or(Mode::Enforce)
    }

    /// Returns the mode of all calls that no scope is about.
    #[must_use]
    pub fn default_mode(&self) -> Mode {
        self.all.unwrap_or(Mode::Enforce)
    }

    /// Returns every scope with a mode of its own.
    pub fn scoped(&self) -> impl Iterator<Item = (&ModeScope, Mode)> {
        self.scoped.iter().map(|(scope, mode)| (scope, *mode))
    }

    /// Returns those that say something of an executor's calls.
    pub(crate) fn of_executor(&self, executor: &Executor) -> Self {
        let scoped = self.scoped.iter().filter(|(scope, _)| executor.is_in_mode(scope));
        Self { all: self.all, scoped: scoped.map(|(scope, mode)| (scope.clone(), *mode)).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.scoped.len()
    }

    /// Returns `true` if a scope would have a mode of its own that had none.
    pub(crate) fn would_grow(&self, configured: &ModeConfigured) -> bool {
        configured.scope.as_ref().is_some_and(|scope| !self.scoped.contains_key(scope))
    }

    pub(crate) fn apply_configured(&mut self, configured: ModeConfigured) {
        match configured.scope {
            Some(scope) => {
                self.scoped.insert(scope, configured.mode);
            }
            None => self.all = Some(configured.mode),
        }
    }
}

/// Returns the number of members that a scope names.
fn named(scope: &ModeScope) -> usize {
    usize::from(scope.tool.is_some()) + usize::from(scope.agent.is_some()) + usize::from(scope.role.is_some())
}

/// A map whose keys are no texts, as a sequence of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use bitacora_vocabulary::{Mode, ModeScope};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<ModeScope, Mode>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<ModeScope, Mode>, D::Error> {
        Vec::<(ModeScope, Mode)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

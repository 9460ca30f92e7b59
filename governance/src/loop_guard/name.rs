//! The names of runs and sessions in which calls are watched.

use bitacora_vocabulary::BudgetPeriod;
use serde::{Deserialize, Serialize};

use crate::version::{is_isolated, is_strict, sees_cycles};

/// The name of a scope in which calls are watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LoopKey(String);

impl LoopKey {
    /// Returns the names of the scopes in which an agent's calls are watched, by the rules of a version. These are a run and the
    /// agent's calls in a session, or, without both, the agent's other calls. By the first versions it is a run, else a session.
    pub(crate) fn of(
        agent: Option<&str>,
        session: Option<&str>,
        run: Option<&str>,
        rules: u32,
    ) -> [Option<Self>; 2] {
        if sees_cycles(rules) && session.is_none() && run.is_none() {
            return [Some(Self::of_agent_alone(agent.unwrap_or_default())), None];
        }
        let of_run = run.map(|run| Self::of_run_by(agent, run, rules));
        if is_strict(rules) {
            return [of_run, session.map(|session| Self::of_agent(agent, session))];
        }
        [of_run.or_else(|| session.map(Self::of_session)), None]
    }

    /// Returns its name among the windows of a budget for each run or session; `None` where it is for others, or for days.
    pub(crate) fn window(&self, period: BudgetPeriod) -> Option<&str> {
        match period {
            BudgetPeriod::Run => self.0.strip_prefix("run/"),
            BudgetPeriod::Session => self.0.strip_prefix("session/").or_else(|| {
                let (length, rest) = self.0.strip_prefix("agent/")?.split_once('/')?;
                rest.get(length.parse().ok()?..)?.strip_prefix("/session/")
            }),
            BudgetPeriod::Day | BudgetPeriod::SevenDays | BudgetPeriod::ThirtyDays => None,
        }
    }

    /// Returns the run that an agent's calls are watched in; `None` where that is none.
    pub(super) fn run(&self) -> Option<&str> {
        let (length, rest) = self.0.strip_prefix("agent/")?.split_once('/')?;
        rest.get(length.parse().ok()?..)?.strip_prefix("/run/")
    }

    pub(super) fn of_run(run: &str) -> Self {
        Self(format!("run/{run}"))
    }

    /// Returns the name of a run in which an agent's calls are watched. The newest rules watch each agent by itself: an agent that
    /// names another one's run neither stops it nor gets its terms.
    pub(super) fn of_run_by(agent: Option<&str>, run: &str, rules: u32) -> Self {
        if !is_isolated(rules) {
            return Self::of_run(run);
        }
        let agent = agent.unwrap_or_default();
        Self(format!("agent/{}/{agent}/run/{run}", agent.len()))
    }

    fn of_session(session: &str) -> Self {
        Self(format!("session/{session}"))
    }

    fn of_agent_alone(agent: &str) -> Self {
        Self(format!("agent/{}/{agent}/alone", agent.len()))
    }

    /// Returns the name of one agent's calls in a session, which others may name too.
    pub(super) fn of_agent(agent: Option<&str>, session: &str) -> Self {
        let of = |agent: &str| Self(format!("agent/{}/{agent}/session/{session}", agent.len()));
        agent.map_or_else(|| Self::of_session(session), of)
    }
}

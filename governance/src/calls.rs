//! Calls that were decided and have no outcome yet; with their approvals, grants, keys and outcomes.

pub(crate) mod approval_ids;
pub(crate) mod approvals;
pub(crate) mod call_request;
pub(crate) mod ended_calls;
pub(crate) mod executor;
pub(crate) mod grants;
pub(crate) mod keys;
pub(crate) mod live_sessions;
pub(crate) mod outcome;

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, DimensionPart, Mode, Name, OutcomeRules, Sha256Text, Verdict};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::budgets::spend::BudgetQuestion;
use crate::calls::keys::ScopedKey;
use crate::limits::{LATE_OUTCOME_LIFE, MAX_OPEN_CALLS, MAX_OPEN_CALLS_OF_AGENT};
use crate::trust::breaker::Trial;
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::{OLDEST_REACTOR_VERSION, is_strict};

/// Calls that are looked at for one that was only observed, to make room for another.
const LOOKED_AT: usize = 64;

/// Contracts of one call whose rollback is asked for.
const MAX_ROLLBACKS_OF_CALL: usize = 16;

/// Returns the key of an imported call: its id alone says nothing, so that its stream is a part of the key.
pub(crate) fn imported_key(stream: &str, call: &str) -> Name {
    let whole = format!("{stream}\n{call}");
    let digest = Sha256::digest(whole.as_bytes());
    Name::new(Sha256Text::of_digest(&digest.into()).as_str()).unwrap_or(Name::LEAST)
}

/// A call that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The position of its decision.
    pub position: u64,
    /// The stream it was asked for in.
    pub stream: String,
    /// The agent that asked for it.
    pub agent: Option<String>,
    /// The dimension that its outcome counts for.
    pub dimension: Dimension,
    /// The verdict as it was in effect: in mode `observe` always `allow`.
    pub verdict: Verdict,
    /// The mode of the decision.
    pub mode: Mode,
    /// `true` if a person, or a person's standing grant, lifted a review for it.
    pub by_person: bool,
    /// The approval that waits, or that allowed it.
    pub approval: Option<Name>,
    /// The time of its half-open breaker in which it was decided.
    pub trial: Option<Trial>,
    /// Its idempotency key, apart from those of other callers and tools.
    pub(crate) key: Option<ScopedKey>,
    /// `true` if it was counted towards trust.
    pub is_counted: bool,
    /// `true` if it was recorded elsewhere.
    pub imported: bool,
    /// The time at which it is over without an outcome.
    pub deadline: Micros,
    /// Set when that is recorded; its outcome may still come.
    pub is_late: bool,
    /// The version of the rules by which it was decided.
    #[serde(default = "oldest", skip_serializing_if = "is_oldest")]
    pub(crate) rules: u32,
    /// The time from which the same call may be asked for again, if it came too early.
    pub again_from: Option<Micros>,
    /// The owners of the budgets that it counts in if it runs although it was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<Box<BudgetOwners>>,
    /// The contracts whose rollback a person was asked about.
    #[serde(default, skip_serializing_if = "Rollbacks::is_empty")]
    pub(crate) rollbacks: Rollbacks,
    /// The rules by which its outcome counts.
    #[serde(default, skip_serializing_if = "OutcomeRules::is_usual")]
    pub(crate) outcome: OutcomeRules,
}

/// The contracts whose rollback was asked for, of one call; `None` where it was for no contract by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rollbacks(Vec<Option<Name>>);

impl Rollbacks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if another rollback is to be asked for. One without a contract was for all effects of the call.
    pub(crate) fn lack(&self, contract: Option<&Name>) -> bool {
        let is_asked = |asked: &Option<Name>| asked.is_none() || asked.as_ref() == contract;
        let covered = if contract.is_none() { !self.is_empty() } else { self.0.iter().any(is_asked) };
        !covered && self.0.len() < MAX_ROLLBACKS_OF_CALL
    }

    pub(crate) fn add(&mut self, contract: Option<Name>) {
        self.0.push(contract);
    }
}

/// The owners of the budgets that a call counts in, besides those that its dimension names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BudgetOwners {
    pub(crate) role: String,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
}

impl BudgetOwners {
    pub(crate) fn budget_question<'a>(&'a self, open: &'a OpenCall) -> BudgetQuestion<'a> {
        let known = |part: &'a str| Some(part).filter(|part| *part != DimensionPart::UNKNOWN);
        BudgetQuestion {
            agent: open.agent.as_deref(),
            role: Some(&self.role),
            tool: Some(open.dimension.tool()),
            model: known(open.dimension.model()),
            task_type: known(open.dimension.task_type()),
            session: self.session.as_deref(),
            run: self.run.as_deref(),
            workspace: open.dimension.workspace(),
            rules: open.rules,
            is_call: true,
            own: None,
        }
    }
}

const fn oldest() -> u32 {
    OLDEST_REACTOR_VERSION
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_oldest(version: &u32) -> bool {
    *version == OLDEST_REACTOR_VERSION
}

impl OpenCall {
    /// Returns `true` if an event that names this agent, or none, may be about it. An agent does not answer for another one.
    pub(crate) fn is_of(&self, agent: Option<&str>) -> bool {
        agent.is_none() || agent == self.agent.as_deref()
    }

    /// Returns `true` if the same call may be asked for once more: a review that brings the approval it waited for, or a call that
    /// came too early and has waited since.
    pub(crate) fn may_be_repeated(&self, approval: Option<&Name>, time: Micros) -> bool {
        match self.verdict {
            Verdict::Allow => false,
            Verdict::Review => approval.is_some(),
            Verdict::Deny => self.again_from.is_some_and(|from| time >= from),
        }
    }

    /// Returns `true` if its outcome, or that it took too long, is still to be recorded.
    fn waits(&self) -> bool {
        self.verdict == Verdict::Allow && !self.is_late
    }

    /// Returns the time from which no further event about it is expected.
    fn end(&self) -> Micros {
        if self.is_late { Micros(self.deadline.0.saturating_add(LATE_OUTCOME_LIFE.0)) } else { self.deadline }
    }
}

/// All open calls, by their id and by their deadline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCalls {
    /// Boxed, so that little is moved where one comes or goes.
    pub(crate) by_id: UndoMap<Name, Box<OpenCall>>,
    /// Allowed calls: past their deadline the scheduler records that they took too long.
    by_deadline: UndoMap<(Micros, Name), ()>,
    /// The others, and those of which that is recorded: past their end nothing more is to come, and they leave.
    leaving: UndoMap<(Micros, Name), ()>,
    pub(crate) shares: PerAgentQuota,
}

impl OpenCalls {
    pub(crate) fn get(&self, call: &str) -> Option<&OpenCall> {
        self.by_id.get(call).map(|open| &**open)
    }

    /// Returns `true` if there is no room for another call at this time.
    pub(crate) fn is_full(&self, time: Micros) -> bool {
        let leaves_now = || self.leaving.iter().next().is_some_and(|((end, _), ())| *end <= time);
        self.by_id.len() >= MAX_OPEN_CALLS && !leaves_now()
    }

    /// Returns `true` if this agent has as many as one may.
    pub(crate) fn is_full_of(&self, agent: Option<&str>) -> bool {
        self.shares.held(agent) >= MAX_OPEN_CALLS_OF_AGENT
    }

    /// Returns the calls of which an event is still to come at this time. Those of which none is are let go of by the next decision alone.
    pub(crate) fn unfinished(&self, time: Micros) -> impl Iterator<Item = &Name> {
        self.by_id.iter().filter(move |(_, open)| open.waits() || time < open.end()).map(|(call, _)| call)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Allowed calls whose deadline has passed, the earliest first.
    pub(crate) fn overdue(&self, time: Micros) -> impl Iterator<Item = (&Name, &OpenCall)> {
        let over = self.by_deadline.iter().map(|(key, ())| key).take_while(move |(end, _)| *end <= time);
        over.filter_map(|(_, call)| self.get(call).map(|open| (call, open)))
    }

    /// Takes in a call that was recorded elsewhere. Where there are too many, the oldest is removed: history must not hold up calls
    /// of today.
    pub(crate) fn apply_imported(&mut self, call: Name, open: OpenCall) {
        let oldest = self.by_deadline.iter().next().map(|((_, oldest), ())| oldest.clone());
        if let Some(oldest) = oldest.filter(|_| self.by_id.len() >= MAX_OPEN_CALLS) {
            self.settle(&oldest);
        }
        self.put(call, open);
    }

    /// Takes in a call that was decided here; returns the call that was removed for it, if one was.
    pub(crate) fn apply_decided(&mut self, call: Name, open: OpenCall) -> Option<Name> {
        // It was denied for that, and nothing is kept of it; unless it runs all the same.
        let is_known = self.by_id.get(&call).is_some();
        if self.is_full_of(open.agent.as_deref()) && !is_known && open.mode == Mode::Enforce {
            return None;
        }
        self.put(call, open)
    }

    fn put(&mut self, call: Name, mut open: OpenCall) -> Option<Name> {
        // Asked for again, it is still the same call.
        open.is_counted |= self.settle(&call).is_some_and(|before| before.is_counted);
        let mut let_go = None;
        if self.by_id.len() >= MAX_OPEN_CALLS {
            if open.mode == Mode::Enforce {
                return None;
            }
            let_go = self.let_go_observed();
            if self.by_id.len() >= MAX_OPEN_CALLS {
                return let_go;
            }
        }
        self.shares.add(open.agent.as_deref());
        let end = (open.end(), call.clone());
        self.ends(&open).insert(end, ());
        self.by_id.insert(call, Box::new(open));
        let_go
    }

    /// Lets go of a call that was only observed, the first to end of those that are looked at.
    fn let_go_observed(&mut self) -> Option<Name> {
        let is_observed = |call: &&Name| self.by_id.get(*call).is_some_and(|open| open.mode == Mode::Observe);
        let first = self.by_deadline.iter().map(|((_, call), ())| call).take(LOOKED_AT).find(is_observed);
        let call = first.cloned()?;
        self.settle(&call);
        Some(call)
    }

    /// Notes that the call's time is over, and that this is recorded; its outcome is still taken for a while.
    pub(crate) fn time_out(&mut self, call: &str) {
        let Some((call, open)) = self.settled(call) else { return };
        let open = Box::new(OpenCall { is_late: true, ..*open });
        self.shares.add(open.agent.as_deref());
        self.leaving.insert((open.end(), call.clone()), ());
        self.by_id.insert(call, open);
    }

    /// Notes that something was counted for the call; nothing else will be.
    pub(crate) fn count(&mut self, call: &Name) {
        self.by_id.change(call, |open| open.is_counted = true);
    }

    /// Notes that a person is asked about a rollback of the call.
    pub(crate) fn apply_rollback(&mut self, call: &Name, contract: Option<&Name>) {
        if self.get(call).is_some_and(|open| is_strict(open.rules)) {
            self.by_id.change(call, |open| open.rollbacks.add(contract.cloned()));
        }
    }

    /// Removes a call: it has its outcome, or none is to be expected.
    pub(crate) fn settle(&mut self, call: &str) -> Option<Box<OpenCall>> {
        self.settled(call).map(|(_, open)| open)
    }

    fn settled(&mut self, call: &str) -> Option<(Name, Box<OpenCall>)> {
        let (call, open) = self.by_id.take(call)?;
        let end = (open.end(), call);
        self.ends(&open).remove(&end);
        self.shares.take(open.agent.as_deref());
        Some((end.1, open))
    }

    /// Lets go of calls of which nothing more is to come.
    pub(crate) fn forget(&mut self, time: Micros) {
        let leaving = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let over: Vec<_> = leaving.map(|(_, call)| call.clone()).collect();
        for call in over {
            self.settle(&call);
        }
    }

    fn ends(&mut self, open: &OpenCall) -> &mut UndoMap<(Micros, Name), ()> {
        if open.waits() { &mut self.by_deadline } else { &mut self.leaving }
    }

    pub(crate) fn pause(&mut self) {
        self.by_id.pause();
        self.by_deadline.pause();
        self.leaving.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_id.resume();
        self.by_deadline.resume();
        self.leaving.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_id.keep();
        self.leaving.keep();
        self.by_deadline.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_id.discard();
        self.leaving.discard();
        self.by_deadline.discard();
        self.shares.discard();
    }
}

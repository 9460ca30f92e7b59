//! The latest calls of a run or session, as far as the detection of loops needs them.

use bitacora_vocabulary::{CallBounds, LoopKind, MAX_CYCLE_CALLS};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::LoopQuestion;
use crate::undo::per_agent_quota::NOBODY;

/// Recent calls that are stored of each run and session.
const MAX_RECENT_CALLS: usize = MAX_CYCLE_CALLS as usize;

/// The factor on a loop's limit past which checkpoints no longer begin the count anew. A checkpoint is its agent's own act, so it
/// does not help for ever.
const MOST_BY_CHECKPOINTS: u32 = 10;

/// The latest calls, polls left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cycle {
    /// The newest last.
    latest: Vec<RecentCall>,
    /// For each length of a cycle, from 1 on: the number of latest calls that equal the one so many before.
    same: Vec<u32>,
    /// Calls since the last checkpoint.
    fresh: u32,
    /// Polls since the last call that was no part of a cycle.
    polls: u32,
}

/// A call that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RecentCall {
    /// Stands for its id.
    call: u64,
    /// Stands for its tool, its arguments that matter and its agent; nothing where the arguments are not known.
    action: Option<u64>,
}

/// The limits on repeated calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepeatLimits<'a> {
    pub(super) bounds: &'a CallBounds,
    /// `true` if the calls name neither a session nor a run.
    pub(super) is_alone: bool,
}

/// A loop that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OngoingLoop {
    /// A cycle of so many calls, so often.
    Cycle { calls: u32, times: u32 },
    /// So many polls in a row.
    Polls(u32),
}

impl Cycle {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Folds a call; `false` where it is one of these, asked for again.
    pub(super) fn take(&mut self, question: &LoopQuestion<'_>) -> bool {
        let made = RecentCall::of(question);
        if self.is_again(&made, question) {
            return false;
        }
        if question.poll {
            self.polls = self.polls.saturating_add(1);
            return true;
        }
        self.same.resize(MAX_RECENT_CALLS, 0);
        for (before, same) in (1..).zip(&mut self.same) {
            let earlier = self.latest.len().checked_sub(before).and_then(|at| self.latest.get(at));
            let is_same =
                earlier.is_some_and(|earlier| earlier.action.is_some() && earlier.action == made.action);
            *same = if is_same { same.saturating_add(1) } else { 0 };
        }
        if self.same.iter().all(|same| *same == 0) {
            self.polls = 0;
        }
        if self.latest.len() == MAX_RECENT_CALLS {
            self.latest.remove(0);
        }
        self.latest.push(made);
        self.fresh = self.fresh.saturating_add(1);
        true
    }

    /// Returns `true` if a call is one of these that is asked for again, with an approval or after a wait. Only a call that waits
    /// for a person may have others behind it.
    fn is_again(&self, made: &RecentCall, question: &LoopQuestion<'_>) -> bool {
        let is_newest = question.is_open && self.latest.last() == Some(made);
        made.action.is_some() && (is_newest || question.is_reviewed && self.latest.contains(made))
    }

    /// Returns the loop that a call would complete. A call that waits for a person belongs to none made since, and neither does a
    /// poll.
    pub(super) fn turning_with(
        &self,
        question: &LoopQuestion<'_>,
        limits: &RepeatLimits<'_>,
    ) -> Option<OngoingLoop> {
        let mut next = self.clone();
        if !next.take(question) {
            let is_newest = self.latest.last() == Some(&RecentCall::of(question));
            return self.ongoing_loop(limits).filter(|_| is_newest);
        }
        if question.poll { next.polling(limits.bounds) } else { next.cycling(limits) }
    }

    /// Begins the count anew.
    pub(super) fn refresh(&mut self) {
        self.fresh = 0;
    }

    /// Returns the loop behind the last call: of several cycles the shortest.
    pub(super) fn ongoing_loop(&self, limits: &RepeatLimits<'_>) -> Option<OngoingLoop> {
        self.cycling(limits).or_else(|| self.polling(limits.bounds))
    }

    fn cycling(&self, limits: &RepeatLimits<'_>) -> Option<OngoingLoop> {
        let lengths = (1..).zip(&self.same).take_while(|(calls, _)| *calls <= limits.bounds.cycle_calls());
        for (calls, same) in lengths {
            if self.is_made_of_less(calls) {
                continue;
            }
            let repeats = limits.of(calls);
            let times = same / calls + 1;
            let is_fresh = self.fresh >= calls.saturating_mul(repeats);
            if times >= repeats && (is_fresh || times >= repeats.saturating_mul(MOST_BY_CHECKPOINTS)) {
                return Some(OngoingLoop::Cycle { calls, times });
            }
        }
        None
    }

    /// Returns `true` if the last so many calls are a shorter cycle gone through several times: only that one is counted.
    fn is_made_of_less(&self, calls: u32) -> bool {
        let shorter = (1..calls).zip(&self.same).filter(|(less, _)| calls.is_multiple_of(*less));
        shorter.into_iter().any(|(less, same)| *same >= calls - less)
    }

    fn polling(&self, bounds: &CallBounds) -> Option<OngoingLoop> {
        (self.polls > bounds.poll_calls()).then_some(OngoingLoop::Polls(self.polls))
    }
}

impl RepeatLimits<'_> {
    /// Returns the number of times that make a cycle of so many calls a loop.
    pub(super) fn of(&self, calls: u32) -> u32 {
        let Self { bounds, is_alone } = *self;
        let repeats = if calls == 1 { bounds.identical_calls() } else { bounds.cycle_repeats() };
        if is_alone { repeats.max(bounds.repeats_without_session()) } else { repeats }
    }
}

impl OngoingLoop {
    /// Returns the kind that events tell.
    pub(super) const fn kind(self) -> LoopKind {
        match self {
            Self::Cycle { calls: 1, .. } => LoopKind::IdenticalCalls,
            Self::Cycle { .. } => LoopKind::RepeatedCycle,
            Self::Polls(_) => LoopKind::PollCalls,
        }
    }

    /// Returns the number of repetitions.
    pub(super) const fn count(self) -> u32 {
        match self {
            Self::Cycle { times, .. } | Self::Polls(times) => times,
        }
    }

    /// Returns the limit that it is past.
    pub(super) fn bound(self, limits: &RepeatLimits<'_>) -> u32 {
        match self {
            Self::Cycle { calls, .. } => limits.of(calls),
            Self::Polls(_) => limits.bounds.poll_calls(),
        }
    }
}

impl RecentCall {
    fn of(question: &LoopQuestion<'_>) -> Self {
        let doer = question.agent.unwrap_or(NOBODY);
        let action = question.args.map(|args| mark(&[question.tool, args.as_str(), doer]));
        Self { call: mark(&[question.call]), action }
    }
}

/// Returns the mark of some texts: the first bytes of their hash. Texts with the same mark are taken for the same.
fn mark(texts: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

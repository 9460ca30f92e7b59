//! Approvals: one person's word on one call, and its remaining use.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalConsumed, ApprovalEnd, ApprovalRequested, ApprovalResolved,
    MAX_EDITED_ARGUMENTS_BYTES, Name, ReasonCode, Resolution, Sha256Text,
};
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_APPROVALS, MAX_APPROVALS_OF_AGENT, RESOLVED_APPROVAL_LIFE};
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::has_no_dead_ends;

/// An approval that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The request, as it was asked for.
    pub request: ApprovalRequested,
    /// The position of the request.
    pub position: u64,
    /// The time at which it was asked for.
    pub asked: Micros,
    /// Its status.
    pub status: ApprovalStatus,
    /// `true` if its call was counted towards trust.
    pub is_counted: bool,
}

/// The status of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalStatus {
    /// Nobody has answered.
    Pending,
    /// Somebody has.
    Resolved {
        /// The answer, its author, and the action that it is for.
        resolution: ApprovalResolved,
        /// The time of the answer.
        at: Micros,
    },
    /// A call was allowed by it.
    Consumed {
        /// The call.
        call: Name,
        /// The answer, and its author.
        resolution: ApprovalResolved,
        /// The time of the call.
        at: Micros,
    },
}

/// The facts that have to match for an approval to allow a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) tool: &'a str,
    pub(crate) agent: Option<&'a str>,
    /// The caller.
    pub(crate) actor: Option<&'a str>,
    pub(crate) action_digest: Option<&'a Sha256Text>,
    pub(crate) server: Option<&'a str>,
    /// The folder that the arguments are relative to.
    pub(crate) cwd: Option<&'a str>,
    pub(crate) tool_revision: Option<u64>,
    pub(crate) policy_version: Option<u64>,
    /// The reasons for the call's review; `None` where an approval lifts every reason.
    pub(crate) reviews: Option<&'a [ReasonCode]>,
}

impl Approval {
    /// Returns the reason for which it may not allow a call; `None` where it may.
    fn objection(&self, claim: &Claim<'_>, time: Micros) -> Option<ReasonCode> {
        if self.request.about != ApprovalAbout::Call {
            return Some(ReasonCode::ApprovalMismatch);
        }
        let ApprovalStatus::Resolved { resolution, .. } = &self.status else {
            return Some(match self.status {
                ApprovalStatus::Consumed { .. } => ReasonCode::ApprovalUsed,
                _ if time.0 >= self.request.expires => ReasonCode::ApprovalExpired,
                _ => ReasonCode::ApprovalPending,
            });
        };
        let digest = match resolution.resolution {
            Resolution::Approved => self.request.action_digest.as_ref(),
            Resolution::Edited => resolution.action_digest.as_ref(),
            Resolution::Rejected => return Some(ReasonCode::ApprovalRejected),
            Resolution::Expired | Resolution::Withdrawn => return Some(ReasonCode::ApprovalExpired),
        };
        let same_action = digest.is_some() && digest == claim.action_digest;
        let cwd = resolution.cwd.as_deref().or(self.request.cwd.as_deref());
        let is_own = claim.actor == Some(resolution.by.as_str());
        if !same_action || is_own || cwd != claim.cwd || !self.is_requested_by(claim) {
            return Some(ReasonCode::ApprovalMismatch);
        }
        if !self.is_judged_alike(claim) {
            return Some(ReasonCode::ApprovalStale);
        }
        if !self.has_all_reasons(claim) {
            return Some(ReasonCode::ApprovalOutgrown);
        }
        (time.0 >= self.request.expires).then_some(ReasonCode::ApprovalExpired)
    }

    /// Returns `true` if the same caller asked for it, for the same agent and the same tool.
    fn is_requested_by(&self, claim: &Claim<'_>) -> bool {
        let request = &self.request;
        request.tool.as_str() == claim.tool
            && request.server.as_deref() == claim.server
            && request.agent.as_deref() == claim.agent
            && request.requested_by.as_deref() == claim.actor
    }

    /// Returns `true` if policy and registration are those that it was asked for under.
    fn is_judged_alike(&self, claim: &Claim<'_>) -> bool {
        self.request.policy_version == claim.policy_version
            && self.request.tool_revision == claim.tool_revision
    }

    /// Returns `true` if it was asked for with every reason for which the call is reviewed. An approval from before reasons were
    /// recorded is known to have had no closer look at a budget.
    fn has_all_reasons(&self, claim: &Claim<'_>) -> bool {
        let Some(reviews) = claim.reviews else { return true };
        match &self.request.reason_codes {
            Some(asked) => reviews.iter().all(|code| asked.contains(code)),
            None => !reviews.contains(&ReasonCode::BudgetSpent),
        }
    }

    /// Returns `true` if nobody answered in time and that denies the same call, which holds for as long again.
    fn has_lapsed(&self, time: Micros) -> bool {
        let is_unanswered = match &self.status {
            ApprovalStatus::Pending => true,
            ApprovalStatus::Resolved { resolution, .. } => resolution.resolution == Resolution::Expired,
            ApprovalStatus::Consumed { .. } => false,
        };
        let expires = self.request.expires;
        let until = expires.saturating_add(expires.saturating_sub(self.asked.0));
        is_unanswered && self.is_denied_at_end() && (expires..until).contains(&time.0)
    }

    /// Returns `true` if the same call is denied once its time is over.
    fn is_denied_at_end(&self) -> bool {
        self.request.at_end == Some(ApprovalEnd::Deny)
    }

    /// Returns `true` if a denial of the same call is found by its resolution.
    pub(crate) fn is_no(&self, resolution: Resolution) -> bool {
        match resolution {
            Resolution::Rejected => true,
            Resolution::Expired => self.is_denied_at_end(),
            Resolution::Approved | Resolution::Edited | Resolution::Withdrawn => false,
        }
    }

    /// Returns the time at which it can be forgotten.
    fn forgotten(&self) -> Micros {
        let life = RESOLVED_APPROVAL_LIFE.0;
        let last = match &self.status {
            ApprovalStatus::Pending => self.request.expires,
            ApprovalStatus::Resolved { at, .. } => self.request.expires.max(at.0),
            ApprovalStatus::Consumed { at, .. } => at.0,
        };
        Micros(last.saturating_add(life))
    }
}

/// All approvals that wait, and those that ended a short time ago.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Approvals {
    pub(crate) by_id: UndoMap<Name, Approval>,
    /// Approvals by the time at which each can be forgotten.
    by_end: UndoMap<(Micros, Name), ()>,
    /// Those that wait, by the digest of their action.
    pub(crate) waiting: UndoMap<(Sha256Text, Name), ()>,
    /// Those that a person said no to, or that ended with their time where that is a no, by the digest of their action.
    #[serde(default, skip_serializing_if = "UndoMap::is_empty")]
    pub(crate) rejected: UndoMap<(Sha256Text, Name), ()>,
    pub(crate) shares: PerAgentQuota,
}

impl Approvals {
    pub(crate) fn get(&self, id: &str) -> Option<&Approval> {
        self.by_id.get(id)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Approval> {
        self.by_id.iter().map(|(_, approval)| approval)
    }

    /// Approvals that nobody has answered in time, the earliest first.
    pub(crate) fn expired(&self, time: Micros) -> impl Iterator<Item = &Approval> {
        let until = time.0.saturating_add(RESOLVED_APPROVAL_LIFE.0);
        let over = self.by_end.iter().map(|(key, ())| key).take_while(move |(end, _)| end.0 <= until);
        let expired = over.filter_map(|(_, id)| self.by_id.get(id));
        expired.filter(move |approval| {
            approval.status == ApprovalStatus::Pending && time.0 >= approval.request.expires
        })
    }

    /// Returns `true` if there is no room for another one at this time.
    pub(crate) fn is_full(&self, time: Micros) -> bool {
        let leaves_now = || self.by_end.iter().next().is_some_and(|((end, _), ())| *end <= time);
        self.by_id.len() >= MAX_APPROVALS && !leaves_now()
    }

    /// Returns `true` if this agent has asked for as many as one may.
    pub(crate) fn is_full_of(&self, agent: Option<&str>) -> bool {
        self.shares.held(agent) >= MAX_APPROVALS_OF_AGENT
    }

    /// Returns the kind of entry that leaves no room for another approval of this agent, if any: its own share, or all together.
    pub(crate) fn full_for(&self, agent: Option<&str>, time: Micros) -> Option<&'static str> {
        if self.is_full_of(agent) {
            Some("this agent's approvals that wait or were answered lately")
        } else if self.is_full(time) {
            Some("approvals that wait or were answered lately")
        } else {
            None
        }
    }

    /// Checks that this approval allows the call.
    ///
    /// # Errors
    /// The reason for which it does not.
    pub(crate) fn check(&self, id: &str, claim: &Claim<'_>, time: Micros) -> Result<(), ReasonCode> {
        let approval = self.get(id).ok_or(ReasonCode::ApprovalUnknown)?;
        approval.objection(claim, time).map_or(Ok(()), Err)
    }

    /// Returns the approval that already waits for this very action, so that asking again does not ask twice.
    pub(crate) fn waiting_for(&self, claim: &Claim<'_>, time: Micros) -> Option<&Approval> {
        self.unexpired(&self.waiting, claim, time)
            .find(|approval| approval.is_judged_alike(claim) && approval.has_all_reasons(claim))
    }

    /// Returns `true` if this agent has asked for any that are remembered.
    pub(crate) fn has_any_of(&self, agent: Option<&str>) -> bool {
        self.shares.held(agent) > 0
    }

    /// Returns the approvals that this call used, and behind them those that allow this very action and that no call has used. It
    /// looks at every approval, so the state is a copy.
    pub(crate) fn allowing<'s>(
        &'s self,
        call: &'s Name,
        claim: &'s Claim<'s>,
        time: Micros,
    ) -> impl Iterator<Item = &'s Approval> {
        let is_used = move |approval: &&Approval| match &approval.status {
            ApprovalStatus::Consumed { call: by, .. } => by == call && approval.is_requested_by(claim),
            ApprovalStatus::Pending | ApprovalStatus::Resolved { .. } => false,
        };
        let is_unused = move |approval: &&Approval| approval.objection(claim, time).is_none();
        self.iter().filter(is_used).chain(self.iter().filter(is_unused))
    }

    /// Returns the approval by which a person said no to this very action, as long as a yes would have held.
    pub(crate) fn rejected_for(&self, claim: &Claim<'_>, time: Micros) -> Option<&Approval> {
        let answered = |approval: &&Approval| match &approval.status {
            ApprovalStatus::Resolved { resolution, .. } => resolution.resolution == Resolution::Rejected,
            ApprovalStatus::Pending | ApprovalStatus::Consumed { .. } => false,
        };
        self.unexpired(&self.rejected, claim, time).find(answered)
    }

    /// Returns the approval for this very action whose time ended without an answer, where that is a no. For a call whose arguments are
    /// not known it is the approval that is named.
    pub(crate) fn lapsed_for(
        &self,
        claim: &Claim<'_>,
        named: Option<&str>,
        time: Micros,
    ) -> Option<&Approval> {
        let named = named.and_then(|named| self.get(named)).filter(|named| named.is_requested_by(claim));
        let ended = self.of_action(&self.rejected, claim).chain(self.of_action(&self.waiting, claim));
        named.into_iter().chain(ended).find(|approval| approval.has_lapsed(time))
    }

    /// Returns those of them whose time is not over.
    fn unexpired<'s>(
        &'s self,
        among: &'s UndoMap<(Sha256Text, Name), ()>,
        claim: &Claim<'_>,
        time: Micros,
    ) -> impl Iterator<Item = &'s Approval> {
        self.of_action(among, claim).filter(move |approval| time.0 < approval.request.expires)
    }

    /// Returns those among them that the same caller asked for, for the same action in the same folder.
    fn of_action<'s>(
        &'s self,
        among: &'s UndoMap<(Sha256Text, Name), ()>,
        claim: &Claim<'_>,
    ) -> impl Iterator<Item = &'s Approval> {
        let same_action = claim.action_digest.into_iter().flat_map(move |digest| {
            let from = among.iter_from(&(digest.clone(), Name::LEAST)).map(|(key, ())| key);
            from.take_while(move |(other, _)| other == digest).map(|(_, id)| id)
        });
        same_action.filter_map(|id| self.by_id.get(id)).filter(move |approval| {
            approval.request.cwd.as_deref() == claim.cwd && approval.is_requested_by(claim)
        })
    }

    /// Checks that the approval may be resolved now.
    pub(crate) fn check_resolution(
        &self,
        resolved: &ApprovalResolved,
        time: Micros,
    ) -> Result<(), ReactorRefusal> {
        let id = &resolved.approval;
        let approval = self.get(id).ok_or_else(|| {
            ReactorRefusal::new(
                RefusalCode::NoSuchApproval,
                format!("there is no approval `{id}`; list those that wait"),
            )
        })?;
        if approval.status != ApprovalStatus::Pending {
            return Err(ReactorRefusal::new(
                RefusalCode::AlreadyResolved,
                format!("approval `{id}` is resolved already; the first answer holds"),
            ));
        }
        let over = time.0 >= approval.request.expires;
        match resolved.resolution {
            Resolution::Expired if !over => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                format!("approval `{id}` has not expired yet"),
            )),
            Resolution::Approved | Resolution::Edited | Resolution::Rejected if over => {
                Err(ReactorRefusal::new(
                    RefusalCode::AlreadyResolved,
                    format!("approval `{id}` has expired; have the agent ask again"),
                ))
            }
            Resolution::Approved | Resolution::Edited | Resolution::Rejected
                if approval.request.requested_by.as_ref() == Some(&resolved.by) =>
            {
                Err(ReactorRefusal::new(
                    RefusalCode::OwnRequest,
                    format!("approval `{id}` was asked for by you; somebody else resolves it"),
                ))
            }
            Resolution::Edited if approval.request.about != ApprovalAbout::Call => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                format!("approval `{id}` is about no call that could be edited; approve or reject it"),
            )),
            Resolution::Edited
                if resolved
                    .args
                    .as_ref()
                    .is_some_and(|args| args.as_json().len() > MAX_EDITED_ARGUMENTS_BYTES) =>
            {
                Err(ReactorRefusal::new(
                    RefusalCode::InvalidData,
                    format!(
                        "an edit records at most {MAX_EDITED_ARGUMENTS_BYTES} bytes of arguments; name their digest"
                    ),
                ))
            }
            Resolution::Edited if resolved.action_digest.is_none() => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                format!("an edit of approval `{id}` names the digest of the arguments that it approves"),
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn apply_requested(
        &mut self,
        request: ApprovalRequested,
        position: u64,
        time: Micros,
        is_counted: bool,
    ) {
        self.shares.add(request.agent.as_deref());
        if let Some(digest) = &request.action_digest {
            self.waiting.insert((digest.clone(), request.approval.clone()), ());
        }
        self.put(Approval { request, position, asked: time, status: ApprovalStatus::Pending, is_counted });
    }

    pub(crate) fn apply_resolved(&mut self, resolution: ApprovalResolved, rules: u32, time: Micros) {
        let answered = self.get(&resolution.approval);
        let no = answered.filter(|approval| approval.is_no(resolution.resolution) && has_no_dead_ends(rules));
        if let Some(digest) = no.and_then(|approval| approval.request.action_digest.clone()) {
            self.rejected.insert((digest, resolution.approval.clone()), ());
        }
        self.change(&resolution.approval.clone(), |approval| {
            approval.is_counted |= resolution.resolution == Resolution::Rejected;
            approval.status = ApprovalStatus::Resolved { resolution, at: time };
        });
    }

    /// Notes that something was counted for the call; nothing else will be.
    pub(crate) fn count(&mut self, id: &Name, call: &Name) {
        if self.is_of(id, call) {
            self.by_id.change(id, |approval| approval.is_counted = true);
        }
    }

    /// Returns `true` if the call that asked for this approval was counted.
    pub(crate) fn is_counted(&self, id: &Name, call: &Name) -> bool {
        self.is_of(id, call) && self.get(id).is_some_and(|approval| approval.is_counted)
    }

    /// Calls that ask for the same wait for one approval; it is of the first of them.
    fn is_of(&self, id: &Name, call: &Name) -> bool {
        self.get(id).is_some_and(|approval| approval.request.call == *call)
    }

    pub(crate) fn apply_consumed(&mut self, consumed: &ApprovalConsumed, time: Micros) {
        self.change(&consumed.approval, |approval| {
            if let ApprovalStatus::Resolved { resolution, .. } = &approval.status {
                let (call, resolution) = (consumed.call.clone(), resolution.clone());
                approval.status = ApprovalStatus::Consumed { call, resolution, at: time };
            }
        });
    }

    pub(crate) fn pause(&mut self) {
        self.by_id.pause();
        self.by_end.pause();
        self.waiting.pause();
        self.rejected.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_id.resume();
        self.by_end.resume();
        self.waiting.resume();
        self.rejected.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_id.keep();
        self.by_end.keep();
        self.waiting.keep();
        self.rejected.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_id.discard();
        self.by_end.discard();
        self.waiting.discard();
        self.rejected.discard();
        self.shares.discard();
    }

    fn change(&mut self, id: &Name, change: impl FnOnce(&mut Approval)) {
        let Some(mut approval) = self.by_id.get(id).cloned() else { return };
        self.by_end.remove(&(approval.forgotten(), id.clone()));
        self.waits_no_more(&approval.request);
        change(&mut approval);
        self.put(approval);
    }

    fn put(&mut self, approval: Approval) {
        let id = approval.request.approval.clone();
        self.by_end.insert((approval.forgotten(), id.clone()), ());
        self.by_id.insert(id, approval);
    }

    /// Lets go of those that ended long ago. With every decision: a full map denies, so that no request for one would ever make room.
    pub(crate) fn forget(&mut self, time: Micros) {
        let over: Vec<_> =
            self.by_end.iter().map(|(end, ())| end.clone()).take_while(|(end, _)| *end <= time).collect();
        for end in over {
            if let Some(approval) = self.by_id.get(&end.1).cloned() {
                self.waits_no_more(&approval.request);
                if let Some(digest) = approval.request.action_digest {
                    self.rejected.remove(&(digest, end.1.clone()));
                }
                self.shares.take(approval.request.agent.as_deref());
            }
            self.by_id.remove(&end.1);
            self.by_end.remove(&end);
        }
    }

    fn waits_no_more(&mut self, request: &ApprovalRequested) {
        if let Some(digest) = &request.action_digest {
            self.waiting.remove(&(digest.clone(), request.approval.clone()));
        }
    }
}

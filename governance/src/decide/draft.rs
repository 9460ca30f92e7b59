//! A decision in the making: the verdict of the steps, and the changes that a person's word makes to it.

use bitacora_vocabulary::{ApprovalConsumed, ApprovalRequested, Name, ReasonCode, Step, Verdict};

use crate::decide::ladder::Evaluation;
use crate::decide::review::ReviewOutcome;
use crate::reactor::examination::CallFacts;

/// A decision in the making.
pub(super) struct DecisionDraft {
    pub(super) verdict: Verdict,
    pub(super) code: ReasonCode,
    pub(super) detail: Option<String>,
    pub(super) approval: Option<Name>,
    /// The approval that a person has to give first.
    pub(super) waits: Option<Name>,
    /// `true` if a person is to be asked now.
    pub(super) asks_person: bool,
    pub(super) grant: Option<Name>,
    pub(super) expires: Option<u64>,
    pub(super) consumed: Option<ApprovalConsumed>,
    pub(super) requested: Option<ApprovalRequested>,
}

impl DecisionDraft {
    /// Returns the verdict of the steps: that of the deciding one, or an allow where none objects.
    pub(super) fn new(evaluation: &Evaluation) -> Self {
        let deciding = evaluation.deciding();
        let (verdict, code) =
            deciding.map_or((Verdict::Allow, ReasonCode::Allowed), |finding| (finding.verdict, finding.code));
        Self {
            verdict,
            code,
            detail: deciding.and_then(|finding| finding.detail.clone()),
            approval: None,
            waits: None,
            asks_person: false,
            grant: None,
            expires: None,
            consumed: None,
            requested: None,
        }
    }

    /// Takes in a person's word. Where it denies, the evaluation says so too, because the decision records its ladder.
    pub(super) fn settle_review(
        &mut self,
        outcome: ReviewOutcome,
        facts: &CallFacts,
        evaluation: &mut Evaluation,
        ends: u64,
    ) {
        match outcome {
            ReviewOutcome::Approved(approval) => {
                (self.verdict, self.code) = (Verdict::Allow, ReasonCode::Approved);
                self.consumed =
                    Some(ApprovalConsumed { approval: approval.clone(), call: facts.call.clone() });
                self.approval = Some(approval);
            }
            ReviewOutcome::Granted(grant) => {
                (self.verdict, self.code) = (Verdict::Allow, ReasonCode::Granted);
                self.grant = Some(grant);
            }
            ReviewOutcome::Refused(refused, approval) => {
                self.code = refused;
                self.approval = Some(approval);
            }
            ReviewOutcome::Waits(approval, expires) => {
                self.waits = Some(approval.clone());
                self.approval = Some(approval);
                self.expires = Some(expires);
            }
            ReviewOutcome::No(approval, no) => {
                (self.verdict, self.code, self.detail) = (Verdict::Deny, no, None);
                evaluation.deny_reviewed(no);
                self.approval = Some(approval);
            }
            ReviewOutcome::Full(what) => {
                evaluation.deny(Step::Clock, ReasonCode::StateFull, what);
                (self.verdict, self.code) = (Verdict::Deny, ReasonCode::StateFull);
                self.detail = Some(what.to_owned());
            }
            ReviewOutcome::Asks(refused) => {
                self.code = refused.unwrap_or(self.code);
                self.expires = Some(ends);
                self.asks_person = true;
            }
        }
    }

    /// Has the call wait for an approval that is asked for now.
    pub(super) fn request(&mut self, request: ApprovalRequested) {
        self.waits = Some(request.approval.clone());
        self.approval = Some(request.approval.clone());
        self.requested = Some(request);
    }
}

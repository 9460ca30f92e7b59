//! The decisions about one request: the first one, and each later one that a temporary denial gave way to.
//!
//! **The question.** `POST …/decide` becomes a `tool.requested` with the id `<call>#requested`, or `<call>#requested#<approval>`
//! where it brings an approval. An id is accepted once, so a request that is sent again after a lost answer is a duplicate. It
//! appends nothing, and the recorded decision is answered again.
//!
//! **Why a request is decided again.** Some denials hold for a time only. `approval-pending` ends when the approval is resolved or
//! expires, `rate-limited` when the wait that it named is over. A client repeats the same request then, and knows no other. The
//! recorded denial must not answer it for ever, so the service sends the request once more under another id.
//!
//! **The derived ids.** The next request has the id of the first one and the position of the decision that denied:
//!
//! ```text
//! c1#requested          → position 12: denied, approval-pending
//! c1#requested@12       → position 40: denied, rate-limited
//! c1#requested@40       → position 55: allowed
//! ```
//!
//! Such an id follows from what is recorded, and from nothing else. Two clients that repeat the request at one time derive the same
//! id, and one event is accepted. A client that loses the answer derives the same id again. A number of the attempt, or a random id,
//! would give neither.
//!
//! **The walk.** No index names the last decision of a request. A repeated request therefore begins at the first id and follows the
//! recorded decisions, one append a link. The append of a recorded link is a duplicate, which costs a look into the id tables and
//! no write.
//!
//! **Why it ends.** The walk stops at the first of these:
//!
//! 1. The append accepted a new event. Its decision was made now, so no time has passed in which its denial could have ended.
//! 2. The decision is final, is an allow, or is a temporary denial whose time is not over.
//! 3. The derived id would be longer than [`MAX_ID_BYTES`].
//! 4. [`MAX_LINKS`] derived requests were sent. The last recorded decision is the answer.
//!
//! Each link stands behind the one before it, so no walk meets a decision twice. The bound counts links of one request, whoever sends
//! it: a client that repeats one request for ever adds that many to the log at most.
//!
//! `docs/decisions/0018-repeated-decide-requests.md` has the alternatives.

use std::sync::Arc;

use bitacora_formats::limits::MAX_ID_BYTES;
use bitacora_formats::{Micros, Position};
use bitacora_governance::{ApprovalStatus, DerivedValue, Governance, State as GovernanceState};
use bitacora_ledger::{AppendReceipt, DerivedReceipt, Head};
use bitacora_vocabulary::{DecisionMade, EventData, Milliseconds, ReasonCode, Verdict};

use super::DecideContext;
use crate::problem::{Code, Problem};
use crate::requests::service_event::{ServiceEvent, derived_data};

/// The most derived requests of one request, whoever sends it.
const MAX_LINKS: usize = 32;

/// A request, and the way to its last decision.
pub(super) struct DecisionChain<'a> {
    context: &'a DecideContext,
    governance: &'a Governance,
    /// The request as the client sent it. The ids of all others are derived from its id.
    first: Arc<ServiceEvent>,
}

/// One request of a chain as it was recorded, with its decision.
pub(in crate::resources::govern) struct DecisionLink {
    /// The ledger's head when the request was accepted, or found recorded.
    pub(in crate::resources::govern) head: Head,
    /// `true` if the request was recorded before.
    pub(in crate::resources::govern) is_duplicate: bool,
    /// The position of the decision.
    pub(in crate::resources::govern) position: Position,
    /// The time of the decision's frame.
    pub(in crate::resources::govern) time: Micros,
    pub(in crate::resources::govern) decision: DecisionMade,
}

impl<'a> DecisionChain<'a> {
    pub(super) fn new(context: &'a DecideContext, governance: &'a Governance, request: ServiceEvent) -> Self {
        Self { context, governance, first: Arc::new(request) }
    }

    /// Returns the last link. Records a request if the last decision that is recorded holds no more.
    pub(super) async fn last(&self) -> Result<DecisionLink, Problem> {
        let mut link = self.link(&self.first).await?;
        for _ in 0..MAX_LINKS {
            let Some(next) = self.request_after(&link) else { break };
            link = self.link(&Arc::new(next)).await?;
        }
        Ok(link)
    }

    /// Appends a request of the chain, or finds it recorded, and reads its decision.
    async fn link(&self, request: &Arc<ServiceEvent>) -> Result<DecisionLink, Problem> {
        let DecideContext { api, ledger, .. } = self.context;
        let appended = match request.append_shared(api, ledger).await {
            // The id is recorded with other contents. The reason depends on the caller that recorded it.
            Err(problem) if problem.is(Code::IdReused) => return Err(self.id_conflict(problem).await),
            appended => appended?,
        };
        let made = decision_in(&appended)?;
        let DerivedReceipt { position, time, .. } = *made;
        let decision = derived_data(made, DerivedValue::decision, api, ledger).await?.into_owned();
        Ok(DecisionLink {
            head: appended.head,
            is_duplicate: appended.only_duplicates(),
            position,
            time,
            decision,
        })
    }

    /// Returns the request that follows a link; `None` behind the last one.
    fn request_after(&self, link: &DecisionLink) -> Option<ServiceEvent> {
        let now = self.context.now();
        let is_over =
            |state: &GovernanceState| is_ended_temporary_denial(&link.decision, link.time, now, state);
        // A decision that was made just now is never followed by another one.
        (link.is_duplicate && self.governance.read(is_over))
            .then(|| self.first.derived_after(link.position))
            .flatten()
    }

    /// Returns the problem of an id that is recorded with other contents. It tells the caller's own call from the call of another agent,
    /// of which nothing else is answered.
    async fn id_conflict(&self, problem: Problem) -> Problem {
        let DecideContext { api, ledger, .. } = self.context;
        let position = problem.member("position").and_then(|position| position.parse().ok());
        let Some(position) = position.and_then(Position::new) else { return problem };
        let reader = ledger.clone();
        let stored = api.read(move || Ok(reader.event(position)?)).await;
        let own = self.first.about.agent.as_deref();
        if !stored.is_ok_and(|stored| stored.event.agent.as_deref() != own) {
            return problem;
        }
        let call = self.first.about.call.as_deref().unwrap_or_default();
        let detail =
            format!("call `{call}` was asked for by another caller; use an id that nobody can guess");
        Problem::new(Code::CallTaken, detail)
    }
}

impl ServiceEvent {
    /// Returns the same request behind the decision at `position`, under the id that follows from both. `None` where the id would be too
    /// long.
    fn derived_after(&self, position: Position) -> Option<Self> {
        let id = format!("{}@{position}", self.id);
        (id.len() <= MAX_ID_BYTES).then(|| Self { id, ..self.clone() })
    }
}

/// Returns `true` if a decision denied for a time, and that time is over: the person who was waited for has answered, or the wait that
/// a rate named has passed.
fn is_ended_temporary_denial(
    decision: &DecisionMade,
    decided: Micros,
    now: Micros,
    state: &GovernanceState,
) -> bool {
    if decision.effective_verdict() == Verdict::Allow {
        return false;
    }
    match decision.reason_code {
        ReasonCode::RateLimited => {
            let wait = decision.retry_after_ms.map_or(0, Milliseconds::get).saturating_mul(1_000);
            now.0 >= decided.0.saturating_add(wait)
        }
        ReasonCode::ApprovalPending => {
            let approval = decision.approval.as_ref().and_then(|approval| state.approval(approval));
            approval.is_none_or(|approval| {
                approval.status != ApprovalStatus::Pending || now.0 >= approval.request.expires
            })
        }
        _ => false,
    }
}

/// Returns the decision of an append. A request that was recorded before anything decided has none.
fn decision_in(appended: &AppendReceipt) -> Result<&DerivedReceipt, Problem> {
    let made = appended.derived.iter().find(|derived| derived.kind == DecisionMade::KIND);
    made.ok_or_else(|| {
        let detail = format!(
            "the request stands at position {} without a decision; use a new id for the call",
            appended.first
        );
        Problem::new(Code::CallReused, detail).with("position", appended.first)
    })
}

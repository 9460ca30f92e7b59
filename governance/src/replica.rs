//! The part of a state that concerns one executor, kept elsewhere to predict decisions on its calls.
//!
//! A replica is a [`State`] and decides nothing by rules of its own: the same examination looks at a call, the same steps judge it. So
//! it predicts the decision of a ledger at the replica's position, as far as both have the same state. A replica lacks the
//! following state of others:
//!
//! - that a map is full for all (`state-full`);
//! - approvals of other agents' calls: one that a call brings is not known, with any other fault of it;
//! - the reservations of budgets for calls of which no further report is expected, until they are given back;
//! - failed checks before the call, where contracts ask for them;
//! - the counts of a run that another agent began, and the rest of a budget that each run has anew in such a run.

mod cut;
mod news;
mod patch;
mod prediction;

use bitacora_formats::{Data, Event, Json, Micros};
use bitacora_vocabulary::{EventData, Name, ToolRequested};

use crate::calls::executor::Executor;
use crate::decide::precheck::{CompiledTools, Precheck};
use crate::refusal::ReactorRefusal;
use crate::state::State;

pub use cut::{CutProgress, MAX_PIECE_ENTRIES};
pub use news::{ReplicaBegin, ReplicaNews};
pub use patch::StatePatch;
pub use prediction::Prediction;

/// The form of [`StatePatch`]. It counts up whenever a program of the form before would not read one, or take it for something else.
pub const REPLICA_FORM: u32 = 2;

/// The source of predicted calls; nothing is recorded of them.
const PREDICTED: &str = "urn:bitacora:predicted";

/// A call, without the facts about its caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct PredictedCall<'a> {
    /// The data of the `tool.requested` that the call would become.
    pub request: &'a [u8],
    /// The session that it belongs to.
    pub session: Option<&'a str>,
    /// The run that it belongs to.
    pub run: Option<&'a str>,
}

/// The reason for which nothing is predicted of a call. The ledger may decide it all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictionRefusal {
    /// The request is not one, or not one that this state takes: the ledger gives the reason.
    #[error("{}", .0.reason)]
    Refused(ReactorRefusal),
    /// The call was asked for before and has not ended: the ledger answers with the decision of then.
    #[error("call `{0}` was asked for before; the ledger knows what was said")]
    AskedBefore(Name),
}

/// The part of a state that concerns one executor.
pub struct Replica {
    state: State,
    executor: Executor,
    compiled: CompiledTools,
}

impl Replica {
    /// Returns a replica of this executor's part, of which nothing is known yet.
    #[must_use]
    pub fn new(executor: Executor) -> Self {
        let mut state = State::default();
        state.pause_all();
        Self { state, executor, compiled: CompiledTools::default() }
    }

    /// Takes in the changes.
    pub fn take(&mut self, patch: StatePatch) {
        self.state.take_patch(patch, &self.executor);
        self.state.keep_all();
    }

    /// Returns the number of known dimensions, of trust or of breakers.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.state.trust.len().max(self.state.breakers.len())
    }

    /// Returns its executor.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Returns the known part of the state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Predicts the decision on a call of this executor. The caller's clock is at one of these times: the first, or any up to the
    /// second.
    ///
    /// # Errors
    /// See [`PredictionRefusal`].
    pub fn predict(
        &self,
        call: &PredictedCall<'_>,
        (earliest, latest): (Micros, Micros),
    ) -> Result<Prediction, PredictionRefusal> {
        let refused = PredictionRefusal::Refused;
        let json = Json::check(call.request).map_err(|error| refused(ReactorRefusal::unfit(&error)))?;
        let mut event = Event::new("", PREDICTED, ToolRequested::KIND, "");
        event.actor = Some(self.executor.actor.as_str().into());
        event.agent = self.executor.agent.as_deref().map(Into::into);
        event.session = call.session.map(Into::into);
        event.run = call.run.map(Into::into);
        event.data = Data::Json(json);
        let (registry, policies) = (self.state.registry.get(), self.state.policies.get());
        let precheck = Precheck { registry, policies, compiled: &self.compiled };
        let facts = precheck.call(&event).map_err(refused)?;
        let known = self.state.governed_time();
        let (earliest, latest) = (earliest.max(known), latest.max(known));
        if let Some(open) = self.state.open_call(&facts.call)
            && !open.may_be_repeated(facts.approval.as_ref(), earliest)
        {
            return Err(PredictionRefusal::AskedBefore(facts.call));
        }
        let first = self.state.would_decide(&facts, earliest).map_err(refused)?;
        // A period may have ended by then: a cooldown, the day of a budget, the hours of a rule.
        let is_settled = self.state.budgets.is_settled();
        let lasting = prediction::standing(&first, is_settled).is_some() && latest > earliest;
        let last = lasting.then(|| self.state.would_decide(&facts, latest)).transpose().map_err(refused)?;
        Ok(Prediction::new(&first, last.as_ref(), is_settled))
    }
}

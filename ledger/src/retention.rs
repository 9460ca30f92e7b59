//! The removal of expired events from archives: which events expire, what keeps them longer, and its record.

pub(crate) mod counted_time;
mod open_runs;
mod recorded_archives;
mod recorded_openings;
mod retention_history;

use bitacora_formats::{Micros, Position, Record, RecordData};
use bitacora_governance::{
    ActEvent, ClockTrust, Holds, RetainedEvent, RetentionPolicy, RetentionVerdict, UnfinishedActs,
};
use bitacora_vocabulary::{RetentionExpired, SubjectKeyId};

use self::counted_time::CountedTime;
use self::open_runs::OpenRuns;
pub use self::recorded_archives::RecordedArchives;
pub use self::retention_history::RetentionHistory;

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::ledger::Ledger;
use crate::read_error::ReadError;
use crate::submission::append_error::AppendError;

/// The reasons for which it is not known which events expire. None is removed then.
#[derive(Debug, thiserror::Error)]
pub enum ExpiryRulesError {
    /// An event that governs cannot be read by this program, and may be a hold.
    #[error("the event at position {0} governs and cannot be read by this program; nothing expires")]
    Unknown(Position),
    /// The policy cannot be used.
    #[error("the retention policy: {0}; nothing expires")]
    Policy(String),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The reasons for which a removal is not recorded, so that nothing may be removed.
#[derive(Debug, thiserror::Error)]
pub enum RecordExpiryError {
    /// A hold was placed since the events were compared with those in force.
    #[error("a hold was placed meanwhile; nothing was removed, and the next run looks again")]
    HeldMeanwhile,
    /// The policy was changed, the clock jumped, or an event that governs cannot be read.
    #[error(
        "the policy under which it expired is not in force any more; nothing was removed, and the next run looks again"
    )]
    PolicyNotInForce,
    /// The log does not take it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// The holds in force at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldsInForce(Holds);

impl HoldsInForce {
    /// Returns `true` if a hold covers this event.
    #[must_use]
    pub fn cover(&self, position: Position, record: &Record<'_>) -> bool {
        let key = record.seal().map(|seal| SubjectKeyId::new(seal.subject_key));
        self.0.covering(position, &record.stream, key).is_some()
    }
}

/// The events whose time is over, by the retention policy in force, and that nothing keeps longer.
#[derive(Debug, Clone)]
pub struct ExpiryRules {
    policy: RetentionPolicy,
    position: Position,
    holds: HoldsInForce,
    open_runs: OpenRuns,
    unfinished: UnfinishedActs,
    clock: ClockTrust,
    counted: CountedTime,
}

impl ExpiryRules {
    /// Returns the position of the event that set the policy.
    #[must_use]
    pub fn policy(&self) -> Position {
        self.position
    }

    /// Returns the time of the last event before a standstill, if ages are counted up to it: the ledger was closed for long and has not run
    /// for a day since, or its clock is ahead.
    #[must_use]
    pub fn standstill(&self) -> Option<Micros> {
        self.counted.is_held_back().then_some(self.counted.until)
    }

    /// Counts ages over a standstill too: a person has looked at the clock.
    #[must_use]
    pub fn trusting_the_clock(mut self) -> Self {
        self.counted.until = self.counted.by_clock;
        self
    }

    /// Returns `true` if an event of one of these types can have expired, if it was recorded then or later.
    #[must_use]
    pub fn may_concern<'a>(&self, mut kinds: impl Iterator<Item = &'a str>, oldest: Micros) -> bool {
        // Events behind an accepted correction of the clock have times that are ahead of it.
        let oldest = Micros(oldest.0.saturating_sub(self.clock.offset()));
        kinds.any(|kind| self.policy.may_expire_by(kind, oldest, self.counted.until))
    }

    /// Returns `true` if the event's time is over, no hold covers it, and its run, its call and its import have come to their end.
    #[must_use]
    pub fn expires(&self, position: Position, time: Micros, record: &Record<'_>) -> bool {
        let event = RetainedEvent {
            kind: &record.kind,
            stream: &record.stream,
            names_subject: record.seal().is_some(),
            time: self.clock.shown_at(time),
        };
        matches!(self.policy.verdict(&event, self.counted.until), RetentionVerdict::Expired { .. })
            && !self.holds.cover(position, record)
            && !self.is_of_open_run(record)
            && !self.unfinished.include(&act_event(record))
    }

    /// Returns `true` if the event is of a run that may be open. A sealed one that names none may be of any.
    fn is_of_open_run(&self, record: &Record<'_>) -> bool {
        let is_of_any = record.seal().is_some() && record.run.is_none();
        is_of_any && self.open_runs != OpenRuns::default()
            || self.open_runs.include(record.run.as_deref(), json_of(record))
    }
}

fn act_event<'r>(record: &'r Record<'_>) -> ActEvent<'r> {
    let (call, is_sealed) = (record.call.as_deref(), record.seal().is_some());
    ActEvent { stream: &record.stream, call, data: json_of(record), is_sealed }
}

/// The data of a record, if it is JSON in clear.
fn json_of<'r>(record: &'r Record<'_>) -> Option<&'r [u8]> {
    match &record.data {
        RecordData::Json(json) => Some(json.as_bytes()),
        _ => None,
    }
}

impl Ledger {
    /// Returns the rules by which events expire now; `None` where no policy lets any expire, and while the clock jumped and nobody accepted
    /// it. Ages are counted up to the newest event, or to the clock if that shows less. A standstill of more than a week before an opening
    /// counts once the ledger has run for a day since.
    ///
    /// # Errors
    /// [`ExpiryRulesError`].
    pub fn expiry_rules(&self, history: RetentionHistory) -> Result<Option<ExpiryRules>, ExpiryRulesError> {
        let shared = self.shared();
        let Some(governance) = shared.governance.as_ref() else { return Ok(None) };
        let copy = governance.copy();
        if let Some(position) = copy.state.unreadable_event() {
            return Err(ExpiryRulesError::Unknown(position));
        }
        if copy.state.clock_trust().jump().is_some() {
            tracing::warn!("the clock jumped; nothing expires before an operator accepts its time");
            return Ok(None);
        }
        let standing = copy.state.retention();
        let Some(position) = standing.position.filter(|_| !standing.rules.is_empty()) else {
            return Ok(None);
        };
        let policy = RetentionPolicy::compile(&standing.rules);
        let policy = policy.map_err(|error| ExpiryRulesError::Policy(error.to_string()))?;
        let RetentionHistory { open_runs, openings } = history;
        let clock = *copy.state.clock_trust();
        let counted = self.counted_time(&openings, &clock)?;
        let holds = HoldsInForce(copy.state.holds().clone());
        let unfinished = copy.state.unfinished_acts(counted.until);
        let position = position.get();
        Ok(Some(ExpiryRules { policy, position, holds, open_runs, unfinished, clock, counted }))
    }

    pub(crate) fn time_of_head(&self) -> Result<Micros, ReadError> {
        self.time_at(self.shared().read.head().position)
    }

    fn time_at(&self, position: Position) -> Result<Micros, ReadError> {
        let mut time = Micros(0);
        self.frames(position, position, &mut |frame| {
            time = frame.time;
            std::ops::ControlFlow::Break(())
        })?;
        Ok(time)
    }

    /// Returns the holds in force; none where nothing governs.
    #[must_use]
    pub fn holds_in_force(&self) -> HoldsInForce {
        let governance = self.shared().governance.as_ref();
        HoldsInForce(
            governance.map_or_else(Holds::default, |governance| governance.copy().state.holds().clone()),
        )
    }

    /// Records that the content of events was removed from an archive. `holds` are those that the events were compared with: a hold that
    /// was placed since wins. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// [`RecordExpiryError`]; then nothing may be removed.
    pub fn record_expiry(
        &self,
        expired: &RetentionExpired,
        holds: &HoldsInForce,
    ) -> Result<(), RecordExpiryError> {
        let shared = self.shared();
        let _no_hold_is_placed = shared.erasures.begin();
        let now = self.holds_in_force();
        if now.0.iter().any(|(id, hold)| holds.0.get(id.as_str()) != Some(hold)) {
            return Err(RecordExpiryError::HeldMeanwhile);
        }
        if let Some(governance) = &shared.governance {
            let copy = governance.copy();
            let state = &copy.state;
            let is_in_force = state.retention().position == Some(expired.policy)
                && state.clock_trust().jump().is_none()
                && state.unreadable_event().is_none();
            if !is_in_force {
                return Err(RecordExpiryError::PolicyNotInForce);
            }
        }
        Ok(append_own(shared, &ServiceEvent::Expired(expired))?)
    }
}

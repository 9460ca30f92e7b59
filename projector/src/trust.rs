//! The record of dimensions, by month and by event, and the record that held at any position.
//!
//! A dimension's present trust follows from the state that decides; this is its past. The record at a position is made of one that is
//! kept and the few events behind it: one is kept each [`KEPT_EVERY`] events of a dimension.

mod fold;

use bitacora_api::{ImportListed, TrustMonthAnswer};
use bitacora_formats::{Data, Micros, Position, format_usd};
use bitacora_ledger::ReadError;
use bitacora_vocabulary::{
    BreakerCondition, DIMENSION_LIFE, Dimension, EventData as _, TrustRecord, TrustRules, TrustSet,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ListPage;
#[cfg(doc)]
use crate::limits::KEPT_EVERY;
use crate::models::{Model as _, ModelError, ObservationView, ReadModels, View};
pub(crate) use fold::TrustModel;
use fold::{BREAKERS, CHECKS, ENDED, ImportEnd, KEPT, MONTHS, RULES, TOLD, TrustRecordRow};

/// The outcomes of one dimension in one month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustMonth {
    /// The month, UTC: `2026-11`.
    pub month: String,
    /// Calls that went well after a person had approved them.
    pub approved: u64,
    /// Calls that went well without one.
    pub auto_approved: u64,
    /// Calls that a person rejected.
    pub rejected: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Calls that took too long.
    pub timeouts: u64,
    /// Calls whose program ended with another exit code than 0, where the policy does not count that.
    pub exit_codes: u64,
    /// Those of all that did not pass the check after them.
    pub failed_checks: u64,
    /// Those of all that were recorded elsewhere and brought here.
    pub imported: u64,
    /// Those of these that count for nothing: nobody has accepted their import.
    pub not_accepted: u64,
    /// The duration of the calls in milliseconds, as far as that was told.
    pub duration_ms: u128,
    /// The cost of the calls in micro-USD, likewise.
    pub cost_micro_usd: u128,
    /// The tokens they took, likewise.
    pub tokens: u128,
    /// The first position that counts in it.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl From<TrustMonth> for TrustMonthAnswer {
    fn from(month: TrustMonth) -> Self {
        Self {
            month: month.month,
            approved: month.approved,
            auto_approved: month.auto_approved,
            rejected: month.rejected,
            errors: month.errors,
            timeouts: month.timeouts,
            exit_codes: month.exit_codes,
            failed_checks: month.failed_checks,
            imported: month.imported,
            not_accepted: month.not_accepted,
            duration_ms: month.duration_ms.to_string(),
            cost_usd: format_usd(month.cost_micro_usd),
            tokens: month.tokens.to_string(),
            first: month.first.to_string(),
            last: month.last.to_string(),
        }
    }
}

/// The outcomes of an import, whether it counts or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportShowed {
    /// Dimensions that it has outcomes of.
    pub dimensions: u64,
    /// Those of the outcomes that were good.
    pub approvals: u64,
    /// Those that a person rejected.
    pub rejections: u64,
    /// Those that failed.
    pub failures: u64,
}

impl ImportShowed {
    /// Counts the outcomes of one more dimension.
    pub fn add(&mut self, record: &TrustRecord) {
        self.dimensions += 1;
        self.approvals = self.approvals.saturating_add(record.approvals);
        self.rejections = self.rejections.saturating_add(record.rejections);
        self.failures = self.failures.saturating_add(record.failures);
    }

    /// Returns an import as it is listed, with its outcomes where they are known.
    #[must_use]
    pub fn listed(
        showed: Option<Self>,
        digest: String,
        position: u64,
        accepted: Option<u64>,
    ) -> ImportListed {
        ImportListed {
            digest,
            position: position.to_string(),
            accepted: accepted.map(|position| position.to_string()),
            dimensions: showed.map(|showed| showed.dimensions),
            approvals: showed.map(|showed| showed.approvals),
            rejections: showed.map(|showed| showed.rejections),
            failures: showed.map(|showed| showed.failures),
        }
    }
}

/// The record of a dimension after the event at a position.
#[derive(Debug, Clone, PartialEq)]
pub struct TrustAt {
    /// The counts.
    pub record: TrustRecord,
    /// By what numbers it was judged then; `None` where no policy was active.
    pub rules: Option<TrustRules>,
    /// The state of its breaker.
    pub breaker: BreakerStood,
    /// Every event up to here is known: the answer stands unless the position that was asked about is past it.
    pub position: Position,
}

/// The state of a dimension's breaker at a position, as its events tell it. The content of its window is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerStood {
    /// Its state.
    pub condition: BreakerCondition,
    /// The time at which the next request could be a probe, microseconds since 1970; of an open breaker.
    pub cooldown_until: Option<u64>,
}

impl BreakerStood {
    /// A breaker of which nothing was told.
    pub const CLOSED: Self = Self { condition: BreakerCondition::Closed, cooldown_until: None };
}

/// The reasons for which a past record cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum TrustAtError {
    /// The model does not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The log does not.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ReadModels {
    /// Returns the outcomes of a dimension month by month, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn trust_months(
        &self,
        dimension: &Dimension,
        limit: usize,
    ) -> Result<ListPage<TrustMonth>, ModelError> {
        let view = self.view(TrustModel.name())?;
        let rows = view.rows(view.key(MONTHS, &dimension.every_part()), 0..=u64::MAX).rev();
        ListPage::take(rows.map(|row| row.map(|(_, month)| month)), limit, view.position())
    }

    /// Returns the outcomes of an ended import; `None` if no import of this digest has ended, as far as is known.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn import_showed(&self, digest: &str) -> Result<Option<ImportShowed>, ModelError> {
        let view = self.view(TrustModel.name())?;
        let ended = view.row::<ImportEnd>(&view.key(ENDED, &[digest]))?;
        Ok(ended.map(|ended| ended.showed))
    }

    /// Returns the positions of events about a dimension (`trust.observed`, imported ones too, and `trust.set`) up to a position, the
    /// newest first.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn trust_told(
        &self,
        dimension: &Dimension,
        until: Option<Position>,
        limit: usize,
    ) -> Result<ListPage<Position>, ModelError> {
        let view = self.view(TrustModel.name())?;
        let until = until.map_or(u64::MAX, Position::get);
        let positions = view.posted(view.key(TOLD, &dimension.every_part()), 0..=until);
        let positions = positions.filter_map(|position| position.map(Position::new).transpose());
        ListPage::take(positions, limit, view.position())
    }

    /// Returns the record of a dimension after the event at a position. It is made of one record that is kept, and fewer than
    /// [`KEPT_EVERY`] events that are read from the log. Blocks on the disk.
    ///
    /// # Errors
    /// [`TrustAtError`].
    pub fn trust_at(&self, dimension: &Dimension, at: Position) -> Result<TrustAt, TrustAtError> {
        let view = self.view(TrustModel.name())?;
        let parts = dimension.every_part();
        let mut kept =
            last::<TrustRecordRow>(&view, KEPT, &parts, at)?.map(|(_, kept)| kept).unwrap_or_default();
        let behind = kept.position.saturating_add(1)..=at.get();
        let mut positions = view.posted(view.key(TOLD, &parts), behind).collect::<Result<Vec<_>, _>>()?;
        positions.reverse();
        for position in positions.into_iter().filter_map(Position::new) {
            self.count(&mut kept, position)?;
        }
        if let Some((checked, time)) = last::<u64>(&view, CHECKS, &[], at)? {
            kept.forget(checked, time);
        }
        let rules = last::<Option<String>>(&view, RULES, &[], at)?.and_then(|(_, rules)| rules);
        let rules = rules.and_then(|rules| serde_json::from_str(&rules).ok());
        let breaker = last::<BreakerStood>(&view, BREAKERS, &parts, at)?;
        let breaker = breaker.map_or(BreakerStood::CLOSED, |(_, stood)| stood);
        Ok(TrustAt { record: kept.record, rules, breaker, position: view.position() })
    }

    /// Counts what the event at a position tells, as the fold did.
    fn count(&self, kept: &mut TrustRecordRow, position: Position) -> Result<(), TrustAtError> {
        let stored = self.log.event(position)?;
        let Data::Json(json) = &stored.event.data else { return Ok(()) };
        if stored.event.kind == TrustSet::KIND {
            if let Ok(set) = serde_json::from_slice::<TrustSet>(json.as_bytes()) {
                kept.change(position.get(), |record| record.apply_set(&set, stored.time));
            }
        } else if let Ok(payload) = serde_json::from_slice::<ObservationView>(json.as_bytes())
            && payload.assurance.is_none()
        {
            let (outcome, post) = (payload.outcome, payload.post_check_passed);
            kept.change(position.get(), |record| record.apply_outcome(outcome, post, stored.time));
        }
        Ok(())
    }
}

impl TrustRecordRow {
    fn change(&mut self, position: u64, change: impl FnOnce(&mut TrustRecord)) {
        change(&mut self.record);
        self.changed = position;
    }

    /// Forgets a dimension that has shown nothing for too long, when it is looked: at the first event of a day. Returns `true` if it was
    /// forgotten.
    fn forget(&mut self, checked: u64, time: u64) -> bool {
        let is_old = |Micros(last)| u64::saturating_add(last, DIMENSION_LIFE.0) <= time;
        let is_forgotten = checked > self.changed && self.record.last_updated.is_none_or(is_old);
        if is_forgotten {
            self.record = TrustRecord::default();
        }
        is_forgotten
    }
}

/// The last row of a group up to a position, with its number.
fn last<R: DeserializeOwned>(
    view: &View,
    table: u8,
    values: &[&str],
    at: Position,
) -> Result<Option<(u64, R)>, ModelError> {
    view.rows(view.key(table, values), 0..=at.get()).next_back().transpose()
}

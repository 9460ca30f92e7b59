//! Trust month by month: what each dimension showed in it, for who wants to see it change.
//!
//! What a dimension is trusted now follows from the state that decides; this is what it did.

use bitacora_formats::vocabulary::{Dimension, EventData as _, TrustObserved, TrustOutcome};
use bitacora_formats::{Micros, format_time};
use serde::{Deserialize, Serialize};

use crate::Listed;
use crate::models::{FoldError, Folded, Imported, Model, ModelError, ReadModels, Rows};

/// The model, as [`ReadModels`] keep it.
pub(crate) struct Trust;

/// What a dimension showed in a month, by the month.
const MONTHS: u8 = 1;

/// What one dimension showed in one month.
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
    /// Those of all that did not pass the check after them.
    pub failed_checks: u64,
    /// Those of all that were recorded elsewhere and brought here.
    pub imported: u64,
    /// How long they took, milliseconds, as far as that was told.
    pub duration_ms: u128,
    /// What they cost, micro-USD, likewise.
    pub cost_micro_usd: u128,
    /// The tokens they took, likewise.
    pub tokens: u128,
    /// The first position that counts in it.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

#[derive(Deserialize)]
struct Observed {
    dimension: Dimension,
    outcome: TrustOutcome,
    #[serde(default)]
    post_check_passed: Option<bool>,
    #[serde(default)]
    duration_ms: Option<u64>,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    cost_micro_usd: Option<u64>,
    #[serde(default)]
    assurance: Option<Imported>,
}

impl Model for Trust {
    fn name(&self) -> &'static str {
        "trust"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[TrustObserved::KIND]
    }

    fn fold(&self, event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let Some(observed) = event.data::<Observed>()? else { return Ok(()) };
        let (number, name) = month_of(event.happened(observed.assurance));
        let key = rows.key(MONTHS, &observed.dimension.parts()).at(number);
        let month = rows.row::<TrustMonth>(&key)?;
        let first = event.position.get();
        let mut month = month.unwrap_or_else(|| TrustMonth { month: name, first, ..TrustMonth::default() });
        let count = match observed.outcome {
            TrustOutcome::Approved => &mut month.approved,
            TrustOutcome::AutoApproved => &mut month.auto_approved,
            TrustOutcome::Rejected => &mut month.rejected,
            TrustOutcome::Error => &mut month.errors,
            TrustOutcome::Timeout => &mut month.timeouts,
        };
        *count += 1;
        month.failed_checks += u64::from(observed.post_check_passed == Some(false));
        month.imported += u64::from(observed.assurance.is_some());
        month.duration_ms += u128::from(observed.duration_ms.unwrap_or(0));
        month.cost_micro_usd += u128::from(observed.cost_micro_usd.unwrap_or(0));
        month.tokens += u128::from(observed.tokens.unwrap_or(0));
        month.last = event.position.get();
        rows.put(&key, &month)?;
        Ok(())
    }
}

/// The month of a time, as a number that grows with it and as people write it.
fn month_of(time: Micros) -> (u64, String) {
    let text = format_time(time);
    let name = text.get(..7).unwrap_or_default().to_owned();
    let (year, month) = name.split_once('-').unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    (number(year) * 12 + number(month), name)
}

impl ReadModels {
    /// What a dimension showed month by month, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn trust_months(
        &self,
        dimension: &Dimension,
        limit: usize,
    ) -> Result<Listed<TrustMonth>, ModelError> {
        let view = self.view(Trust.name())?;
        let rows = view.rows(view.key(MONTHS, &dimension.parts()), 0..=u64::MAX).rev();
        Listed::take(rows.map(|row| row.map(|(_, month)| month)), limit, view.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_in_the_order_of_time() {
        let of = |text: &str| month_of(bitacora_formats::parse_time(text).unwrap());
        let (december, name) = of("2025-12-31T23:59:59.999999Z");
        assert_eq!(name, "2025-12");
        assert_eq!(of("2026-01-01T00:00:00Z"), (december + 1, "2026-01".to_owned()));
        assert_eq!(of("2026-12-01T00:00:00Z").0, december + 12);
    }
}

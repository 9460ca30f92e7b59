//! Decisions by minute and verdict, as they were recorded.

use bitacora_api::DecisionMinuteAnswer;
use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::Verdict;
use serde::{Deserialize, Serialize};

use super::ToolsModel;
use super::fold::MINUTES;
use crate::list_page::ListPage;
use crate::models::{FoldError, Live, Model as _, ModelError, ReadModels, Rows};

/// Microseconds of a minute.
const MINUTE: u64 = 60_000_000;

/// The decisions of one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionMinute {
    /// Minutes since 1970.
    pub minute: u64,
    /// Those with the verdict `allow`.
    pub allow: u64,
    /// Those with the verdict `review`.
    pub review: u64,
    /// Those with the verdict `deny`.
    pub deny: u64,
}

impl Live for DecisionMinute {
    fn held(&self) -> usize {
        0
    }
}

impl From<DecisionMinute> for DecisionMinuteAnswer {
    fn from(DecisionMinute { minute, allow, review, deny }: DecisionMinute) -> Self {
        Self { minute: format_time(Micros(minute.saturating_mul(MINUTE))), allow, review, deny }
    }
}

/// A query of minutes.
#[derive(Debug, Clone, Default)]
pub struct DecisionMinuteQuery {
    /// Only those from the minute of this time on, microseconds since 1970.
    pub since: Option<u64>,
    /// Only those that began before this time.
    pub before: Option<u64>,
    /// Only those before this minute.
    pub page_end: Option<u64>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// Counts a decision in the minute of its recording.
pub(super) fn count(rows: &mut Rows<'_>, recorded: u64, verdict: Verdict) -> Result<(), FoldError> {
    let number = recorded / MINUTE;
    let key = rows.key(MINUTES, &[]).at(number);
    let known = rows.take_live::<DecisionMinute>(&key)?;
    let mut minute =
        known.unwrap_or_else(|| Box::new(DecisionMinute { minute: number, ..Default::default() }));
    match verdict {
        Verdict::Allow => minute.allow += 1,
        Verdict::Review => minute.review += 1,
        Verdict::Deny => minute.deny += 1,
    }
    Ok(rows.put_live(&key, minute)?)
}

impl ReadModels {
    /// Minutes in which something was decided, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn decision_minutes(
        &self,
        query: &DecisionMinuteQuery,
    ) -> Result<ListPage<DecisionMinute>, ModelError> {
        let view = self.view(ToolsModel.name())?;
        let first = query.since.map_or(0, |since| since / MINUTE);
        let ends = [query.before.map(|before| before.div_ceil(MINUTE)), query.page_end];
        let end = ends.into_iter().flatten().min().unwrap_or(u64::MAX);
        let Some(last) = end.checked_sub(1).filter(|last| first <= *last) else {
            return Ok(ListPage { items: Vec::new(), more: false, position: view.position() });
        };
        let rows =
            view.rows(view.key(MINUTES, &[]), first..=last).rev().map(|row| row.map(|(_, minute)| minute));
        ListPage::take(rows, query.limit, view.position())
    }
}

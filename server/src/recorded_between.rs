//! `since` and `before`: what was recorded in a time, as positions.

use bitacora_formats::{Micros, Position};

use crate::api::Api;
use crate::problem::Problem;
use crate::query::{Query, take_time};
use crate::question::Question;

/// The time that is asked about: from the one on, before the other.
pub(crate) struct RecordedBetween {
    since: Option<Micros>,
    before: Option<Micros>,
}

/// The positions of what was recorded in it: from the one on, before the other.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Between {
    pub(crate) from: Option<Position>,
    pub(crate) before: Option<Position>,
}

impl RecordedBetween {
    /// Takes both, RFC 3339.
    pub(crate) fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        Ok(Self { since: take_time(query, "since")?, before: take_time(query, "before")? })
    }

    /// Where that stands in the ledger, and before the position that a page ends at.
    pub(crate) async fn positions(
        self,
        api: &Api,
        question: &Question,
        page_end: Option<Position>,
    ) -> Result<Between, Problem> {
        let ledger = question.ledger.clone();
        let first_at = move |time: Option<Micros>| time.map(|time| ledger.first_at(time)).transpose();
        let (from, end) = api.read(move || Ok((first_at(self.since)?, first_at(self.before)?))).await?;
        // Nothing was recorded from `since` on.
        let nothing = (from == Some(None)).then_some(Position::FIRST);
        let before = [nothing, end.flatten(), page_end].into_iter().flatten().min();
        Ok(Between { from: from.flatten(), before })
    }
}

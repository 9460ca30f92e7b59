//! Gaps of coverage: calls of which half of the record is missing.
//! The smallest read model: one type of event, one row each.

use bitacora_api::GapAnswer;
use bitacora_formats::{Micros, Position, format_time};
use bitacora_vocabulary::{CoverageGap, EventData as _, MissingHalf};
use serde::{Deserialize, Serialize};

use crate::ListPage;
use crate::models::{AssuranceMarker, FoldError, FoldEvent, Model, ModelError, ReadModels, Rows};

/// The model, as [`ReadModels`] keep it.
pub(crate) struct GapsModel;

/// All gaps, by position.
const ALL: u8 = 1;
/// Those of one session, by position.
const OF_SESSION: u8 = 2;

/// A call of which half of the record is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The position of the event that tells of it.
    pub position: u64,
    /// The time of the gap, microseconds since 1970; for a recording made elsewhere, the time there.
    pub time: u64,
    /// The time of the event that tells of it, microseconds since 1970.
    pub recorded: u64,
    /// The call.
    pub call: String,
    /// The missing half of the record.
    pub missing: MissingHalf,
    /// The evidence of the call: the place where it was seen, and the part that was.
    pub evidence: String,
    /// The session that it was seen in.
    pub session: Option<String>,
    /// The agent that made the call.
    pub agent: Option<String>,
    /// The actor that wrote the event.
    pub actor: Option<String>,
}

impl From<Gap> for GapAnswer {
    fn from(gap: Gap) -> Self {
        Self {
            position: gap.position.to_string(),
            time: format_time(Micros(gap.time)),
            recorded: format_time(Micros(gap.recorded)),
            call: gap.call,
            missing: match gap.missing {
                MissingHalf::Decision => "decision",
                MissingHalf::Outcome => "outcome",
            }
            .to_owned(),
            evidence: gap.evidence,
            session: gap.session,
            agent: gap.agent,
            actor: gap.actor,
        }
    }
}

/// Says whether it was recorded elsewhere.
#[derive(Deserialize)]
struct GapAssurance {
    #[serde(default)]
    assurance: Option<AssuranceMarker>,
}

/// A query of gaps.
#[derive(Debug, Clone, Default)]
pub struct GapQuery {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

impl Model for GapsModel {
    fn name(&self) -> &'static str {
        "gaps"
    }

    fn version(&self) -> u32 {
        4
    }

    fn leaving(&self) -> &'static [u8] {
        &[ALL, OF_SESSION]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[CoverageGap::KIND]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let Some(gap) = event.data::<CoverageGap>()? else { return Ok(()) };
        let assurance = event.data::<GapAssurance>()?.and_then(|brought| brought.assurance);
        let position = event.position.get();
        let text = |text: &Option<_>| text.as_ref().map(ToString::to_string);
        let row = Gap {
            position,
            time: event.happened(assurance).0,
            recorded: event.time.0,
            call: gap.call.to_string(),
            missing: gap.missing,
            evidence: gap.evidence.to_string(),
            session: text(&event.record.session),
            agent: text(&event.record.agent),
            actor: text(&event.record.actor),
        };
        rows.add(&rows.key(ALL, &[]).at(position), &row)?;
        if let Some(session) = &row.session {
            rows.add(&rows.key(OF_SESSION, &[session]).at(position), &row)?;
        }
        Ok(())
    }
}

impl ReadModels {
    /// Gaps, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn gaps(&self, query: &GapQuery) -> Result<ListPage<Gap>, ModelError> {
        let view = self.view(GapsModel.name())?;
        let group = match &query.session {
            Some(session) => view.key(OF_SESSION, &[session]),
            None => view.key(ALL, &[]),
        };
        let last = query.before.map_or(u64::MAX, |before| before.get() - 1);
        let rows = view.rows(group, 0..=last).rev().map(|row| row.map(|(_, gap)| gap));
        ListPage::take(rows, query.limit, view.position())
    }
}

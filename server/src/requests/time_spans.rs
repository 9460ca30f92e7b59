//! Time spans of a question: times of happening, and times of recording.
//! `since` and `before` bound the first, `recorded_since` and `recorded_before` the second.

use bitacora_formats::{Micros, Position};
use bitacora_ledger::ReadError;
use bitacora_projector::HappenedBetween;

use crate::api::Api;
use crate::http::query::{Query, bad_query, take_time};
use crate::problem::Problem;
use crate::requests::read_request::ReadRequest;

/// The times that are asked about.
pub(crate) struct TimeParams {
    happened: Times,
    recorded: Times,
}

/// From the one on, before the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) since: Option<Micros>,
    pub(crate) before: Option<Micros>,
}

/// The time spans of a question, as read models take them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeSpans {
    pub(crate) happened: Option<HappenedBetween>,
    /// The first position that is asked about.
    pub(crate) from: Option<Position>,
    /// The position before which all that is asked about was recorded.
    pub(crate) before: Option<Position>,
}

impl Times {
    pub(crate) fn take(query: &mut Query<'_>, since: &str, before: &str) -> Result<Self, Problem> {
        let times = Self { since: take_time(query, since)?, before: take_time(query, before)? };
        match times {
            Self { since: Some(from), before: Some(end) } if end <= from => Err(bad_query(
                before,
                &format!("is not later than `{since}`, so that no time is between them"),
            )),
            times => Ok(times),
        }
    }

    fn is_given(&self) -> bool {
        self.since.is_some() || self.before.is_some()
    }
}

impl TimeParams {
    /// Takes all of them, RFC 3339.
    pub(crate) fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let happened = Times::take(query, "since", "before")?;
        Ok(Self { happened, recorded: Times::take(query, "recorded_since", "recorded_before")? })
    }

    /// Returns the positions of these times in the ledger.
    pub(crate) async fn positions(self, api: &Api, request: &ReadRequest) -> Result<TimeSpans, Problem> {
        let ledger = request.ledger.clone();
        let Self { happened, recorded } = self;
        let positions = move |times: Times| {
            let since = times.since.map(|time| ledger.first_at(time)).transpose()?;
            let before = times.before.map(|time| ledger.first_certainly_at(time)).transpose()?;
            Ok::<_, ReadError>((since, before))
        };
        let of_both = api.read(move || Ok((positions(happened)?, positions(recorded)?))).await?;
        let (of_happened, of_recorded) = (ends(of_both.0), ends(of_both.1));
        let get = |position: Option<Position>, or: u64| position.map_or(or, Position::get);
        let spans = || HappenedBetween {
            since: happened.since.map_or(0, |since| since.0),
            before: happened.before.map_or(u64::MAX, |before| before.0),
            recorded: get(of_happened.0, 0)..=get(of_happened.1, u64::MAX).saturating_sub(1),
        };
        let (from, before) = of_recorded;
        Ok(TimeSpans { happened: happened.is_given().then(spans), from, before })
    }
}

/// Returns the position of the first event that was recorded at a time or later; the last one of all where there is none.
pub(crate) async fn first_position_at(
    api: &Api,
    request: &ReadRequest,
    time: Micros,
) -> Result<Position, Problem> {
    let ledger = request.ledger.clone();
    let found = api.read(move || Ok(ledger.first_at(time)?)).await?;
    Ok(found.or(Position::new(u64::MAX)).unwrap_or(Position::FIRST))
}

/// Returns the positions of a time span: from the one on, before the other. `Some(None)` is a time behind everything.
fn ends(
    (since, before): (Option<Option<Position>>, Option<Option<Position>>),
) -> (Option<Position>, Option<Position>) {
    let nothing = (since == Some(None)).then_some(Position::FIRST);
    (since.flatten(), nothing.or(before.flatten()))
}

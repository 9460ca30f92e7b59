//! `…/trust/history`, `…/trust/record?at=`: the recorded history of one dimension, and its past states.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{After, Data, Micros, Position, format_time, parse_time};
use bitacora_governance::{DimensionStanding, ObservedEvent, ReactorState, State as GovernedState, assess};
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::{BreakerStood, IndexedLedger, ReadModels, TrustAt, TrustAtError};
use bitacora_vocabulary::{
    BreakerClosed, BreakerConfigured, BreakerHalfOpened, BreakerOpened, ClockAccepted, Dimension, EventData,
    ImportAccepted, ImportBatch, LedgerClockJumped, PolicyActivated, PolicyPublished, TrustObserved,
    TrustRules, TrustSet,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::Instant;

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::json_of;
use crate::limits::{DEFAULT_OUTCOMES, HISTORY_PAGE_EVENTS, MAX_HISTORY_READ, MAX_OUTCOMES, MAX_PAST_TIME};
use crate::page::Permanence;
use crate::problem::{Code, Problem};
use crate::requests::listing::take_limit;
use crate::requests::read_model_query::ask_model_and_log;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at_position};
use crate::requests::service_event::{data_of, governance};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::expired_trust::refuse_expired_trust;
use crate::resources::govern::trust::take_dimension;
use bitacora_api::{OutcomeRecord, TrustHistory, paths};

/// The model that is asked.
const MODEL: &str = "trust";

#[utoipa::path(
    get,
    path = paths::TRUST_HISTORY,
    tag = "governance",
    operation_id = "readTrustHistory",
    params(
        InLedger,
        ("tool" = String, Query, description = "The tool"),
        ("context" = Option<String>, Query, description = "The context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task_type" = Option<String>, Query, description = "The type of task"),
        ("workspace" = Option<String>, Query, description = "The workspace, `-` for calls that named none; what is kept for all of them together where it is left out"),
        ("until" = Option<String>, Query, description = "Only up to this position, itself included"),
        ("limit" = Option<usize>, Query, description = "At most this many: 100 without it, up to 1,000"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What was recorded, the newest first. A service without read models looks through 20,000 events at once", body = TrustHistory),
        Refusals,
    )
)]
pub(crate) async fn history(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let dimension = take_dimension(&mut query)?;
    let until = query.take_position("until")?;
    let limit = take_limit(&mut query, DEFAULT_OUTCOMES, MAX_OUTCOMES)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let imports = Imports::of(&governance(&request.ledger)?.copy().state);
    let (history, permanence, position) = if request.ledger.read_models().is_some() {
        let ask = move |models: &ReadModels| told(models, &imports, &dimension, until, limit);
        ask_model_and_log(&api, &request, MODEL, ask).await?
    } else {
        let ledger = request.ledger.clone();
        let from = ReadFrom::Before(until.unwrap_or(head.position).next());
        let ask = move || outcomes(&ledger, &imports, &dimension, from, limit);
        let (history, permanence) = api.read(ask).await?;
        (history, permanence, head.position)
    };
    // The history up to a position that is there stays as it is.
    let is_settled = until.is_some_and(|until| until <= position);
    let cache = if is_settled { permanence.caching() } else { NO_STORE };
    Ok(answer_at_position(position, JSON, cache, json_of(&history)?.into()))
}

/// Imports that have come to their end.
struct Imports(Vec<EndedImport>);

struct EndedImport {
    /// The position of its `import.batch`.
    position: u64,
    digest: String,
    is_accepted: bool,
}

impl Imports {
    fn of(state: &GovernedState) -> Self {
        let ended = state.imports().map(|(digest, import)| EndedImport {
            position: import.position,
            digest: digest.as_str().to_owned(),
            is_accepted: import.accepted.is_some(),
        });
        let mut imports: Vec<_> = ended.collect();
        imports.sort_unstable_by_key(|import| import.position);
        Self(imports)
    }

    /// The one that brought what stands at a position: the first that ended behind it.
    fn that_brought(&self, position: Position) -> Option<&EndedImport> {
        let behind = self.0.partition_point(|import| import.position < position.get());
        self.0.get(behind)
    }
}

/// A page of a dimension's history, whose places a read model knows; whether it may change, and the position up to which it is known.
fn told(
    models: &ReadModels,
    imports: &Imports,
    dimension: &Dimension,
    until: Option<Position>,
    limit: usize,
) -> Result<(TrustHistory, Permanence, Position), TrustAtError> {
    let found = models.trust_told(dimension, until, limit)?;
    let mut page = HistoryPage::default();
    for position in &found.items {
        page.add(&models.event(*position)?, imports);
    }
    let last = found.items.last().copied().filter(|_| found.more);
    let permanence = page.permanence;
    Ok((page.behind(last), permanence, found.position))
}

/// Returns the trust in a dimension after the event at a position, under the policy of then, and the time of that event. It comes from the
/// read model, where one is kept, else it is folded from the log.
pub(super) async fn standing_at(
    api: &Api,
    request: &ReadRequest,
    dimension: Dimension,
    at: Position,
) -> Result<(Micros, DimensionStanding, BreakerStood), Problem> {
    let ledger = request.ledger.clone();
    let asked = ledger.clone();
    api.read(move || refuse_expired_trust(&asked, at)).await?;
    if ledger.read_models().is_none() {
        let max_events = api.limits.max_past_events;
        return api.read(move || standing_after(&ledger, &dimension, at, max_events)).await;
    }
    let ask = move |models: &ReadModels| -> Result<_, TrustAtError> {
        let time = models.event(at)?.time;
        let TrustAt { record, rules, breaker, position } = models.trust_at(&dimension, at)?;
        let assessment = assess(&record, &rules.unwrap_or_else(TrustRules::v2), time);
        Ok((
            (time, breaker),
            DimensionStanding { dimension: dimension.clone(), record, assessment },
            position,
        ))
    };
    let ((time, breaker), standing, position) = ask_model_and_log(api, request, MODEL, ask).await?;
    if position < at {
        let detail = format!("{MODEL} has not come to position {at} yet; try again");
        return Err(Problem::new(Code::ProjectionBehind, detail).with_retry_after(1));
    }
    Ok((time, standing, breaker))
}

/// A page of a dimension's history, and whether it may change.
fn outcomes(
    ledger: &IndexedLedger,
    imports: &Imports,
    dimension: &Dimension,
    from: ReadFrom,
    limit: usize,
) -> Result<(TrustHistory, Permanence), Problem> {
    let mut history = HistoryPage::default();
    let (mut found, mut read, mut from, mut last) = (0, 0, Some(from), None);
    while let Some(next) = from.filter(|_| found < limit && read < MAX_HISTORY_READ) {
        let filter = of_kinds(&[TrustObserved::KIND, TrustSet::KIND]);
        let page = ledger.read(&ReadQuery { from: next, until: None, limit: HISTORY_PAGE_EVENTS, filter })?;
        from = page.next;
        read += page.events.len();
        for stored in &page.events {
            if found == limit {
                from = from.or(Some(next));
                break;
            }
            last = Some(stored.position);
            history.permanence = history.permanence.max(Permanence::of(stored));
            if dimension_of(stored).as_ref() == Some(dimension) {
                found += 1;
                history.add(stored, imports);
            }
        }
    }
    let last = last.filter(|_| from.is_some());
    let permanence = history.permanence;
    Ok((history.behind(last), permanence))
}

/// A page of a dimension's history.
#[derive(Default)]
struct HistoryPage {
    outcomes: Vec<OutcomeRecord>,
    /// [`Permanence::Changing`] too where an import of it may be accepted.
    permanence: Permanence,
}

impl HistoryPage {
    fn add(&mut self, stored: &StoredEvent<'_>, imports: &Imports) {
        self.permanence = self.permanence.max(Permanence::of(stored));
        let Some(outcome) = outcome(stored, imports) else { return };
        if outcome.counts == Some(false) {
            self.permanence = Permanence::Changing;
        }
        self.outcomes.push(outcome);
    }

    /// Ends it; the next page begins behind this position.
    fn behind(self, last: Option<Position>) -> TrustHistory {
        let next = last.map(Position::get).filter(|last| *last > 1);
        TrustHistory { outcomes: self.outcomes, next: next.map(|last| (last - 1).to_string()) }
    }
}

/// Says whether it was recorded elsewhere.
#[derive(Deserialize)]
struct ImportMark {
    #[serde(default)]
    assurance: Option<IgnoredAny>,
}

fn of_kinds(kinds: &[&'static str]) -> Filter {
    Filter { kinds: kinds.iter().map(|kind| (*kind).into()).collect(), ..Filter::default() }
}

fn dimension_of(stored: &StoredEvent<'_>) -> Option<Dimension> {
    if stored.event.kind == TrustSet::KIND {
        return data_of::<TrustSet>(stored).ok().map(|set| set.dimension);
    }
    data_of::<TrustObserved>(stored).ok().map(|observed| observed.dimension)
}

/// Returns an outcome, if its data is JSON. An imported one counts once somebody has accepted its import.
fn outcome(stored: &StoredEvent<'_>, imports: &Imports) -> Option<OutcomeRecord> {
    let Data::Json(data) = &stored.event.data else { return None };
    let is_imported = data_of::<ImportMark>(stored).is_ok_and(|brought| brought.assurance.is_some());
    let own = stored.event.time.as_deref().filter(|_| is_imported);
    let happened = own.and_then(|time| parse_time(time).ok()).unwrap_or(stored.time);
    let import = imports.that_brought(stored.position).filter(|_| is_imported);
    Some(OutcomeRecord {
        position: stored.position.to_string(),
        time: format_time(happened),
        recorded: format_time(stored.time),
        r#type: stored.event.kind.to_string(),
        actor: stored.event.actor.as_deref().filter(|_| !stored.derived).map(str::to_owned),
        import: import.map(|import| import.digest.clone()),
        counts: is_imported.then(|| import.is_some_and(|import| import.is_accepted)),
        data: serde_json::from_slice(data.as_bytes()).ok()?,
    })
}

/// Returns the trust in a dimension after the event at a position, under the policy of then, and the time of that event. It is folded from
/// all that was recorded of trust and policies up to there, if that is not more than so many events.
fn standing_after(
    ledger: &IndexedLedger,
    dimension: &Dimension,
    at: Position,
    max_events: usize,
) -> Result<(Micros, DimensionStanding, BreakerStood), Problem> {
    let time = ledger.event(at)?.time;
    let end = Instant::now() + MAX_PAST_TIME;
    let mut state = GovernedState::default();
    let (mut read, mut from) = (0, Some(ReadFrom::After(After::START)));
    while let Some(next) = from {
        let filter = of_kinds(&[
            TrustObserved::KIND,
            TrustSet::KIND,
            ImportBatch::KIND,
            ImportAccepted::KIND,
            PolicyPublished::KIND,
            PolicyActivated::KIND,
            LedgerClockJumped::KIND,
            ClockAccepted::KIND,
            BreakerConfigured::KIND,
            BreakerOpened::KIND,
            BreakerHalfOpened::KIND,
            BreakerClosed::KIND,
        ]);
        let query = ReadQuery { from: next, until: Some(at), limit: HISTORY_PAGE_EVENTS, filter };
        let page = ledger.read(&query)?;
        read += page.events.len();
        if read > max_events || Instant::now() > end {
            let detail = format!(
                "what was recorded of trust up to position {at} takes too long to fold; replay the log, or ask for an earlier one"
            );
            return Err(Problem::new(Code::HistoryTooLong, detail).with("position", at));
        }
        for stored in &page.events {
            state.fold(&[ObservedEvent {
                position: stored.position,
                stream_version: stored.stream_version,
                time: stored.time,
                derived: stored.derived,
                event: &stored.event,
                examination: None,
            }]);
        }
        from = page.next;
    }
    let breaker = state.breaker_of(dimension);
    let cooldown_until = breaker.cooldown_until().map(|until| until.0);
    let breaker = BreakerStood { condition: breaker.condition(), cooldown_until };
    Ok((time, state.standing(dimension, time), breaker))
}

//! Admission of requests: dedupe, conditions, the places of events, and the reactor.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bitacora_formats::limits::{MAX_FRAME_ENTRIES, MAX_FRAME_OVERHEAD_BYTES, MAX_REQUEST_ENTRIES};
use bitacora_formats::{Micros, Position, SegmentEnd, decode_record};
use bitacora_governance::{DerivedEvent, Examination, ObservedEvent, ReactorState, RefusalCode};

use crate::append::frame_batch::FrameBatch;
use crate::append::staged_state::{PlacementError, StagedState};
use crate::dedup::id_tables::{IdTables, look_up_failed};
use crate::dedup::segment_ids::KnownIdentity;
use crate::limits::{ENTRY_BYTES, MAX_STAGED_STREAMS, MAX_STREAMS, QUEUE_RETRY_AFTER_S, REQUEST_ENTRY_BYTES};
use crate::receipt::DerivedReceipt;
use crate::stream_tips::Tip;
use crate::submission::append_error::AppendError;
use crate::submission::event_types::misfit;
use crate::submission::messages::{EventPlacement, RequestPlacement};
use crate::submission::prepare::{PreparedEvent, PreparedRequest, Preparer, RequestOrigin};
use crate::submission::request::{AppendRequest, ExpectedVersion};
use crate::tables::fold::visible_event;
use crate::tables::reactor_state::BrokenReactor;

/// The effects of a request so far.
#[derive(Default)]
struct RequestEffects {
    receipts: Vec<DerivedReceipt>,
    /// Bytes of its records.
    bytes: usize,
}

/// Admits requests one by one onto a batch. A request that is refused leaves no trace.
pub(crate) struct Admission {
    staged: StagedState,
    ids: Arc<IdTables>,
    reactor: Option<Box<dyn ReactorState>>,
    /// Encodes what the reactor derives; shared with the callers' threads.
    preparer: Arc<Preparer>,
    /// Record bytes that the reactor may derive from one request.
    derived_bytes: usize,
}

impl Admission {
    pub(crate) fn new(
        staged: StagedState,
        ids: Arc<IdTables>,
        reactor: Option<Box<dyn ReactorState>>,
        preparer: Arc<Preparer>,
        derived_bytes: usize,
    ) -> Self {
        Self { staged, ids, reactor, preparer, derived_bytes }
    }

    pub(crate) fn next_position(&self) -> Position {
        self.staged.next()
    }

    pub(crate) fn last_time(&self) -> Micros {
        self.staged.time
    }

    /// Microseconds by which frames are ahead of the clock, since a correction of it was accepted.
    pub(crate) fn clock_offset(&self) -> u64 {
        self.reactor.as_ref().map_or(0, |reactor| reactor.clock_offset())
    }

    pub(crate) fn window_after(&self) -> u64 {
        self.staged.window_after()
    }

    /// Forgets, now and then, what the durable state holds by now.
    pub(crate) fn settle(&mut self, durable: Position) {
        if self.staged.ahead() > MAX_STAGED_STREAMS {
            self.staged.settle(durable);
        }
    }

    /// The identities of the ended segment leave the staged state for the ledger's long memory. Those of the batches stay:
    /// they are written to the next segment, if at all.
    pub(crate) fn end_segment<'b>(
        &mut self,
        ended: &SegmentEnd,
        unwritten: impl Iterator<Item = &'b FrameBatch>,
    ) {
        let keep = unwritten.flat_map(|batch| &batch.keys);
        let ids = self.staged.take_live_ids(keep);
        self.ids.add_ended(ended.number, ended.tip.hash, Arc::new(ids));
    }

    /// The largest frame body that the batch and this request can become; `usize::MAX` if they have too many entries.
    pub(crate) fn worst_case(&self, batch: &FrameBatch, request: &PreparedRequest) -> usize {
        let (entries, derived) = match self.reactor {
            Some(_) => (MAX_REQUEST_ENTRIES, self.derived_bytes),
            None => (request.events.len(), 0),
        };
        if batch.commitments.len() + entries > MAX_FRAME_ENTRIES {
            return usize::MAX;
        }
        let overhead = entries * ENTRY_BYTES + REQUEST_ENTRY_BYTES + MAX_FRAME_OVERHEAD_BYTES;
        batch.body.len() + request.bytes() + derived + overhead
    }

    /// Stages the request at the end of the batch, or refuses it and leaves batch and state as they were.
    pub(crate) fn admit(
        &mut self,
        request: &PreparedRequest,
        time: Micros,
        batch: &mut FrameBatch,
    ) -> Result<RequestPlacement, AppendError> {
        let known = self.known(request)?;
        let news = known.iter().filter(|known| known.is_none()).count();
        if news == 0 {
            let placed = known.into_iter().flatten().map(EventPlacement::before).collect();
            return Ok(RequestPlacement { placed, derived: Vec::new() });
        }
        self.check_conditions(request, &known)?;
        check_fit(request, &known)?;
        let mark = batch.mark();
        let staged = self.stage(request, &known, news, time, batch);
        if staged.is_ok() {
            self.staged.keep();
            self.staged.time = time;
            if let Some(reactor) = &mut self.reactor {
                reactor.keep();
            }
        } else {
            self.staged.discard();
            batch.drop_after(&mark);
            self.discard_effects()?;
        }
        staged
    }

    /// For each event where its identity stands already, if it does. Comes before any condition: a retry is no conflict.
    fn known(&self, request: &PreparedRequest) -> Result<Vec<Option<KnownIdentity>>, AppendError> {
        let looked_up = &request.looked_up;
        let has_ended_since = self.ids.covered_through() > looked_up.through;
        let mut known = Vec::with_capacity(request.events.len());
        for (index, event) in request.events.iter().enumerate() {
            let mut found = self.staged.known(&event.key).or_else(|| looked_up.known(index));
            if found.is_none() && has_ended_since {
                found =
                    self.ids.lookup(&event.key, looked_up.through).map_err(|error| look_up_failed(&error))?;
            }
            if let Some(found) = found
                && !found.is_same_content(&event.commitment)
            {
                return Err(AppendError::IdReused { index, position: found.position });
            }
            known.push(found);
        }
        Ok(known)
    }

    fn check_conditions(
        &self,
        request: &PreparedRequest,
        known: &[Option<KnownIdentity>],
    ) -> Result<(), AppendError> {
        let first_new =
            request.events.iter().zip(known).find(|(_, known)| known.is_none()).map(|(event, _)| event);
        if let (Some(expected), Some(event)) = (request.expected, first_new) {
            let tip = self.staged.tip(&event.stream);
            let holds = match expected {
                ExpectedVersion::NoStream => tip.is_none(),
                ExpectedVersion::Exact(version) => tip.is_some_and(|tip| tip.version == version),
            };
            if !holds {
                let (actual, position) = (tip.map(|tip| tip.version), tip.map(|tip| tip.position));
                return Err(AppendError::VersionConflict { expected, actual, position });
            }
        }
        if let Some(condition) = &request.condition {
            match self.staged.newest_match(condition) {
                Ok(None) => {}
                Ok(Some(position)) => return Err(AppendError::ConditionFailed { position }),
                // More went by since the caller searched than the window holds: the caller searches again.
                Err(_) => return Err(AppendError::QueueFull { retry_after_s: QUEUE_RETRY_AFTER_S }),
            }
        }
        Ok(())
    }

    fn stage(
        &mut self,
        request: &PreparedRequest,
        known: &[Option<KnownIdentity>],
        news: usize,
        time: Micros,
        batch: &mut FrameBatch,
    ) -> Result<RequestPlacement, AppendError> {
        let submitted = u32::try_from(news).unwrap_or(u32::MAX);
        batch.body.begin_request(submitted).map_err(body_full)?;
        let mut placed = Vec::with_capacity(known.len());
        for (index, (event, known)) in request.events.iter().zip(known).enumerate() {
            placed.push(match known {
                Some(known) => EventPlacement::before(*known),
                None => EventPlacement::new(self.place(request, event, index, batch)?),
            });
        }
        let derived = if self.reactor.is_some() {
            self.react(request, known, &placed, time, batch)?
        } else {
            Vec::new()
        };
        batch.body.end_request().map_err(body_full)?;
        Ok(RequestPlacement { placed, derived })
    }

    fn place(
        &mut self,
        request: &PreparedRequest,
        event: &PreparedEvent,
        index: usize,
        batch: &mut FrameBatch,
    ) -> Result<Tip, AppendError> {
        let placed = self.staged.place(event.key, event.stream, &event.commitment, event.facets.clone());
        let tip = placed.map_err(|why| match why {
            PlacementError::Repeated => {
                let first = request.events.iter().position(|other| other.key == event.key).unwrap_or(index);
                AppendError::RepeatedId { index, first }
            }
            PlacementError::TooManyStreams => AppendError::TooManyStreams { max: MAX_STREAMS },
            PlacementError::NoNumberLeft => AppendError::TooManyEvents { found: usize::MAX, max: usize::MAX },
        })?;
        batch.body.entry(tip.version, request.record(event), request.part(event)).map_err(body_full)?;
        batch.is_governed |= event.concerns_reactor;
        batch.commitments.push(event.commitment);
        batch.keys.push(event.key);
        batch.tips.push((event.stream, tip));
        Ok(tip)
    }

    /// Shows the reactor each new event that concerns it, and stages the derived events behind the request's own. Derived events are
    /// shown to the reactor in turn.
    fn react(
        &mut self,
        request: &PreparedRequest,
        known: &[Option<KnownIdentity>],
        placed: &[EventPlacement],
        time: Micros,
        batch: &mut FrameBatch,
    ) -> Result<Vec<DerivedReceipt>, AppendError> {
        let mut effects = RequestEffects::default();
        let news = request.events.iter().zip(placed.iter().zip(known)).filter(|(_, (_, k))| k.is_none());
        for (event, (place, _)) in news.filter(|(event, _)| event.concerns_reactor) {
            let Some(version) = place.stream_version else { continue };
            let tip = Tip { version, position: place.position };
            let examination = event.examination.as_deref();
            let caused = self.ask_reactor(request, event, tip, time, (false, examination))?;
            self.stage_derived(tip.position, caused, time, &mut effects, batch)?;
        }
        Ok(effects.receipts)
    }

    /// Stages what an event caused, and what that causes in turn, before the reactor sees the next event of the request. Each
    /// names its cause, so that a replay folds them in this order too.
    fn stage_derived(
        &mut self,
        cause: Position,
        caused: Vec<DerivedEvent>,
        time: Micros,
        effects: &mut RequestEffects,
        batch: &mut FrameBatch,
    ) -> Result<(), AppendError> {
        let mut queue: VecDeque<_> = caused.into_iter().map(|derived| (cause, derived)).collect();
        while let Some((cause, DerivedEvent { mut event, meaning })) = queue.pop_front() {
            event.causationid = Some(cause.to_string().into());
            let (id, kind, stream) = (event.id.to_string(), event.kind.to_string(), event.stream.to_string());
            let request = self.preparer.prepare(AppendRequest::of(vec![event]), RequestOrigin::Service)?;
            effects.bytes += request.bytes() + ENTRY_BYTES;
            if effects.bytes > self.derived_bytes {
                return Err(AppendError::TooLarge { found: effects.bytes, max: self.derived_bytes });
            }
            let event = request.events.first().ok_or(AppendError::EmptyRequest)?;
            let tip = self.place_derived(&request, event, &id, batch)?;
            // Of what is recorded in other words nothing is taken for known.
            let meaning = meaning.filter(|_| request.redactions == 0);
            let written = meaning.clone().map(Examination::Derived);
            let caused = self.ask_reactor(&request, event, tip, time, (true, written.as_ref()))?;
            queue.extend(caused.into_iter().map(|derived| (tip.position, derived)));
            effects.receipts.push(DerivedReceipt {
                id,
                kind,
                stream,
                position: tip.position,
                stream_version: tip.version,
                commitment: event.commitment,
                time,
                meaning,
            });
        }
        Ok(())
    }

    fn ask_reactor(
        &mut self,
        request: &PreparedRequest,
        event: &PreparedEvent,
        tip: Tip,
        time: Micros,
        (derived, examination): (bool, Option<&Examination>),
    ) -> Result<Vec<DerivedEvent>, AppendError> {
        let Some(reactor) = &mut self.reactor else { return Ok(Vec::new()) };
        let visible = decode_record(request.record(event)).map(visible_event).map_err(|e| broken(&e))?;
        let observed = ObservedEvent {
            position: tip.position,
            stream_version: tip.version,
            time,
            derived,
            event: &visible,
            examination,
        };
        match catch_unwind(AssertUnwindSafe(|| reactor.react(&observed))) {
            Ok(effects) => Ok(effects?),
            Err(_) => Err(broken(&"the reactor panicked on it")),
        }
    }

    fn place_derived(
        &mut self,
        request: &PreparedRequest,
        event: &PreparedEvent,
        id: &str,
        batch: &mut FrameBatch,
    ) -> Result<Tip, AppendError> {
        if self.known(request)?.first().is_some_and(Option::is_some) {
            return Err(broken(&format_args!("it derived the id `{id}` again")));
        }
        self.place(request, event, 0, batch)
    }

    /// A reactor that cannot even drop its scratch copy judges nothing more: every later request is refused.
    fn discard_effects(&mut self) -> Result<(), AppendError> {
        let Some(mut reactor) = self.reactor.take() else { return Ok(()) };
        if catch_unwind(AssertUnwindSafe(|| reactor.discard())).is_ok() {
            self.reactor = Some(reactor);
            return Ok(());
        }
        self.reactor = Some(Box::new(BrokenReactor));
        Err(BrokenReactor::refusal().into())
    }
}

/// Every new event has to fit the schema that was registered for its type.
fn check_fit(request: &PreparedRequest, known: &[Option<KnownIdentity>]) -> Result<(), AppendError> {
    for (index, (event, known)) in request.events.iter().zip(known).enumerate() {
        if let (Some(error), None) = (&event.misfit, known) {
            return Err(misfit(error, index));
        }
    }
    Ok(())
}

fn broken(what: &dyn std::fmt::Display) -> AppendError {
    AppendError::Reactor { code: RefusalCode::Broken, reason: what.to_string() }
}

fn body_full(error: bitacora_formats::BodyError) -> AppendError {
    broken(&error)
}

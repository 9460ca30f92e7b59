//! The unordered work of an append, done on the caller's thread before the sequencer sees the request.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_formats::{
    Commitment, Event, EventDraft, EventKey, LedgerId, LedgerKeys, Position, Record, Seal, SensitivePart,
    StreamKey, append_record, commitment, encode_part, seal_part, sealed_action,
};
use bitacora_vocabulary::{EventDataError, SchemaMatch};

use bitacora_governance::{APPROVAL_ID_BYTES, Examination, Reactor, RefusalCode};
use bitacora_redaction::Redactor;

use crate::dedup::id_tables::IdLookup;
use crate::host::entropy::Entropy;
use crate::subjects::Subjects;
use crate::submission::append_error::AppendError;
use crate::submission::event_types::{check_known, check_registered, check_type, is_reserved};
use crate::submission::request::{AppendCondition, AppendRequest, ExpectedVersion};

/// Types and tags one append condition may name in all.
const MAX_CONDITION_TERMS: usize = 64;

/// Bytes that a record most often holds besides its data: a first guess at the room that a request takes.
const TYPICAL_ATTRIBUTES_BYTES: usize = 192;

/// The origin of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    Client,
    Service,
}

/// A request whose records are encoded, committed to and ready to be placed.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    pub(crate) events: Vec<PreparedEvent>,
    /// The id of each event, for its receipt.
    pub(crate) ids: Vec<String>,
    /// Records and sealed parts, one after another.
    arena: Vec<u8>,
    pub(crate) expected: Option<ExpectedVersion>,
    pub(crate) condition: Option<PreparedCondition>,
    pub(crate) redactions: u64,
    /// The result of looking up its identities on the callers' threads.
    pub(crate) looked_up: IdLookup,
}

impl PreparedRequest {
    pub(crate) fn record(&self, event: &PreparedEvent) -> &[u8] {
        self.arena.get(event.record.clone()).unwrap_or_default()
    }

    pub(crate) fn part(&self, event: &PreparedEvent) -> Option<&[u8]> {
        event.part.clone().and_then(|part| self.arena.get(part))
    }

    /// Bytes of records and parts.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len()
    }
}

/// One event, encoded.
#[derive(Debug)]
pub(crate) struct PreparedEvent {
    pub(crate) key: EventKey,
    pub(crate) stream: StreamKey,
    pub(crate) commitment: Commitment,
    pub(crate) facets: Facets,
    /// `true` if the reactor is shown it.
    pub(crate) concerns_reactor: bool,
    /// The reactor's examination of it on the caller's thread.
    pub(crate) examination: Option<Box<Examination>>,
    /// The misfit of its data with the schema that is registered for its type by now, or the members that its type does not know. A retry
    /// may be older than that schema, or than the rule about members.
    pub(crate) misfit: Option<Box<EventDataError>>,
    record: Range<usize>,
    part: Option<Range<usize>>,
}

/// The facets of an event that append conditions ask about, as hashes that live as long as the process.
#[derive(Debug, Clone)]
pub(crate) struct Facets {
    kind: u64,
    tags: Box<[u64]>,
}

/// An append condition as hashes, and how far the log behind it was searched already.
#[derive(Debug)]
pub(crate) struct PreparedCondition {
    kinds: Vec<u64>,
    tags: Vec<u64>,
    /// Every match at or before this position was ruled out: the condition's `after`, or further.
    pub(crate) checked_through: u64,
}

impl PreparedCondition {
    pub(crate) fn matches(&self, facets: &Facets) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&facets.kind))
            && self.tags.iter().all(|tag| facets.tags.contains(tag))
    }
}

/// Turns requests into records. Shared by all callers.
pub(crate) struct Preparer {
    ledger: LedgerId,
    keys: LedgerKeys,
    subjects: Subjects,
    redactor: Redactor,
    facet_hasher: RandomState,
    request_bytes: usize,
    reactor: Option<Arc<dyn Reactor>>,
    entropy: Arc<dyn Entropy>,
}

impl Preparer {
    pub(crate) fn new(
        ledger: LedgerId,
        keys: LedgerKeys,
        subjects: Subjects,
        request_bytes: usize,
        reactor: Option<Arc<dyn Reactor>>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            ledger,
            keys,
            subjects,
            redactor: Redactor::new(),
            facet_hasher: RandomState::new(),
            request_bytes,
            reactor,
            entropy,
        }
    }

    pub(crate) fn keys(&self) -> &LedgerKeys {
        &self.keys
    }

    /// Returns the reactor that derives events, if there is one.
    pub(crate) fn reactor(&self) -> Option<&Arc<dyn Reactor>> {
        self.reactor.as_ref()
    }

    /// The version of what derives events; 0 where nothing does.
    pub(crate) fn reactor_version(&self) -> u32 {
        self.reactor.as_ref().map_or(0, |reactor| reactor.version())
    }

    pub(crate) fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    /// Checks, redacts, seals and encodes. Returned `Ok` ⇒ every subject key that the request uses is durable.
    pub(crate) fn prepare(
        &self,
        request: AppendRequest<'_>,
        origin: RequestOrigin,
    ) -> Result<PreparedRequest, AppendError> {
        let AppendRequest { events, expected, condition } = request;
        if events.is_empty() {
            return Err(AppendError::EmptyRequest);
        }
        if events.len() > MAX_REQUEST_EVENTS {
            return Err(AppendError::TooManyEvents { found: events.len(), max: MAX_REQUEST_EVENTS });
        }
        let condition = condition.map(|condition| self.condition(&condition)).transpose()?;
        let mut prepared = PreparedRequest {
            events: Vec::with_capacity(events.len()),
            ids: Vec::with_capacity(events.len()),
            arena: Vec::with_capacity(room_for(&events).min(self.request_bytes)),
            expected,
            condition,
            redactions: 0,
            looked_up: IdLookup::default(),
        };
        let streams = self.stream_keys(&events);
        for (index, (event, stream)) in events.into_iter().zip(streams).enumerate() {
            if origin == RequestOrigin::Client && is_reserved(&event) {
                return Err(AppendError::ReservedType { index, kind: event.kind.into_owned() });
            }
            event.validate().map_err(|source| AppendError::Invalid { index, source })?;
            self.encode(event, stream, origin, index, &mut prepared)?;
            if prepared.arena.len() > self.request_bytes {
                return Err(AppendError::TooLarge { found: prepared.arena.len(), max: self.request_bytes });
            }
        }
        if prepared.expected.is_some() && !one_stream(&prepared.events) {
            return Err(AppendError::ConditionScope);
        }
        Ok(prepared)
    }

    /// The stream of each event. Events of one stream most often stand together: its name is hashed once for all of them.
    fn stream_keys(&self, events: &[Event<'_>]) -> Vec<StreamKey> {
        let mut keys = Vec::with_capacity(events.len());
        let mut last = None;
        for event in events {
            let key = match last {
                Some((name, key)) if name == &*event.stream => key,
                _ => self.keys.stream_key(&event.stream),
            };
            last = Some((&*event.stream, key));
            keys.push(key);
        }
        keys
    }

    fn encode(
        &self,
        mut event: Event<'_>,
        stream: StreamKey,
        origin: RequestOrigin,
        index: usize,
        into: &mut PreparedRequest,
    ) -> Result<(), AppendError> {
        let fit = match origin {
            RequestOrigin::Client => check_type(&event, index)?,
            RequestOrigin::Service => SchemaMatch::Listed,
        };
        // Before anything of it is redacted: what is told of it are names.
        let unknown = (origin == RequestOrigin::Client).then(|| check_known(&event)).flatten();
        let reactor = self.reactor.as_ref().filter(|reactor| reactor.concerns(&event.kind));
        let mut examination = match reactor {
            Some(reactor) => reactor.examine(&event)?,
            None => None,
        };
        if origin == RequestOrigin::Client {
            self.refuse_secret_names(&event, examination.as_deref(), index)?;
        }
        let concerns_reactor = reactor.is_some();
        let (blind, key) = self.keys.identity(&event.source, &event.id);
        let facets = self.facets(&event.kind, event.tags.iter().map(AsRef::as_ref));
        let redactions = self.redactor.redact(&mut event);
        into.redactions += u64::from(redactions);
        // The replacement of a secret may be longer than its text may be.
        if redactions > 0 && origin == RequestOrigin::Client {
            check_type(&event, index)?;
            // A text taken for a secret may be what the event is known by.
            if let Some(reactor) = reactor {
                let kept = reactor.examine(&event)?;
                // A recording is known by what is kept of it; who calls now can be told.
                if examination.as_ref().is_some_and(|found| found.is_imported()) {
                    examination = kept;
                }
            }
        }
        if let Some(examination) = &mut examination {
            self.draw_approval(examination)?;
        }
        // Sealed at the end, so that nothing made anew on the way stays clear.
        if let (Some(examination), Some(subject)) = (&mut examination, &event.datasubject) {
            let key = self.subjects.key_for(subject).map_err(AppendError::of_subject_key)?;
            examination.seal(|digest, folder| sealed_action(&key.secret, self.ledger, digest, folder));
        }
        let misfit = match fit {
            SchemaMatch::Unlisted => check_registered(self.reactor.as_deref(), &event, index)?,
            SchemaMatch::Listed if origin == RequestOrigin::Client => unknown,
            SchemaMatch::Listed | SchemaMatch::Registered | SchemaMatch::Free => None,
        };

        let (record, part) = match Record::draft(event, redactions) {
            EventDraft::Clear(record) => (record, None),
            EventDraft::Sensitive { record, part } => {
                let (seal, part) = self.seal(&part, index)?;
                (record.seal(seal), Some(part))
            }
        };
        let bytes = append_record(&record, &mut into.arena).map_err(|error| unencodable(index, &error))?;
        let encoded = into.arena.get(bytes.clone()).unwrap_or_default();
        let commitment = commitment(&blind, encoded);
        into.ids.push(record.id.into_owned());
        let part = part.map(|part| append(&mut into.arena, &part));
        into.events.push(PreparedEvent {
            key,
            stream,
            commitment,
            facets,
            concerns_reactor,
            examination,
            misfit,
            record: bytes,
            part,
        });
        Ok(())
    }

    /// Draws the id of an approval that the event may ask for: the reactor knows no randomness.
    fn draw_approval(&self, examination: &mut Examination) -> Result<(), AppendError> {
        let draw = || {
            let mut bytes = [0; APPROVAL_ID_BYTES];
            self.entropy.fill(&mut bytes).map(|()| bytes)
        };
        examination.draw_approval(draw).map_err(|error| AppendError::Reactor {
            code: RefusalCode::Broken,
            reason: format!("the id of its approval could not be drawn: {error}; nothing was decided"),
        })
    }

    /// Events are found by what they are known by, and decisions rest on it: a secret there could neither be replaced nor kept.
    fn refuse_secret_names(
        &self,
        event: &Event<'_>,
        examination: Option<&Examination>,
        index: usize,
    ) -> Result<(), AppendError> {
        let attributes = [
            ("subject", Some(&event.stream)),
            ("attribute `actor`", event.actor.as_ref()),
            ("attribute `agent`", event.agent.as_ref()),
            ("attribute `session`", event.session.as_ref()),
            ("attribute `run`", event.run.as_ref()),
            ("attribute `call`", event.call.as_ref()),
        ];
        let attributes = attributes.into_iter().filter_map(|(what, text)| Some((what, &**text?)));
        let tags = event.tags.iter().map(|tag| ("tag", &**tag));
        let examined = examination.map(Examination::names).unwrap_or_default();
        let secret = attributes.chain(tags).chain(examined).find(|(_, text)| self.redactor.finds_in(text));
        secret.map_or(Ok(()), |(what, _)| Err(AppendError::SecretName { index, what }))
    }

    /// Seals a sensitive part under its subject's key, which is durable once this returns.
    fn seal(&self, part: &SensitivePart<'_>, index: usize) -> Result<(Seal, Vec<u8>), AppendError> {
        let key = self.subjects.key_for(&part.datasubject).map_err(AppendError::of_subject_key)?;
        let plaintext = encode_part(part).map_err(|error| unencodable(index, &error))?;
        let (seal, sealed) =
            seal_part(&key.secret, self.ledger, &plaintext).map_err(|error| unencodable(index, &error))?;
        Ok((Seal { subject_key: key.id, seal }, sealed))
    }

    fn condition(&self, condition: &AppendCondition) -> Result<PreparedCondition, AppendError> {
        let terms = condition.kinds.len() + condition.tags.len();
        if !(1..=MAX_CONDITION_TERMS).contains(&terms) {
            return Err(AppendError::ConditionSize { max: MAX_CONDITION_TERMS });
        }
        let hash = |text: &String| self.facet_hasher.hash_one(text.as_str());
        Ok(PreparedCondition {
            kinds: condition.kinds.iter().map(hash).collect(),
            tags: condition.tags.iter().map(hash).collect(),
            checked_through: condition.after.get(),
        })
    }

    fn facets<'t>(&self, kind: &str, tags: impl Iterator<Item = &'t str>) -> Facets {
        Facets {
            kind: self.facet_hasher.hash_one(kind),
            tags: tags.map(|tag| self.facet_hasher.hash_one(tag)).collect(),
        }
    }
}

/// Returns the expected size of these events' records, in bytes.
fn room_for(events: &[Event<'_>]) -> usize {
    events.iter().map(|event| event.data.len() + TYPICAL_ATTRIBUTES_BYTES).sum()
}

/// Refuses a condition that rests on events that were never there. Events that a caller has seen are durable: nothing past the head
/// can be one.
pub(crate) fn check_condition_position(
    condition: &AppendCondition,
    head: Position,
) -> Result<(), AppendError> {
    if condition.after.get() > head.get() {
        return Err(AppendError::ConditionPastHead { after: condition.after, head });
    }
    Ok(())
}

fn unencodable(index: usize, error: &dyn std::fmt::Display) -> AppendError {
    AppendError::Unencodable { index, reason: error.to_string() }
}

fn one_stream(events: &[PreparedEvent]) -> bool {
    let mut streams = events.iter().map(|event| event.stream);
    let first = streams.next();
    streams.all(|stream| Some(stream) == first)
}

fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> Range<usize> {
    let start = arena.len();
    arena.extend_from_slice(bytes);
    start..arena.len()
}

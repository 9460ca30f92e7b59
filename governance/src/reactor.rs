//! The seam between the ledger and what derives events from admitted ones.

use bitacora_formats::vocabulary::{EventDataError, Fit};
use bitacora_formats::{Event, Micros, Position, StreamVersion};

use crate::derived_event::Derived;
use crate::examination::Examination;

/// A reactor: its version, its state, and what of it runs on the callers' threads.
///
/// The ledger keeps two states of it. The *published* one folds what was synced, just before it is acknowledged, and is what
/// answers may rest on. The *staged* one is forked from it when the ledger is open, and runs ahead of the disk in the sequencer.
pub trait Reactor: Send + Sync {
    /// Stands in `ledger.created` and `ledger.opened`, so that a replay knows which rules were in force.
    fn version(&self) -> u32;

    /// The state to be published, before position 1. A reactor shares its contents with readers as it likes.
    fn state(&self) -> Box<dyn ReactorState>;

    /// A state before position 1 that shares nothing with the published one: for who folds events beside it.
    fn apart(&self) -> Box<dyn ReactorState>;

    /// Whether events of this type are shown to it. The answer must be the same for ever.
    fn concerns(&self, kind: &str) -> bool;

    /// Whether its state reads more of recorded events of this type than their place and time.
    fn reads(&self, _kind: &str) -> bool {
        true
    }

    /// Looks at an event on its caller's thread, before anything of it is sealed: what takes long or needs contents that no
    /// state may read happens here. It may rest on durable state alone, and that may have moved on when the event gets its
    /// place.
    ///
    /// # Errors
    /// A refusal drops the whole request.
    fn examine(&self, event: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal>;

    /// Whether the data of a type that the vocabulary does not have fits the schema that was registered for it, if one was. Asked on
    /// the caller's thread; what is registered is what durable state says.
    ///
    /// # Errors
    /// The data does not fit.
    fn check_registered(&self, _kind: &str, _data: Option<&[u8]>) -> Result<Fit, EventDataError> {
        Ok(Fit::Unlisted)
    }
}

/// One state of a reactor. No clock, no I/O, no floating point: the same events in the same order give the same state.
pub trait ReactorState: Send {
    /// Judges an event of a request at its place, on a scratch copy: the events to add to the same atomic request, or a
    /// refusal. What it derived is shown to it in turn, once that has its place, and may cause more.
    ///
    /// # Errors
    /// A refusal drops the whole request. A panic does too.
    fn react(&mut self, placed: &Observed<'_>) -> Result<Vec<Derived>, ReactorRefusal>;

    /// The request was admitted: the scratch copy becomes the state.
    fn keep(&mut self);

    /// The request was dropped: the scratch copy goes.
    fn discard(&mut self);

    /// A copy of its own that runs ahead of this one.
    fn fork(&self) -> Box<dyn ReactorState>;

    /// Folds the events of one recorded frame that concern it into the state, each behind its cause; never derives again.
    /// Whoever reads the state sees all of them or none.
    fn fold(&mut self, frame: &[Observed<'_>]);

    /// Microseconds by which the time of frames is ahead of the clock, since a correction of it was accepted.
    fn clock_offset(&self) -> u64 {
        0
    }

    /// All of it in bytes, for a snapshot that spares a later opening the folding; `None` where none is kept.
    ///
    /// # Errors
    /// The reason, where a part of it cannot be written.
    fn save(&self) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    /// Becomes the state that a reactor of the same version saved after the event at `position`.
    ///
    /// # Errors
    /// The reason, where the bytes are no such state; it is then as it was.
    fn restore(&mut self, position: Position, saved: &[u8]) -> Result<(), String> {
        let _ = (position, saved);
        Err("this reactor keeps no snapshots".to_owned())
    }
}

/// An event at its place.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Its position.
    pub position: Position,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// The time of its frame.
    pub time: Micros,
    /// Whether a reactor derived it.
    pub derived: bool,
    /// The event, without what is sealed under a subject's key.
    pub event: &'a Event<'a>,
    /// What was found of it before it got its place, or what it was written from where it was derived just now; never there for
    /// what was recorded before.
    pub examination: Option<&'a Examination>,
}

/// A reactor's reason not to admit a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactorRefusal {
    /// In one word, as answers name it.
    pub code: RefusalCode,
    /// In words a caller can act on.
    pub reason: String,
}

/// Why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// The event's data is not what its type asks for.
    InvalidData,
    /// The call is not known: it was never requested, or it is long over.
    NoSuchCall,
    /// Another request was made under the same call.
    CallReused,
    /// Another caller made one.
    CallTaken,
    /// Another call was made under the same idempotency key.
    KeyReused,
    /// There is no such approval.
    NoSuchApproval,
    /// The approval is resolved already.
    AlreadyResolved,
    /// Nobody resolves a request of their own.
    OwnRequest,
    /// There is no such policy, or it cannot be read.
    NoSuchPolicy,
    /// What it names is not there.
    NoSuchThing,
    /// Only the reactor writes this type.
    ReservedType,
    /// What it was examined with has changed since.
    Moved,
    /// A limit of the state is reached.
    StateFull,
    /// The state cannot be trusted any more.
    Broken,
}

impl RefusalCode {
    /// As answers name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidData => "schema",
            Self::NoSuchCall => "no-such-call",
            Self::CallReused => "call-reused",
            Self::CallTaken => "call-taken",
            Self::KeyReused => "key-reused",
            Self::NoSuchApproval => "no-such-approval",
            Self::AlreadyResolved => "already-resolved",
            Self::OwnRequest => "own-request",
            Self::NoSuchPolicy => "no-such-policy",
            Self::NoSuchThing => "no-such-thing",
            Self::ReservedType => "reserved-type",
            Self::Moved => "state-moved",
            Self::StateFull => "state-full",
            Self::Broken => "reactor-broken",
        }
    }

    /// Whether the same request may pass when it is sent again.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Moved)
    }
}

impl ReactorRefusal {
    /// Data that is not what its type asks for.
    pub(crate) fn unfit(why: &dyn std::fmt::Display) -> Self {
        Self::new(RefusalCode::InvalidData, why.to_string())
    }

    /// A refusal for this reason.
    #[must_use]
    pub fn new(code: RefusalCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

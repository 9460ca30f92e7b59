//! The interface between the ledger and the reactor, which derives events from admitted ones.

pub(crate) mod derived_event;
pub(crate) mod effects;
pub(crate) mod event_sources;
pub(crate) mod examination;

use bitacora_formats::{Event, Micros, Position, StreamVersion};
use bitacora_vocabulary::{EventDataError, SchemaMatch};

use crate::reactor::derived_event::DerivedEvent;
use crate::reactor::examination::Examination;
use crate::refusal::ReactorRefusal;

/// A reactor: its version, its state, and its checks on the callers' threads.
///
/// The ledger keeps two states of it. The *published* one folds the events that were synced, just before they are acknowledged;
/// answers may rest on it. The *staged* one is forked from it when the ledger is open, and runs ahead of the disk in the sequencer.
pub trait Reactor: Send + Sync {
    /// Stands in `ledger.created` and `ledger.opened`, so that a replay knows which rules were in force.
    fn version(&self) -> u32;

    /// Returns the first version whose saved states it can restore. States of versions since then are read for good where the events before
    /// them expired.
    fn oldest_readable_state(&self) -> u32 {
        self.version()
    }

    /// Returns the state to be published, before position 1. A reactor shares its contents with readers as it likes.
    fn state(&self) -> Box<dyn ReactorState>;

    /// Returns a state before position 1 that shares nothing with the published one, for a separate fold.
    fn apart(&self) -> Box<dyn ReactorState>;

    /// Returns `true` if events of this type are shown to it. The answer must be the same for ever.
    fn concerns(&self, kind: &str) -> bool;

    /// Returns `true` if its state reads more of recorded events of this type than their position and time.
    fn reads(&self, _kind: &str) -> bool {
        true
    }

    /// Examines an event on its caller's thread, before anything of it is sealed. Work that takes long, or that needs contents no
    /// state may read, happens here. It may rest on durable state alone. That state may have moved on when the event gets its
    /// position.
    ///
    /// # Errors
    /// A refusal drops the whole request.
    fn examine(&self, event: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal>;

    /// Checks the data of a type outside the vocabulary against the schema that was registered for it, if there is one. Runs on the
    /// caller's thread, and takes the schema from durable state.
    ///
    /// # Errors
    /// The data does not fit.
    fn check_registered(&self, _kind: &str, _data: Option<&[u8]>) -> Result<SchemaMatch, EventDataError> {
        Ok(SchemaMatch::Unlisted)
    }
}

/// One state of a reactor. No clock, no I/O, no floating point: the same events in the same order give the same state.
pub trait ReactorState: Send {
    /// Judges an event of a request at its position, on a scratch copy. Returns the events to add to the same atomic request, or a
    /// refusal. The ledger shows it each derived event in turn, once that has its position; this may cause more.
    ///
    /// # Errors
    /// A refusal drops the whole request. A panic does too.
    fn react(&mut self, placed: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal>;

    /// Makes the scratch copy the state: the request was admitted.
    fn keep(&mut self);

    /// Drops the scratch copy: the request was dropped.
    fn discard(&mut self);

    /// Returns a copy of its own that runs ahead of this one.
    fn fork(&self) -> Box<dyn ReactorState>;

    /// Folds the events of one recorded frame that concern it into the state, each behind its cause; never derives again. A reader
    /// of the state sees all of them or none.
    fn fold(&mut self, frame: &[ObservedEvent<'_>]);

    /// Microseconds by which the time of frames is ahead of the clock, since a correction of it was accepted.
    fn clock_offset(&self) -> u64 {
        0
    }

    /// Returns all of it in bytes, for a snapshot that spares a later opening the folding; `None` where none is kept.
    ///
    /// # Errors
    /// The reason, where a part of it cannot be written.
    fn save(&self) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    /// Becomes the state that a reactor of a readable version saved after the event at `position`.
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
pub struct ObservedEvent<'a> {
    /// Its position.
    pub position: Position,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// The time of its frame.
    pub time: Micros,
    /// `true` if a reactor derived it.
    pub derived: bool,
    /// The event, without the parts that are sealed under a subject's key.
    pub event: &'a Event<'a>,
    /// The findings from before it got its position; for an event derived just now, the value that it was written from. `None` for
    /// all events that were recorded before.
    pub examination: Option<&'a Examination>,
}

//! The seam of governance: a pure function, run inside the sequencer, that derives events from admitted ones.

use bitacora_formats::{Event, Micros, Position, StreamVersion};

/// A reactor: its version and its empty state.
///
/// The ledger keeps two states of it. The *staged* one runs ahead of the disk in the sequencer; the *durable* one folds
/// what was synced, just before it is acknowledged, and is what answers may rest on.
pub trait Reactor: Send + Sync {
    /// Stands in `ledger.created` and `ledger.opened`, so that a replay knows which rules were in force.
    fn version(&self) -> u32;

    /// The state before position 1, for this use.
    fn state(&self, copy: StateCopy) -> Box<dyn ReactorState>;
}

/// Which of its two states the ledger asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateCopy {
    /// The sequencer's, ahead of the disk.
    Staged,
    /// The published one; a reactor shares its contents with readers as it likes.
    Durable,
}

/// One state of a reactor. No clock, no I/O, no floating point: the same events in the same order give the same state.
pub trait ReactorState: Send {
    /// Judges one event of a request on a scratch copy: the events to add to the same atomic request, or a refusal.
    ///
    /// # Errors
    /// A refusal drops the whole request. A panic does too.
    fn react(&mut self, admitted: &Observed<'_>) -> Result<Vec<Event<'static>>, ReactorRefusal>;

    /// Takes note of a derived event at the place it was given, still on the scratch copy.
    fn derived(&mut self, event: &Observed<'_>);

    /// The request was admitted: the scratch copy becomes the state.
    fn keep(&mut self);

    /// The request was dropped: the scratch copy goes.
    fn discard(&mut self);

    /// Folds one event of recorded history into the state; never derives again.
    fn fold(&mut self, event: &Observed<'_>);
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
}

/// A reactor's reason not to admit a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactorRefusal {
    /// In words a caller can act on.
    pub reason: String,
}

/// Stands in for a reactor whose state can no longer be trusted: it admits nothing.
pub(crate) struct BrokenReactor;

impl BrokenReactor {
    pub(crate) const REASON: &'static str =
        "the reactor's state cannot be trusted any more; restart the service";
}

impl ReactorState for BrokenReactor {
    fn react(&mut self, _: &Observed<'_>) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        Err(ReactorRefusal { reason: Self::REASON.to_owned() })
    }
    fn derived(&mut self, _: &Observed<'_>) {}
    fn keep(&mut self) {}
    fn discard(&mut self) {}
    fn fold(&mut self, _: &Observed<'_>) {}
}

//! An event that a reactor derives, with its meaning.

use std::sync::Arc;

use bitacora_formats::Event;
use bitacora_vocabulary::{DecisionMade, TrustObserved};

use crate::command::Command;

/// An event to be added to the request of its cause.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedEvent {
    /// The event as it is recorded.
    pub event: Event<'static>,
    /// The value that its data was written from, where the reactor tells it.
    pub meaning: Option<DerivedValue>,
}

impl From<Event<'static>> for DerivedEvent {
    fn from(event: Event<'static>) -> Self {
        Self { event, meaning: None }
    }
}

/// The value that the data of a derived event was written from. It spares a second reading to the deriving code and to the caller
/// of the request. It holds only as long as the data is recorded as it was written. A replay has none, and reads.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedValue(Arc<Command>);

impl DerivedValue {
    pub(crate) fn new(act: Command) -> Self {
        Self(Arc::new(act))
    }

    pub(crate) fn act(&self) -> &Command {
        &self.0
    }

    /// Returns the decision, if it is one.
    #[must_use]
    pub fn decision(&self) -> Option<&DecisionMade> {
        match &*self.0 {
            Command::Decided(decision) => Some(decision),
            _ => None,
        }
    }

    /// Returns the observation, if it is one of trust.
    #[must_use]
    pub fn observation(&self) -> Option<&TrustObserved> {
        match &*self.0 {
            Command::Observed(observed) => Some(observed),
            _ => None,
        }
    }
}

//! An event that a reactor derives, and what it says.

use std::sync::Arc;

use bitacora_formats::Event;
use bitacora_formats::vocabulary::{DecisionMade, TrustObserved};

use crate::command::Act;

/// An event to be added to the request of its cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// As it is recorded.
    pub event: Event<'static>,
    /// What its data was written from, where the reactor tells.
    pub meaning: Option<Meaning>,
}

impl From<Event<'static>> for Derived {
    fn from(event: Event<'static>) -> Self {
        Self { event, meaning: None }
    }
}

/// The value that the data of a derived event was written from. It spares who has just derived the event, or asked for it, to read
/// that again, and holds only as long as the data is recorded as it was written: a replay has none, and reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning(Arc<Act>);

impl Meaning {
    pub(crate) fn new(act: Act) -> Self {
        Self(Arc::new(act))
    }

    pub(crate) fn act(&self) -> &Act {
        &self.0
    }

    /// What was decided, if it is a decision.
    #[must_use]
    pub fn decision(&self) -> Option<&DecisionMade> {
        match &*self.0 {
            Act::Decided(decision) => Some(decision),
            _ => None,
        }
    }

    /// What was observed, if it is an observation of trust.
    #[must_use]
    pub fn observation(&self) -> Option<&TrustObserved> {
        match &*self.0 {
            Act::Observed(observed) => Some(observed),
            _ => None,
        }
    }
}

//! Requests that wait for an answer, by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use crate::call::ToolCall;
use crate::frame::Id;

/// A request that waits for an answer.
pub(super) enum Waiting {
    /// A request that was handed on.
    Plain,
    /// A request for the list of tools.
    List,
    /// A call that the gate has not let go.
    Held(Arc<Notify>),
    /// A call that was handed on.
    Running(RunningCall),
    /// A request of the proxy itself.
    Own(oneshot::Sender<Option<Box<RawValue>>>),
}

/// A call that was handed on.
pub(super) struct RunningCall {
    /// Its id in the ledger.
    pub(super) id: String,
    pub(super) call: Arc<ToolCall>,
    pub(super) began: Instant,
}

/// A request that the client cancelled. Nobody waits for its answer any more.
pub(super) enum Cancelled {
    /// A call that was held. It never goes.
    Held,
    /// A call that the server runs.
    Running(RunningCall),
    /// Another request, or none that waits.
    Other,
}

/// The reason why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InFlightRefusal {
    Twice,
    Full,
}

/// The requests in flight.
pub(super) struct InFlight {
    waiting: Mutex<HashMap<Id, Waiting>>,
    max: usize,
    max_calls: usize,
}

impl InFlight {
    pub(super) fn new(max: usize, max_calls: usize) -> Self {
        Self { waiting: Mutex::default(), max, max_calls }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes a request in.
    pub(super) fn add(&self, id: Id, request: Waiting) -> Result<(), InFlightRefusal> {
        let mut waiting = self.lock();
        if waiting.contains_key(&id) {
            return Err(InFlightRefusal::Twice);
        }
        let is_call = |request: &Waiting| matches!(request, Waiting::Held(_) | Waiting::Running(_));
        let calls = || waiting.values().filter(|request| is_call(request)).count();
        if waiting.len() >= self.max || (is_call(&request) && calls() >= self.max_calls) {
            return Err(InFlightRefusal::Full);
        }
        waiting.insert(id, request);
        Ok(())
    }

    /// Lets a held call go. Returns `false` if it is held no more: it was cancelled, and may never go.
    pub(super) fn begin(&self, id: &Id, running: RunningCall) -> bool {
        match self.lock().get_mut(id) {
            Some(held @ Waiting::Held(_)) => {
                *held = Waiting::Running(running);
                true
            }
            _ => false,
        }
    }

    /// Takes out a call that is still held.
    pub(super) fn end_held(&self, id: &Id) -> bool {
        let mut waiting = self.lock();
        let is_held = matches!(waiting.get(id), Some(Waiting::Held(_)));
        if is_held {
            waiting.remove(id);
        }
        is_held
    }

    /// Takes out a running call, if it is still the one of this id in the ledger.
    pub(super) fn end_running(&self, id: &Id, call: &str) -> Option<RunningCall> {
        let mut waiting = self.lock();
        match waiting.remove(id)? {
            Waiting::Running(running) if running.id == call => Some(running),
            other => {
                waiting.insert(id.clone(), other);
                None
            }
        }
    }

    /// Takes out a request that the server answers. A held call is none: the server has not seen it.
    pub(super) fn answered(&self, id: &Id) -> Option<Waiting> {
        let mut waiting = self.lock();
        match waiting.remove(id)? {
            held @ Waiting::Held(_) => {
                waiting.insert(id.clone(), held);
                None
            }
            answered => Some(answered),
        }
    }

    /// Takes out a request that the client cancels.
    pub(super) fn cancel(&self, id: &Id) -> Cancelled {
        match self.lock().remove(id) {
            Some(Waiting::Held(cancelled)) => {
                // The task may look before it waits; the permit is kept for it.
                cancelled.notify_one();
                Cancelled::Held
            }
            Some(Waiting::Running(running)) => Cancelled::Running(running),
            _ => Cancelled::Other,
        }
    }

    /// Takes out everything.
    pub(super) fn drain(&self) -> Vec<(Id, Waiting)> {
        self.lock().drain().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(id: &str) -> RunningCall {
        let call = Arc::new(ToolCall::parse(Some(r#"{"name":"a"}"#)).unwrap());
        RunningCall { id: id.to_owned(), call, began: Instant::now() }
    }

    fn held() -> Waiting {
        Waiting::Held(Arc::default())
    }

    #[test]
    fn a_cancelled_call_never_begins() {
        let calls = InFlight::new(8, 8);
        let id = Id::Number(1);
        calls.add(id.clone(), held()).unwrap();
        assert!(matches!(calls.cancel(&id), Cancelled::Held));
        assert!(!calls.begin(&id, running("c1")));
        assert!(calls.is_empty());
        calls.add(id.clone(), held()).unwrap();
        assert!(calls.begin(&id, running("c2")));
        assert!(matches!(calls.cancel(&id), Cancelled::Running(_)), "the server is told");
        assert!(matches!(calls.cancel(&id), Cancelled::Other));
    }

    #[test]
    fn a_server_answers_no_call_that_it_has_not_seen() {
        let calls = InFlight::new(8, 8);
        let id = Id::Text("1".to_owned());
        calls.add(id.clone(), held()).unwrap();
        assert!(calls.answered(&id).is_none());
        assert!(calls.answered(&Id::Number(1)).is_none(), "a number is no text");
        assert!(calls.begin(&id, running("c1")));
        assert!(calls.end_running(&id, "c0").is_none());
        assert!(calls.answered(&id).is_some());
        assert!(calls.answered(&id).is_none(), "once");
    }

    #[test]
    fn requests_and_calls_are_bounded_and_ids_are_used_once_at_a_time() {
        let calls = InFlight::new(3, 2);
        let add = |id, request| calls.add(Id::Number(id), request);
        assert_eq!(add(1, held()), Ok(()));
        assert_eq!(add(1, Waiting::Plain), Err(InFlightRefusal::Twice));
        assert_eq!(add(2, held()), Ok(()));
        assert_eq!(add(3, held()), Err(InFlightRefusal::Full));
        assert_eq!(add(3, Waiting::Plain), Ok(()));
        assert_eq!(add(4, Waiting::Plain), Err(InFlightRefusal::Full));
    }
}

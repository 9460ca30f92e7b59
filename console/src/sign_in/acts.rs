//! The acts of a session's forms, so that a form that is sent twice acts once, and both are told how it ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use tokio::sync::watch;

use crate::limits::MAX_RUNNING_ACTS;

/// Acts of a session whose repetition is recognised.
const KNOWN_ACTS: usize = 512;

/// The acts of a session, the oldest first.
#[derive(Default)]
pub(crate) struct Acts(Mutex<VecDeque<KnownAct>>);

struct KnownAct {
    id: String,
    end: EndOfAct,
}

/// The end of an act, told once it is known.
pub(crate) type EndOfAct = watch::Receiver<Option<ActEnd>>;

/// The end of an act.
#[derive(Clone)]
pub(crate) enum ActEnd {
    /// It was done: the page that shows it, and the words for it.
    Done { to: String, notice: String },
    /// It was done, and the page about it is shown to whoever takes it first.
    ShownOnce(Arc<Mutex<Option<Bytes>>>),
    /// It was refused; the page that says why.
    Refused(StatusCode, Bytes),
}

/// The place of a form among those that were sent.
pub(crate) enum ActTurn {
    /// It is the first with this number.
    First(RunningAct, EndOfAct),
    /// Another one came first, and its end is or was not known yet.
    Again(EndOfAct),
    /// Another one was done before.
    Ended,
    /// The session does too much at once.
    Busy,
}

/// An act that is being done.
pub(crate) struct RunningAct(watch::Sender<Option<ActEnd>>);

impl RunningAct {
    /// Tells everybody who waits how it ended.
    pub(crate) fn ended(&self, end: ActEnd) {
        self.0.send_replace(Some(end));
    }
}

impl Acts {
    /// Takes note of a form that was sent.
    pub(crate) fn begin(&self, id: &str) -> ActTurn {
        let mut acts = self.lock();
        if let Some(known) = acts.iter().find(|known| known.id == id) {
            return match &*known.end.borrow() {
                Some(ActEnd::Done { .. }) => ActTurn::Ended,
                _ => ActTurn::Again(known.end.clone()),
            };
        }
        if acts.iter().filter(|known| known.is_running()).count() >= MAX_RUNNING_ACTS {
            return ActTurn::Busy;
        }
        if acts.len() >= KNOWN_ACTS {
            acts.pop_front();
        }
        let (sender, end) = watch::channel(None);
        acts.push_back(KnownAct { id: id.to_owned(), end: end.clone() });
        ActTurn::First(RunningAct(sender), end)
    }

    /// Forgets an act that was refused, so that its form can be sent again.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().retain(|known| known.id != id);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<KnownAct>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownAct {
    fn is_running(&self) -> bool {
        self.end.has_changed().is_ok() && self.end.borrow().is_none()
    }
}

/// Returns `true` for the number of a form: one that `act_fields` made.
pub(crate) fn is_act(text: &str) -> bool {
    text.len() == 2 * crate::limits::SECRET_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> ActEnd {
        ActEnd::Done { to: "/console".to_owned(), notice: "Done.".to_owned() }
    }

    #[test]
    fn a_form_acts_once_and_again_if_it_was_refused() {
        let acts = Acts::default();
        let ActTurn::First(running, _) = acts.begin("a") else { panic!() };
        let ActTurn::Again(end) = acts.begin("a") else { panic!("it is being done") };
        running.ended(done());
        assert!(matches!(&*end.borrow(), Some(ActEnd::Done { .. })));
        assert!(matches!(acts.begin("a"), ActTurn::Ended));
        acts.forget("a");
        assert!(matches!(acts.begin("a"), ActTurn::First(..)));
    }

    #[test]
    fn an_act_without_an_end_is_not_taken_for_done() {
        let acts = Acts::default();
        drop(acts.begin("a"));
        let ActTurn::Again(end) = acts.begin("a") else { panic!() };
        assert!(end.has_changed().is_err() && end.borrow().is_none());
    }

    #[test]
    fn acts_at_once_and_acts_known_are_bounded() {
        let acts = Acts::default();
        let running: Vec<_> = (0..MAX_RUNNING_ACTS).map(|n| acts.begin(&n.to_string())).collect();
        assert!(matches!(acts.begin("more"), ActTurn::Busy));
        drop(running);
        for number in 0..2 * KNOWN_ACTS {
            assert!(matches!(acts.begin(&format!("b{number}")), ActTurn::First(..)));
        }
        assert_eq!(acts.lock().len(), KNOWN_ACTS);
    }

    #[test]
    fn a_number_of_a_form_is_one_that_a_page_made() {
        assert!(is_act(&"0aF".repeat(21).chars().chain(['9']).collect::<String>()));
        for other in ["", "a", &"a".repeat(63), &"a".repeat(65), &"g".repeat(64), &"a".repeat(1_900_000)] {
            assert!(!is_act(other));
        }
    }
}

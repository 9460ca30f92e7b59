//! Idempotency keys: which calls were made before, and what became of them.

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{Name, ReasonCode, Sha256Text, Verdict};
use serde::{Deserialize, Serialize};

use crate::journal::Journaled;
use crate::limits::{KEY_LIFE, MAX_KEYS, STALE_KEY_LIFE};

/// A key that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsedKey {
    /// The call that used it last.
    call: Name,
    /// What that call was decided on.
    action_digest: Option<Sha256Text>,
    verdict: Verdict,
    /// When the key was used first.
    first_used: Micros,
    /// When the call is over without an outcome.
    deadline: Micros,
    /// Where the outcome stands, if there is one.
    outcome: Option<u64>,
}

/// What a key says of a call that brings it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFinding {
    /// Nothing stands against the call.
    Free,
    /// The same key was used for another action.
    OtherAction,
    /// The call was made before.
    Objection {
        /// How.
        code: ReasonCode,
        /// What is said of it.
        verdict: Verdict,
        /// Where its outcome stands.
        outcome: Option<u64>,
    },
}

/// All keys that are remembered, by the caller's name and the key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Keys {
    used: Journaled<String, UsedKey>,
    by_end: Journaled<(Micros, String), ()>,
}

impl Keys {
    pub(crate) fn is_full(&self) -> bool {
        self.used.len() >= MAX_KEYS
    }

    /// What this key says of a call on this action.
    pub(crate) fn check(
        &self,
        key: &str,
        action_digest: Option<&Sha256Text>,
        may_change: bool,
        time: Micros,
    ) -> KeyFinding {
        let Some(used) = self.used.get(key) else { return KeyFinding::Free };
        if time.0 >= used.first_used.0.saturating_add(KEY_LIFE.0) {
            return KeyFinding::Objection {
                code: ReasonCode::KeyExpired,
                verdict: Verdict::Deny,
                outcome: used.outcome,
            };
        }
        // Of a call whose arguments nobody could read, not even to deny it for them, nothing is known to be another.
        let is_other =
            used.action_digest.as_ref().zip(action_digest).is_some_and(|(one, other)| one != other);
        if is_other {
            return KeyFinding::OtherAction;
        }
        let objection = |code, verdict| KeyFinding::Objection { code, verdict, outcome: used.outcome };
        match used.verdict {
            _ if used.outcome.is_some() => objection(ReasonCode::Repeated, Verdict::Deny),
            Verdict::Allow if time < used.deadline => objection(ReasonCode::InFlight, Verdict::Deny),
            Verdict::Allow if may_change => objection(ReasonCode::OutcomeUnknown, Verdict::Review),
            Verdict::Allow | Verdict::Review | Verdict::Deny => KeyFinding::Free,
        }
    }

    pub(crate) fn apply_decided(
        &mut self,
        key: &str,
        call: Name,
        action_digest: Option<Sha256Text>,
        verdict: Verdict,
        time: Micros,
        deadline: Micros,
    ) {
        // A key does not grow younger by being used again, and what was allowed stays so until its outcome is known.
        let before = self.used.get(key);
        if before.is_some_and(|used| used.outcome.is_some() || stands(used, verdict)) {
            return;
        }
        // The call was denied for that; nothing is kept of it.
        if before.is_none() && self.is_full() {
            return;
        }
        let first_used = before.map_or(time, |used| used.first_used);
        let action_digest = action_digest.or_else(|| before.and_then(|used| used.action_digest.clone()));
        if before.is_none() {
            self.by_end.insert((forgotten(first_used), key.to_owned()), ());
        }
        let used = UsedKey { call, action_digest, verdict, first_used, deadline, outcome: None };
        self.used.insert(key.to_owned(), used);
    }

    pub(crate) fn apply_outcome(&mut self, key: &str, call: &Name, position: u64) {
        let key = key.to_owned();
        self.used.change(&key, |used| {
            if used.call == *call {
                used.outcome = Some(position);
            }
        });
    }

    pub(crate) fn pause(&mut self) {
        self.used.pause();
        self.by_end.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.used.resume();
        self.by_end.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.used.keep();
        self.by_end.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.used.discard();
        self.by_end.discard();
    }

    /// Lets go of those that are too old to be refused for it. With every decision, whether it has a key or not.
    pub(crate) fn forget(&mut self, time: Micros) {
        let over: Vec<_> =
            self.by_end.iter().map(|(end, ())| end.clone()).take_while(|(end, _)| *end <= time).collect();
        for end in over {
            self.used.remove(&end.1);
            self.by_end.remove(&end);
        }
    }
}

/// Whether an allowed call must not be forgotten for one that was not allowed.
fn stands(used: &UsedKey, verdict: Verdict) -> bool {
    used.verdict == Verdict::Allow && verdict != Verdict::Allow
}

fn forgotten(first_used: Micros) -> Micros {
    Micros(first_used.0.saturating_add(KEY_LIFE.0 + STALE_KEY_LIFE.0))
}

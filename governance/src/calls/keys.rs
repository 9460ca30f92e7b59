//! Idempotency keys: the calls that were made before, and their outcomes.

use bitacora_formats::Micros;
use bitacora_vocabulary::{KeyLife, Name, ReasonCode, Sha256Text, Verdict};
use serde::{Deserialize, Serialize};

use crate::clock::ClockTrust;
use crate::limits::{KEY_LIFE, MAX_KEYS, MAX_KEYS_OF_AGENT, STALE_KEY_LIFE};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;

/// A key that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsedKey {
    /// The call that used it last.
    call: Name,
    /// The action that this call was decided on.
    action_digest: Option<Sha256Text>,
    verdict: Verdict,
    /// The time at which the key was used first.
    first_used: Micros,
    /// The lifetime of the key, where the policy of its first use set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life_s: Option<KeyLife>,
    /// The time at which the call is over without an outcome.
    deadline: Micros,
    /// The position of the outcome, if there is one.
    outcome: Option<u64>,
}

/// The finding of a key about a call that brings it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFinding {
    /// Nothing stands against the call.
    Free,
    /// The same key was used for another action.
    OtherAction,
    /// The call was made before.
    Objection {
        /// The reason against it.
        code: ReasonCode,
        /// The verdict on it.
        verdict: Verdict,
        /// The position of its outcome.
        outcome: Option<u64>,
    },
}

/// A key as it is stored: apart from those of other agents and of other tools. No part holds the byte between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ScopedKey(String);

impl ScopedKey {
    pub(crate) fn new(agent: Option<&str>, tool: &str, server: Option<&str>, key: &str) -> Self {
        let (agent, server) = (agent.unwrap_or_default(), server.unwrap_or_default());
        Self(format!("{agent}\0{tool}\0{server}\0{key}"))
    }

    pub(crate) fn agent(&self) -> Option<&str> {
        self.0.split_once('\0').map(|(agent, _)| agent).filter(|agent| !agent.is_empty())
    }
}

/// Returns `true` if a key shows by itself that it is too old: a UUIDv7 begins with the time at which it was made. This holds
/// however long the key was not seen, and nothing has to be stored for it.
pub(crate) fn is_outlived(key: &str, life_s: Option<KeyLife>, clock: &ClockTrust, time: Micros) -> bool {
    made_at(key).is_some_and(|made| time >= expiry(clock.governed_at(made, time), life_s))
}

/// Returns the time at which a key expires.
fn expiry(from: Micros, life_s: Option<KeyLife>) -> Micros {
    let life = life_s.map_or(KEY_LIFE.0, |seconds| u64::from(seconds.get()) * 1_000_000);
    Micros(from.0.saturating_add(life))
}

/// Returns the time in a UUIDv7, as text of 36 characters.
fn made_at(key: &str) -> Option<Micros> {
    let groups: Vec<&str> = key.split('-').collect();
    let [high, low, version, variant, rest] = groups.as_slice() else { return None };
    let is_hex = |text: &&str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let fits = is_hex(high, 8)
        && is_hex(low, 4)
        && is_hex(version, 4)
        && is_hex(variant, 4)
        && is_hex(rest, 12)
        && version.starts_with('7')
        && variant.starts_with(['8', '9', 'a', 'b', 'A', 'B']);
    let milliseconds = u64::from_str_radix(&format!("{high}{low}"), 16).ok().filter(|_| fits)?;
    Some(Micros(milliseconds.saturating_mul(1_000)))
}

/// All keys that are stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Keys {
    pub(crate) used: UndoMap<ScopedKey, UsedKey>,
    by_end: UndoMap<(Micros, ScopedKey), ()>,
    pub(crate) shares: PerAgentQuota,
}

impl Keys {
    /// Returns `true` if there is no room for this key at this time.
    pub(crate) fn is_full(&self, key: &ScopedKey, time: Micros) -> bool {
        let leaves_now = || self.by_end.iter().next().is_some_and(|((end, _), ())| *end <= time);
        self.used.get(key).is_none() && self.used.len() >= MAX_KEYS && !leaves_now()
    }

    /// Returns `true` if this key is not known, and its agent has as many as one may.
    pub(crate) fn is_full_of(&self, key: &ScopedKey) -> bool {
        self.used.get(key).is_none() && self.shares.held(key.agent()) >= MAX_KEYS_OF_AGENT
    }

    /// Checks a call on this action against the key.
    pub(crate) fn check(
        &self,
        key: &ScopedKey,
        action_digest: Option<&Sha256Text>,
        may_change: bool,
        time: Micros,
    ) -> KeyFinding {
        // A key that is due to be forgotten counts as forgotten, whether or not it was taken away yet.
        let known = self.used.get(key).filter(|used| time < forgotten(used.first_used, used.life_s));
        let Some(used) = known else { return KeyFinding::Free };
        if time >= expiry(used.first_used, used.life_s) {
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
        key: &ScopedKey,
        call: Name,
        action_digest: Option<Sha256Text>,
        verdict: Verdict,
        (time, life_s): (Micros, Option<KeyLife>),
        deadline: Micros,
    ) {
        // A key does not grow younger by being used again, and what was allowed stays so until its outcome is known.
        let before = self.used.get(key);
        if before.is_some_and(|used| used.outcome.is_some() || stands(used, verdict)) {
            return;
        }
        let (first_used, life_s) = before.map_or((time, life_s), |used| (used.first_used, used.life_s));
        let action_digest = action_digest.or_else(|| before.and_then(|used| used.action_digest.clone()));
        if before.is_none() {
            // The call was denied for that.
            if self.used.len() >= MAX_KEYS || self.is_full_of(key) {
                return;
            }
            self.by_end.insert((forgotten(first_used, life_s), key.clone()), ());
            self.shares.add(key.agent());
        }
        let used = UsedKey { call, action_digest, verdict, first_used, life_s, deadline, outcome: None };
        self.used.insert(key.clone(), used);
    }

    pub(crate) fn apply_outcome(&mut self, key: &ScopedKey, call: &Name, position: u64) {
        self.used.change(key, |used| {
            if used.call == *call {
                used.outcome = Some(position);
            }
        });
    }

    pub(crate) fn pause(&mut self) {
        self.used.pause();
        self.by_end.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.used.resume();
        self.by_end.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.used.keep();
        self.by_end.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.used.discard();
        self.by_end.discard();
        self.shares.discard();
    }

    /// Lets go of those that are too old to be refused for it. With every decision, whether it has a key or not.
    pub(crate) fn forget(&mut self, time: Micros) {
        let over: Vec<_> =
            self.by_end.iter().map(|(end, ())| end.clone()).take_while(|(end, _)| *end <= time).collect();
        for end in over {
            self.used.remove(&end.1);
            self.shares.take(end.1.agent());
            self.by_end.remove(&end);
        }
    }
}

/// Returns `true` if an allowed call must not be forgotten for one that was not allowed.
fn stands(used: &UsedKey, verdict: Verdict) -> bool {
    used.verdict == Verdict::Allow && verdict != Verdict::Allow
}

fn forgotten(first_used: Micros, life_s: Option<KeyLife>) -> Micros {
    Micros(expiry(first_used, life_s).0.saturating_add(STALE_KEY_LIFE.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_of_version_7_tells_its_age_and_nothing_else_does() {
        // RFC 9562, appendix A.6: 2022-02-22T19:22:22Z.
        let made = 1_645_557_742_000_000;
        let key = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
        assert_eq!(made_at(key), Some(Micros(made)));
        let clock = ClockTrust::default();
        assert!(!is_outlived(key, None, &clock, Micros(made + KEY_LIFE.0 - 1)));
        assert!(is_outlived(key, None, &clock, Micros(made + KEY_LIFE.0)));
        let hour = Some(KeyLife::clamped(3_600));
        assert!(!is_outlived(key, hour, &clock, Micros(made + 3_600_000_000 - 1)));
        assert!(is_outlived(key, hour, &clock, Micros(made + 3_600_000_000)));
        for other in [
            "017F22E2-79B0-4CC3-98C4-DC0C0C07398F",
            "017F22E2-79B0-7CC3-18C4-DC0C0C07398F",
            "017F22E2-79B0-7CC3-98C4-DC0C0C07398",
            "+17F22E2-79B0-7CC3-98C4-DC0C0C07398F",
            "017F22E279B07CC398C4DC0C0C07398F",
            "k1",
            "",
        ] {
            assert_eq!(made_at(other), None, "{other}");
        }
    }

    #[test]
    fn keys_of_two_agents_or_tools_are_never_the_same() {
        let keys = [
            ScopedKey::new(Some("a\nb"), "t", None, "c"),
            ScopedKey::new(Some("a"), "t", None, "b\nc"),
            ScopedKey::new(Some("a"), "t", Some("b"), "c"),
            ScopedKey::new(Some("a"), "t\nb", None, "c"),
            ScopedKey::new(None, "t", None, "c"),
            ScopedKey::new(Some("-"), "t", None, "c"),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys.iter().skip(index + 1).all(|other| other != one), "{one:?}");
        }
    }
}

//! A recorded decision as a fold takes it: what changes the state, on loan from the record. Of all else it is only made sure that a
//! decision holds it, so that no record is folded that cannot be read whole.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bitacora_formats::vocabulary::{
    BoundedRef, BreakerCondition, DecisionMade, Dimension, FactsText, LadderStep, Milliseconds, Mode,
    NameRef, Obligations, ReasonCode, Score, Sha256Text, Step, Verdict,
};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What a decision changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedDecision<'a> {
    pub(crate) call: NameRef<'a>,
    pub(crate) verdict: Verdict,
    pub(crate) mode: Mode,
    pub(crate) reason_code: ReasonCode,
    pub(crate) approval: Option<NameRef<'a>>,
    pub(crate) deadline: u64,
    /// Whether a token of its rates is gone: the call was one of a known tool, and its rates let it pass.
    pub(crate) took_token: bool,
    /// Whether its idempotency key stands for another call.
    pub(crate) is_key_reused: bool,
    pub(crate) retry_after_ms: Option<Milliseconds>,
    pub(crate) dimension: Cow<'a, Dimension>,
    pub(crate) role: NameRef<'a>,
    pub(crate) idempotency_key: Option<NameRef<'a>>,
    pub(crate) server: Option<NameRef<'a>>,
    pub(crate) action_digest: Option<Cow<'a, Sha256Text>>,
    pub(crate) imported: bool,
}

impl RecordedDecision<'_> {
    /// What an executor hears: in mode `observe` everything is allowed.
    pub(crate) const fn effective_verdict(&self) -> Verdict {
        match self.mode {
            Mode::Observe => Verdict::Allow,
            Mode::Enforce => self.verdict,
        }
    }
}

impl<'a> From<&'a DecisionMade> for RecordedDecision<'a> {
    fn from(made: &'a DecisionMade) -> Self {
        let inputs = &made.inputs;
        let mut allowed = Allowed::default();
        made.ladder.iter().for_each(|said| allowed.hear(*said));
        Self {
            call: (&made.call).into(),
            verdict: made.verdict,
            mode: made.mode,
            reason_code: made.reason_code,
            approval: made.approval.as_ref().map(Into::into),
            deadline: made.deadline,
            took_token: allowed.took_token(),
            is_key_reused: allowed.key_reused,
            retry_after_ms: made.retry_after_ms,
            dimension: Cow::Borrowed(&inputs.dimension),
            role: (&inputs.role).into(),
            idempotency_key: inputs.idempotency_key.as_ref().map(Into::into),
            server: inputs.server.as_ref().map(Into::into),
            action_digest: inputs.action_digest.as_ref().map(Cow::Borrowed),
            imported: inputs.imported,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RecordedDecision<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = Made::<'a>::deserialize(deserializer)?;
        let inputs = made.inputs;
        Ok(Self {
            call: made.call,
            verdict: made.verdict,
            mode: made.mode,
            reason_code: made.reason_code,
            approval: made.approval,
            deadline: made.deadline,
            took_token: made.ladder.took_token(),
            is_key_reused: made.ladder.key_reused,
            retry_after_ms: made.retry_after_ms,
            dimension: Cow::Owned(inputs.dimension),
            role: inputs.role,
            idempotency_key: inputs.idempotency_key,
            server: inputs.server,
            action_digest: inputs.action_digest.map(Cow::Owned),
            imported: inputs.imported,
        })
    }
}

/// The members of a [`DecisionMade`], each held to the same.
#[derive(Deserialize)]
#[expect(dead_code, reason = "read so that nothing is taken that a decision does not hold")]
struct Made<'a> {
    #[serde(borrow)]
    call: NameRef<'a>,
    verdict: Verdict,
    mode: Mode,
    reason_code: ReasonCode,
    reason: BoundedRef<'a, 2048>,
    #[serde(default)]
    rule: Option<NameRef<'a>>,
    ladder: Allowed,
    inputs: Inputs<'a>,
    #[serde(default)]
    approval: Option<NameRef<'a>>,
    #[serde(default)]
    grant: Option<NameRef<'a>>,
    #[serde(default)]
    expires: Option<u64>,
    deadline: u64,
    #[serde(default)]
    obligations: Option<Obligations>,
    #[serde(default)]
    earlier_outcome: Option<u64>,
    #[serde(default)]
    retry_after_ms: Option<Milliseconds>,
    #[serde(default)]
    examined: Option<Facts>,
}

/// The members of [`DecisionInputs`](bitacora_formats::vocabulary::DecisionInputs).
#[derive(Deserialize)]
#[expect(dead_code, reason = "read so that nothing is taken that a decision does not hold")]
struct Inputs<'a> {
    dimension: Dimension,
    approvals: u64,
    rejections: u64,
    failures: u64,
    recent_failures: u64,
    streak: u64,
    #[serde(default)]
    last_updated: Option<u64>,
    score: Score,
    breaker: BreakerCondition,
    #[serde(default)]
    policy_version: Option<u64>,
    registry_revision: u64,
    reactor_version: u32,
    #[serde(default)]
    action_digest: Option<Sha256Text>,
    #[serde(borrow)]
    role: NameRef<'a>,
    #[serde(default)]
    idempotency_key: Option<NameRef<'a>>,
    #[serde(default)]
    server: Option<NameRef<'a>>,
    #[serde(default)]
    destinations: Each<BoundedRef<'a, 1024>>,
    #[serde(default)]
    imported: bool,
}

/// What some of the steps said, and that all of them are steps.
#[derive(Debug, Default)]
struct Allowed {
    registry: bool,
    rate: bool,
    key_reused: bool,
}

impl Allowed {
    fn hear(&mut self, said: LadderStep) {
        self.key_reused |= said.code == Some(ReasonCode::KeyReused);
        let allowed = match said.step {
            Step::Registry => &mut self.registry,
            Step::Rate => &mut self.rate,
            _ => return,
        };
        *allowed |= said.verdict == Verdict::Allow;
    }

    fn took_token(&self) -> bool {
        self.registry && self.rate
    }
}

impl<'de> Deserialize<'de> for Allowed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Steps;
        impl<'de> Visitor<'de> for Steps {
            type Value = Allowed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of steps")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut steps: A) -> Result<Allowed, A::Error> {
                let mut allowed = Allowed::default();
                while let Some(said) = steps.next_element()? {
                    allowed.hear(said);
                }
                Ok(allowed)
            }
        }
        deserializer.deserialize_seq(Steps)
    }
}

/// Entries that are looked at one by one and not kept.
struct Each<T>(PhantomData<T>);

impl<T> Default for Each<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self::default())
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_element::<T>()?.is_some() {}
        Ok(self)
    }
}

/// What was found of the call, looked at no further than that it is an object.
struct Facts;

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let facts = <&RawValue>::deserialize(deserializer)?;
        FactsText::check(facts).map(|()| Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;

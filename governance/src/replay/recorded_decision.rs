//! A recorded decision as a fold takes it: borrowed, with the members that change the state.

use std::borrow::Cow;
use std::sync::LazyLock;

use bitacora_vocabulary::{
    BoundedRef, DecisionMade, Dimension, LadderStep, LocalTimes, Milliseconds, Mode, NameRef, OutcomeRules,
    ReasonCode, Sha256Text, Step, Verdict,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::version::{OLDEST_REACTOR_VERSION, REACTOR_VERSION, asks, sees_cycles};

/// The parts of a decision that change the state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedDecision<'a> {
    pub(crate) call: NameRef<'a>,
    pub(crate) verdict: Verdict,
    pub(crate) mode: Mode,
    pub(crate) reason_code: ReasonCode,
    pub(crate) approval: Option<NameRef<'a>>,
    pub(crate) deadline: u64,
    /// `true` if it took a token of its rates: the call was one of a known tool, and its rates let it pass.
    pub(crate) took_token: bool,
    /// `true` if its idempotency key stands for another call.
    pub(crate) is_key_reused: bool,
    /// `true` if nobody had registered its tool.
    pub(crate) is_unregistered: bool,
    pub(crate) retry_after_ms: Option<Milliseconds>,
    pub(crate) dimension: Cow<'a, Dimension>,
    pub(crate) role: NameRef<'a>,
    pub(crate) idempotency_key: Option<NameRef<'a>>,
    pub(crate) server: Option<NameRef<'a>>,
    pub(crate) action_digest: Option<Cow<'a, Sha256Text>>,
    pub(crate) args_digest: Option<Cow<'a, Sha256Text>>,
    pub(crate) run: Option<BoundedRef<'a, 1024>>,
    pub(crate) session_folder: Option<Cow<'a, Sha256Text>>,
    pub(crate) poll: bool,
    pub(crate) local_times: Option<LocalTimes>,
    pub(crate) reactor_version: u32,
    pub(crate) outcome: OutcomeRules,
    pub(crate) imported: bool,
}

impl RecordedDecision<'_> {
    /// Returns the verdict that an executor gets: in mode `observe` everything is allowed.
    pub(crate) const fn effective_verdict(&self) -> Verdict {
        match self.mode {
            Mode::Observe => Verdict::Allow,
            Mode::Enforce => self.verdict,
        }
    }
}

impl RecordedDecision<'_> {
    /// Returns the digest of the arguments by which it is told whether its call is the same as another one.
    pub(crate) fn compared_digest(&self) -> Option<&Sha256Text> {
        let all = self.args_digest.as_deref().filter(|_| !sees_cycles(self.reactor_version));
        all.or(self.action_digest.as_deref())
    }
}

impl<'a> From<&'a DecisionMade> for RecordedDecision<'a> {
    fn from(made: &'a DecisionMade) -> Self {
        let inputs = &made.inputs;
        let allowed = AllowedSteps::of(&made.ladder);
        Self {
            call: (&made.call).into(),
            verdict: made.verdict,
            mode: made.mode,
            reason_code: made.reason_code,
            approval: made.approval.as_ref().map(Into::into),
            deadline: made.deadline,
            took_token: allowed.took_token(),
            is_key_reused: allowed.key_reused,
            is_unregistered: !allowed.registry,
            retry_after_ms: made.retry_after_ms,
            dimension: Cow::Borrowed(&inputs.dimension),
            role: (&inputs.role).into(),
            idempotency_key: inputs.idempotency_key.as_ref().map(Into::into),
            server: inputs.server.as_ref().map(Into::into),
            action_digest: inputs.action_digest.as_ref().map(Cow::Borrowed),
            args_digest: inputs.args_digest.as_ref().map(Cow::Borrowed),
            run: inputs.run.as_ref().map(Into::into),
            session_folder: inputs.session_folder.as_ref().map(Cow::Borrowed),
            poll: inputs.poll,
            local_times: inputs.local_times.clone(),
            reactor_version: inputs.reactor_version,
            outcome: inputs.outcome,
            imported: inputs.imported,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RecordedDecision<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = DecisionMembers::<'a>::deserialize(deserializer)?;
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
            is_unregistered: !made.ladder.registry,
            retry_after_ms: made.retry_after_ms,
            dimension: Cow::Owned(inputs.dimension),
            role: inputs.role,
            idempotency_key: inputs.idempotency_key,
            server: inputs.server,
            action_digest: inputs.action_digest.map(Cow::Owned),
            args_digest: inputs.args_digest.map(Cow::Owned),
            run: inputs.run,
            session_folder: inputs.session_folder.map(Cow::Owned),
            poll: inputs.poll,
            local_times: inputs.local_times,
            reactor_version: inputs.reactor_version,
            outcome: inputs.outcome,
            imported: inputs.imported,
        })
    }
}

/// The members of a [`DecisionMade`] that change anything. The others are passed over.
#[derive(Deserialize)]
struct DecisionMembers<'a> {
    #[serde(borrow)]
    call: NameRef<'a>,
    verdict: Verdict,
    mode: Mode,
    reason_code: ReasonCode,
    ladder: AllowedSteps,
    inputs: Inputs<'a>,
    #[serde(default)]
    approval: Option<NameRef<'a>>,
    deadline: u64,
    #[serde(default)]
    retry_after_ms: Option<Milliseconds>,
}

/// The same of [`DecisionInputs`](bitacora_vocabulary::DecisionInputs).
#[derive(Deserialize)]
struct Inputs<'a> {
    dimension: Dimension,
    reactor_version: u32,
    #[serde(default)]
    action_digest: Option<Sha256Text>,
    #[serde(default)]
    args_digest: Option<Sha256Text>,
    #[serde(default, borrow)]
    run: Option<BoundedRef<'a, 1024>>,
    #[serde(default)]
    session_folder: Option<Sha256Text>,
    #[serde(borrow)]
    role: NameRef<'a>,
    #[serde(default)]
    idempotency_key: Option<NameRef<'a>>,
    #[serde(default)]
    server: Option<NameRef<'a>>,
    #[serde(default)]
    poll: bool,
    #[serde(default)]
    local_times: Option<LocalTimes>,
    #[serde(default)]
    outcome: OutcomeRules,
    #[serde(default)]
    imported: bool,
}

/// The verdicts of some of the steps.
#[derive(Debug, Default)]
struct AllowedSteps {
    registry: bool,
    rate: bool,
    key_reused: bool,
}

impl AllowedSteps {
    fn of(ladder: &[LadderStep]) -> Self {
        let mut allowed = Self::default();
        ladder.iter().for_each(|said| allowed.hear(*said));
        allowed
    }

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

/// The text of a ladder on which every step allows, by each version of the rules. Most are so.
static ALL_ALLOWED: LazyLock<[String; 2]> = LazyLock::new(|| {
    let written = |version| {
        let steps = Step::ALL.into_iter().filter(|step| asks(version, *step));
        let allowed = |step| LadderStep { step, verdict: Verdict::Allow, code: None };
        serde_json::to_string(&steps.map(allowed).collect::<Vec<_>>()).unwrap_or_default()
    };
    [written(REACTOR_VERSION), written(OLDEST_REACTOR_VERSION)]
});

impl<'de> Deserialize<'de> for AllowedSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if ALL_ALLOWED.iter().any(|all| text == all) {
            return Ok(Self { registry: true, rate: true, key_reused: false });
        }
        let ladder: Vec<LadderStep> = serde_json::from_str(text).map_err(D::Error::custom)?;
        Ok(Self::of(&ladder))
    }
}

#[cfg(test)]
mod tests;

//! Decisions and trust as JSON in answers.

use bitacora_formats::{Micros, Position, format_time};
use bitacora_governance::{Assessment, State, TrustInputs, judge};
use bitacora_vocabulary::{BreakerCondition, DecisionMade, Dimension, Mode, TrustRules, Verdict};
use serde::Serialize;

use crate::json::JsonWriter;

/// The size of a decision in an answer, about, bytes.
const DECISION_BYTES: usize = 1_024;

/// A decision as it is answered.
pub(crate) struct DecisionAnswer<'a> {
    pub(crate) decision: &'a DecisionMade,
    /// The position of its event.
    pub(crate) position: Position,
    /// The time of its frame.
    pub(crate) time: Micros,
    /// The rules of trust of the policy that it was made under.
    pub(crate) rules: TrustRules,
    /// `true` if each step is shown.
    pub(crate) explain: bool,
}

/// The rules of trust under which a decision was made.
pub(crate) fn rules_of(decision: &DecisionMade, state: &State) -> TrustRules {
    let version = decision.inputs.policy_version.and_then(|version| state.all_policies().get(version));
    version.map_or_else(TrustRules::v2, |version| version.document.trust)
}

impl DecisionAnswer<'_> {
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut json = JsonWriter::with_capacity(DECISION_BYTES);
        json.begin_object();
        self.write_members(&mut json);
        json.end_object();
        json.into_bytes()
    }

    fn write_members(&self, json: &mut JsonWriter) {
        let decision = self.decision;
        json.text_member("call", &decision.call);
        json.text_member("verdict", decision.effective_verdict().as_str());
        if decision.mode == Mode::Observe {
            json.text_member("wouldBe", decision.verdict.as_str());
        }
        json.serialized_member("reasonCode", &decision.reason_code);
        json.text_member("reason", &decision.reason);
        if let Some(rule) = &decision.rule {
            json.text_member("rule", rule);
        }
        if let Some(grant) = &decision.grant {
            json.text_member("grant", grant);
        }
        self.write_approval(json);
        self.write_obligations(json);
        write_trust_of(self, json);
        json.text_member("breaker", breaker_name(decision.inputs.breaker));
        if let Some(version) = decision.inputs.policy_version {
            json.place_member("policyVersion", version);
        }
        json.text_member("mode", mode_name(decision.mode));
        json.text_member("deadline", &format_time(Micros(decision.deadline)));
        if let Some(position) = decision.earlier_outcome {
            json.place_member("earlierOutcome", position);
        }
        if let Some(after) = decision.retry_after_ms {
            json.number_member("retryAfterMs", after.get());
        }
        json.place_member("position", self.position.get());
        if self.explain {
            self.write_explanation(json);
        }
    }

    /// Writes the approval that waits or that allowed the call, and the time until which it can be resolved, or the call can begin.
    fn write_approval(&self, json: &mut JsonWriter) {
        let decision = self.decision;
        let expires = decision.expires.map(|time| format_time(Micros(time)));
        if let Some(approval) = &decision.approval {
            json.key("approval");
            json.begin_object();
            json.text_member("id", approval);
            if let Some(expires) =
                expires.as_deref().filter(|_| decision.effective_verdict() == Verdict::Review)
            {
                json.text_member("expires", expires);
            }
            json.end_object();
        }
        if let Some(expires) = expires.filter(|_| decision.effective_verdict() == Verdict::Allow) {
            json.text_member("expires", &expires);
        }
    }

    fn write_obligations(&self, json: &mut JsonWriter) {
        let Some(obligations) = &self.decision.obligations else { return };
        json.key("obligations");
        json.begin_object();
        if let Some(timeout) = obligations.timeout_ms {
            json.number_member("timeoutMs", timeout.get());
        }
        if let Some(max) = obligations.max_retries {
            json.key("retry");
            json.begin_object();
            json.number_member("max", u64::from(max));
            if let Some(backoff) = obligations.backoff_ms {
                json.number_member("backoffMs", backoff.get());
            }
            json.end_object();
        }
        if obligations.exclude_secret_files {
            json.bool_member("excludeSecretFiles", true);
        }
        json.end_object();
    }

    fn write_ladder(&self, json: &mut JsonWriter) {
        json.key("ladder");
        json.begin_array();
        for said in &self.decision.ladder {
            json.begin_object();
            json.serialized_member("step", &said.step);
            json.text_member("verdict", said.verdict.as_str());
            if let Some(code) = &said.code {
                json.serialized_member("code", code);
            }
            json.end_object();
        }
        json.end_array();
    }

    fn write_explanation(&self, json: &mut JsonWriter) {
        let inputs = &self.decision.inputs;
        self.write_ladder(json);
        json.serialized_member("dimension", &inputs.dimension);
        json.text_member("role", &inputs.role);
        if let Some(digest) = &inputs.action_digest {
            json.text_member("actionDigest", digest.as_str());
        }
        if !inputs.destinations.is_empty() {
            json.serialized_member("destinations", &inputs.destinations);
        }
        json.place_member("registryRevision", inputs.registry_revision);
        json.number_member("reactorVersion", u64::from(inputs.reactor_version));
        json.text_member("decidedAt", &format_time(self.time));
    }
}

fn write_trust_of(answer: &DecisionAnswer<'_>, json: &mut JsonWriter) {
    let inputs = &answer.decision.inputs;
    let trust = TrustInputs::from(inputs);
    let mut assessment = judge(&trust, &answer.rules, answer.time);
    // The facts of the decision, even where it was decided at another time than that of its frame.
    assessment.score = inputs.score;
    json.key("trust");
    json.begin_object();
    write_trust(&trust, &assessment, json);
    json.end_object();
}

/// Writes the trust in a dimension, its score and standing, as members of the object that is being written.
pub(crate) fn write_trust(inputs: &TrustInputs, assessment: &Assessment, json: &mut JsonWriter) {
    json.text_member("score", &assessment.score.to_string());
    json.text_member("threshold", &assessment.threshold.to_string());
    json.text_member("standing", assessment.standing.as_str());
    json.text_member("standingReason", assessment.reason.as_str());
    json.number_member("approvals", inputs.approvals);
    json.number_member("rejections", inputs.rejections);
    json.number_member("failures", inputs.failures);
    json.number_member("recentFailures", inputs.recent_failures);
    json.number_member("streak", inputs.streak);
    if let Some(updated) = inputs.last_updated {
        json.text_member("lastUpdated", &format_time(updated));
    }
}

pub(crate) fn write_dimension(dimension: &Dimension, json: &mut JsonWriter) {
    json.serialized_member("dimension", dimension);
}

pub(crate) const fn breaker_name(condition: BreakerCondition) -> &'static str {
    match condition {
        BreakerCondition::Closed => "closed",
        BreakerCondition::Open => "open",
        BreakerCondition::HalfOpen => "half_open",
    }
}

pub(crate) const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::Enforce => "enforce",
    }
}

impl JsonWriter {
    /// A value that writes itself. One that cannot is `null`; none of ours is.
    pub(crate) fn serialized_member(&mut self, name: &'static str, value: &impl Serialize) {
        self.key(name);
        self.value(|out| {
            let before = out.len();
            if serde_json::to_writer(&mut *out, value).is_err() {
                out.truncate(before);
                out.extend_from_slice(b"null");
            }
        });
    }
}

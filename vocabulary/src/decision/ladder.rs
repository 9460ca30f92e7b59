//! The steps of the ladder, with their verdicts as a decision records them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ReasonCode;
use crate::Verdict;

/// One step of the ladder with its verdict. A step that said `allow` is written as its name alone; most are such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderStep {
    /// The step.
    pub step: Step,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its reason, if the verdict is not `allow`.
    pub code: Option<ReasonCode>,
}

/// A step as it is written where its name does not say all.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(expecting = "struct Told")]
struct StepObject {
    /// The step.
    step: Step,
    /// Its verdict.
    verdict: Verdict,
    /// Its reason, if the verdict is not `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<ReasonCode>,
}

impl Serialize for LadderStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { step, verdict, code } = *self;
        match (verdict, code) {
            (Verdict::Allow, None) => step.serialize(serializer),
            _ => StepObject { step, verdict, code }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LadderStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = LadderStep;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step's name, or an object of what it said")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<LadderStep, E> {
        let step = Step::deserialize(StrDeserializer::new(name))?;
        Ok(LadderStep { step, verdict: Verdict::Allow, code: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<LadderStep, A::Error> {
        let StepObject { step, verdict, code } =
            StepObject::deserialize(MapAccessDeserializer::new(members))?;
        Ok(LadderStep { step, verdict, code })
    }
}

impl JsonSchema for LadderStep {
    fn schema_name() -> Cow<'static, str> {
        "LadderStep".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (name, told) = (generator.subschema_for::<Step>(), generator.subschema_for::<StepObject>());
        json_schema!({ "description": "one step, and what it said; its name alone where it allowed", "anyOf": [name, told] })
    }
}

/// The steps, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Everything is stopped, or this agent is.
    Panic,
    /// The clock or the state cannot be trusted.
    Clock,
    /// The tool is registered.
    Registry,
    /// The caller's role may use it.
    Role,
    /// The arguments fit its schema and reach only its destinations.
    Arguments,
    /// The same call was not made before.
    Idempotency,
    /// Not too many calls.
    Rate,
    /// Budgets that are not spent.
    Budget,
    /// The run or session does not go round, has not gone on for too long, and was not handed on too often.
    Loop,
    /// The dimension's circuit breaker.
    Breaker,
    /// The policy's rules.
    Policy,
    /// The dimension's trust.
    Trust,
    /// The registry's demands on every call: a review, a blast radius.
    Obligations,
}

impl Step {
    /// All of them, in their order.
    pub const ALL: [Self; 13] = [
        Self::Panic,
        Self::Clock,
        Self::Registry,
        Self::Role,
        Self::Arguments,
        Self::Idempotency,
        Self::Rate,
        Self::Budget,
        Self::Loop,
        Self::Breaker,
        Self::Policy,
        Self::Trust,
        Self::Obligations,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_allowed_is_its_name_and_any_other_says_why() {
        let written = r#"["panic",{"step":"policy","verdict":"deny","code":"policy-deny"},{"step":"trust","verdict":"review"}]"#;
        let steps: Vec<LadderStep> = serde_json::from_str(written).unwrap();
        let said: Vec<_> = steps.iter().map(|said| (said.step, said.verdict, said.code)).collect();
        assert_eq!(
            said,
            [
                (Step::Panic, Verdict::Allow, None),
                (Step::Policy, Verdict::Deny, Some(ReasonCode::PolicyDeny)),
                (Step::Trust, Verdict::Review, None),
            ]
        );
        assert_eq!(serde_json::to_string(&steps).unwrap(), written);
        let whole: LadderStep = serde_json::from_str(r#"{"step":"panic","verdict":"allow"}"#).unwrap();
        assert_eq!(Some(&whole), steps.first());
        for bad in
            [r#""luck""#, r#"{"step":"panic"}"#, r#"["panic","allow"]"#, "1", "null", r#"{"panic":null}"#]
        {
            assert!(serde_json::from_str::<LadderStep>(bad).is_err(), "{bad}");
        }
    }
}

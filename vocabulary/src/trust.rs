//! `trust.*`: observations of the outcomes of calls, and changes of a dimension's counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, Dimension, EventData, MicroUsd, Milliseconds, Name, Tokens};

/// `trust.observed`: one outcome in a dimension; at most one a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustObserved {
    /// The dimension in which it counts.
    pub dimension: Dimension,
    /// The way in which the call ended.
    pub outcome: TrustOutcome,
    /// The result of the check after the call, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_check_passed: Option<bool>,
    /// The duration of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// The tokens it took, all kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
    /// The number of times that the dimension's breaker had half-opened, from 1, if the call was decided while it was half-open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u64>,
    /// The certainty, if it is less than that of this ledger's own observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Assurance>,
    /// `true` if no outcome came in time, of a call that only looks. No breaker counts that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unreported: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The way in which a call ended, as far as trust goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustOutcome {
    /// Well, after a person had approved it.
    Approved,
    /// A person said no. It did not run, and did not fail.
    Rejected,
    /// It failed.
    Error,
    /// Its deadline passed.
    Timeout,
    /// Well, without a person.
    AutoApproved,
    /// Its program ran and ended with another exit code than 0. Neither trust nor the breaker counts it.
    ChecksFailed,
}

/// The certainty of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Brought from elsewhere: it counts only once an operator has accepted the import.
    Imported,
}

/// `trust.set`: an operator's counts take the place of a dimension's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustSet {
    /// The dimension.
    pub dimension: Dimension,
    /// The counts from now on.
    pub counts: TrustCounts,
    /// The person on whose behalf it was done, if not the event's actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: BoundedText<MAX_TRUST_REASON_BYTES>,
}

/// `trust.probed`: calls of a blocked dimension are reviewed instead of denied for a while, so that it can show that it is better now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustProbed {
    /// The dimension.
    pub dimension: Dimension,
    /// Governed time, in microseconds since 1970, from which on they are denied again.
    pub expires: u64,
    /// The person on whose behalf it was done, if not the event's actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: BoundedText<MAX_TRUST_REASON_BYTES>,
}

/// The longest reason of a `trust.set` or `trust.probed`, in bytes.
pub const MAX_TRUST_REASON_BYTES: usize = 2_048;

/// The counts from which trust is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustCounts {
    /// Calls that went well, with a person or without.
    pub approvals: Count,
    /// Calls that a person rejected.
    pub rejections: Count,
    /// Calls that failed, took too long, or did not pass the check after them.
    pub failures: Count,
    /// Calls that went well since the last that did not.
    pub streak: Count,
}

impl EventData for TrustObserved {
    const KIND: &'static str = "trust.observed";
    const VERSION: u32 = 1;
}

impl EventData for TrustProbed {
    const KIND: &'static str = "trust.probed";
    const VERSION: u32 = 1;
}

impl EventData for TrustSet {
    const KIND: &'static str = "trust.set";
    const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: EventData>(data: &Value) -> Result<T, serde_json::Error> {
        serde_json::from_str(&data.to_string())
    }

    #[test]
    fn an_observation_is_read_and_written_as_documented() {
        let data = json!({
            "dimension": {"tool": "fs.write", "context": "src/a b|c", "model": "m", "task_type": "-"},
            "outcome": "auto_approved", "post_check_passed": true, "duration_ms": 40, "tokens": 1200,
            "cost_micro_usd": 2300, "call": "c1", "assurance": "imported"
        });
        let observed: TrustObserved = read(&data).unwrap();
        assert_eq!(observed.outcome, TrustOutcome::AutoApproved);
        assert_eq!(observed.dimension.context(), "src/a b|c");
        assert_eq!(serde_json::to_value(&observed).unwrap(), data);

        let least: TrustObserved = read(&json!({"dimension": {"tool": "t"}, "outcome": "error"})).unwrap();
        let written = json!({
            "dimension": {"tool": "t", "context": "-", "model": "-", "task_type": "-"}, "outcome": "error"
        });
        assert_eq!(serde_json::to_value(&least).unwrap(), written);
    }

    #[test]
    fn what_is_unknown_or_missing_is_refused_and_members_that_are_unknown_are_not() {
        let with = |name: &str, value: Value| {
            let mut data = json!({"dimension": {"tool": "t"}, "outcome": "approved"});
            data[name] = value;
            data
        };
        assert!(read::<TrustObserved>(&with("later", json!(1))).is_ok());
        let refused = [
            with("outcome", json!("Approved")),
            with("outcome", json!("ok")),
            with("outcome", json!(0)),
            with("outcome", Value::Null),
            with("assurance", json!("certain")),
            with("duration_ms", json!(-1)),
            with("duration_ms", json!(0.5)),
            with("post_check_passed", json!("yes")),
            with("dimension", json!({"tool": "*"})),
            with("dimension", json!({"context": ""})),
            with("dimension", json!({"model": null})),
            with("dimension", json!({"model": "a".repeat(1_025)})),
            json!({"dimension": {}}),
            json!({"outcome": "approved"}),
        ];
        for data in refused {
            assert!(read::<TrustObserved>(&data).is_err(), "{data}");
        }
    }

    #[test]
    fn an_operator_sets_every_count_and_says_why() {
        let counts = json!({"approvals": 3, "rejections": 0, "failures": 1, "streak": 2});
        let data = json!({"dimension": {"tool": "t", "context": "-", "model": "-", "task_type": "-"},
            "counts": counts, "reason": "moved from another ledger"});
        let set: TrustSet = read(&data).unwrap();
        assert_eq!(serde_json::to_value(&set).unwrap(), data);
        for missing in ["approvals", "rejections", "failures", "streak"] {
            let mut less = data.clone();
            less["counts"].as_object_mut().unwrap().remove(missing);
            assert!(read::<TrustSet>(&less).is_err(), "{missing}");
        }
        for (name, value) in
            [("reason", json!("")), ("reason", Value::Null), ("reason", json!("a".repeat(2_049)))]
        {
            let mut wrong = data.clone();
            wrong[name] = value;
            assert!(read::<TrustSet>(&wrong).is_err(), "{name}");
        }
    }
}

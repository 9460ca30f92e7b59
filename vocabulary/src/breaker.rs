//! `breaker.*`: circuit breakers, which stop a failing dimension for a while and then probe it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedNumber, BoundedText, Dimension, EventData, Name};

/// The most outcomes that a breaker looks back on.
pub const MAX_BREAKER_WINDOW: u32 = 128;
/// The most good probes that may be asked for.
pub const MAX_RECOVERY_PROBES: u32 = 1_000;
/// The longest cooldown, in seconds: 366 days.
pub const MAX_COOLDOWN_S: u32 = 366 * 86_400;
/// The longest reason for closing a breaker, in bytes.
pub const MAX_BREAKER_REASON_BYTES: usize = 2_048;

/// The settings of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerSettings {
    /// The number of outcomes in its window.
    pub window: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// With this many bad ones among them it opens; a window full of bad ones opens it in any case.
    pub failure_threshold: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// After this many good probes it closes.
    pub recovery_probes: BoundedNumber<1, MAX_RECOVERY_PROBES>,
    /// Seconds for which it stays open before a request may be a probe.
    pub cooldown_s: BoundedNumber<0, MAX_COOLDOWN_S>,
}

/// The settings as shipped.
impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            window: BoundedNumber::clamped(20),
            failure_threshold: BoundedNumber::clamped(5),
            recovery_probes: BoundedNumber::clamped(3),
            cooldown_s: BoundedNumber::clamped(300),
        }
    }
}

/// `breaker.opened`: no call passes until the cooldown is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerOpened {
    /// The dimension of the breaker.
    pub dimension: Dimension,
    /// Outcomes in its window, the one that opened it included.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
    /// Governed time, in microseconds since 1970, from which on a request may be a probe.
    pub cooldown_until: u64,
}

/// `breaker.half_opened`: calls pass as probes, each reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerHalfOpened {
    /// The dimension of the breaker.
    pub dimension: Dimension,
}

/// `breaker.closed`: calls pass again, and its window is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerClosed {
    /// The dimension of the breaker.
    pub dimension: Dimension,
    /// The operator who closed it; left out where its probes did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The operator's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BoundedText<MAX_BREAKER_REASON_BYTES>>,
}

/// `breaker.configured`: its settings from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ConfiguredMembers", into = "ConfiguredMembers")]
pub struct BreakerConfigured {
    /// The dimension of the breaker.
    pub dimension: Dimension,
    /// The settings from now on.
    pub settings: BreakerSettings,
}

/// The same as its data has it: all members in one object, so that one that is not known can be told.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ConfiguredMembers {
    /// The dimension of the breaker.
    dimension: Dimension,
    /// The number of outcomes in its window.
    window: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// With this many bad ones among them it opens; a window full of bad ones opens it in any case.
    failure_threshold: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// After this many good probes it closes.
    recovery_probes: BoundedNumber<1, MAX_RECOVERY_PROBES>,
    /// Seconds for which it stays open before a request may be a probe.
    cooldown_s: BoundedNumber<0, MAX_COOLDOWN_S>,
}

impl From<ConfiguredMembers> for BreakerConfigured {
    fn from(members: ConfiguredMembers) -> Self {
        let ConfiguredMembers { dimension, window, failure_threshold, recovery_probes, cooldown_s } = members;
        let settings = BreakerSettings { window, failure_threshold, recovery_probes, cooldown_s };
        Self { dimension, settings }
    }
}

impl From<BreakerConfigured> for ConfiguredMembers {
    fn from(configured: BreakerConfigured) -> Self {
        let BreakerConfigured { dimension, settings } = configured;
        let BreakerSettings { window, failure_threshold, recovery_probes, cooldown_s } = settings;
        Self { dimension, window, failure_threshold, recovery_probes, cooldown_s }
    }
}

impl EventData for BreakerOpened {
    const KIND: &'static str = "breaker.opened";
    const VERSION: u32 = 1;
}

impl EventData for BreakerHalfOpened {
    const KIND: &'static str = "breaker.half_opened";
    const VERSION: u32 = 1;
}

impl EventData for BreakerClosed {
    const KIND: &'static str = "breaker.closed";
    const VERSION: u32 = 1;
}

impl EventData for BreakerConfigured {
    const KIND: &'static str = "breaker.configured";
    const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const DIMENSION: &str = r#"{"tool":"t","context":"-","model":"-","task_type":"-"}"#;

    fn with_dimension(mut data: Value) -> Value {
        data["dimension"] = serde_json::from_str(DIMENSION).unwrap();
        data
    }

    fn assert_round_trip<T: EventData + std::fmt::Debug>(data: Value) {
        let data = with_dimension(data);
        let event: T = serde_json::from_str(&data.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), data, "{event:?}");
    }

    #[test]
    fn each_event_is_read_and_written_as_documented() {
        assert_round_trip::<BreakerOpened>(
            json!({"outcomes": 9, "bad": 5, "cooldown_until": 1_700_000_300_000_000_u64}),
        );
        assert_round_trip::<BreakerHalfOpened>(json!({}));
        assert_round_trip::<BreakerClosed>(json!({}));
        assert_round_trip::<BreakerClosed>(json!({"by": "operator:1", "reason": "the disk was full"}));
        assert_round_trip::<BreakerConfigured>(
            json!({"window": 20, "failure_threshold": 5, "recovery_probes": 3, "cooldown_s": 300}),
        );
    }

    #[test]
    fn settings_are_whole_and_within_their_bounds() {
        let with = |name: &str, value: Value| {
            let mut data = with_dimension(
                json!({"window": 20, "failure_threshold": 5, "recovery_probes": 3, "cooldown_s": 300}),
            );
            data[name] = value;
            data
        };
        let refused = [
            ("window", json!(0)),
            ("window", json!(MAX_BREAKER_WINDOW + 1)),
            ("window", json!(20.5)),
            ("failure_threshold", json!(0)),
            ("recovery_probes", json!(0)),
            ("recovery_probes", json!(MAX_RECOVERY_PROBES + 1)),
            ("cooldown_s", json!(-1)),
            ("cooldown_s", json!(MAX_COOLDOWN_S + 1)),
            ("cooldown_s", Value::Null),
            ("dimension", json!({"tool": "*"})),
        ];
        for (name, value) in refused {
            let data = with(name, value).to_string();
            assert!(serde_json::from_str::<BreakerConfigured>(&data).is_err(), "{data}");
        }
        let taken = [("window", json!(MAX_BREAKER_WINDOW)), ("cooldown_s", json!(0)), ("later", json!([1]))];
        for (name, value) in taken {
            let data = with(name, value).to_string();
            assert!(serde_json::from_str::<BreakerConfigured>(&data).is_ok(), "{data}");
        }
    }

    #[test]
    fn the_schema_says_what_is_taken() {
        let schema = serde_json::to_value(schemars::schema_for!(BreakerConfigured)).unwrap();
        let bounds = |name: &str| {
            [&schema["properties"][name]["minimum"], &schema["properties"][name]["maximum"]].map(Value::clone)
        };
        assert_eq!(bounds("window"), [json!(1), json!(MAX_BREAKER_WINDOW)]);
        assert_eq!(bounds("cooldown_s"), [json!(0), json!(MAX_COOLDOWN_S)]);
        assert_eq!(schema["required"].as_array().unwrap().len(), 5, "{schema}");
    }
}

//! The numbers by which a policy judges trust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedNumber, Score};

/// The longest half-life, in seconds: 3,660 days.
pub const MAX_HALF_LIFE_S: u32 = 3_660 * 86_400;
/// The most approvals, failures or observations that a rule may ask for.
pub const MAX_RULE_COUNT: u32 = 1_000_000;

/// The rules that judge trust. They are part of a policy, so that a replay under another policy gives its own answer.
///
/// The rules are asked in this order, and the first that holds decides: nothing was observed, review;
/// `blocking_failures`, blocked; both of `auto_approve_…`, no review; `review_score`, review; else blocked.
/// `min_observations` and age only make the answer milder than blocked, never better than a review.
///
/// Unknown members are refused, as in the rules of a policy: a misspelt one would be a number left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustRules {
    /// The score from which on calls need no review …
    pub auto_approve_score: Score,
    /// … where this many went well.
    pub auto_approve_approvals: BoundedNumber<0, MAX_RULE_COUNT>,
    /// The score below which a dimension is blocked.
    pub review_score: Score,
    /// This many failures block, whatever the score.
    pub blocking_failures: BoundedNumber<1, MAX_RULE_COUNT>,
    /// The failures that count for blocking.
    pub failures_counted: FailuresCounted,
    /// With fewer observations a dimension is never blocked. Approvals, rejections and failures are observations.
    pub min_observations: BoundedNumber<0, MAX_RULE_COUNT>,
    /// The bonus that each call of the streak adds to the score …
    pub streak_bonus: Score,
    /// … and what all of them add at most.
    pub max_streak_bonus: Score,
    /// Seconds without an observation after which the score counts half. Left out, it never ages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_life_s: Option<BoundedNumber<1, MAX_HALF_LIFE_S>>,
    /// `true`: an operator may have a call of a blocked dimension reviewed, to probe whether it is better now.
    pub blocked_may_be_probed: bool,
}

/// The failures that may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailuresCounted {
    /// All that ever were.
    All,
    /// Those among the last 50 outcomes.
    Recent,
}

impl TrustRules {
    /// Every failure counts for ever.
    #[must_use]
    pub const fn v1() -> Self {
        Self {
            auto_approve_score: Score::clamped(9_000),
            auto_approve_approvals: BoundedNumber::clamped(20),
            review_score: Score::clamped(5_000),
            blocking_failures: BoundedNumber::clamped(5),
            failures_counted: FailuresCounted::All,
            min_observations: BoundedNumber::clamped(0),
            streak_bonus: Score::clamped(100),
            max_streak_bonus: Score::clamped(1_000),
            half_life_s: None,
            blocked_may_be_probed: false,
        }
    }

    /// Returns the rules as shipped: failures are forgotten after 50 outcomes, and the first few observations block nothing.
    #[must_use]
    pub const fn v2() -> Self {
        Self {
            failures_counted: FailuresCounted::Recent,
            min_observations: BoundedNumber::clamped(5),
            blocked_may_be_probed: true,
            ..Self::v1()
        }
    }

    /// Returns the bonus of a streak of this many calls, in ten-thousandths of the score.
    #[must_use]
    pub fn streak_bonus_of(&self, streak: u64) -> u64 {
        let bonus = streak.saturating_mul(u64::from(self.streak_bonus.ten_thousandths()));
        bonus.min(u64::from(self.max_streak_bonus.ten_thousandths()))
    }
}

/// [`TrustRules::v2`].
impl Default for TrustRules {
    fn default() -> Self {
        Self::v2()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn v1() -> Value {
        json!({
            "auto_approve_score": 9000, "auto_approve_approvals": 20, "review_score": 5000,
            "blocking_failures": 5, "failures_counted": "all", "min_observations": 0,
            "streak_bonus": 100, "max_streak_bonus": 1000, "blocked_may_be_probed": false
        })
    }

    #[test]
    fn the_two_sets_of_rules_are_these() {
        assert_eq!(serde_json::to_value(TrustRules::v1()).unwrap(), v1());
        let mut v2 = v1();
        v2["failures_counted"] = json!("recent");
        v2["min_observations"] = json!(5);
        v2["blocked_may_be_probed"] = json!(true);
        assert_eq!(serde_json::to_value(TrustRules::v2()).unwrap(), v2);
        assert_eq!(TrustRules::default(), TrustRules::v2());
        assert_eq!(serde_json::from_value::<TrustRules>(v2).unwrap(), TrustRules::v2());
    }

    #[test]
    fn no_number_is_defaulted_and_none_is_past_its_bounds() {
        for name in v1().as_object().unwrap().keys() {
            let mut less = v1();
            less.as_object_mut().unwrap().remove(name);
            assert!(serde_json::from_value::<TrustRules>(less).is_err(), "{name}");
        }
        let refused = [
            ("auto_approve_score", json!(10_001)),
            ("review_score", json!(0.5)),
            ("auto_approve_approvals", json!(MAX_RULE_COUNT + 1)),
            ("blocking_failures", json!(0)),
            ("failures_counted", json!("none")),
            ("half_life_s", json!(0)),
            ("half_life_s", json!(MAX_HALF_LIFE_S + 1)),
        ];
        for (name, value) in refused {
            let mut wrong = v1();
            wrong[name] = value;
            assert!(serde_json::from_value::<TrustRules>(wrong).is_err(), "{name}");
        }
    }

    #[test]
    fn the_schema_says_what_is_taken() {
        let schema = serde_json::to_value(schemars::schema_for!(TrustRules)).unwrap();
        let member = |name: &str, bound: &str| schema["properties"][name][bound].clone();
        assert_eq!(member("auto_approve_score", "maximum"), 10_000);
        assert_eq!(
            (member("blocking_failures", "minimum"), member("blocking_failures", "maximum")),
            (json!(1), json!(MAX_RULE_COUNT))
        );
        assert_eq!(member("half_life_s", "maximum"), MAX_HALF_LIFE_S);
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let mut members = v1().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        members.sort_unstable();
        let mut sorted = required.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, members);
    }
}

//! The trust in a record under the rules of a policy.

use bitacora_formats::Micros;
use bitacora_vocabulary::{DecisionInputs, FailuresCounted, Score, TrustRules, Verdict, base_score};
use serde::{Deserialize, Serialize};

use crate::trust::decay::Decay;
use crate::trust::record::TrustRecord;

/// The inputs of a judgement: all numbers of a dimension that a decision records, so that it can be repeated from there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustInputs {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Failures among the last outcomes.
    pub recent_failures: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
    /// The time of their last change.
    pub last_updated: Option<Micros>,
}

impl From<&TrustRecord> for TrustInputs {
    fn from(record: &TrustRecord) -> Self {
        Self {
            approvals: record.approvals,
            rejections: record.rejections,
            failures: record.failures,
            recent_failures: u64::from(record.recent.failures()),
            streak: record.streak,
            last_updated: record.last_updated,
        }
    }
}

impl From<&DecisionInputs> for TrustInputs {
    fn from(inputs: &DecisionInputs) -> Self {
        Self {
            approvals: inputs.approvals,
            rejections: inputs.rejections,
            failures: inputs.failures,
            recent_failures: inputs.recent_failures,
            streak: inputs.streak,
            last_updated: inputs.last_updated.map(Micros),
        }
    }
}

impl TrustInputs {
    /// Approvals, rejections and failures together. An approval whose check failed is two: one of the call, one of the check.
    #[must_use]
    pub const fn observations(&self) -> u64 {
        self.approvals.saturating_add(self.rejections).saturating_add(self.failures)
    }
}

/// The trust in a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// The score, from 0 to 1.
    pub score: Score,
    /// The threshold of the score: for review where a low score blocks, else for calls without review.
    pub threshold: Score,
    /// The standing that follows.
    pub standing: TrustStanding,
    /// The reason for the standing.
    pub reason: StandingReason,
    /// `true` if an operator may have a call reviewed although the dimension is blocked.
    pub may_be_probed: bool,
}

/// The standing of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[serde(expecting = "enum Standing")]
pub enum TrustStanding {
    /// Calls without review.
    AutoApprove,
    /// Calls that a person approved.
    RequireReview,
    /// None that is critical; others that a person approved.
    Blocked,
}

impl TrustStanding {
    /// Returns the verdict on a critical call. Any other call of a blocked dimension is reviewed, from version 6 of the rules on.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::AutoApprove => Verdict::Allow,
            Self::RequireReview => Verdict::Review,
            Self::Blocked => Verdict::Deny,
        }
    }

    /// Returns the word that events and answers write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AutoApprove => "auto_approve",
            Self::RequireReview => "require_review",
            Self::Blocked => "blocked",
        }
    }
}

/// The reason for a dimension's standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StandingReason {
    /// Nothing was observed.
    NoObservations,
    /// Enough failures to block, or more.
    Failures,
    /// The score is high, after enough approvals.
    HighScore,
    /// The score is high, after too few approvals.
    FewApprovals,
    /// The score is between the two limits.
    MiddleScore,
    /// The score is below both limits.
    LowScore,
    /// It would be blocked, on too few observations for that.
    FewObservations,
    /// It stood better before time passed.
    Decayed,
}

impl StandingReason {
    /// Returns the word that answers write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoObservations => "no_observations",
            Self::Failures => "failures",
            Self::HighScore => "high_score",
            Self::FewApprovals => "few_approvals",
            Self::MiddleScore => "middle_score",
            Self::LowScore => "low_score",
            Self::FewObservations => "few_observations",
            Self::Decayed => "decayed",
        }
    }
}

/// Assesses a record under these rules, at this time.
#[must_use]
pub fn assess(record: &TrustRecord, rules: &TrustRules, at: Micros) -> Assessment {
    judge(&record.into(), rules, at)
}

/// Assesses the inputs that a decision recorded.
///
/// The score is `approvals / (approvals + rejections + failures + 1)`, times [`Decay`] by age, plus the bonus of the streak, at
/// most 1. The quotient and the product are rounded half up to ten-thousandths. A last update in the future has no age.
#[must_use]
pub fn judge(inputs: &TrustInputs, rules: &TrustRules, at: Micros) -> Assessment {
    let base = base_score(inputs.approvals, inputs.rejections, inputs.failures);
    let bonus = rules.streak_bonus_of(inputs.streak);
    let unaged = base.plus(bonus);
    let score = decay(inputs, rules, at).of(base).plus(bonus);
    let (mut standing, mut reason) = standing(inputs, rules, score);
    let (before, _) = self::standing(inputs, rules, unaged);
    if before < standing {
        (standing, reason) = (TrustStanding::RequireReview, StandingReason::Decayed);
    }
    let may_be_probed = standing == TrustStanding::Blocked && rules.blocked_may_be_probed;
    let is_low = reason == StandingReason::LowScore;
    let threshold = if is_low { rules.review_score } else { rules.auto_approve_score };
    Assessment { score, threshold, standing, reason, may_be_probed }
}

fn decay(inputs: &TrustInputs, rules: &TrustRules, at: Micros) -> Decay {
    match (rules.half_life_s, inputs.last_updated) {
        (Some(half_life_s), Some(updated)) => {
            Decay::after(at.0.saturating_sub(updated.0), u64::from(half_life_s.get()) * 1_000_000)
        }
        _ => Decay::NONE,
    }
}

/// Returns the standing of a dimension with this score.
fn standing(inputs: &TrustInputs, rules: &TrustRules, score: Score) -> (TrustStanding, StandingReason) {
    let observations = inputs.observations();
    if observations == 0 {
        return (TrustStanding::RequireReview, StandingReason::NoObservations);
    }
    let failures = match rules.failures_counted {
        FailuresCounted::All => inputs.failures,
        FailuresCounted::Recent => inputs.recent_failures,
    };
    let high = score >= rules.auto_approve_score;
    let found = if failures >= u64::from(rules.blocking_failures.get()) {
        (TrustStanding::Blocked, StandingReason::Failures)
    } else if high && inputs.approvals >= u64::from(rules.auto_approve_approvals.get()) {
        (TrustStanding::AutoApprove, StandingReason::HighScore)
    } else if score >= rules.review_score {
        let reason = if high { StandingReason::FewApprovals } else { StandingReason::MiddleScore };
        (TrustStanding::RequireReview, reason)
    } else {
        (TrustStanding::Blocked, StandingReason::LowScore)
    };
    if found.0 == TrustStanding::Blocked && observations < u64::from(rules.min_observations.get()) {
        return (TrustStanding::RequireReview, StandingReason::FewObservations);
    }
    found
}

#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod tests;

//! The active policy, as far as cards show it.

use std::collections::BTreeMap;

use bitacora_api::{DecisionAnswer, PolicyAnswer, paths};
use serde::Deserialize;

use crate::visit::Visit;

/// Parts of a score, as policies write it.
const SCORE_PARTS: u64 = 10_000;

/// The version that is active, and the scores that its rules ask for.
#[derive(Debug, Default)]
pub(super) struct ActivePolicy {
    pub(super) version: Option<String>,
    floors: BTreeMap<String, u64>,
}

#[derive(Default, Deserialize)]
struct Document {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    id: String,
    min_trust_score: Option<u64>,
}

impl ActivePolicy {
    /// Asks for it. Where it cannot be had, nothing is known.
    pub(super) async fn load(visit: &Visit) -> Self {
        let Ok(answered) = visit.get::<PolicyAnswer>(paths::POLICY, &[], "?limit=1").await else {
            return Self::default();
        };
        let document = answered.value.document.as_ref();
        let document: Document =
            document.and_then(|document| serde_json::from_str(document.get()).ok()).unwrap_or_default();
        let floors = document.rules.into_iter().filter_map(|rule| Some((rule.id, rule.min_trust_score?)));
        Self { version: answered.value.active, floors: floors.collect() }
    }

    /// Returns the score that the decision's rule asks for, where it is the one of this policy.
    pub(super) fn floor_of(&self, decision: &DecisionAnswer) -> Option<String> {
        let is_own = decision.policy_version == self.version;
        let floor = self.floors.get(decision.rule.as_deref()?).filter(|_| is_own)?;
        let shown = format!("{}.{:04}", floor / SCORE_PARTS, floor % SCORE_PARTS);
        Some(shown.trim_end_matches('0').trim_end_matches('.').to_owned())
    }
}

//! The rules that a history speaks for: a pure function of what dimensions showed.

use std::collections::BTreeMap;

use bitacora_formats::Position;
use bitacora_vocabulary::{
    BoundedList, BoundedText, Count, Dimension, DimensionPart, EventPosition, FreeText, Glob,
    MAX_SUGGESTION_EVIDENCE, Name, OneOrMany, Rule, RuleMatch, Score, SuggestionKind, SuggestionMade,
    TrustRecord, TrustRules, TrustUse, Verdict, suggestion_id,
};

use super::programs::{failure_speaks_against, tells_what_ran};
use super::{DimensionRecord, KINDS};

/// Calls of a dimension are proposed to need no review from so many approvals on …
pub const PROMOTE_APPROVALS: u64 = 20;
/// … where the score is this …
pub const PROMOTE_SCORE: Score = Score::clamped(9_000);
/// … and at most so many ever failed.
pub const PROMOTE_MAX_FAILURES: u64 = 1;
/// They are proposed to be denied where so many of the last 50 outcomes failed.
pub const BLOCK_FAILURES: u32 = 5;
/// So they are where a person rejected so many, and none went well.
pub const BLOCK_REJECTIONS: u64 = 5;
/// They are proposed to be reviewed where more than this share failed, in hundredths …
pub const REVIEW_FAILURE_SHARE: u64 = 30;
/// … of so many observations, or more.
pub const REVIEW_OBSERVATIONS: u64 = 10;
/// A cheaper model is proposed from so many calls of each of the two on …
pub const CHEAPER_CALLS: u64 = 30;
/// … where its share of calls that went well is this much of the other's, in hundredths.
pub const CHEAPER_SHARE: u64 = 95;
/// A better model is proposed, of what fails often, from so many observations of each of the two on …
pub const BETTER_CALLS: u64 = REVIEW_OBSERVATIONS;
/// … where its share of failures is at most this much of the other's, in hundredths.
pub const BETTER_FAILURE_SHARE: u64 = 50;

const _: () =
    assert!(crate::limits::EVIDENCE_FIRST + crate::limits::EVIDENCE_LAST <= MAX_SUGGESTION_EVIDENCE / 2);

/// All suggestions that these speak for.
pub(super) fn of(shown: &[DimensionRecord], rules: &TrustRules) -> Vec<SuggestionMade> {
    let mut found: Vec<_> = shown.iter().filter_map(|shown| of_one(shown, rules)).collect();
    found.extend(cheaper_models(shown));
    found.extend(better_models(shown));
    let rank = |made: &SuggestionMade| KINDS.iter().position(|kind| Some(*kind) == made.kind);
    found.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.dimension.cmp(&other.dimension)));
    found
}

/// Returns the suggestion that one dimension speaks for by itself. A dimension to be blocked is not proposed for review too.
fn of_one(shown: &DimensionRecord, rules: &TrustRules) -> Option<SuggestionMade> {
    let context = shown.dimension.context();
    if !tells_what_ran(context) {
        return None;
    }
    let speaks_against = failure_speaks_against(context);
    let record = &shown.record;
    let (failures, observations) = (record.failures, record.observations());
    let score = record.unaged_score(rules);
    if speaks_against && record.recent.failures() >= BLOCK_FAILURES {
        let reason =
            format!("{} of the last {} outcomes failed", record.recent.failures(), record.recent.len());
        // Failures before these speak for nothing.
        let mut lately = shown.bad();
        let before =
            usize::try_from(record.recent.failures()).map_or(0, |last| lately.len().saturating_sub(last));
        lately.drain(..before);
        return shown.suggest(SuggestionKind::Block, Verdict::Deny, &reason, lately);
    }
    if is_always_rejected(record) && context != DimensionPart::OPAQUE {
        let reason = format!("a person rejected {} of them, and none went well", record.rejections);
        return shown.suggest(SuggestionKind::Block, Verdict::Deny, &reason, shown.rejected());
    }
    if speaks_against && is_failing_often(failures, observations) {
        let reason = format!("{failures} of {observations} observations are failures");
        return shown.suggest(SuggestionKind::Review, Verdict::Review, &reason, shown.bad());
    }
    let is_good =
        record.approvals >= PROMOTE_APPROVALS && score >= PROMOTE_SCORE && failures <= PROMOTE_MAX_FAILURES;
    // A command that cannot be read is reviewed whatever a rule says, and not two of them are alike.
    if is_good && context != DimensionPart::OPAQUE {
        let reason = format!(
            "{} went well, {} failed, {} rejected by a person; score {score}",
            record.approvals, failures, record.rejections
        );
        return shown.suggest(SuggestionKind::Promote, Verdict::Allow, &reason, shown.good());
    }
    None
}

impl DimensionRecord {
    /// Returns `true` if it may speak for a rule, whatever scores are made with: by itself, or as the cheaper or the dearer of two
    /// models.
    pub(super) fn may_speak(&self) -> bool {
        let record = &self.record;
        record.recent.failures() >= BLOCK_FAILURES
            || is_failing_often(record.failures, record.observations())
            || (record.approvals >= PROMOTE_APPROVALS && record.failures <= PROMOTE_MAX_FAILURES)
            || is_always_rejected(record)
            || self.is_known_of_a_model()
            || self.is_compared()
    }
}

fn is_always_rejected(record: &TrustRecord) -> bool {
    record.rejections >= BLOCK_REJECTIONS && record.approvals == 0
}

fn is_failing_often(failures: u64, observations: u64) -> bool {
    observations >= REVIEW_OBSERVATIONS
        && u128::from(failures) * 100 > u128::from(observations) * u128::from(REVIEW_FAILURE_SHARE)
}

/// Returns suggestions of cheaper models: for each model that costs more, the cheapest one that does as well in the same workspace.
fn cheaper_models(shown: &[DimensionRecord]) -> Vec<SuggestionMade> {
    let mut same_work: BTreeMap<([&str; 3], Option<&str>), Vec<&DimensionRecord>> = BTreeMap::new();
    for shown in shown.iter().filter(|shown| shown.is_known_of_a_model()) {
        let [tool, context, _, task_type] = shown.dimension.parts();
        same_work.entry(([tool, context, task_type], shown.dimension.workspace())).or_default().push(shown);
    }
    let mut found = Vec::new();
    for models in same_work.values() {
        for dearer in models {
            let as_good =
                models.iter().filter(|model| model.is_cheaper_than(dearer) && model.is_as_good_as(dearer));
            let cheapest =
                as_good.reduce(|best, model| if model.is_cheaper_than(best) { model } else { best });
            found.extend(cheapest.and_then(|cheapest| dearer.suggest_instead(cheapest)));
        }
    }
    found
}

/// Returns a suggestion for each model that fails often where another one seldom fails at the same work in the same workspace. It names
/// the best such model.
fn better_models(shown: &[DimensionRecord]) -> Vec<SuggestionMade> {
    let mut same_work: BTreeMap<([&str; 3], Option<&str>), Vec<&DimensionRecord>> = BTreeMap::new();
    for shown in shown.iter().filter(|shown| shown.is_compared()) {
        let [tool, context, _, task_type] = shown.dimension.parts();
        same_work.entry(([tool, context, task_type], shown.dimension.workspace())).or_default().push(shown);
    }
    let mut found = Vec::new();
    for models in same_work.values() {
        for failing in models.iter().filter(|model| model.is_failing()) {
            let better = models.iter().filter(|model| model.is_better_than(failing));
            let best = better.reduce(|best, model| {
                let order = model.failure_share().cmp(&best.failure_share());
                if order.is_lt() || (order.is_eq() && model.is_cheaper_than(best)) { model } else { best }
            });
            found.extend(best.and_then(|best| failing.suggest_better(best)));
        }
    }
    found
}

impl DimensionRecord {
    /// `true` where its failures may be compared with those of other models.
    fn is_compared(&self) -> bool {
        self.dimension.model() != DimensionPart::UNKNOWN && self.record.observations() >= BETTER_CALLS
    }

    /// `true` where it fails so often that its calls are to be reviewed or denied.
    fn is_failing(&self) -> bool {
        let (record, context) = (&self.record, self.dimension.context());
        let is_often = record.recent.failures() >= BLOCK_FAILURES
            || is_failing_often(record.failures, record.observations());
        is_often && tells_what_ran(context) && failure_speaks_against(context)
    }

    /// Returns the share of its observations that are failures, in millionths.
    fn failure_share(&self) -> u128 {
        let failures = u128::from(self.record.failures) * 1_000_000;
        failures.checked_div(u128::from(self.record.observations())).unwrap_or(0)
    }

    fn is_better_than(&self, failing: &Self) -> bool {
        !self.is_failing()
            && self.failure_share() * 100 <= failing.failure_share() * u128::from(BETTER_FAILURE_SHARE)
    }

    fn suggest_better(&self, better: &Self) -> Option<SuggestionMade> {
        let reason = format!(
            "{} seldom fails at this: {} of {} observations are failures, here {} of {}",
            better.dimension.model(),
            better.record.failures,
            better.record.observations(),
            self.record.failures,
            self.record.observations()
        );
        let mut evidence = self.bad();
        evidence.drain(..evidence.len().saturating_sub(MAX_SUGGESTION_EVIDENCE / 2));
        evidence.extend(better.last_of(MAX_SUGGESTION_EVIDENCE / 2));
        let mut made = self.suggest(SuggestionKind::BetterModel, Verdict::Review, &reason, evidence)?;
        let both = self.record.observations().saturating_add(better.record.observations());
        made.observations = Count::try_from(both).ok();
        Some(made)
    }

    fn rejected(&self) -> Vec<u64> {
        self.set_at.iter().chain(&self.first_rejected).chain(&self.last_rejected).copied().collect()
    }
}

impl DimensionRecord {
    /// Positions of outcomes that went well, ascending, and where counts were set.
    fn good(&self) -> Vec<u64> {
        self.set_at.iter().chain(&self.first_good).chain(&self.last_good).copied().collect()
    }

    fn bad(&self) -> Vec<u64> {
        self.set_at.iter().chain(&self.first_bad).chain(&self.last_bad).copied().collect()
    }

    fn is_known_of_a_model(&self) -> bool {
        self.dimension.model() != DimensionPart::UNKNOWN
            && self.calls >= CHEAPER_CALLS
            && self.priced >= CHEAPER_CALLS
    }

    /// Returns `true` if a call costs less, on the average of those that told their cost.
    fn is_cheaper_than(&self, other: &Self) -> bool {
        self.cost_micro_usd.saturating_mul(other.priced.into())
            < other.cost_micro_usd.saturating_mul(self.priced.into())
    }

    /// Returns `true` if its calls go well as often, or nearly.
    fn is_as_good_as(&self, other: &Self) -> bool {
        let share = |one: u64, of: u64, factor: u64| u128::from(one) * u128::from(of) * u128::from(factor);
        other.good > 0 && share(self.good, other.calls, 100) >= share(other.good, self.calls, CHEAPER_SHARE)
    }

    /// Micro-USD of a call, on the average of those that told.
    fn mean_cost(&self) -> u128 {
        self.cost_micro_usd.checked_div(self.priced.into()).unwrap_or(0)
    }

    fn suggest_instead(&self, cheaper: &Self) -> Option<SuggestionMade> {
        let reason = format!(
            "{} does this as well for less: {} of {} calls went well for {} micro-USD each, here {} of {} for {}",
            cheaper.dimension.model(),
            cheaper.good,
            cheaper.calls,
            cheaper.mean_cost(),
            self.good,
            self.calls,
            self.mean_cost()
        );
        let mut evidence = self.last_of(MAX_SUGGESTION_EVIDENCE / 2);
        evidence.extend(cheaper.last_of(MAX_SUGGESTION_EVIDENCE / 2));
        let mut made = self.suggest(SuggestionKind::CheaperModel, Verdict::Review, &reason, evidence)?;
        made.observations = Count::try_from(self.calls.saturating_add(cheaper.calls)).ok();
        Some(made)
    }

    /// The last positions of all outcomes that are remembered.
    fn last_of(&self, most: usize) -> Vec<u64> {
        let mut all = [&self.first_good[..], &self.last_good, &self.first_bad, &self.last_bad].concat();
        all.sort_unstable();
        all.split_off(all.len().saturating_sub(most))
    }

    /// A suggestion about this dimension; none where no rule can name it.
    fn suggest(
        &self,
        kind: SuggestionKind,
        action: Verdict,
        reason: &str,
        mut evidence: Vec<u64>,
    ) -> Option<SuggestionMade> {
        evidence.sort_unstable();
        evidence.dedup();
        evidence.drain(..evidence.len().saturating_sub(MAX_SUGGESTION_EVIDENCE));
        let evidence = evidence.into_iter().filter_map(Position::new).map(EventPosition::from).collect();
        let mut rule = Rule {
            id: Name::LEAST,
            matches: matches(&self.dimension)?,
            action,
            reason: BoundedText::new(shortened(reason)).ok()?,
            comment: None,
            min_trust_score: (action == Verdict::Allow).then_some(PROMOTE_SCORE),
            never_auto_approve: false,
            trust: TrustUse::Respect,
        };
        let suggestion = suggestion_id(kind, &self.dimension, &rule);
        rule.id = suggestion.clone();
        Some(SuggestionMade {
            suggestion,
            evidence: BoundedList::new(evidence).ok()?,
            rule,
            reason: FreeText::new(shortened(reason)).ok()?,
            kind: Some(kind),
            dimension: Some(self.dimension.clone()),
            observations: Count::try_from(self.record.observations()).ok(),
        })
    }
}

/// The calls of a dimension. A part that is not known is no condition; without a tool there is none at all. Of a tool of a server the
/// dimension has both names with a `/` between; a tool whose own name holds one is matched by no such rule.
fn matches(dimension: &Dimension) -> Option<RuleMatch> {
    let [tool, context, model, task_type] = dimension.parts();
    if tool == DimensionPart::UNKNOWN {
        return None;
    }
    let (server, tool) = tool.split_once('/').map_or((None, tool), |(server, tool)| (Some(server), tool));
    Some(RuleMatch {
        tool: one(tool)?,
        server: server.map_or(Some(None), one)?,
        context: one(context)?,
        model: one(model)?,
        task_type: one(task_type)?,
        ..RuleMatch::default()
    })
}

/// A glob for this text alone; `None` outside where it would be too long, inside where nothing is known.
fn one(part: &str) -> Option<Option<OneOrMany<Glob>>> {
    if part == DimensionPart::UNKNOWN {
        return Some(None);
    }
    let mut glob = String::with_capacity(part.len());
    for character in part.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            glob.push('\\');
        }
        glob.push(character);
    }
    let glob = Glob::new(glob).ok()?;
    Some(Some(OneOrMany::new(BoundedList::new(vec![glob]).ok()?)))
}

/// Bytes of a rule's reason.
const MAX_REASON_BYTES: usize = 512;

fn shortened(reason: &str) -> String {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;

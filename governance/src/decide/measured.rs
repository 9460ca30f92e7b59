//! Reasons with their own numbers, from version 6 of the rules on.
//! They name the count, the limit, and the remedy.

use bitacora_formats::{Micros, format_time, format_usd};
use bitacora_vocabulary::{
    BreakerCondition, FailuresCounted, Milliseconds, RateBy, ReasonCode, Score, SpendLimits, TrustRules,
    Verdict,
};

use crate::budgets::BudgetStanding;
use crate::decide::ladder::{Evaluation, blocked_until};
use crate::loop_guard::{Objection, OngoingLoop};
use crate::rate::word;
use crate::reactor::examination::CallFacts;
use crate::state::State;
use crate::trust::record::TrustRecord;
use crate::trust::rules::{Assessment, StandingReason, TrustInputs, TrustStanding, judge};
use crate::version::has_no_dead_ends;

/// Good outcomes in a row that are foreseen at most.
const MAX_FORESEEN: u64 = 1_000;

impl State {
    /// Words for a verdict with the numbers that it rests on; `None` where the code alone says all, and under older rules.
    pub(crate) fn measured(
        &self,
        facts: &CallFacts,
        evaluation: &Evaluation,
        (verdict, code): (Verdict, ReasonCode),
        time: Micros,
    ) -> Option<String> {
        if !has_no_dead_ends(facts.reactor_version) {
            return None;
        }
        let place = format!("`{}` on {}", facts.tool, facts.dimension.context());
        let of_trust = Measure { record: evaluation.record, rules: self.trust_rules(), time };
        match code {
            ReasonCode::TrustBlocked | ReasonCode::TrustProbe => {
                let until = blocked_until(self, &evaluation.record).filter(|_| verdict == Verdict::Deny);
                Some(of_trust.blocked(&place, &evaluation.assessment, until))
            }
            ReasonCode::TrustRequireReview => Some(of_trust.unearned(&place, &evaluation.assessment)),
            ReasonCode::ScoreTooLow => evaluation
                .least_score
                .map(|least| of_trust.too_low(&place, evaluation.assessment.score, least)),
            ReasonCode::BreakerOpen | ReasonCode::BreakerProbe => {
                Some(self.broken_words(facts, evaluation, &place, verdict))
            }
            ReasonCode::LoopDetected | ReasonCode::IterationCap | ReasonCode::DelegationTooDeep => {
                evaluation.round.map(|round| of_round(&facts.tool, &round))
            }
            ReasonCode::RateLimited => {
                let question = facts.rate_question();
                if let Ok(Some((wait, by))) =
                    self.rates().rolling.wait(&question, evaluation.local_times.as_ref(), time)
                    && evaluation.retry_after.is_some_and(|longest| longest.get() == wait)
                {
                    return Some(of_rolling(by, wait));
                }
                let (by, limit) = self.rates().met(&question, time)?;
                let wait = evaluation.retry_after.map_or(0, Milliseconds::get);
                Some(format!(
                    "Too many calls of this {by}: {} at once and {} more every {} ms are taken. Ask again in {wait} ms.",
                    limit.burst,
                    limit.refill,
                    limit.period_ms.get()
                ))
            }
            ReasonCode::BudgetSpent => {
                let (_, name) = evaluation.budgets.strictest.as_ref()?;
                let question = facts.budget_question();
                let standing =
                    self.budgets().standing_for(&question, time).find(|one| one.budget.budget == *name)?;
                Some(of_budget(&standing))
            }
            // The name is the caller's: no command is made of it that somebody may copy.
            ReasonCode::ToolUnknown if verdict == Verdict::Review => Some(format!(
                "Nobody registered the tool `{}`, so a person looks at each call. An operator registers it with `bitacora tools register --seen`.",
                facts.tool
            )),
            _ => None,
        }
    }

    fn broken_words(
        &self,
        facts: &CallFacts,
        evaluation: &Evaluation,
        place: &str,
        verdict: Verdict,
    ) -> String {
        let breaker = self.breaker(&facts.dimension).unwrap_or_default();
        let window = breaker.window();
        let failed = format!("{} of the last {} outcomes of {place} failed", window.bad, window.outcomes);
        if evaluation.breaker == BreakerCondition::HalfOpen {
            let (good, needed) =
                (breaker.good_probes().unwrap_or(0), breaker.settings().recovery_probes.get());
            return format!(
                "{failed}, and its breaker tries it again: a person looks at each call until {needed} went well; so far {good}."
            );
        }
        let until = breaker.cooldown_until().map_or_else(String::new, second);
        let says = if verdict == Verdict::Deny {
            format!("calls are denied until {until}, because they could do damage that cannot be made good")
        } else {
            format!("a person looks at each call, and from {until} on calls that go well close it")
        };
        let from = breaker.threshold();
        format!("{failed}, and from {from} its breaker opens: {says}.")
    }
}

/// The inputs of trust.
#[derive(Clone, Copy)]
struct Measure {
    record: TrustRecord,
    rules: TrustRules,
    time: Micros,
}

impl Measure {
    /// Returns the standing after this many good outcomes in a row.
    fn after(&self, good: u64) -> Assessment {
        let mut inputs = TrustInputs::from(&self.record);
        if good > 0 {
            inputs.approvals = inputs.approvals.saturating_add(good);
            inputs.streak = inputs.streak.saturating_add(good);
            inputs.recent_failures = u64::from(self.record.recent.failures_after(good));
            inputs.last_updated = Some(self.time);
        }
        judge(&inputs, &self.rules, self.time)
    }

    /// Returns the number of good outcomes in a row that lead there; `None` where [`MAX_FORESEEN`] do not. More never lead further
    /// away.
    fn good_until(&self, is_there: impl Fn(&Assessment) -> bool) -> Option<u64> {
        if !is_there(&self.after(MAX_FORESEEN)) {
            return None;
        }
        let (mut least, mut most) = (0, MAX_FORESEEN);
        while least < most {
            let middle = least.midpoint(most);
            if is_there(&self.after(middle)) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        Some(most)
    }

    fn blocked(&self, place: &str, found: &Assessment, until: Option<Micros>) -> String {
        let Self { record, rules, .. } = self;
        let counted = match (found.reason, rules.failures_counted) {
            (StandingReason::Failures, FailuresCounted::Recent) => format!(
                "{} of the last {} outcomes of {place} failed; it is blocked from {} on.",
                record.recent.failures(),
                record.recent.len(),
                rules.blocking_failures.get()
            ),
            (StandingReason::Failures, FailuresCounted::All) => format!(
                "{} outcomes of {place} failed; it is blocked from {} on.",
                record.failures,
                rules.blocking_failures.get()
            ),
            _ => format!(
                "The score of {place} is {} ({} went well, {} were rejected, {} failed); it is blocked below {}.",
                found.score, record.approvals, record.rejections, record.failures, rules.review_score
            ),
        };
        let lifted = match self.good_until(|after| after.standing != TrustStanding::Blocked) {
            Some(good) => format!("It takes {} of approved calls.", more(good)),
            None => "An operator lifts that with `bitacora trust set`.".to_owned(),
        };
        match until {
            Some(until) => format!(
                "{counted} Its calls could do damage that cannot be made good, so they are denied until {}. {lifted}",
                second(until)
            ),
            None => format!("{counted} A person looks at each call. {lifted}"),
        }
    }

    fn unearned(&self, place: &str, found: &Assessment) -> String {
        let Self { record, rules, .. } = self;
        let asked = format!(
            "calls without review ask for {} that went well and a score of {}",
            rules.auto_approve_approvals.get(),
            rules.auto_approve_score
        );
        let way = match self.good_until(|after| after.standing == TrustStanding::AutoApprove) {
            Some(good) => format!("It takes {}.", more(good)),
            None => "An operator can set its trust with `bitacora trust set`.".to_owned(),
        };
        format!(
            "{} calls of {place} went well, {} were rejected and {} failed (score {}); {asked}. {way}",
            record.approvals, record.rejections, record.failures, found.score
        )
    }

    fn too_low(&self, place: &str, score: Score, least: Score) -> String {
        let way = match self.good_until(|after| after.score >= least) {
            Some(good) => format!("It takes {}.", more(good)),
            None => "No number of good outcomes leads there.".to_owned(),
        };
        format!(
            "The policy asks for a score of {least} before {place} runs without review; it is {score}. {way}"
        )
    }
}

fn more(good: u64) -> String {
    format!("{good} more good outcome{}", if good == 1 { "" } else { "s" })
}

/// Formats a time to its second, rounded up, so that a period that begins at the second has begun.
fn second(time: Micros) -> String {
    const SECOND: u64 = 1_000_000;
    let text = format_time(Micros(time.0.div_ceil(SECOND).saturating_mul(SECOND)));
    text.split('.').next().map_or_else(String::new, |seconds| format!("{seconds}Z"))
}

fn of_rolling(by: RateBy, wait: u64) -> String {
    format!(
        "The calls of this {} that are taken in a while, or on a day, are all taken, or the last one is too near. Ask again in {wait} ms.",
        word(by)
    )
}

fn of_round(tool: &str, round: &Objection) -> String {
    let Objection { count, bound, .. } = *round;
    match (round.code, round.ongoing_loop) {
        (_, Some(OngoingLoop::Polls(_))) => format!(
            "`{tool}` was polled {count} times in a row, and may be {bound} times. Do something else meanwhile, or look at what it said before."
        ),
        (_, Some(OngoingLoop::Cycle { calls: calls @ 2.., .. })) => format!(
            "With this call of `{tool}` the same {calls} calls are made for the time number {count} in a row; from {bound} on that is denied. Any other call, or a checkpoint, lifts that."
        ),
        (ReasonCode::LoopDetected, _) => format!(
            "This is the same call of `{tool}` for the time number {count} in a row; from {bound} on it is denied. Any other call, or a checkpoint, lifts that."
        ),
        (ReasonCode::IterationCap, _) => format!(
            "The run took {count} steps or calls, and may take {bound}. Sum up what was reached, and stop."
        ),
        _ => format!(
            "This work was handed on {count} times; {bound} are the most. Do it in the run above, or stop."
        ),
    }
}

fn of_budget(standing: &BudgetStanding<'_>) -> String {
    let SpendLimits { cost_micro_usd, tokens, calls, steps, duration_ms } = standing.budget.limits;
    let spent = &standing.spent;
    let usd = |micros: u64| format!("{} USD", format_usd(micros.into()));
    let of =
        |spent: u64, limit: Option<u64>, unit: &str| limit.map(|limit| format!("{spent} of {limit} {unit}"));
    let parts = [
        cost_micro_usd.map(|limit| format!("{} of {}", usd(spent.cost_micro_usd), usd(limit.get()))),
        of(spent.tokens, tokens.map(u64::from), "tokens"),
        of(spent.calls, calls.map(u64::from), "calls"),
        of(spent.steps, steps.map(u64::from), "steps"),
        of(spent.duration_ms, duration_ms.map(Milliseconds::get), "ms"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let back = match standing.resets {
        Some(resets) => format!("Some of it comes back at {}", second(resets)),
        None => "It does not come back by itself".to_owned(),
    };
    format!(
        "The budget {} is spent, with what is held back and what this call is to cost: {}. {back}; an operator can raise it.",
        standing.budget.budget,
        parts.join(", ")
    )
}

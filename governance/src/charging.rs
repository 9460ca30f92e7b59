//! What requests and outcomes charge to budgets, and what is told besides.

use bitacora_formats::Event;
use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{
    BudgetCharged, Charge, CheckpointSaved, EventData, LoopDetected, ModelCalled, OnExceed, ReasonCode,
    RunStarted, RunStep, StepStatus, Verdict,
};

use crate::act::{is_imported, read};
use crate::budgets::BudgetsDue;
use crate::examination::CallFacts;
use crate::ladder::Said;
use crate::limits::{CALL_LIFE, LATE_OUTCOME_LIFE};
use crate::outcome::Outcome;
use crate::registry::RegisteredTool;
use crate::rounds::RoundName;
use crate::spend::{BudgetQuestion, Spend, all_tokens};
use crate::state::State;
use crate::version::{has_budgets, is_strict};

impl State {
    /// What the budgets say of a call; nothing of one that was made elsewhere.
    pub(crate) fn budgets_due(
        &self,
        facts: &CallFacts,
        tool: Option<&RegisteredTool>,
        time: Micros,
    ) -> BudgetsDue {
        if facts.imported || self.budgets().is_empty() || !has_budgets(facts.reactor_version) {
            return BudgetsDue::default();
        }
        let of_tool = tool.and_then(|tool| tool.document.estimated_cost);
        // Who asks may know that a call costs more than others of its tool; that it costs less is known behind it.
        let cost = if is_strict(facts.reactor_version) {
            facts.estimated_cost.max(of_tool)
        } else {
            facts.estimated_cost.or(of_tool)
        };
        let estimate = Spend { cost_micro_usd: cost.map_or(0, u64::from), calls: 1, ..Spend::default() };
        self.budgets().due(&facts.budget_question(), &facts.call, estimate, time)
    }

    /// What is settled or given back when a call ends: for each budget in which something was reserved for it.
    pub(crate) fn charged_by(&self, outcome: &Outcome, is_timeout: bool) -> Vec<BudgetCharged> {
        let has_run = outcome.ending.has_run() && !is_timeout;
        let parts = self.budgets().reserved_for(&outcome.call).iter();
        // What was given back at its deadline is not given back again; that it ran all the same is counted.
        let parts = parts.filter(|part| has_run || !part.is_released);
        parts
            .map(|part| BudgetCharged {
                budget: part.key.budget.clone(),
                call: outcome.call.clone(),
                window: part.key.told(),
                charge: if has_run { Charge::Settled } else { Charge::Released },
                amounts: if has_run { outcome.spend(part.amounts) } else { part.amounts }.told(),
            })
            .collect()
    }

    pub(crate) fn apply_charged(&mut self, charged: &BudgetCharged, time: Micros) {
        let deadline = self.calls.get(&charged.call).map(|open| open.deadline);
        let deadline = deadline.unwrap_or(Micros(time.0.saturating_add(CALL_LIFE.0)));
        let until = Micros(deadline.0.saturating_add(LATE_OUTCOME_LIFE.0));
        self.budgets.apply_charged(charged, until, time);
    }

    /// Folds what is told without having been asked for. What cannot be read, or was recorded elsewhere, counts nowhere.
    pub(crate) fn apply_told(&mut self, event: &Event<'_>, time: Micros) {
        let (agent, run) = (event.agent.as_deref(), event.run.as_deref());
        if is_imported(event) {
            return;
        }
        let rules = self.rules.get().version();
        match event.kind.as_ref() {
            CheckpointSaved::KIND => {
                self.rounds.apply_checkpoint(event.session.as_deref(), run, agent, rules, time);
            }
            RunStarted::KIND => {
                if let Ok(started) = read::<RunStarted>(event) {
                    self.rounds.apply_started(&started, agent, time);
                }
            }
            RunStep::KIND => {
                if let Some(step) = read::<RunStep>(event).ok().filter(|step| is_ended(step.status)) {
                    self.rounds.apply_step(run.unwrap_or(&step.run), agent, rules, time);
                    self.apply_spent(event, Some(&step), time);
                }
            }
            _ => self.apply_spent(event, None, time),
        }
    }

    pub(crate) fn apply_loop(&mut self, found: &LoopDetected, agent: Option<&str>, time: Micros) {
        let rules = self.rules.get().version();
        let names = RoundName::of(agent, found.session.as_deref(), found.run.as_deref(), rules);
        self.rounds.apply_told(names, found.kind, time);
    }

    /// Counts an answer of a model, or a step that came to its end.
    fn apply_spent(&mut self, event: &Event<'_>, step: Option<&RunStep>, time: Micros) {
        if self.budgets.is_empty() {
            return;
        }
        let actor = event.actor.as_deref();
        let mut question = BudgetQuestion {
            agent: event.agent.as_deref(),
            role: actor.and_then(|actor| actor.split_once(':')).map(|(role, _)| role),
            session: event.session.as_deref(),
            run: event.run.as_deref(),
            ..BudgetQuestion::default()
        };
        if let Some(step) = step {
            // What a step took was counted where it arose: with its calls and its model's answers.
            question.run = question.run.or(Some(&step.run));
            question.model = step.model.as_deref();
            self.budgets.apply_spent(&question, Spend { steps: 1, ..Spend::default() }, time);
        } else if let Ok(called) = read::<ModelCalled>(event) {
            question.model = Some(&called.model);
            let amounts = Spend {
                cost_micro_usd: called.cost_micro_usd.map_or(0, u64::from),
                tokens: all_tokens(&called.tokens),
                duration_ms: called.duration_ms.map_or(0, u64::from),
                ..Spend::default()
            };
            self.budgets.apply_spent(&question, amounts, time);
        }
    }
}

/// What the step of budgets says.
pub(crate) fn overspent(due: &BudgetsDue) -> Said {
    if let Some(what) = due.full {
        return Some((Verdict::Deny, ReasonCode::StateFull, Some(what.to_owned())));
    }
    let (on_exceed, budget) = due.strictest.as_ref()?;
    let verdict = match on_exceed {
        OnExceed::Pause => Verdict::Review,
        OnExceed::Deny => Verdict::Deny,
    };
    Some((verdict, ReasonCode::BudgetSpent, Some(budget.to_string())))
}

/// Whether a step came to an end: each is counted once, however it began.
const fn is_ended(status: StepStatus) -> bool {
    matches!(status, StepStatus::Ok | StepStatus::Error | StepStatus::Timeout)
}

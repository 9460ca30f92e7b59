//! The charges of requests, outcomes and reports to budgets.

use bitacora_formats::Event;
use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BudgetCharged, Charge, CheckpointSaved, EventData, LoopDetected, ModelCalled, Name, OnExceed, ReasonCode,
    RunStarted, RunStep, StepStatus, Verdict,
};
use serde::Deserialize;
use serde_json::Value;

use crate::budgets::run_budget::RUN_BUDGET;
use crate::budgets::spend::{BudgetQuestion, Spend, all_tokens};
use crate::budgets::{BudgetFindings, ChargeContext, ReservedPart};
use crate::calls::OpenCall;
use crate::calls::outcome::Outcome;
use crate::command::{is_imported, read};
use crate::decide::finding::StepObjection;
use crate::decide::times;
use crate::limits::{CALL_LIFE, LATE_OUTCOME_LIFE};
use crate::loop_guard::LoopKey;
use crate::reactor::examination::CallFacts;
use crate::state::State;
use crate::tools::registry::RegisteredTool;
use crate::version::{has_budgets, holds_run_budgets, is_isolated, is_strict};

impl State {
    /// Returns the findings of the budgets about a call; none about one that was made elsewhere.
    pub(crate) fn budgets_due(
        &self,
        facts: &CallFacts,
        tool: Option<&RegisteredTool>,
        time: Micros,
    ) -> BudgetFindings {
        let (agent, run) = (facts.agent.as_deref(), facts.run.as_deref());
        let own = self.loop_guard.own_budget(agent, run, facts.reactor_version);
        let has_none = self.budgets().is_empty() && own.is_none();
        if facts.imported || has_none || !has_budgets(facts.reactor_version) {
            return BudgetFindings::default();
        }
        let of_tool = tool.and_then(|tool| tool.document.estimated_cost);
        // A caller may know that a call costs more than others of its tool. That it costs less is known only afterwards.
        let cost = if is_strict(facts.reactor_version) {
            facts.estimated_cost.max(of_tool)
        } else {
            facts.estimated_cost.or(of_tool)
        };
        let estimate = Spend { cost_micro_usd: cost.map_or(0, u64::from), calls: 1, ..Spend::default() };
        let at = ChargeContext { time, agent: facts.agent.as_deref(), rules: facts.reactor_version };
        let question = BudgetQuestion { own: own.as_ref().map(|own| &own.budget), ..facts.budget_question() };
        let mut due = self.budgets().due(&question, &facts.call, estimate, at);
        if let Some((own, run)) = own.as_ref().zip(run) {
            let is_told = self.budgets().is_run_budget_reported(agent, run);
            own.add_elapsed(&mut due, (&facts.call, agent, run), is_told, time);
        }
        due
    }

    /// Returns the charges when a call ends. There is one for each budget that holds a reservation for it, or that counts it if it
    /// ran without having been allowed.
    pub(crate) fn charged_by(
        &self,
        outcome: &Outcome,
        open: &OpenCall,
        is_timeout: bool,
    ) -> Vec<BudgetCharged> {
        let has_run = outcome.ending.has_run() && !is_timeout;
        if has_run && open.verdict != Verdict::Allow {
            let Some(asked) = &open.asked else { return Vec::new() };
            let ran = Spend { calls: 1, ..Spend::default() };
            let own = self.loop_guard.own_budget(open.agent.as_deref(), asked.run.as_deref(), open.rules);
            let own = own.as_ref().map(|own| &own.budget);
            let question = BudgetQuestion { own, ..asked.budget_question(open) };
            return self.budgets().charged_to(&question, &outcome.call, outcome.spend(ran));
        }
        let parts = self.budgets().reserved_for(&outcome.call).iter();
        // A reservation that was given back at the deadline is not given back again; a call that ran all the same is counted.
        let parts = parts.filter(|part| has_run || !part.is_released);
        let charged = |part: &ReservedPart, charge, amounts: Spend| BudgetCharged {
            budget: part.key.budget.clone(),
            call: outcome.call.clone(),
            window: part.key.window_text(),
            agent: part.key.agent_text(),
            charge,
            amounts: amounts.to_limits(),
        };
        if is_timeout && is_strict(open.rules) {
            // It may have run: that it was made is spent, and what it was to cost comes back.
            let made = |part: &ReservedPart| Spend { calls: part.amounts.calls, ..Spend::default() };
            let both = |part: &ReservedPart| {
                let spent = charged(part, Charge::Settled, made(part));
                [spent, charged(part, Charge::Released, part.amounts.without(made(part)))]
            };
            return parts.flat_map(both).collect();
        }
        // Nobody but the executor says that an allowed call was kept from running.
        let stays = is_isolated(open.rules) && open.verdict == Verdict::Allow && !is_timeout;
        let whole = |part: &ReservedPart| match has_run {
            true => charged(part, Charge::Settled, outcome.spend(part.amounts)),
            false if stays => charged(part, Charge::Settled, part.amounts),
            false => charged(part, Charge::Released, part.amounts),
        };
        parts.map(whole).collect()
    }

    /// Returns the occasion of a charge whose event names no version of the rules.
    pub(crate) fn occasion<'a>(&self, event: &'a Event<'_>, time: Micros) -> ChargeContext<'a> {
        ChargeContext { time, agent: event.agent.as_deref(), rules: self.rules.get().version() }
    }

    pub(crate) fn apply_charged(&mut self, charged: &BudgetCharged, at: ChargeContext<'_>) {
        let open = self.calls.get(&charged.call);
        let is_late = open.is_some_and(|open| open.is_late);
        let deadline = open.map(|open| open.deadline);
        let deadline = deadline.unwrap_or(Micros(at.time.0.saturating_add(CALL_LIFE.0)));
        let until = Micros(deadline.0.saturating_add(LATE_OUTCOME_LIFE.0));
        self.budgets.apply_charged(charged, until, is_late, at);
    }

    /// Folds the end of a run, as told here.
    pub(crate) fn apply_run_ended(&mut self, event: &Event<'_>, is_derived: bool, time: Micros) {
        #[derive(Deserialize)]
        struct RunEndData {
            run: Name,
        }
        let Ok(ended) = read::<RunEndData>(event) else { return };
        let run = event.run.as_deref().unwrap_or(&ended.run);
        let rules = self.rules.get().version();
        if is_imported(event) {
            return;
        }
        self.loop_guard.apply_ended(run, event.agent.as_deref(), rules, is_derived);
        if holds_run_budgets(rules) || (is_strict(rules) && !self.budgets.is_empty()) {
            self.budgets.apply_run_ended(run, event.agent.as_deref(), time);
        }
    }

    /// Folds an unsolicited report. An unreadable report, or one that was recorded elsewhere, counts nowhere.
    pub(crate) fn apply_report(&mut self, event: &Event<'_>, time: Micros) {
        let (agent, run) = (event.agent.as_deref(), event.run.as_deref());
        if is_imported(event) {
            return;
        }
        let rules = self.rules.get().version();
        match event.kind.as_ref() {
            CheckpointSaved::KIND => {
                self.loop_guard.apply_checkpoint(event.session.as_deref(), run, agent, rules, time);
            }
            RunStarted::KIND => {
                if let Some(started) = started(event, rules) {
                    let awaited = times::run(&self.policy_times());
                    self.loop_guard.apply_started(&started, (agent, awaited), rules, time);
                }
            }
            RunStep::KIND => {
                if let Some(step) = read::<CountedStep>(event).ok().filter(|step| is_ended(step.status)) {
                    self.loop_guard.apply_step(run.unwrap_or(&step.run), agent, rules, time);
                    self.apply_spent(event, Some(&step), time);
                }
            }
            _ => self.apply_spent(event, None, time),
        }
    }

    pub(crate) fn apply_loop(&mut self, found: &LoopDetected, agent: Option<&str>, time: Micros) {
        let rules = self.rules.get().version();
        let names = LoopKey::of(agent, found.session.as_deref(), found.run.as_deref(), rules);
        self.loop_guard.apply_report(names, found.kind, time);
    }

    /// Counts an answer of a model, or a step that came to its end.
    fn apply_spent(&mut self, event: &Event<'_>, step: Option<&CountedStep>, time: Micros) {
        let at = self.occasion(event, time);
        let run = event.run.as_deref().or(step.map(|step| step.run.as_str()));
        let own = self.loop_guard.own_budget(at.agent, run, at.rules);
        if self.budgets.is_empty() && own.is_none() {
            return;
        }
        let actor = event.actor.as_deref();
        let mut question = BudgetQuestion {
            agent: event.agent.as_deref(),
            role: actor.and_then(|actor| actor.split_once(':')).map(|(role, _)| role),
            session: event.session.as_deref(),
            run: event.run.as_deref(),
            rules: at.rules,
            own: own.as_ref().map(|own| &own.budget),
            ..BudgetQuestion::default()
        };
        if let Some(step) = step {
            // The costs of a step were counted where they arose: with its calls and its model's answers.
            question.run = question.run.or(Some(&step.run));
            question.model = step.model.as_deref();
            self.budgets.apply_spent(&question, Spend { steps: 1, ..Spend::default() }, at);
        } else if let Ok(called) = read::<ModelCalled>(event) {
            question.model = Some(&called.model);
            let amounts = Spend {
                cost_micro_usd: called.cost_micro_usd.map_or(0, u64::from),
                tokens: all_tokens(&called.tokens),
                duration_ms: called.duration_ms.map_or(0, u64::from),
                ..Spend::default()
            };
            self.budgets.apply_spent(&question, amounts, at);
        }
    }
}

/// The members of a step that are counted. All other members are evidence, of any shape: histories hold steps from before a member
/// had a meaning.
#[derive(Deserialize)]
struct CountedStep {
    run: Name,
    status: StepStatus,
    #[serde(default)]
    model: Option<Name>,
}

/// Reads `run.started` by the rules of a version. Before a run was held to all of its budget, two members of that had no meaning,
/// and could hold any value.
fn started(event: &Event<'_>, rules: u32) -> Option<RunStarted> {
    if holds_run_budgets(rules) {
        return read(event).ok();
    }
    let mut data: Value = read(event).ok()?;
    if let Some(budget) = data.get_mut("budget").and_then(Value::as_object_mut) {
        ["on_exceed", "elapsed_ms"].iter().for_each(|unheard| drop(budget.remove(*unheard)));
    }
    serde_json::from_value(data).ok()
}

/// Returns the verdict of the step of budgets.
pub(crate) fn overspent(due: &BudgetFindings) -> StepObjection {
    if let Some(what) = due.full {
        return Some((Verdict::Deny, ReasonCode::StateFull, Some(what.to_owned())));
    }
    let (on_exceed, budget) = due.strictest.as_ref()?;
    let verdict = match on_exceed {
        OnExceed::Pause => Verdict::Review,
        OnExceed::Deny | OnExceed::Abort => Verdict::Deny,
    };
    let code = if *budget == *RUN_BUDGET { ReasonCode::RunBudgetSpent } else { ReasonCode::BudgetSpent };
    Some((verdict, code, Some(budget.to_string())))
}

/// Returns `true` if a step came to an end: each is counted once, with any beginning.
const fn is_ended(status: StepStatus) -> bool {
    matches!(status, StepStatus::Ok | StepStatus::Error | StepStatus::Timeout)
}

//! `…/budgets`: limits, and the amounts spent against them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_formats::{Micros, format_time, format_usd};
use bitacora_governance::{BudgetQuestion, BudgetStanding, Budgets, REACTOR_VERSION};
use bitacora_vocabulary::{
    BudgetConfigured, BudgetCount, BudgetPeriod, BudgetScope, Count, Milliseconds, Name, OnExceed, Role,
    SpendLimits, Tokens,
};

use crate::api::Api;
use crate::http::query::Query;
use crate::json::{json_of, word_of};
use crate::micro_usd::take_usd;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::strict_object::ObjectMembers;
use bitacora_api::{BudgetAnswer, BudgetList, BudgetRequest, BudgetSetAnswer, SpendAnswer, paths};

/// The stream of all budgets.
const STREAM: &str = "governance/budgets";

#[utoipa::path(
    get,
    path = paths::BUDGETS,
    tag = "governance",
    operation_id = "listBudgets",
    params(
        InLedger,
        ("budget" = Option<String>, Query, description = "Only the one of this name"),
        ("agent" = Option<String>, Query, description = "Only those that a call of this agent counts in, and so of the ones below: together they say what the call is"),
        ("role" = Option<String>, Query, description = "The role of the caller"),
        ("tool" = Option<String>, Query, description = "The tool"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task" = Option<String>, Query, description = "The kind of task"),
        ("session" = Option<String>, Query, description = "The session"),
        ("run" = Option<String>, Query, description = "The run"),
        ("workspace" = Option<String>, Query, description = "The project"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Budgets, by their names, and what is left of them", body = BudgetList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let meant = Meant::take(&mut query)?;
    let paging = PageParams::<BudgetKey>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let bytes = api
        .read(move || {
            let [agent, .., run, _] = meant.parts.each_ref().map(Option::as_deref);
            let own = copy.state.run_budget(agent, run);
            let asked = meant.question(own.as_ref());
            let found = meant.found(copy.state.all_budgets(), &asked, head.time);
            let is_named = |one: &BudgetStanding<'_>| {
                meant.budget.as_deref().is_none_or(|name| one.budget.budget.as_str() == name)
            };
            let is_behind =
                |one: &BudgetStanding<'_>| paging.after.as_ref().is_none_or(|after| key(one) > *after);
            let page = paging.page(found.filter(|one| is_named(one) && is_behind(one)), key);
            let budgets = page.items.iter().map(listed).collect::<Result<_, _>>()?;
            json_of(&BudgetList { evaluated_at: format_time(head.time), budgets, next: page.next })
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

/// The place of an item: its budget, and the run or session.
type BudgetKey = (Name, Option<String>, Option<String>);

fn key(one: &BudgetStanding<'_>) -> BudgetKey {
    (one.budget.budget.clone(), one.agent.map(str::to_owned), one.window.map(str::to_owned))
}

/// The budgets that are asked for.
struct Meant {
    budget: Option<String>,
    /// The parts of a call that counts in them, by the names of the parameters.
    parts: [Option<String>; 8],
}

impl Meant {
    fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let mut part = |name| query.take(name).map(|found| found.map(String::from));
        Ok(Self {
            budget: part("budget")?,
            parts: [
                part("agent")?,
                part("role")?,
                part("tool")?,
                part("model")?,
                part("task")?,
                part("session")?,
                part("run")?,
                part("workspace")?,
            ],
        })
    }

    fn question<'a>(&'a self, own: Option<&'a BudgetConfigured>) -> BudgetQuestion<'a> {
        let [agent, role, tool, model, task_type, session, run, workspace] =
            self.parts.each_ref().map(Option::as_deref);
        // A caller that asks as an agent has its role.
        let role = role.or(agent.and(Some(Role::Agent.as_str())));
        let rules = REACTOR_VERSION;
        BudgetQuestion {
            agent,
            role,
            tool,
            model,
            task_type,
            session,
            run,
            workspace,
            rules,
            is_call: true,
            own,
        }
    }

    fn found<'a>(
        &self,
        budgets: &'a Budgets,
        asked: &'a BudgetQuestion<'_>,
        time: Micros,
    ) -> Box<dyn Iterator<Item = BudgetStanding<'a>> + 'a> {
        if self.parts.iter().any(Option::is_some) {
            return Box::new(budgets.standing_for(asked, time));
        }
        Box::new(budgets.configured(None).flat_map(move |budget| budgets.standing(budget, time)))
    }
}

fn listed(one: &BudgetStanding<'_>) -> Result<BudgetAnswer, Problem> {
    let BudgetConfigured { budget, scope, limits, period, on_exceed, counted } = one.budget;
    Ok(BudgetAnswer {
        budget: budget.to_string(),
        scope: scope.into(),
        limits: spend(limits),
        period: word_of(period)?,
        on_exceed: word_of(on_exceed)?,
        counted: word_of(counted)?,
        agent: one.agent.map(str::to_owned),
        window: one.window.map(str::to_owned),
        spent: spend(&one.spent.to_limits()),
        reserved: spend(&one.reserved.to_limits()),
        left: spend(&one.spent.and(one.reserved).left_to(limits)),
        exhausted: one.is_exhausted(),
        resets_at: one.resets.map(format_time),
    })
}

fn spend(spend: &SpendLimits) -> SpendAnswer {
    SpendAnswer {
        cost_usd: spend.cost_micro_usd.map(|cost| format_usd(cost.get().into())),
        tokens: spend.tokens.map(Tokens::get),
        calls: spend.calls.map(Count::get),
        steps: spend.steps.map(Count::get),
        duration_ms: spend.duration_ms.map(Milliseconds::get),
    }
}

/// Reads the scope of a budget. A misspelt member would make it one for everything.
fn read_scope(mut members: ObjectMembers<'_>) -> Result<BudgetScope, Problem> {
    let scope = BudgetScope {
        agent: members.take("agent")?,
        role: members.take("role")?,
        tool: members.take("tool")?,
        model: members.take("model")?,
        task_type: members.take("task_type")?,
        session: members.take("session")?,
        run: members.take("run")?,
        workspace: members.take("workspace")?,
    };
    let BudgetScope { agent, role, tool, model, task_type, session, run, workspace } = &scope;
    let parts = [agent, role, tool, model, task_type, session, run];
    let parts = parts.map(|part| part.as_ref().map(Name::as_str));
    members.refuse_every("scope", parts.into_iter().chain([workspace.as_deref()]))?;
    members.finish()?;
    Ok(scope)
}

/// Returns how a budget is counted where that is left out: what is for everybody each agent has anew, so that none of them stops the
/// others; what is for one agent or one project is spent together.
fn counted_by_itself(scope: &BudgetScope) -> BudgetCount {
    if scope.agent.is_some() || scope.workspace.is_some() {
        BudgetCount::Together
    } else {
        BudgetCount::EachAgent
    }
}

fn read_limits(mut members: ObjectMembers<'_>) -> Result<SpendLimits, Problem> {
    let limits = SpendLimits {
        cost_micro_usd: take_usd(&mut members, "costUsd")?,
        tokens: members.take("tokens")?,
        calls: members.take("calls")?,
        steps: members.take("steps")?,
        duration_ms: members.take("durationMs")?,
    };
    members.finish()?;
    Ok(limits)
}

#[utoipa::path(
    put,
    path = paths::BUDGETS,
    tag = "governance",
    operation_id = "configureBudget",
    params(InLedger),
    request_body(content = BudgetRequest),
    responses(
        (status = 200, description = "Recorded: it holds from the next call on", body = BudgetSetAnswer),
        Refusals,
    )
)]
pub(crate) async fn configure(mut act: Act) -> Result<Response, Problem> {
    let configured = act
        .read(|members| {
            let budget: Name = members.require("budget")?;
            members.refuse_every("budget", [Some(budget.as_str())])?;
            let scope = members.take_object("scope")?.map(read_scope).transpose()?.unwrap_or_default();
            let limits = members.take_object("limits")?.map(read_limits).transpose()?.unwrap_or_default();
            let (period, on_exceed) = if limits.is_empty() {
                (members.take("period")?, members.take("onExceed")?)
            } else {
                (Some(members.require("period")?), Some(members.require("onExceed")?))
            };
            // Of a budget that is lifted nothing is left that these could say.
            let period = period.unwrap_or(BudgetPeriod::Day);
            let on_exceed = on_exceed.unwrap_or(OnExceed::Deny);
            let counted = members.take("counted")?.unwrap_or_else(|| counted_by_itself(&scope));
            Ok(BudgetConfigured { budget, scope, limits, period, on_exceed, counted })
        })
        .await?;
    let before = act.governance().read(|state| state.all_budgets().get(&configured.budget).cloned());
    let begins_anew = before.is_some_and(|before| {
        let is_same = before.scope == configured.scope
            && before.period == configured.period
            && before.counted == configured.counted;
        !is_same && !configured.limits.is_empty()
    });
    let recorded = act.record(STREAM, &configured).await?;
    let time = recorded.0.head.time;
    let copy = act.governance().copy();
    let budgets = copy.state.all_budgets();
    let mut standing =
        budgets.get(&configured.budget).into_iter().flat_map(|budget| budgets.standing(budget, time));
    let is_exhausted = standing.any(|one| one.is_exhausted());
    recorded.answer_as(StatusCode::OK, |position| BudgetSetAnswer {
        position,
        exhausted: is_exhausted,
        begun_anew: begins_anew,
    })
}

//! `…/costs`: what models and tools took, by model, task, agent and day.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time, format_usd, parse_time};
use bitacora_projector::{CostQuery, CostsBy, Spending, TokenSums};

use super::openapi::{AtLeast, InLedger, Refusals};
use crate::answers::{CostAnswer, CostList, SpendingAnswer, TokensAnswer};
use crate::api::Api;
use crate::listing::written_page_at;
use crate::modelled::ask_model;
use crate::problem::Problem;
use crate::query::{Query, bad_query};
use crate::question::Question;

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/costs",
    tag = "governance",
    operation_id = "listCosts",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "What is summed up by: `model`, `task`, `agent`, `day`, or several of them with commas between; `model` without it"),
        ("since" = Option<String>, Query, description = "Only from this day on, `YYYY-MM-DD`, UTC"),
        ("before" = Option<String>, Query, description = "Only before this day"),
        ("model" = Option<String>, Query, description = "Only of this model"),
        ("task" = Option<String>, Query, description = "Only of this task type"),
        ("agent" = Option<String>, Query, description = "Only of this agent"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "All sums. What was recorded elsewhere counts on the day on which it happened", body = CostList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let by = query.take("by")?;
    let asked = CostQuery {
        by: by.as_deref().unwrap_or("model").split(',').map(summed_by).collect::<Result<_, _>>()?,
        since: take_day(&mut query, "since")?,
        before: take_day(&mut query, "before")?,
        model: query.take("model")?.map(Into::into),
        task: query.take("task")?.map(Into::into),
        agent: query.take("agent")?.map(Into::into),
    };
    query.finish()?;
    let found = ask_model(&api, &question, "costs", move |models| models.costs(&asked)).await?;
    let mut list =
        CostList { costs: Vec::with_capacity(found.costs.len()), total: spending_answer(&found.total) };
    for cost in found.costs {
        let mut sum = CostAnswer {
            model: None,
            task: None,
            agent: None,
            day: None,
            spending: spending_answer(&cost.spending),
        };
        for (by, of) in cost.of {
            match by {
                CostsBy::Model => sum.model = Some(of),
                CostsBy::Task => sum.task = Some(of),
                CostsBy::Agent => sum.agent = Some(of),
                CostsBy::Day => sum.day = Some(day_of(&of)),
            }
        }
        list.costs.push(sum);
    }
    written_page_at(&question, found.position, &list)
}

fn summed_by(word: &str) -> Result<CostsBy, Problem> {
    match word {
        "model" => Ok(CostsBy::Model),
        "task" => Ok(CostsBy::Task),
        "agent" => Ok(CostsBy::Agent),
        "day" => Ok(CostsBy::Day),
        _ => Err(bad_query("by", "is none of `model`, `task`, `agent` and `day`, nor several of them")),
    }
}

/// Days since 1970.
fn take_day(query: &mut Query<'_>, name: &str) -> Result<Option<u64>, Problem> {
    let Some(text) = query.take(name)? else { return Ok(None) };
    let midnight = parse_time(&format!("{text}T00:00:00Z"));
    midnight.map(|time| Some(time.0 / DAY)).map_err(|_| bad_query(name, "is no day as `YYYY-MM-DD`"))
}

/// The day as people write it, of days since 1970.
fn day_of(days: &str) -> String {
    let midnight = days.parse::<u64>().ok().and_then(|days| days.checked_mul(DAY));
    let Some(midnight) = midnight else { return days.to_owned() };
    let time = format_time(Micros(midnight));
    time.split('T').next().unwrap_or(&time).to_owned()
}

pub(super) fn spending_answer(spending: &Spending) -> SpendingAnswer {
    let place = |position: u64| (position > 0).then(|| position.to_string());
    SpendingAnswer {
        model_calls: spending.model_calls,
        tool_calls: spending.tool_calls,
        without_cost: spending.without_cost,
        cost_usd: format_usd(spending.cost_micro_usd),
        tokens_in: spending.tokens.read.to_string(),
        tokens_out: spending.tokens.written.to_string(),
        cache_read: spending.tokens.cache_read.to_string(),
        cache_write: spending.tokens.cache_write.to_string(),
        unpriced_tokens: (spending.unpriced != TokenSums::default()).then(|| tokens(&spending.unpriced)),
        duration_ms: spending.duration_ms.to_string(),
        first: place(spending.first),
        last: place(spending.last),
    }
}

fn tokens(sums: &TokenSums) -> TokensAnswer {
    TokensAnswer {
        tokens_in: sums.read.to_string(),
        tokens_out: sums.written.to_string(),
        cache_read: sums.cache_read.to_string(),
        cache_write: sums.cache_write.to_string(),
    }
}

//! `…/costs`: costs of models and tools, by model, task, agent and day.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time, format_usd, parse_time};
use bitacora_projector::{CostQuery, CostsBy, SpendingSums, TokenSums};

use crate::api::Api;
use crate::http::query::{Query, bad_query};
use crate::problem::Problem;
use crate::requests::listing::written_page_at;
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{CostAnswer, CostList, SpendingAnswer, TokensAnswer, paths};

/// The parts that costs are summed up and picked out by, but for days.
const PARTS: [(&str, CostsBy); 8] = [
    ("model", CostsBy::Model),
    ("task", CostsBy::Task),
    ("agent", CostsBy::Agent),
    ("tool", CostsBy::Tool),
    ("role", CostsBy::Role),
    ("run", CostsBy::Run),
    ("session", CostsBy::Session),
    ("case", CostsBy::Case),
];
/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

#[utoipa::path(
    get,
    path = paths::COSTS,
    tag = "governance",
    operation_id = "listCosts",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "What is summed up by: `model`, `task`, `agent`, `tool`, `role`, `run`, `session`, `case`, `day`, or several of them with commas between; `model` without it"),
        ("since" = Option<String>, Query, description = "Only from this day on, `YYYY-MM-DD`, UTC"),
        ("before" = Option<String>, Query, description = "Only before this day"),
        ("model" = Option<String>, Query, description = "Only of this model"),
        ("task" = Option<String>, Query, description = "Only of this task type"),
        ("agent" = Option<String>, Query, description = "Only of this agent"),
        ("tool" = Option<String>, Query, description = "Only of this tool; `-` for answers of models"),
        ("role" = Option<String>, Query, description = "Only of this role"),
        ("run" = Option<String>, Query, description = "Only of this run"),
        ("session" = Option<String>, Query, description = "Only of this session"),
        ("case" = Option<String>, Query, description = "Only of runs about this case"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "All sums. What an accepted import brought counts on the day that it tells of itself, everything else on the day of its recording", body = CostList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let by = query.take("by")?;
    let (since, before) = take_days(&mut query)?;
    let asked = CostQuery {
        by: by.as_deref().unwrap_or("model").split(',').map(summed_by).collect::<Result<_, _>>()?,
        since,
        before,
        only: take_parts(&mut query)?,
    };
    query.finish()?;
    let found = ask_model(&api, &request, "costs", move |models| models.costs(&asked)).await?;
    let (costs, total) = (Vec::with_capacity(found.costs.len()), spending_answer(&found.total));
    let mut list = CostList { costs, total, outside: found.outside };
    for cost in found.costs {
        let mut sum = CostAnswer {
            model: None,
            task: None,
            agent: None,
            tool: None,
            role: None,
            run: None,
            session: None,
            case: None,
            day: None,
            spending: spending_answer(&cost.spending),
        };
        for (by, of) in cost.of {
            match by {
                CostsBy::Model => sum.model = Some(of),
                CostsBy::Task => sum.task = Some(of),
                CostsBy::Agent => sum.agent = Some(of),
                CostsBy::Tool => sum.tool = Some(of),
                CostsBy::Role => sum.role = Some(of),
                CostsBy::Run => sum.run = Some(of),
                CostsBy::Session => sum.session = Some(of),
                CostsBy::Case => sum.case = Some(of),
                CostsBy::Day => sum.day = Some(day_of(&of)),
            }
        }
        list.costs.push(sum);
    }
    written_page_at(&request, found.position, &list)
}

fn summed_by(word: &str) -> Result<CostsBy, Problem> {
    if word == "day" {
        return Ok(CostsBy::Day);
    }
    let part = PARTS.iter().find(|(name, _)| *name == word).map(|(_, part)| *part);
    part.ok_or_else(|| {
        let words = PARTS.map(|(name, _)| format!("`{name}`")).join(", ");
        bad_query("by", &format!("is none of {words} and `day`, nor several of them"))
    })
}

/// Takes what costs are picked out by.
fn take_parts(query: &mut Query<'_>) -> Result<Vec<(CostsBy, String)>, Problem> {
    let taken = PARTS.map(|(name, part)| Ok(query.take(name)?.map(|text| (part, text.into_owned()))));
    taken.into_iter().filter_map(Result::transpose).collect()
}

/// Takes `since` and `before`, days since 1970.
pub(super) fn take_days(query: &mut Query<'_>) -> Result<(Option<u64>, Option<u64>), Problem> {
    let days = (take_day(query, "since")?, take_day(query, "before")?);
    match days {
        (Some(since), Some(before)) if before <= since => {
            Err(bad_query("before", "is not later than `since`, so that no day is between them"))
        }
        days => Ok(days),
    }
}

/// Days since 1970.
fn take_day(query: &mut Query<'_>, name: &str) -> Result<Option<u64>, Problem> {
    let Some(text) = query.take(name)? else { return Ok(None) };
    let midnight = parse_time(&format!("{text}T00:00:00Z"));
    midnight.map(|time| Some(time.0 / DAY)).map_err(|_| bad_query(name, "is no day as `YYYY-MM-DD`"))
}

/// The day as people write it, of days since 1970.
pub(super) fn day_of(days: &str) -> String {
    let midnight = days.parse::<u64>().ok().and_then(|days| days.checked_mul(DAY));
    let Some(midnight) = midnight else { return days.to_owned() };
    let time = format_time(Micros(midnight));
    time.split('T').next().unwrap_or(&time).to_owned()
}

pub(super) fn spending_answer(spending: &SpendingSums) -> SpendingAnswer {
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

//! `…/costs`: costs of models and tools, by model, task, agent and day.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::parse_time;
use bitacora_projector::{CostQuery, CostsBy};

use crate::api::Api;
use crate::http::query::{Query, bad_query};
use crate::problem::Problem;
use crate::requests::listing::written_page_at;
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{CostList, paths};

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
    let list = CostList {
        costs: found.costs.into_iter().map(Into::into).collect(),
        total: (&found.total).into(),
        outside: found.outside,
    };
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

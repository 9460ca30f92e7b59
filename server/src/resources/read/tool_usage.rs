//! `…/tool-usage`: calls of tools, summed up: their decisions, outcomes and durations.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_projector::{ToolQuery, ToolsBy};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::Problem;
use crate::requests::listing::written_page_at;
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::read::costs::take_days;
use bitacora_api::{ToolUsageList, paths};

/// The model that is asked.
const MODEL: &str = "tools";

#[utoipa::path(
    get,
    path = paths::TOOL_USAGE,
    tag = "governance",
    operation_id = "listToolUsage",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "What is summed up by: `tool`, `context`, `role`, `agent`, `day`, or several of them with commas between; `tool` without it"),
        ("since" = Option<String>, Query, description = "Only from this day on, `YYYY-MM-DD`, UTC"),
        ("before" = Option<String>, Query, description = "Only before this day"),
        ("tool" = Option<String>, Query, description = "Only of this tool"),
        ("context" = Option<String>, Query, description = "Only in this context"),
        ("role" = Option<String>, Query, description = "Only of this role"),
        ("agent" = Option<String>, Query, description = "Only of this agent"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "All sums. What an accepted import brought counts on the day that it tells of itself, everything else on the day of its recording", body = ToolUsageList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let by = query.take("by")?;
    let (since, before) = take_days(&mut query)?;
    let mut text = |name: &str| query.take(name).map(|text| text.map(Into::into));
    let asked = ToolQuery {
        by: by.as_deref().unwrap_or("tool").split(',').map(summed_by).collect::<Result<_, _>>()?,
        since,
        before,
        tool: text("tool")?,
        context: text("context")?,
        role: text("role")?,
        agent: text("agent")?,
    };
    query.finish()?;
    let found = ask_model(&api, &request, MODEL, move |models| models.tools(&asked)).await?;
    let list = ToolUsageList {
        usage: found.sums.into_iter().map(Into::into).collect(),
        total: (&found.total).into(),
        outside: found.outside,
    };
    written_page_at(&request, found.position, &list)
}

fn summed_by(word: &str) -> Result<ToolsBy, Problem> {
    match word {
        "tool" => Ok(ToolsBy::Tool),
        "context" => Ok(ToolsBy::Context),
        "role" => Ok(ToolsBy::Role),
        "agent" => Ok(ToolsBy::Agent),
        "day" => Ok(ToolsBy::Day),
        _ => {
            let fault = "is none of `tool`, `context`, `role`, `agent` and `day`, nor several of them";
            Err(bad_query("by", fault))
        }
    }
}

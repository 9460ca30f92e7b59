//! `…/trust/record` with `*` for a part: the sum of many dimensions.

use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_governance::{DimensionFilter, TrustSum, WorkspaceFilter};
use bitacora_vocabulary::BreakerCondition;

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::Problem;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use bitacora_api::{DimensionAnswer, TrustSumAnswer};

/// Every one.
const EVERY: &str = "*";
/// The text for a part that is not known, and for one that is left out.
const UNKNOWN: &str = "-";

/// The parts of dimensions that are asked for, one of them `*` at least.
pub(super) struct SummedParts {
    /// Tool, context, model and task type.
    parts: [String; 4],
    /// Left out, what is kept for all workspaces together is meant.
    workspace: Option<String>,
    filter: DimensionFilter,
}

impl SummedParts {
    /// Reads them; `None` where no part is `*`, so that one dimension is meant.
    pub(super) fn of(request: &ReadRequest) -> Result<Option<Self>, Problem> {
        let mut query = request.query()?;
        let mut part =
            |name| Ok::<_, Problem>(query.take(name)?.map_or_else(|| UNKNOWN.to_owned(), String::from));
        let parts = [part("tool")?, part("context")?, part("model")?, part("task_type")?];
        let workspace = query.take("workspace")?.map(String::from);
        if !parts.iter().chain(&workspace).any(|part| part == EVERY) {
            return Ok(None);
        }
        if query.take_position("at")?.is_some() {
            return Err(bad_query("at", "tells of one dimension; name every part instead of `*`"));
        }
        query.finish()?;
        let read = |name, text: &str| {
            DimensionFilter::part(text).map_err(|error| bad_query(name, &error.to_string()))
        };
        let [tool, context, model, task_type] = &parts;
        if tool == UNKNOWN {
            return Err(bad_query("tool", "is missing"));
        }
        let workspaces = WorkspaceFilter::read(workspace.as_deref().unwrap_or_default());
        let filter = DimensionFilter {
            tool: read("tool", tool)?,
            context: read("context", context)?,
            model: read("model", model)?,
            task_type: read("task_type", task_type)?,
            workspace: workspaces.map_err(|error| bad_query("workspace", &error.to_string()))?,
        };
        Ok(Some(Self { parts, workspace, filter }))
    }

    /// Returns the parts as they were asked for.
    fn answer(self) -> DimensionAnswer {
        let [tool, context, model, task_type] = self.parts;
        DimensionAnswer { tool, context, model, task_type, workspace: self.workspace }
    }
}

/// Answers with the sum of all dimensions that are meant. A sum has no streak, score or standing: these are a dimension's own.
pub(super) async fn summed(
    api: &Arc<Api>,
    request: &ReadRequest,
    parts: SummedParts,
) -> Result<Response, Problem> {
    let head = request.state(api).await?;
    let copy = governance(&request.ledger)?.copy();
    let answer = api.read(move || {
        let meant = copy.state.dimensions(None).filter(|(dimension, _)| parts.filter.matches(dimension));
        let (mut sum, mut not_closed) = (TrustSum::default(), 0);
        for (dimension, record) in meant {
            let condition = copy.state.breaker_of(dimension).condition();
            not_closed += u64::from(condition != BreakerCondition::Closed);
            sum.add(record);
        }
        Ok(TrustSumAnswer {
            evaluated_at: format_time(head.time),
            dimension: parts.answer(),
            dimensions: sum.dimensions,
            approvals: sum.approvals,
            rejections: sum.rejections,
            failures: sum.failures,
            auto_approvals: sum.auto_approvals,
            last_updated: sum.last_updated.map(format_time),
            breakers_not_closed: not_closed,
        })
    });
    json_answer(&head, &answer.await?)
}

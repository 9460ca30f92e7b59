//! `…/trust/record` with `*` for a part: the sum of many dimensions.

use std::sync::Arc;

use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_governance::{DimensionFilter, TrustSum, WorkspaceFilter};
use bitacora_vocabulary::BreakerCondition;

use crate::api::Api;
use crate::http::media::JSON;
use crate::http::query::bad_query;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::requests::service_event::governance;

/// Every one.
const EVERY: &str = "*";
/// The text for a part that is not known, and for one that is left out.
const UNKNOWN: &str = "-";
/// The size of a sum in an answer, about, bytes.
const SUM_BYTES: usize = 384;

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

    fn write(&self, json: &mut JsonWriter) {
        json.key("dimension");
        json.begin_object();
        for (name, part) in ["tool", "context", "model", "task_type"].iter().zip(&self.parts) {
            json.text_member(name, part);
        }
        if let Some(workspace) = &self.workspace {
            json.text_member("workspace", workspace);
        }
        json.end_object();
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
    let evaluated_at = format_time(head.time);
    let bytes = api
        .read(move || {
            let meant = copy.state.dimensions(None).filter(|(dimension, _)| parts.filter.matches(dimension));
            let (mut sum, mut not_closed) = (TrustSum::default(), 0);
            for (dimension, record) in meant {
                let condition = copy.state.breaker_of(dimension).condition();
                not_closed += u64::from(condition != BreakerCondition::Closed);
                sum.add(record);
            }
            let mut json = JsonWriter::with_capacity(SUM_BYTES);
            json.begin_object();
            json.text_member("evaluatedAt", &evaluated_at);
            parts.write(&mut json);
            write_sum(&sum, &mut json);
            json.number_member("breakersNotClosed", not_closed);
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

fn write_sum(sum: &TrustSum, json: &mut JsonWriter) {
    json.number_member("dimensions", sum.dimensions);
    json.number_member("approvals", sum.approvals);
    json.number_member("rejections", sum.rejections);
    json.number_member("failures", sum.failures);
    json.number_member("autoApprovals", sum.auto_approvals);
    if let Some(updated) = sum.last_updated {
        json.text_member("lastUpdated", &format_time(updated));
    }
}

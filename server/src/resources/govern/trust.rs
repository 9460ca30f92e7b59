//! `…/trust`: the trust in dimensions, and an operator's acts on it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{format_time, parse_time};
use bitacora_governance::{
    Assessment, DimensionFilter, RankedFrom, TrustInputs, TrustRanking, TrustRecord, WorkspaceFilter,
};
use bitacora_vocabulary::{Dimension, DimensionPart, Score, TrustProbed, TrustSet};

use crate::api::Api;
use crate::http::query::{Query, bad_query};
use crate::json::json_of;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::answer_tiers::Tier;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::breakers::{breaker_now, breaker_then};
use crate::resources::govern::trust_history::standing_at;
use crate::resources::govern::trust_sum::{SummedParts, summed};
use bitacora_api::{
    ActAnswer, TrustAnswer, TrustDimension, TrustList, TrustProbeRequest, TrustRecordAnswer,
    TrustRecordOrSum, TrustSetRequest, paths,
};

/// The stream of operators' acts on trust.
const STREAM: &str = "governance/trust";

#[utoipa::path(
    get,
    path = paths::TRUST,
    tag = "governance",
    operation_id = "listTrust",
    params(
        InLedger,
        ("tool" = Option<String>, Query, description = "Of this tool; `*` means every one, as does leaving it out"),
        ("context" = Option<String>, Query, description = "Of this context"),
        ("model" = Option<String>, Query, description = "Of this model"),
        ("task_type" = Option<String>, Query, description = "Of this type of task"),
        ("workspace" = Option<String>, Query, description = "In this workspace; `*` means every one, as does leaving it out; an empty text means what is kept for all of them together"),
        ("order" = Option<String>, Query, description = "`top` (the default) or `bottom`: which scores come first"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Dimensions with observations, by score", body = TrustList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let filter = take_filter(&mut query)?;
    let from = match query.take("order")?.as_deref() {
        None | Some("top") => RankedFrom::Top,
        Some("bottom") => RankedFrom::Bottom,
        Some(_) => return Err(bad_query("order", "is neither `top` nor `bottom`")),
    };
    let paging = PageParams::<RankKey>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let bytes = api
        .read(move || {
            let rules = copy.state.rules_of_trust();
            let ranking = TrustRanking { rules: &rules, at: head.time, from };
            let meant = copy.state.dimensions(None).filter(|(dimension, _)| filter.matches(dimension));
            let after = paging.after.as_ref().map(|(score, dimension)| (*score, dimension));
            // One more than the page holds, so that it knows of the next.
            let first = ranking.first(meant, after, paging.limit + 1);
            let page =
                paging.page(first.into_iter(), |ranked| (ranked.assessment.score, ranked.dimension.clone()));
            let dimensions = page
                .items
                .into_iter()
                .map(|ranked| dimension_answer(ranked.dimension, ranked.record, &ranked.assessment));
            json_of(&TrustList {
                evaluated_at: format_time(head.time),
                dimensions: dimensions.collect(),
                next: page.next,
            })
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

/// The place of a dimension in a ranking.
type RankKey = (Score, Dimension);

#[utoipa::path(
    get,
    path = paths::TRUST_RECORD,
    tag = "governance",
    operation_id = "showTrust",
    params(
        InLedger,
        ("tool" = String, Query, description = "The tool. `*` for any part means every one: the counts of all these dimensions are summed, and a sum has no score, standing or streak"),
        ("context" = Option<String>, Query, description = "The context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task_type" = Option<String>, Query, description = "The type of task"),
        ("workspace" = Option<String>, Query, description = "The workspace, `-` for calls that named none; what is kept for all of them together where it is left out"),
        ("at" = Option<String>, Query, description = "As it stood after the event at this position. A service without read models folds it from the log, up to 100,000 events about trust"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What one dimension has shown; nothing where nothing was observed. With `*` for a part the sum of many", body = TrustRecordOrSum),
        Refusals,
    )
)]
pub(crate) async fn record(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    if let Some(parts) = SummedParts::of(&request)? {
        return summed(&api, &request, parts).await;
    }
    let dimension = take_dimension(&mut query)?;
    let at = query.take_position("at")?;
    query.finish()?;
    let head = request.state(&api).await?;
    let governance = governance(&request.ledger)?;
    let (time, standing, breaker) = match at {
        Some(at) => {
            let (time, standing, stood) = standing_at(&api, &request, dimension, at).await?;
            (time, standing, breaker_then(&stood))
        }
        None => {
            Tier::Hot.note();
            governance.read(|state| {
                let breaker = breaker_now(&state.breaker_of(&dimension));
                (head.time, state.standing(&dimension, head.time), breaker)
            })
        }
    };
    let answer = TrustRecordAnswer {
        evaluated_at: format_time(time),
        record: dimension_answer(&standing.dimension, &standing.record, &standing.assessment),
        breaker,
    };
    json_answer(&head, &answer)
}

#[utoipa::path(
    post,
    path = paths::TRUST_SET,
    tag = "governance",
    operation_id = "setTrust",
    params(InLedger),
    request_body(content = TrustSetRequest),
    responses(
        (status = 200, description = "Recorded: the counts take the place of the dimension's own", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn set(mut act: Act) -> Result<Response, Problem> {
    let set = act
        .read(|members| {
            Ok(TrustSet {
                dimension: members.require_known("dimension")?,
                counts: members.require_known("counts")?,
                by: None,
                reason: members.require("reason")?,
            })
        })
        .await?;
    act.record(STREAM, &set).await?.answer()
}

#[utoipa::path(
    post,
    path = paths::TRUST_PROBE,
    tag = "governance",
    operation_id = "probeTrust",
    params(InLedger),
    request_body(content = TrustProbeRequest),
    responses(
        (status = 200, description = "Recorded: calls of the dimension are reviewed up to that time, where they would be denied for its trust", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn probe(mut act: Act) -> Result<Response, Problem> {
    let probed = act
        .read(|members| {
            let dimension = members.require_known("dimension")?;
            let expires: String = members.require("expires")?;
            let expires = parse_time(&expires).map_err(|error| members.bad("expires", &error))?.0;
            Ok(TrustProbed { dimension, expires, by: None, reason: members.require("reason")? })
        })
        .await?;
    act.record(STREAM, &probed).await?.answer()
}

fn dimension_answer(dimension: &Dimension, record: &TrustRecord, assessment: &Assessment) -> TrustDimension {
    TrustDimension {
        dimension: dimension.into(),
        trust: trust_answer(&TrustInputs::from(record), assessment),
        auto_approvals: record.auto_approvals,
    }
}

/// The trust in a dimension, its score and its standing.
pub(super) fn trust_answer(inputs: &TrustInputs, assessment: &Assessment) -> TrustAnswer {
    TrustAnswer {
        score: assessment.score.to_string(),
        threshold: Some(assessment.threshold.to_string()),
        standing: assessment.standing.as_str().to_owned(),
        standing_reason: assessment.reason.as_str().to_owned(),
        approvals: inputs.approvals,
        rejections: inputs.rejections,
        failures: inputs.failures,
        recent_failures: inputs.recent_failures,
        streak: inputs.streak,
        last_updated: inputs.last_updated.map(format_time),
    }
}

/// Takes the filter of the dimensions that are asked for.
fn take_filter(query: &mut Query<'_>) -> Result<DimensionFilter, Problem> {
    let mut part = |name: &'static str| match query.take(name)? {
        None => Ok(None),
        Some(text) => DimensionFilter::part(&text).map_err(|error| bad_query(name, &error.to_string())),
    };
    Ok(DimensionFilter {
        tool: part("tool")?,
        context: part("context")?,
        model: part("model")?,
        task_type: part("task_type")?,
        workspace: match query.take("workspace")? {
            None => WorkspaceFilter::Every,
            Some(text) => {
                WorkspaceFilter::read(&text).map_err(|error| bad_query("workspace", &error.to_string()))?
            }
        },
    })
}

/// The dimension that is meant: what is left out is not known. Without a workspace it is the one for all workspaces together.
pub(crate) fn take_dimension(query: &mut Query<'_>) -> Result<Dimension, Problem> {
    let mut part = |name: &'static str| {
        let text = query.take(name)?.unwrap_or_else(|| "-".into());
        DimensionPart::new(text).map_err(|error| bad_query(name, &error.to_string()))
    };
    let tool = part("tool")?;
    if !tool.is_known() {
        return Err(bad_query("tool", "is missing"));
    }
    let together = Dimension::of([&tool, &part("context")?, &part("model")?, &part("task_type")?]);
    let workspace = query.take("workspace")?.map(DimensionPart::new).transpose();
    let workspace = workspace.map_err(|error| bad_query("workspace", &error.to_string()))?;
    Ok(together.in_workspace(workspace.as_ref()))
}

//! `…/trust`: what dimensions have shown, and an operator's word on it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::{Dimension, TrustProbed, TrustSet};
use bitacora_formats::{format_time, parse_time};
use bitacora_governance::{DimensionFilter, DimensionStanding, MAX_RANKED, RankedFrom, TrustInputs, ranked};

use super::openapi::PROBLEM;
use super::trust_history::standing_after;
use crate::access::Caller;
use crate::answers::{
    ActAnswer, ProblemAnswer, TrustList, TrustProbeRequest, TrustRecordAnswer, TrustSetRequest,
};
use crate::api::Api;
use crate::decision_json::{write_dimension, write_trust};
use crate::governed::{Governed, act_answer, governance, json_bytes};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::query::{Query, bad_query};
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of what operators say of trust.
const STREAM: &str = "governance/trust";
/// What one dimension takes in an answer, about, bytes.
const RECORD_BYTES: usize = 384;
/// Dimensions of a list, when the client names no limit.
const DEFAULT_DIMENSIONS: usize = 100;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/trust",
    tag = "governance",
    operation_id = "listTrust",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("tool" = Option<String>, Query, description = "Of this tool; `*` means every one, as does leaving it out"),
        ("context" = Option<String>, Query, description = "Of this context"),
        ("model" = Option<String>, Query, description = "Of this model"),
        ("task_type" = Option<String>, Query, description = "Of this type of task"),
        ("order" = Option<String>, Query, description = "`top` (the default) or `bottom`: which scores come first"),
        ("limit" = Option<usize>, Query, description = "At most this many, up to 1,000"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Dimensions with observations, by score", body = TrustList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let filter = take_filter(&mut query)?;
    let order = match query.take("order")?.as_deref() {
        None | Some("top") => RankedFrom::Top,
        Some("bottom") => RankedFrom::Bottom,
        Some(_) => return Err(bad_query("order", "is neither `top` nor `bottom`")),
    };
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(DEFAULT_DIMENSIONS);
    query.finish()?;
    if !(1..=MAX_RANKED).contains(&limit) {
        return Err(bad_query("limit", &format!("is not 1 to {MAX_RANKED}")));
    }
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let found: Vec<DimensionStanding> = governance(&ledger)?.read(|state| {
                let meant = state.dimensions(None).filter(|(dimension, _)| filter.matches(dimension));
                let first = ranked(meant, &state.rules_of_trust(), head.time, order, limit);
                let standing = |ranked: bitacora_governance::Ranked<'_>| DimensionStanding {
                    dimension: ranked.dimension.clone(),
                    record: *ranked.record,
                    assessment: ranked.assessment,
                };
                first.into_iter().map(standing).collect()
            });
            let mut json = JsonWriter::with_capacity(64 + RECORD_BYTES * found.len());
            json.begin_object();
            json.text_member("evaluatedAt", &format_time(head.time));
            json.key("dimensions");
            json.begin_array();
            for standing in &found {
                json.begin_object();
                write_standing(standing, &mut json);
                json.end_object();
            }
            json.end_array();
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/trust/record",
    tag = "governance",
    operation_id = "showTrust",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("tool" = String, Query, description = "The tool"),
        ("context" = Option<String>, Query, description = "The context; `-` where it is left out, as with the two that follow"),
        ("model" = Option<String>, Query, description = "The model"),
        ("task_type" = Option<String>, Query, description = "The type of task"),
        ("at" = Option<String>, Query, description = "As it stood after the event at this position: folded from the log, up to 100,000 events about trust"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "What one dimension has shown; nothing where nothing was observed", body = TrustRecordAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn record(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let dimension = take_dimension(&mut query)?;
    let at = query.take_position("at")?;
    query.finish()?;
    let head = question.state(&api).await?;
    let governance = governance(&question.ledger)?;
    let (time, standing) = match at {
        Some(at) => {
            let ledger = question.ledger.clone();
            api.read(move || standing_after(&ledger, &dimension, at)).await?
        }
        None => (head.time, governance.read(|state| state.standing(&dimension, head.time))),
    };
    let mut json = JsonWriter::with_capacity(RECORD_BYTES);
    json.begin_object();
    json.text_member("evaluatedAt", &format_time(time));
    write_standing(&standing, &mut json);
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/trust:set",
    tag = "governance",
    operation_id = "setTrust",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = TrustSetRequest),
    responses(
        (status = 200, description = "Recorded: the counts take the place of the dimension's own", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn set(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let body = json_bytes(&api, &headers, body).await?;
    let mut members = Members::of_body(body.as_slice())?;
    let set = TrustSet {
        dimension: members.require("dimension")?,
        counts: members.require("counts")?,
        by: None,
        reason: members.require("reason")?,
    };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &set)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/trust:probe",
    tag = "governance",
    operation_id = "probeTrust",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = TrustProbeRequest),
    responses(
        (status = 200, description = "Recorded: calls of the dimension are reviewed up to that time, where they would be denied for its trust", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn probe(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let body = json_bytes(&api, &headers, body).await?;
    let mut members = Members::of_body(body.as_slice())?;
    let dimension = members.require("dimension")?;
    let expires: String = members.require("expires")?;
    let expires = parse_time(&expires).map_err(|error| members.bad("expires", &error))?.0;
    let probed = TrustProbed { dimension, expires, by: None, reason: members.require("reason")? };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &probed)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

fn write_standing(standing: &DimensionStanding, json: &mut JsonWriter) {
    write_dimension(&standing.dimension, json);
    write_trust(&TrustInputs::from(&standing.record), &standing.assessment, json);
    json.number_member("autoApprovals", standing.record.auto_approvals);
}

/// Which dimensions are meant.
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
    })
}

/// The dimension that is meant: what is left out is not known.
pub(crate) fn take_dimension(query: &mut Query<'_>) -> Result<Dimension, Problem> {
    let mut part = |name: &'static str| {
        let text = query.take(name)?.unwrap_or_else(|| "-".into());
        bitacora_formats::vocabulary::DimensionPart::new(text)
            .map_err(|error| bad_query(name, &error.to_string()))
    };
    let tool = part("tool")?;
    if !tool.is_known() {
        return Err(bad_query("tool", "is missing"));
    }
    Ok(Dimension { tool, context: part("context")?, model: part("model")?, task_type: part("task_type")? })
}

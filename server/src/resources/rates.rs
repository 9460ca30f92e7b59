//! `…/rates`: how many calls are taken in a time, and what is left of that.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_formats::vocabulary::{RateBy, RateConfigured, RateLimit, RateScope};
use bitacora_governance::{MAX_LISTED, RateLevel};

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, ProblemAnswer, RateList, RateRequest};
use crate::api::Api;
use crate::governed::{Governed, act_answer, governance, json_bytes};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::query::{Query, bad_query};
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of all limits.
const STREAM: &str = "governance/rates";
/// What one limit or bucket takes in an answer, about, bytes.
const RATE_BYTES: usize = 192;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/rates",
    tag = "governance",
    operation_id = "listRates",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("by" = Option<String>, Query, description = "Only those of a `tool`, an `agent` or a `role`"),
        ("name" = Option<String>, Query, description = "Only those of this one; with `by`"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Limits, and buckets that are not full, up to 1,000 of each", body = RateList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let meant = Meant::take(&mut query)?;
    query.finish()?;
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let (limits, buckets) = governance(&ledger)?.read(|state| {
                let rates = state.all_rates();
                let limits = rates.limits().filter(|(scope, _)| meant.includes(scope));
                let limits: Vec<_> =
                    limits.take(MAX_LISTED + 1).map(|(scope, limit)| (scope.clone(), *limit)).collect();
                let buckets = rates.levels(head.time).filter(|(scope, _)| meant.includes(scope));
                let buckets: Vec<_> =
                    buckets.take(MAX_LISTED + 1).map(|(scope, level)| (scope.clone(), level)).collect();
                (limits, buckets)
            });
            let mut json = JsonWriter::with_capacity(128 + RATE_BYTES * (limits.len() + buckets.len()));
            json.begin_object();
            json.text_member("evaluatedAt", &format_time(head.time));
            json.key("limits");
            json.begin_array();
            limits.iter().take(MAX_LISTED).for_each(|(scope, limit)| write_limit(scope, limit, &mut json));
            json.end_array();
            json.key("buckets");
            json.begin_array();
            buckets.iter().take(MAX_LISTED).for_each(|(scope, level)| write_bucket(scope, level, &mut json));
            json.end_array();
            json.bool_member("complete", limits.len().max(buckets.len()) <= MAX_LISTED);
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

/// Whose limits and buckets are meant.
struct Meant {
    by: Option<RateBy>,
    name: Option<String>,
}

impl Meant {
    fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let by = match query.take("by")?.as_deref() {
            None => None,
            Some("tool") => Some(RateBy::Tool),
            Some("agent") => Some(RateBy::Agent),
            Some("role") => Some(RateBy::Role),
            Some(_) => return Err(bad_query("by", "is none of `tool`, `agent` and `role`")),
        };
        let name = query.take("name")?.map(String::from);
        if name.is_some() && by.is_none() {
            return Err(bad_query("name", "goes with `by`, which says what it is the name of"));
        }
        Ok(Self { by, name })
    }

    fn includes(&self, scope: &RateScope) -> bool {
        self.by.is_none_or(|by| by == scope.by)
            && self.name.as_deref().is_none_or(|name| scope.name.as_deref() == Some(name))
    }
}

fn write_limit(scope: &RateScope, limit: &RateLimit, json: &mut JsonWriter) {
    json.begin_object();
    json.serialized_member("scope", scope);
    json.serialized_member("limit", limit);
    json.end_object();
}

fn write_bucket(scope: &RateScope, level: &RateLevel, json: &mut JsonWriter) {
    json.begin_object();
    json.serialized_member("scope", scope);
    json.number_member("left", u64::from(level.left));
    json.number_member("burst", u64::from(level.limit.burst));
    if let Some(wait) = level.retry_after {
        json.number_member("retryAfterMs", wait.get());
    }
    if let Some(full) = level.full_at {
        json.text_member("fullAt", &format_time(full));
    }
    json.end_object();
}

#[utoipa::path(
    put,
    path = "/v1/ledgers/{ledger}/rates",
    tag = "governance",
    operation_id = "configureRate",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = RateRequest),
    responses(
        (status = 200, description = "Recorded: the scope's buckets are full again", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn configure(
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
    let configured = RateConfigured { scope: members.require("scope")?, limit: members.take("limit")? };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &configured)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

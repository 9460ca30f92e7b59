//! `…/breakers`: dimensions that fail, and those that are tried again.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_formats::vocabulary::{BreakerClosed, BreakerCondition, BreakerConfigured, BreakerSettings};
use bitacora_governance::MAX_LISTED;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest, ProblemAnswer};
use crate::api::Api;
use crate::decision_json::{breaker_name, write_dimension};
use crate::governed::{Governed, act_answer, governance, json_bytes};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::query::bad_query;
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of what operators say of breakers.
const STREAM: &str = "governance/breakers";
/// What one breaker takes in an answer, about, bytes.
const BREAKER_BYTES: usize = 320;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/breakers",
    tag = "governance",
    operation_id = "listBreakers",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("state" = Option<String>, Query, description = "Only those that are `closed`, `open` or `half_open`"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Breakers that have seen anything, up to 1,000; a dimension without one is closed", body = BreakerList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let wanted = match query.take("state")?.as_deref() {
        None => None,
        Some("closed") => Some(BreakerCondition::Closed),
        Some("open") => Some(BreakerCondition::Open),
        Some("half_open") => Some(BreakerCondition::HalfOpen),
        Some(_) => return Err(bad_query("state", "is none of `closed`, `open` and `half_open`")),
    };
    query.finish()?;
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let found: Vec<_> = governance(&ledger)?.read(|state| {
                let meant = state
                    .all_breakers()
                    .filter(|(_, breaker)| wanted.is_none_or(|wanted| breaker.condition() == wanted));
                meant.take(MAX_LISTED + 1).map(|(dimension, breaker)| (dimension.clone(), *breaker)).collect()
            });
            let mut json = JsonWriter::with_capacity(64 + BREAKER_BYTES * found.len());
            json.begin_object();
            json.key("breakers");
            json.begin_array();
            for (dimension, breaker) in found.iter().take(MAX_LISTED) {
                json.begin_object();
                write_dimension(dimension, &mut json);
                json.text_member("state", breaker_name(breaker.condition()));
                let window = breaker.window();
                json.number_member("outcomes", u64::from(window.outcomes));
                json.number_member("bad", u64::from(window.bad));
                if let Some(until) = breaker.cooldown_until() {
                    json.text_member("cooldownUntil", &format_time(until));
                }
                if let Some(good) = breaker.good_probes() {
                    json.number_member("goodProbes", u64::from(good));
                }
                json.serialized_member("settings", breaker.settings());
                json.end_object();
            }
            json.end_array();
            json.bool_member("complete", found.len() <= MAX_LISTED);
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/breakers:configure",
    tag = "governance",
    operation_id = "configureBreaker",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = BreakerSettingsRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
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
    let configured = BreakerConfigured {
        dimension: members.require("dimension")?,
        settings: BreakerSettings {
            window: members.require("window")?,
            failure_threshold: members.require("failureThreshold")?,
            recovery_probes: members.require("recoveryProbes")?,
            cooldown_s: members.require("cooldownS")?,
        },
    };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &configured)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/breakers:close",
    tag = "governance",
    operation_id = "closeBreaker",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = BreakerCloseRequest),
    responses(
        (status = 200, description = "Recorded: calls pass again, and the window is empty", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn close(
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
    let closed = BreakerClosed {
        dimension: members.require("dimension")?,
        by: Some(caller.actor_text()),
        reason: members.take("reason")?,
    };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &closed)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

//! `…/mode`: whether verdicts are meant.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::ModeConfigured;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, ModeAnswer, ModeRequest, ProblemAnswer};
use crate::api::Api;
use crate::decision_json::mode_name;
use crate::governed::{Governed, act_answer, governance, json_bytes};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of all modes.
const STREAM: &str = "governance/mode";

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/mode",
    tag = "governance",
    operation_id = "showMode",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "The mode of all calls, and of those that a scope is about", body = ModeAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    question.takes_no_parameters()?;
    let head = question.state(&api).await?;
    let (mode, scoped) = governance(&question.ledger)?.read(|state| {
        let modes = state.all_modes();
        let scoped: Vec<_> = modes.scoped().map(|(scope, mode)| (scope.clone(), mode)).collect();
        (modes.default_mode(), scoped)
    });
    let mut json = JsonWriter::with_capacity(64 + 128 * scoped.len());
    json.begin_object();
    json.text_member("mode", mode_name(mode));
    json.key("scopes");
    json.begin_array();
    for (scope, mode) in &scoped {
        json.begin_object();
        json.serialized_member("scope", scope);
        json.text_member("mode", mode_name(*mode));
        json.end_object();
    }
    json.end_array();
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

#[utoipa::path(
    put,
    path = "/v1/ledgers/{ledger}/mode",
    tag = "governance",
    operation_id = "setMode",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = ModeRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
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
    let configured = ModeConfigured {
        mode: members.require("mode")?,
        scope: members.take("scope")?,
        note: members.take("note")?,
    };
    members.finish()?;
    let appended = Governed::act(&ledger, &caller, STREAM, &configured)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

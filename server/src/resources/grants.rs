//! `…/grants`: consent that stands until it expires.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::{GrantGiven, GrantRevoked, Name};
use bitacora_formats::{Micros, format_time, parse_time};

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, GrantGivenAnswer, GrantList, GrantRequest, ProblemAnswer};
use crate::api::Api;
use crate::governed::{Governed, act_answer, act_id, governance, json_bytes, optional_note};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::{Code, Problem};
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of all grants.
const STREAM: &str = "governance/grants";

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/grants",
    tag = "governance",
    operation_id = "listGrants",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Those that hold, by their ids", body = GrantList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    question.takes_no_parameters()?;
    let head = question.state(&api).await?;
    let grants: Vec<GrantGiven> =
        governance(&question.ledger)?.read(|state| state.all_grants().holding(head.time).cloned().collect());
    let mut json = JsonWriter::with_capacity(64 + 256 * grants.len());
    json.begin_object();
    json.key("grants");
    json.begin_array();
    for grant in &grants {
        json.begin_object();
        json.text_member("grant", &grant.grant);
        json.serialized_member("scope", &grant.scope);
        json.text_member("expires", &format_time(Micros(grant.expires)));
        if let Some(note) = &grant.note {
            json.text_member("note", note);
        }
        json.end_object();
    }
    json.end_array();
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/grants",
    tag = "governance",
    operation_id = "giveGrant",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = GrantRequest),
    responses(
        (status = 201, description = "Recorded", body = GrantGivenAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn give(
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
    let grant = match members.take::<Name>("grant")? {
        Some(grant) => grant,
        None => Name::new(format!("g{}", act_id(&ledger))).unwrap_or(Name::LEAST),
    };
    let scope = members.require("scope")?;
    let expires: String = members.require("expires")?;
    let expires = parse_time(&expires).map_err(|error| members.bad("expires", &error))?.0;
    let note = members.take("note")?;
    members.finish()?;
    let given = GrantGiven { grant, scope, expires, note };
    let appended = Governed::act(&ledger, &caller, STREAM, &given)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::CREATED, &appended, |json| json.text_member("grant", &given.grant)))
}

#[utoipa::path(
    delete,
    path = "/v1/ledgers/{ledger}/grants/{grant}",
    tag = "governance",
    operation_id = "revokeGrant",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("grant" = String, Path, description = "Its id"),
    ),
    responses(
        (status = 200, description = "Recorded: it holds no longer", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn revoke(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let grant = Name::new(names.named.unwrap_or_default())
        .map_err(|_| Problem::new(Code::NoSuchGoverned, "there is no such grant; `…/grants` lists them"))?;
    let note = optional_note(&api, &headers, body, "note").await?;
    let revoked = GrantRevoked { grant, note };
    let appended = Governed::act(&ledger, &caller, STREAM, &revoked)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

//! `…/mode`: the enforcement mode.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_vocabulary::{ModeConfigured, ModeScope};

use crate::api::Api;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::decision_json::mode_name;
use crate::strict_object::ObjectMembers;
use bitacora_api::{ActAnswer, ModeAnswer, ModeRequest};

/// The stream of all modes.
const STREAM: &str = "governance/mode";
/// The size of one scope in an answer, about, bytes.
const SCOPE_BYTES: usize = 128;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/mode",
    tag = "governance",
    operation_id = "showMode",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "The mode of all calls, and of those that a scope is about", body = ModeAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<ModeScope>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let modes = copy.state.all_modes();
    let behind = modes.scoped().filter(|(scope, _)| paging.after.as_ref().is_none_or(|after| *scope > after));
    let page = paging.page(behind, |(scope, _)| (*scope).clone());
    let mut json = JsonWriter::with_capacity(64 + SCOPE_BYTES * page.items.len());
    json.begin_object();
    json.text_member("mode", mode_name(modes.default_mode()));
    page.write("scopes", &mut json, |(scope, mode), json| {
        json.begin_object();
        json.serialized_member("scope", scope);
        json.text_member("mode", mode_name(*mode));
        json.end_object();
    });
    json.end_object();
    Ok(page_answer(&request, &head, json.into_bytes()))
}

#[utoipa::path(
    put,
    path = "/v1/ledgers/{ledger}/mode",
    tag = "governance",
    operation_id = "setMode",
    params(InLedger),
    request_body(content = ModeRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn set(mut act: Act) -> Result<Response, Problem> {
    let configured = act
        .read(|members| {
            Ok(ModeConfigured {
                mode: members.require("mode")?,
                scope: take_scope(members)?,
                note: members.take("note")?,
            })
        })
        .await?;
    Ok(act.record(STREAM, &configured).await?.answer())
}

/// Takes the scope of the calls. Each part that is named is a name, and no `*`, which would be one like any other here.
fn take_scope(members: &mut ObjectMembers<'_>) -> Result<Option<ModeScope>, Problem> {
    let scope: Option<ModeScope> = members.take("scope")?;
    if let Some(ModeScope { tool, agent, role }) = &scope {
        members.refuse_every("scope", [tool.as_deref(), agent.as_deref(), role.as_deref()])?;
    }
    Ok(scope)
}

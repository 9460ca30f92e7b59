//! `…/mode`: the enforcement mode.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_vocabulary::{ModeConfigured, ModeScope};

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::decision_json::mode_name;
use crate::strict_object::ObjectMembers;
use bitacora_api::{ActAnswer, ModeAnswer, ModeRequest, ScopedMode, paths};

/// The stream of all modes.
const STREAM: &str = "governance/mode";

#[utoipa::path(
    get,
    path = paths::MODE,
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
    let scopes = page
        .items
        .into_iter()
        .map(|(scope, mode)| ScopedMode { scope: scope.into(), mode: mode_name(mode).to_owned() });
    let answer = ModeAnswer {
        mode: mode_name(modes.default_mode()).to_owned(),
        scopes: scopes.collect(),
        next: page.next,
    };
    written_page_at(&request, head.position, &answer)
}

#[utoipa::path(
    put,
    path = paths::MODE,
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
    act.record(STREAM, &configured).await?.answer()
}

/// Takes the scope of the calls. Each part that is named is a name, and no `*`, which would be one like any other here.
fn take_scope(members: &mut ObjectMembers<'_>) -> Result<Option<ModeScope>, Problem> {
    let scope: Option<ModeScope> = members.take("scope")?;
    if let Some(ModeScope { tool, agent, role }) = &scope {
        members.refuse_every("scope", [tool.as_deref(), agent.as_deref(), role.as_deref()])?;
    }
    Ok(scope)
}

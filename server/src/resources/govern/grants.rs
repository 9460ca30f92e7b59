//! `…/grants`: consent that stands until it expires.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_formats::{Micros, format_time, parse_time};
use bitacora_vocabulary::{GrantGiven, GrantRevoked, GrantScope, Name};

use crate::api::Api;
use crate::limits::MAX_TOLD_TIME;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::{act_id, governance};
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ActAnswer, GrantAnswer, GrantGivenAnswer, GrantList, GrantRequest, paths};

/// The stream of all grants.
const STREAM: &str = "governance/grants";

#[utoipa::path(
    get,
    path = paths::GRANTS,
    tag = "governance",
    operation_id = "listGrants",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Those that hold, by their ids", body = GrantList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<Name>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let held = copy.state.all_grants().holding(head.time);
    let behind = held.filter(|held| paging.after.as_ref().is_none_or(|after| held.grant > *after));
    let page = paging.page(behind, |held| held.grant.clone());
    let grants = page.items.into_iter().map(listed).collect();
    written_page_at(&request, head.position, &GrantList { grants, next: page.next })
}

fn listed(held: &GrantGiven) -> GrantAnswer {
    GrantAnswer {
        grant: held.grant.to_string(),
        scope: (&held.scope).into(),
        expires: format_time(Micros(held.expires)),
        note: held.note.as_ref().map(ToString::to_string),
    }
}

#[utoipa::path(
    post,
    path = paths::GRANTS,
    tag = "governance",
    operation_id = "giveGrant",
    params(InLedger),
    request_body(content = GrantRequest),
    responses(
        (status = 201, description = "Recorded", body = GrantGivenAnswer),
        Refusals,
    )
)]
pub(crate) async fn give(mut act: Act) -> Result<Response, Problem> {
    let own = act_id(&act.ledger);
    let given = act
        .read(|members| {
            let grant = match members.take::<Name>("grant")? {
                Some(grant) => grant,
                None => Name::new(format!("g{own}")).unwrap_or(Name::LEAST),
            };
            let scope: GrantScope = members.require("scope")?;
            let GrantScope { tool, server, context, agent, session, workspace, parts } = &scope;
            let optional = [
                server.as_deref(),
                context.as_deref(),
                agent.as_deref(),
                session.as_deref(),
                workspace.as_deref(),
            ];
            let parts = parts.iter().flat_map(|parts| parts.iter()).map(|part| Some(part.as_str()));
            members.refuse_every("scope", [Some(&**tool)].into_iter().chain(optional).chain(parts))?;
            let expires: String = members.require("expires")?;
            let expires = parse_time(&expires).map_err(|error| members.bad("expires", &error))?;
            if expires > MAX_TOLD_TIME {
                let last = format_time(MAX_TOLD_TIME);
                return Err(members.bad("expires", &format_args!("it is past {last}; name an earlier time")));
            }
            let expires = expires.0;
            Ok(GrantGiven { grant, scope, expires, note: members.take("note")? })
        })
        .await?;
    let recorded = act.record(STREAM, &given).await?;
    let grant = given.grant.to_string();
    recorded.answer_as(StatusCode::CREATED, |position| GrantGivenAnswer { position, grant })
}

#[utoipa::path(
    delete,
    path = paths::GRANT,
    tag = "governance",
    operation_id = "revokeGrant",
    params(
        InLedger,
        ("grant" = String, Path, description = "Its id"),
    ),
    responses(
        (status = 200, description = "Recorded: it holds no longer", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn revoke(mut act: Act) -> Result<Response, Problem> {
    let grant = Name::new(act.named())
        .map_err(|_| Problem::new(Code::NoSuchGoverned, "there is no such grant; `…/grants` lists them"))?;
    let note = act.note("note").await?;
    act.record(STREAM, &GrantRevoked { grant, note }).await?.answer()
}

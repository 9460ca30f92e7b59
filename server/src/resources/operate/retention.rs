//! `…/retention`: the policy that says how long events are kept.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_api::{ActAnswer, RetentionAnswer, RetentionRequest, paths};
use bitacora_vocabulary::RetentionChanged;

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::listing::written_page_at;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::operate::holds::blocking;

#[utoipa::path(
    get,
    path = paths::RETENTION,
    tag = "operation",
    operation_id = "showRetention",
    params(
        InLedger,
        AtLeast,
    ),
    responses(
        (status = 200, description = "The policy in force", body = RetentionAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let standing = copy.state.retention();
    let answer = RetentionAnswer {
        rules: standing.rules.iter().map(Into::into).collect(),
        position: standing.position.map(|position| position.get().to_string()),
    };
    written_page_at(&request, head.position, &answer)
}

/// Sets the whole policy, in place of the one before.
#[utoipa::path(
    put,
    path = paths::RETENTION,
    tag = "operation",
    operation_id = "setRetention",
    params(InLedger),
    request_body(content = RetentionRequest),
    responses(
        (status = 200, description = "Recorded, and in force", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn set(mut act: Act) -> Result<Response, Problem> {
    let changed = act
        .read(|members| {
            Ok(RetentionChanged {
                rules: members.require("rules")?,
                by: members.take("by")?,
                reason: members.require("reason")?,
            })
        })
        .await?;
    act.query(|_| Ok(()))?;
    let turn = act.custody_turn().await;
    act.caller.still_holds(&act.api.authenticator)?;
    let (ledger, actor) = (act.ledger.ledger().clone(), act.caller.actor().to_owned());
    let position = blocking(turn, move || Ok(ledger.change_retention(&changed, Some(&actor))?)).await?;
    json_answer(&act.ledger.head(), &ActAnswer { position: position.to_string() })
}

//! `…/decisions/{position}`: a decision, and all that it rests on.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_ledger::StoredEvent;
use bitacora_vocabulary::{DecisionMade, EventData};

use crate::api::Api;
use crate::http::media::JSON;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::requests::service_event::{data_of, governance};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::decision_json::{DecisionAnswer, rules_of};
use bitacora_api::{DecisionAnswer as DecisionShape, paths};

#[utoipa::path(
    get,
    path = paths::DECISION,
    tag = "governance",
    operation_id = "showDecision",
    params(
        InLedger,
        ("position" = String, Path, description = "Where it stands"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "As it was answered, with each step", body = DecisionShape),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let position = request
        .names
        .position
        .ok_or_else(|| Problem::new(Code::BadPosition, "the path names no position"))?;
    let head = request.state(&api).await?;
    let ledger = request.ledger.clone();
    let bytes = api
        .read(move || {
            let stored = ledger.event(position)?;
            if stored.event.kind != DecisionMade::KIND {
                let detail = format!("the event at position {position} is `{}`", stored.event.kind);
                return Err(Problem::new(Code::NotFound, detail).with("position", position));
            }
            let decision: DecisionMade = data_of(&stored)?;
            let rules = governance(&ledger)?.read(|state| rules_of(&decision, state));
            let StoredEvent { position, time, .. } = stored;
            Ok(DecisionAnswer { decision: &decision, position, time, rules, explain: true }.to_json())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

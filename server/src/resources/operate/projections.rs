//! `/v1/projections`: the progress of each ledger's projections; `…/projections/{projection}:rebuild`.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use bitacora_formats::{LedgerName, Position};
use bitacora_projector::{IndexState, IndexStatus, ModelState, ModelStatus, ReadModels};

use crate::api::Api;
use crate::http::media::JSON;
use crate::http::path::ledger_name;
use crate::http::query::{Query, bad_query};
use crate::json::{hex, json_of};
use crate::ledgers::MAX_LEDGERS;
use crate::ledgers::slot::Slot;
use crate::problem::{Code, Problem};
use crate::requests::act::no_such_verb;
use crate::requests::read_model_query::read_models;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{InLedger, Refusals};
use crate::resources::operate::ledgers::json_answer;
use bitacora_api::{ProjectionAnswer, ProjectionList, RebuildAnswer, paths};

/// The name of the index among projections.
const INDEX: &str = "index";

#[utoipa::path(
    get,
    path = paths::PROJECTIONS,
    tag = "operation",
    operation_id = "listProjections",
    params(
        ("after" = Option<String>, Query, description = "Only of ledgers past this name"),
        ("limit" = Option<usize>, Query, description = "Of at most this many ledgers"),
    ),
    responses(
        (status = 200, description = "The projections, by ledger", body = ProjectionList),
        Refusals,
    )
)]
pub(crate) async fn list(
    State(api): State<Arc<Api>>,
    RawQuery(parameters): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Query::parse(parameters.as_deref())?;
    let after = query.take("after")?.map(|name| ledger_name(&name)).transpose()?;
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(MAX_LEDGERS);
    query.finish()?;
    if !(1..=MAX_LEDGERS).contains(&limit) {
        return Err(bad_query("limit", &format!("is not 1 to {MAX_LEDGERS}")));
    }
    let slots = api.ledgers.all();
    let mut rest = slots
        .range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
        .filter_map(|(name, slot)| match slot {
            Slot::Open(ledger) => Some((name, ledger)),
            Slot::Failed(_) | Slot::Waiting(_) => None,
        })
        .peekable();
    let (mut projections, mut last) = (Vec::new(), None);
    for (name, ledger) in rest.by_ref().take(limit) {
        projections.push(index_answer(name, &ledger.index_status()));
        let models = ledger.read_models().map(ReadModels::status).unwrap_or_default();
        projections.extend(models.iter().map(|model| model_answer(name, model)));
        last = Some(name);
    }
    let next = rest.peek().and(last).map(LedgerName::to_string);
    json_answer(StatusCode::OK, &ProjectionList { projections, next })
}

fn index_answer(ledger: &LedgerName, status: &IndexStatus) -> ProjectionAnswer {
    let (digest_position, digest) = status.digest.unzip();
    ProjectionAnswer {
        ledger: ledger.to_string(),
        name: INDEX.to_owned(),
        version: status.version.into(),
        state: status.state.name().to_owned(),
        why: match &status.state {
            IndexState::Degraded(why) => Some(why.clone()),
            IndexState::Ok | IndexState::Rebuilding | IndexState::Stopped => None,
        },
        position: status.position.map_or(0, Position::get).to_string(),
        lag: status.lag,
        rows: None,
        digest: digest.map(|digest| hex(&digest)),
        digest_position: digest_position.map(|position| position.to_string()),
    }
}

fn model_answer(ledger: &LedgerName, status: &ModelStatus) -> ProjectionAnswer {
    // While rows have yet to leave, or an event is not in them, the same events may have another one.
    let digest = status.digest.filter(|_| !status.is_cutting && status.late == 0);
    ProjectionAnswer {
        ledger: ledger.to_string(),
        name: status.name.to_owned(),
        version: status.version,
        state: status.state.name().to_owned(),
        why: match &status.state {
            ModelState::Degraded(why) | ModelState::Stopped(why) => Some(why.clone()),
            ModelState::Ok | ModelState::Rebuilding => None,
        },
        position: status.position.map_or(0, Position::get).to_string(),
        lag: status.lag,
        rows: status.digest.map(|(_, rows, _)| rows),
        digest: digest.map(|(.., digest)| hex(&digest)),
        digest_position: digest.map(|(position, ..)| position.to_string()),
    }
}

#[utoipa::path(
    post,
    path = paths::PROJECTION,
    tag = "operation",
    operation_id = "rebuildProjection",
    params(
        InLedger,
        ("projection" = String, Path, description = "A read model's name, with `:rebuild` behind it"),
    ),
    responses(
        (status = 202, body = RebuildAnswer, description = "Begun: it is folded from the log again beside the one that answers, whose place it takes once it has come to where that one stands. `/v1/projections` shows how far it is"),
        Refusals,
    )
)]
pub(crate) async fn fold_again(request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let named = request.names.named.as_deref().unwrap_or_default();
    let name = named.strip_suffix(":rebuild");
    let models = read_models(&request.ledger)?;
    if let Some(name) = name.filter(|name| models.fold_again(name)) {
        let answer = RebuildAnswer { projection: name.to_owned() };
        let mut response = Response::new(Body::from(json_of(&answer)?));
        *response.status_mut() = StatusCode::ACCEPTED;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        return Ok(response);
    }
    let Some(name) = name else {
        return Err(no_such_verb("what is done with a read model is `:rebuild`"));
    };
    let known: Vec<_> = models.status().iter().map(|model| model.name).collect();
    let detail = format!("there is no read model `{name}`; there are {}", known.join(", "));
    Err(Problem::new(Code::NoSuchResource, detail))
}

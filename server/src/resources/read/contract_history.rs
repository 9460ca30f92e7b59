//! `…/contracts/{contract}`, its `/checks`, and `…/rollbacks`: definitions, checks and rollbacks.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::{CheckQuery, RollbackQuery, RollbackState};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::{Code, Problem, quoted};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ContractCheckList, ContractShown, RollbackList, paths};

/// The model that is asked.
const MODEL: &str = "contracts";

#[utoipa::path(
    get,
    path = paths::CONTRACT,
    tag = "governance",
    operation_id = "showContract",
    params(
        InLedger,
        ("contract" = String, Path, description = "Its name; `-` for checks that name none"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The contract, with its newest definitions", body = ContractShown),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let name = request.names.named.clone().unwrap_or_default();
    let asked = name.clone();
    let (found, position) = ask_model(&api, &request, MODEL, move |models| models.contract(&asked)).await?;
    let (contract, definitions) = found.ok_or_else(|| unknown(&name).with("position", position))?;
    written_page_at(&request, position, &contract.answer(definitions))
}

#[utoipa::path(
    get,
    path = paths::CONTRACT_CHECKS,
    tag = "governance",
    operation_id = "listContractChecks",
    params(
        InLedger,
        ("contract" = String, Path, description = "The contract; `-` for checks that name none"),
        ("failed" = Option<bool>, Query, description = "With `true`: only those that did not hold"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "What its checks found, the newest first", body = ContractCheckList),
        Refusals,
    )
)]
pub(crate) async fn checks(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let failed_only = query.take_parsed::<bool>("failed", "`true` or `false`")?.unwrap_or(false);
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let contract = request.names.named.clone().unwrap_or_default();
    let before = paging.after.and_then(Position::new);
    let asked = CheckQuery { contract: contract.clone(), failed_only, before, limit: paging.limit };
    let ask = ask_model(&api, &request, MODEL, move |models| {
        Ok((models.contract(&asked.contract)?.0.is_some(), models.contract_checks(&asked)?))
    });
    let (is_known, found) = ask.await?;
    if !is_known {
        return Err(unknown(&contract).with("position", found.position));
    }
    let last = found.items.last().map(|check| check.position).filter(|_| found.more);
    let next = last.and_then(|last| PageParams::next(&last));
    let page = ContractCheckList { checks: found.items.into_iter().map(Into::into).collect(), next };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::ROLLBACKS,
    tag = "governance",
    operation_id = "listRollbacks",
    params(
        InLedger,
        ("state" = Option<String>, Query, description = "Only those that are `asked`, `approved`, `rejected`, `expired`, `withdrawn` or `executed`"),
        ("agent" = Option<String>, Query, description = "Only those of calls of this agent"),
        ("contract" = Option<String>, Query, description = "Only those of this contract"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Rollbacks, the newest first; 20,000 are looked at for a page at most", body = RollbackList),
        Refusals,
    )
)]
pub(crate) async fn rollbacks(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let state = query.take("state")?.map(|word| state_of(&word)).transpose()?;
    let (agent, contract) = (query.take("agent")?.map(Into::into), query.take("contract")?.map(Into::into));
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let before = paging.after.and_then(Position::new);
    let asked = RollbackQuery { state, agent, contract, before, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.rollbacks(&asked)).await?;
    let next = found.next.and_then(|next| PageParams::next(&next.get()));
    let page = RollbackList { rollbacks: found.rollbacks.into_iter().map(Into::into).collect(), next };
    written_page_at(&request, found.position, &page)
}

fn unknown(contract: &str) -> Problem {
    Problem::new(Code::NoSuchContract, format!("no contract {} is recorded", quoted(contract)))
}

fn state_of(word: &str) -> Result<RollbackState, Problem> {
    let found = RollbackState::ALL.into_iter().find(|state| state.answer_word() == word);
    found.ok_or_else(|| {
        let words = RollbackState::ALL.map(|state| format!("`{}`", state.answer_word())).join(", ");
        bad_query("state", &format!("is none of {words}"))
    })
}

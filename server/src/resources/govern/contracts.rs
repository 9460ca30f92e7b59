//! `…/contracts`: conditions that hold before and after a step.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_vocabulary::{ContractDefined, ContractPart, Name};

use crate::api::Api;
use crate::json::{json_of, raw_json, word_of};
use crate::problem::Problem;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ContractAnswer, ContractList, paths};

#[utoipa::path(
    get,
    path = paths::CONTRACTS,
    tag = "governance",
    operation_id = "listContracts",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Contracts, as they were defined last, by their names", body = ContractList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<Name>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let bytes = api
        .read(move || {
            let defined = copy.state.all_contracts().defined(paging.after.as_ref());
            let page = paging.page(defined, |contract| contract.contract.clone());
            let contracts = page.items.into_iter().map(listed).collect::<Result<_, _>>()?;
            json_of(&ContractList { contracts, next: page.next })
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

fn listed(defined: &ContractDefined) -> Result<ContractAnswer, Problem> {
    let ContractDefined { contract, pre, post, rollback, blast_radius } = defined;
    let parts = |parts: &[ContractPart]| parts.iter().map(raw_json).collect::<Result<_, _>>();
    Ok(ContractAnswer {
        contract: contract.to_string(),
        pre: parts(pre)?,
        post: parts(post)?,
        rollback: parts(rollback)?,
        blast_radius: word_of(blast_radius)?,
    })
}

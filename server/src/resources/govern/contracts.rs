//! `…/contracts`: conditions that hold before and after a step.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_vocabulary::{ContractDefined, Name};

use crate::api::Api;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::ContractList;

/// The size of one contract in an answer, about, bytes.
const CONTRACT_BYTES: usize = 1_024;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/contracts",
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
            let mut json = JsonWriter::with_capacity(64 + CONTRACT_BYTES * page.items.len());
            json.begin_object();
            page.write("contracts", &mut json, |contract, json| write_contract(contract, json));
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

fn write_contract(defined: &ContractDefined, json: &mut JsonWriter) {
    let ContractDefined { contract, pre, post, rollback, blast_radius } = defined;
    json.begin_object();
    json.text_member("contract", contract);
    json.serialized_member("pre", pre);
    json.serialized_member("post", post);
    json.serialized_member("rollback", rollback);
    json.serialized_member("blastRadius", blast_radius);
    json.end_object();
}

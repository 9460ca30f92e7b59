//! `/v1/openapi.json`: the interface, as the handlers describe it.

mod bodies;
mod cloud_event;
mod described;
mod stream_twins;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use axum::http::{Method, header};
use axum::response::IntoResponse;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use self::stream_twins::StreamTwins;
use crate::resources::govern::{
    approvals, breakers, budgets, clock, contracts, decide, decisions, grants, hooks, imports, mode, outcome,
    policy, policy_cache, rates, starter, state, stops, suggestions, tools, trust, trust_history,
    trust_months, unregistered_tools, what_if,
};
use crate::resources::operate::{
    admin, bulk_exports, caller, erasures, health, holds, keys, ledgers, metrics, principals, projections,
    retention, sign_in, tiers, verifications,
};
use crate::resources::read::{
    archives, calls, checkpoints, contract_history, costs, decision_minutes, events, evidence, gaps, head,
    proofs, receipts, resolutions, runs, schemas, sessions, tiles, tool_usage, tree_head,
};
use crate::resources::write::{annotations, append, checkpoint_acts, contents, exports, ingest};
use bitacora_api::{
    CheckpointCopyRequest, CheckpointForkRequest, CheckpointWritesRequest, EndLine, FaultAnswer,
    ProblemAnswer,
};

/// The document, for the copy that is committed in `docs/`.
///
/// # Errors
/// None that the document's own types can give.
pub fn openapi_json() -> Result<String, serde_json::Error> {
    let mut document = serde_json::to_value(Interface::openapi())?;
    described::complete(&mut document);
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

pub(crate) async fn document() -> impl IntoResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi_json().unwrap_or_default());
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bitacora",
        description = "The ledger that AI agents are governed by.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        append::append,
        ingest::ingest,
        exports::ledger_traces,
        exports::ledger_logs,
        exports::ledger_metrics,
        exports::traces,
        exports::logs,
        exports::metrics,
        events::list,
        events::show,
        caller::show,
        erasures::create,
        holds::list,
        holds::place,
        holds::release,
        retention::show,
        retention::set,
        principals::list,
        keys::show,
        archives::list,
        verifications::list,
        verifications::start,
        verifications::show,
        head::head,
        ledgers::list,
        ledgers::show,
        ledgers::create,
        sign_in::page,
        health::livez,
        health::readyz,
        metrics::metrics,
        proofs::inclusion,
        proofs::consistency,
        tiles::show,
        tree_head::show,
        tree_head::checkpoint,
        evidence::bundle,
        receipts::show,
        decide::decide,
        decide::decide_batch,
        hooks::run,
        outcome::report,
        approvals::list,
        approvals::show,
        approvals::resolve,
        decisions::show,
        tools::list,
        tools::put,
        tools::revoke,
        unregistered_tools::list,
        policy::show,
        policy::publish,
        policy::show_version,
        policy::change,
        policy::diff,
        starter::show,
        starter::upgrade,
        what_if::dry_run,
        what_if::replay,
        trust::list,
        trust::record,
        trust_history::history,
        trust_months::list,
        trust::set,
        trust::probe,
        breakers::list,
        breakers::configure,
        breakers::close,
        mode::show,
        mode::set,
        rates::list,
        rates::configure,
        budgets::list,
        budgets::configure,
        contracts::list,
        contract_history::show,
        contract_history::checks,
        contract_history::rollbacks,
        grants::list,
        grants::give,
        grants::revoke,
        imports::list,
        imports::show,
        imports::accept,
        clock::show,
        clock::accept,
        stops::show,
        stops::engage,
        stops::release,
        stops::change,
        tiers::show,
        projections::list,
        projections::fold_again,
        calls::list,
        calls::show,
        costs::list,
        tool_usage::list,
        decision_minutes::list,
        gaps::list,
        resolutions::list,
        resolutions::answerers,
        suggestions::list,
        suggestions::refresh,
        suggestions::answer,
        annotations::list,
        annotations::add,
        bulk_exports::record,
        runs::list,
        runs::show,
        runs::steps,
        sessions::list,
        sessions::show,
        checkpoints::list,
        checkpoints::show,
        checkpoint_acts::act,
        checkpoint_acts::delete,
        contents::store,
        policy_cache::show,
        policy_cache::watch,
        state::show,
        schemas::list,
        schemas::show,
        admin::drain,
        admin::seal,
        admin::read_only,
    ),
    components(schemas(
        EndLine,
        ProblemAnswer,
        FaultAnswer,
        CheckpointCopyRequest,
        CheckpointForkRequest,
        CheckpointWritesRequest
    )),
    modifiers(&Tokens, &StreamTwins),
    security(("token" = []))
)]
struct Interface;

/// The parameters of the query that each operation takes: those that it describes, and no others. A route that describes none takes
/// none.
pub(crate) fn takes_parameter(method: &Method, path: &str, name: &str) -> bool {
    static TAKEN: LazyLock<BTreeMap<(Method, String), BTreeSet<String>>> = LazyLock::new(taken_parameters);
    let method = if method == Method::HEAD { Method::GET } else { method.clone() };
    TAKEN.get(&(method, path.to_owned())).is_some_and(|names| names.contains(name))
}

fn taken_parameters() -> BTreeMap<(Method, String), BTreeSet<String>> {
    let mut taken = BTreeMap::new();
    for (path, item) in Interface::openapi().paths.paths {
        let operations = [
            (Method::GET, item.get),
            (Method::POST, item.post),
            (Method::PUT, item.put),
            (Method::DELETE, item.delete),
        ];
        for (method, operation) in operations {
            let parameters = operation.and_then(|operation| operation.parameters).unwrap_or_default();
            let names = parameters.into_iter().filter_map(|parameter| match parameter {
                RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name),
                _ => None,
            });
            taken.insert((method, path.clone()), names.collect());
        }
    }
    taken
}

/// The token that a request shows. Paths that take none say so.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
            "A ledger's token: `bt_` and 43 characters. `docs/security.md` says which role each path takes.",
        ));
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(token.build()));
    }
}

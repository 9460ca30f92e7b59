//! The table of routes, and the checks that every request passes first.

mod access_guard;
mod doubt;
mod origin_guard;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post, put};

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::resources::govern::{
    approvals, breakers, budgets, clock, contracts, decide, decisions, grants, imports, mode, outcome,
    policy, policy_cache, rates, starter, state, stops, suggestions, tools, trust, trust_history,
    trust_months, unregistered_tools, what_if,
};
use crate::resources::operate::{admin, health, ledgers, metrics, openapi, projections, sign_in};
use crate::resources::read::{
    calls, checkpoints, contract_history, costs, events, gaps, head, proofs, receipts, resolutions, runs,
    schemas, sessions, tiles, tool_usage, tree_head,
};
use crate::resources::write::{annotations, append, checkpoint_acts, contents, ingest};
/// Every path of the interface.
pub(crate) fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/", get(sign_in::page))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/openapi.json", get(openapi::document))
        .route("/v1/ledgers", get(ledgers::list).post(ledgers::create))
        .route("/v1/ledgers/{ledger}", get(ledgers::show))
        .route("/v1/ledgers/{ledger}/head", get(head::head))
        .route("/v1/ledgers/{ledger}/events", get(events::list).post(append::append))
        .route("/v1/ledgers/{ledger}/events:ingest", post(ingest::ingest))
        .route("/v1/ledgers/{ledger}/streams/{stream}/events:ingest", post(ingest::ingest_to_stream))
        .route("/v1/ledgers/{ledger}/events/{position}", get(events::show))
        .route(
            "/v1/ledgers/{ledger}/streams/{stream}/events",
            get(events::list_stream).post(append::append_to_stream),
        )
        .route("/v1/ledgers/{ledger}/proofs/inclusion", get(proofs::inclusion))
        .route("/v1/ledgers/{ledger}/proofs/consistency", get(proofs::consistency))
        .route("/v1/ledgers/{ledger}/tile/{*tile}", get(tiles::show))
        .route("/v1/ledgers/{ledger}/receipts/{position}", get(receipts::show))
        .route("/v1/ledgers/{ledger}/treehead", get(tree_head::show))
        .route("/v1/ledgers/{ledger}/checkpoint", get(tree_head::checkpoint))
        .route("/v1/ledgers/{ledger}/decide", post(decide::decide))
        .route("/v1/ledgers/{ledger}/decide:batch", post(decide::decide_batch))
        .route("/v1/ledgers/{ledger}/outcome", post(outcome::report))
        .route("/v1/ledgers/{ledger}/approvals", get(approvals::list))
        .route("/v1/ledgers/{ledger}/approvals/{approval}", get(approvals::show).post(approvals::resolve))
        .route("/v1/ledgers/{ledger}/decisions/{position}", get(decisions::show))
        .route("/v1/ledgers/{ledger}/tools", get(tools::list))
        .route("/v1/ledgers/{ledger}/tools/{tool}", put(tools::put).delete(tools::revoke))
        .route("/v1/ledgers/{ledger}/unregistered-tools", get(unregistered_tools::list))
        .route("/v1/ledgers/{ledger}/policy", get(policy::show).put(policy::publish))
        .route("/v1/ledgers/{ledger}/policy/{version}", get(policy::show_version).post(policy::change))
        .route("/v1/ledgers/{ledger}/policy/{version}/diff", get(policy::diff))
        .route("/v1/ledgers/{ledger}/policy:dry-run", post(what_if::dry_run))
        .route("/v1/ledgers/{ledger}/starter", get(starter::show))
        .route("/v1/ledgers/{ledger}/starter:upgrade", post(starter::upgrade))
        .route("/v1/ledgers/{ledger}/policy-cache", get(policy_cache::show))
        .route("/v1/ledgers/{ledger}/policy-cache:watch", get(policy_cache::watch))
        .route("/v1/ledgers/{ledger}/replay", get(what_if::replay))
        .route("/v1/ledgers/{ledger}/trust", get(trust::list))
        .route("/v1/ledgers/{ledger}/trust/record", get(trust::record))
        .route("/v1/ledgers/{ledger}/trust/history", get(trust_history::history))
        .route("/v1/ledgers/{ledger}/trust/months", get(trust_months::list))
        .route("/v1/ledgers/{ledger}/trust:set", post(trust::set))
        .route("/v1/ledgers/{ledger}/trust:probe", post(trust::probe))
        .route("/v1/ledgers/{ledger}/breakers", get(breakers::list))
        .route("/v1/ledgers/{ledger}/breakers:configure", post(breakers::configure))
        .route("/v1/ledgers/{ledger}/breakers:close", post(breakers::close))
        .route("/v1/ledgers/{ledger}/mode", get(mode::show).put(mode::set))
        .route("/v1/ledgers/{ledger}/budgets", get(budgets::list).put(budgets::configure))
        .route("/v1/ledgers/{ledger}/contracts", get(contracts::list))
        .route("/v1/ledgers/{ledger}/contracts/{contract}", get(contract_history::show))
        .route("/v1/ledgers/{ledger}/contracts/{contract}/checks", get(contract_history::checks))
        .route("/v1/ledgers/{ledger}/rollbacks", get(contract_history::rollbacks))
        .route("/v1/ledgers/{ledger}/rates", get(rates::list).put(rates::configure))
        .route("/v1/ledgers/{ledger}/grants", get(grants::list).post(grants::give))
        .route("/v1/ledgers/{ledger}/grants/{grant}", delete(grants::revoke))
        .route("/v1/ledgers/{ledger}/imports", get(imports::list))
        .route("/v1/ledgers/{ledger}/imports/{import}", get(imports::show).post(imports::accept))
        .route("/v1/ledgers/{ledger}/clock", get(clock::show))
        .route("/v1/ledgers/{ledger}/clock:accept", post(clock::accept))
        .route("/v1/ledgers/{ledger}/panic", get(stops::show).post(stops::engage).delete(stops::release))
        .route("/v1/ledgers/{ledger}/agents/{agent}", post(stops::change))
        .route("/v1/ledgers/{ledger}/projections/governance", get(state::show))
        .route("/v1/ledgers/{ledger}/projections/{projection}", post(projections::fold_again))
        .route("/v1/ledgers/{ledger}/calls", get(calls::list))
        .route("/v1/ledgers/{ledger}/calls/{call}", get(calls::show))
        .route("/v1/ledgers/{ledger}/costs", get(costs::list))
        .route("/v1/ledgers/{ledger}/tool-usage", get(tool_usage::list))
        .route("/v1/ledgers/{ledger}/resolutions", get(resolutions::list))
        .route("/v1/ledgers/{ledger}/answerers", get(resolutions::answerers))
        .route("/v1/ledgers/{ledger}/runs", get(runs::list))
        .route("/v1/ledgers/{ledger}/runs/{run}", get(runs::show))
        .route("/v1/ledgers/{ledger}/runs/{run}/steps", get(runs::steps))
        .route("/v1/ledgers/{ledger}/sessions", get(sessions::list))
        .route("/v1/ledgers/{ledger}/sessions/{session}", get(sessions::show))
        .route("/v1/ledgers/{ledger}/gaps", get(gaps::list))
        .route("/v1/ledgers/{ledger}/checkpoints", get(checkpoints::list))
        .route(
            "/v1/ledgers/{ledger}/checkpoints/{thread}",
            get(checkpoints::show).post(checkpoint_acts::act).delete(checkpoint_acts::delete),
        )
        .route("/v1/ledgers/{ledger}/contents", post(contents::store))
        .route("/v1/ledgers/{ledger}/suggestions", get(suggestions::list))
        .route("/v1/ledgers/{ledger}/suggestions:refresh", post(suggestions::refresh))
        .route("/v1/ledgers/{ledger}/suggestions/{suggestion}", post(suggestions::answer))
        .route("/v1/ledgers/{ledger}/annotations", get(annotations::list).post(annotations::add))
        .route("/v1/projections", get(projections::list))
        .route("/v1/schemas", get(schemas::list))
        .route("/v1/schemas/{type}", get(schemas::show))
        .route("/v1/admin/drain", post(admin::drain))
        .route("/v1/admin/seal", post(admin::seal))
        .route("/v1/admin/read-only", post(admin::read_only))
        .route_layer(from_fn_with_state(Arc::clone(&api), access_guard::guard))
        .route_layer(from_fn_with_state(Arc::clone(&api), doubt::tell))
        .fallback(no_such_resource)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(&api), origin_guard::guard))
        .with_state(api)
}

async fn no_such_resource() -> Problem {
    Problem::new(Code::NoSuchResource, "there is no such path; /v1/openapi.json lists them")
}

async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the header Allow lists the methods this path knows")
}

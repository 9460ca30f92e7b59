//! The table of routes, and the checks that every request passes first.

mod access_guard;
mod answer_signing;
mod doubt;
mod origin_guard;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, post, put};
use bitacora_api::paths;

use crate::api::Api;
use crate::exports::tell_in_protocol;
use crate::problem::{Code, Problem};
use crate::requests::answer_tiers;
use crate::resources::govern::{
    approvals, breakers, budgets, clock, contracts, decide, decisions, grants, hooks, imports, mode, outcome,
    policy, policy_cache, rates, starter, state, stops, suggestions, tools, trust, trust_history,
    trust_months, unregistered_tools, what_if,
};
use crate::resources::operate::{
    admin, bulk_exports, caller, erasures, health, holds, keys, ledgers, metrics, openapi, principals,
    projections, retention, sign_in, tiers, verifications,
};
use crate::resources::read::{
    archives, calls, checkpoints, contract_history, costs, decision_minutes, events, evidence, gaps, head,
    proofs, receipts, resolutions, runs, schemas, sessions, tiles, tool_usage, tree_head,
};
use crate::resources::write::{annotations, append, checkpoint_acts, contents, exports, ingest};

/// Returns the router of every path of the interface.
pub(crate) fn router(api: Arc<Api>) -> Router {
    govern_routes(read_routes(write_routes(service_routes(Router::new()))))
        .route_layer(from_fn(answer_tiers::tell))
        .route_layer(from_fn(answer_signing::compare))
        .route_layer(from_fn_with_state(Arc::clone(&api), access_guard::guard))
        .route_layer(from_fn_with_state(Arc::clone(&api), answer_signing::sign))
        .route_layer(from_fn_with_state(Arc::clone(&api), doubt::tell))
        .route_layer(from_fn(tell_in_protocol))
        .fallback(no_such_resource)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(&api), origin_guard::guard))
        .with_state(api)
}

/// Adds the routes of the service itself, its ledgers and its read models.
fn service_routes(router: Router<Arc<Api>>) -> Router<Arc<Api>> {
    router
        .route(paths::SIGN_IN, get(sign_in::page))
        .route(paths::LIVEZ, get(health::livez))
        .route(paths::READYZ, get(health::readyz))
        .route(paths::METRICS, get(metrics::metrics))
        .route(paths::OPENAPI, get(openapi::document))
        .route(paths::LEDGERS, get(ledgers::list).post(ledgers::create))
        .route(paths::LEDGER, get(ledgers::show))
        .route(paths::PROJECTION, post(projections::fold_again))
        .route(paths::PROJECTIONS, get(projections::list))
        .route(paths::ERASURES, post(erasures::create))
        .route(paths::HOLDS, get(holds::list).post(holds::place))
        .route(paths::HOLD, delete(holds::release))
        .route(paths::RETENTION, get(retention::show).put(retention::set))
        .route(paths::PRINCIPALS, get(principals::list))
        .route(paths::KEYS, get(keys::show))
        .route(paths::TIERS, get(tiers::show))
        .route(paths::VERIFICATIONS, get(verifications::list).post(verifications::start))
        .route(paths::VERIFICATION, get(verifications::show))
        .route(paths::DRAIN, post(admin::drain))
        .route(paths::SEAL, post(admin::seal))
        .route(paths::READ_ONLY, post(admin::read_only))
        .route(paths::BULK_EXPORTS, post(bulk_exports::record))
}

/// Adds the routes of events, their contents and checkpoints.
fn write_routes(router: Router<Arc<Api>>) -> Router<Arc<Api>> {
    router
        .route(paths::EVENTS, get(events::list).post(append::append))
        .route(paths::INGEST, post(ingest::ingest))
        .route(paths::STREAM_INGEST, post(ingest::ingest))
        .route(paths::LEDGER_OTLP_TRACES, post(exports::ledger_traces))
        .route(paths::LEDGER_OTLP_LOGS, post(exports::ledger_logs))
        .route(paths::LEDGER_OTLP_METRICS, post(exports::ledger_metrics))
        .route(paths::OTLP_TRACES, post(exports::traces))
        .route(paths::OTLP_LOGS, post(exports::logs))
        .route(paths::OTLP_METRICS, post(exports::metrics))
        .route(paths::STREAM_EVENTS, get(events::list).post(append::append))
        .route(paths::CHECKPOINTS, get(checkpoints::list))
        .route(
            paths::CHECKPOINT_THREAD,
            get(checkpoints::show).post(checkpoint_acts::act).delete(checkpoint_acts::delete),
        )
        .route(paths::CONTENTS, post(contents::store))
        .route(paths::ANNOTATIONS, get(annotations::list).post(annotations::add))
}

/// Adds the routes of the log, its proofs and what is read from it.
fn read_routes(router: Router<Arc<Api>>) -> Router<Arc<Api>> {
    router
        .route(paths::CALLER, get(caller::show))
        .route(paths::HEAD, get(head::head))
        .route(paths::EVENT, get(events::show))
        .route(paths::INCLUSION, get(proofs::inclusion))
        .route(paths::CONSISTENCY, get(proofs::consistency))
        .route(paths::TILE, get(tiles::show))
        .route(paths::RECEIPT, get(receipts::show))
        .route(paths::TREE_HEAD, get(tree_head::show))
        .route(paths::TREE_CHECKPOINT, get(tree_head::checkpoint))
        .route(paths::EVIDENCE, get(evidence::bundle).head(evidence::head_of_bundle))
        .route(paths::ARCHIVES, get(archives::list))
        .route(paths::CALLS, get(calls::list))
        .route(paths::CALL, get(calls::show))
        .route(paths::COSTS, get(costs::list))
        .route(paths::TOOL_USAGE, get(tool_usage::list))
        .route(paths::DECISIONS, get(decision_minutes::list))
        .route(paths::RESOLUTIONS, get(resolutions::list))
        .route(paths::ANSWERERS, get(resolutions::answerers))
        .route(paths::RUNS, get(runs::list))
        .route(paths::RUN, get(runs::show))
        .route(paths::RUN_STEPS, get(runs::steps))
        .route(paths::SESSIONS, get(sessions::list))
        .route(paths::SESSION, get(sessions::show))
        .route(paths::GAPS, get(gaps::list))
        .route(paths::SCHEMAS, get(schemas::list))
        .route(paths::SCHEMA, get(schemas::show))
}

/// Adds the routes of decisions, and of what they rest on.
fn govern_routes(router: Router<Arc<Api>>) -> Router<Arc<Api>> {
    router
        .route(paths::DECIDE, post(decide::decide))
        .route(paths::DECIDE_BATCH, post(decide::decide_batch))
        .route(paths::OUTCOME, post(outcome::report))
        .route(paths::HOOK, post(hooks::run))
        .route(paths::APPROVALS, get(approvals::list))
        .route(paths::APPROVAL, get(approvals::show).post(approvals::resolve))
        .route(paths::DECISION, get(decisions::show))
        .route(paths::TOOLS, get(tools::list))
        .route(paths::TOOL, put(tools::put).delete(tools::revoke))
        .route(paths::UNREGISTERED_TOOLS, get(unregistered_tools::list))
        .route(paths::POLICY, get(policy::show).put(policy::publish))
        .route(paths::POLICY_VERSION, get(policy::show_version).post(policy::change))
        .route(paths::POLICY_DIFF, get(policy::diff))
        .route(paths::POLICY_DRY_RUN, post(what_if::dry_run))
        .route(paths::STARTER, get(starter::show))
        .route(paths::STARTER_UPGRADE, post(starter::upgrade))
        .route(paths::POLICY_CACHE, get(policy_cache::show))
        .route(paths::POLICY_CACHE_WATCH, get(policy_cache::watch))
        .route(paths::REPLAY, get(what_if::replay))
        .route(paths::TRUST, get(trust::list))
        .route(paths::TRUST_RECORD, get(trust::record))
        .route(paths::TRUST_HISTORY, get(trust_history::history))
        .route(paths::TRUST_MONTHS, get(trust_months::list))
        .route(paths::TRUST_SET, post(trust::set))
        .route(paths::TRUST_PROBE, post(trust::probe))
        .route(paths::BREAKERS, get(breakers::list))
        .route(paths::BREAKER_SETTINGS, post(breakers::configure))
        .route(paths::BREAKER_CLOSE, post(breakers::close))
        .route(paths::MODE, get(mode::show).put(mode::set))
        .route(paths::BUDGETS, get(budgets::list).put(budgets::configure))
        .route(paths::CONTRACTS, get(contracts::list))
        .route(paths::CONTRACT, get(contract_history::show))
        .route(paths::CONTRACT_CHECKS, get(contract_history::checks))
        .route(paths::ROLLBACKS, get(contract_history::rollbacks))
        .route(paths::RATES, get(rates::list).put(rates::configure))
        .route(paths::GRANTS, get(grants::list).post(grants::give))
        .route(paths::GRANT, delete(grants::revoke))
        .route(paths::IMPORTS, get(imports::list))
        .route(paths::IMPORT, get(imports::show).post(imports::accept))
        .route(paths::CLOCK, get(clock::show))
        .route(paths::CLOCK_ACCEPT, post(clock::accept))
        .route(paths::PANIC, get(stops::show).post(stops::engage).delete(stops::release))
        .route(paths::AGENT, post(stops::change))
        .route(paths::GOVERNANCE_STATE, get(state::show))
        .route(paths::SUGGESTIONS, get(suggestions::list))
        .route(paths::SUGGESTIONS_REFRESH, post(suggestions::refresh))
        .route(paths::SUGGESTION, post(suggestions::answer))
}

async fn no_such_resource() -> Problem {
    Problem::new(Code::NoSuchResource, "there is no such path; /v1/openapi.json lists them")
}

async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the header Allow lists the methods this path knows")
}

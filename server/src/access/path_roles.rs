//! The table of the role that each path takes.
//!
//! `docs/security.md` shows the table; a path that stands in none is an admin's.

use axum::http::Method;
use bitacora_api::paths;
use bitacora_governance::suffices;
use bitacora_vocabulary::Role;

use crate::http::lanes::Lane;

/// The access that a path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// No token.
    Open,
    /// This role, or one that may all that it may.
    Role(Role),
    /// The same in the ledger that the request names elsewhere than in its path, which the resource asks for once it has read
    /// that; and in some ledger, before the body is read at all.
    Named(Role),
    /// Any role but an agent's: it changes nothing, and costs the service work.
    Audit,
}

/// Collecting metrics, which tell of no event's content.
const METRICS: Access = Access::Role(Role::Metrics);
/// Reading.
const READ: Access = Access::Role(Role::Auditor);
/// Writing; `bitacora_governance` decides which types of events.
const WRITE: Access = Access::Role(Role::Agent);
/// Writing to a ledger that the token or a header names.
const WRITE_ONE: Access = Access::Named(Role::Agent);
/// Governing agents.
const GOVERN: Access = Access::Role(Role::Operator);
/// Administering the service.
const ADMINISTER: Access = Access::Role(Role::Admin);
/// Administering one of its ledgers, which the body names.
const ADMINISTER_ONE: Access = Access::Named(Role::Admin);

/// Paths that stop agents, and let them go on.
const STOPS: &[&str] = &[paths::PANIC, paths::AGENT];
/// Paths on which calls wait.
const DECISIONS: &[&str] = &[paths::DECIDE, paths::DECIDE_BATCH, paths::OUTCOME, paths::HOOK];

/// Every path of the interface, as the router names it.
const PATHS: &[(&str, &str, Access)] = &[
    ("GET", paths::SIGN_IN, Access::Open),
    ("GET", paths::LIVEZ, Access::Open),
    ("GET", paths::READYZ, Access::Open),
    ("GET", paths::METRICS, METRICS),
    ("GET", paths::OPENAPI, READ),
    ("GET", paths::LEDGERS, READ),
    ("POST", paths::LEDGERS, ADMINISTER),
    ("GET", paths::LEDGER, READ),
    ("GET", paths::CALLER, READ),
    ("GET", paths::PRINCIPALS, READ),
    ("GET", paths::KEYS, READ),
    ("GET", paths::ARCHIVES, READ),
    ("POST", paths::ERASURES, ADMINISTER),
    ("GET", paths::HOLDS, READ),
    ("POST", paths::HOLDS, GOVERN),
    ("DELETE", paths::HOLD, GOVERN),
    ("GET", paths::RETENTION, READ),
    ("PUT", paths::RETENTION, ADMINISTER),
    ("GET", paths::TIERS, READ),
    ("GET", paths::VERIFICATIONS, READ),
    ("POST", paths::VERIFICATIONS, Access::Audit),
    ("GET", paths::VERIFICATION, READ),
    ("GET", paths::HEAD, READ),
    ("GET", paths::EVENTS, READ),
    ("POST", paths::EVENTS, WRITE),
    ("POST", paths::INGEST, WRITE),
    ("GET", paths::EVENT, READ),
    ("GET", paths::STREAM_EVENTS, READ),
    ("POST", paths::STREAM_EVENTS, WRITE),
    ("POST", paths::STREAM_INGEST, WRITE),
    ("POST", paths::LEDGER_OTLP_TRACES, WRITE),
    ("POST", paths::LEDGER_OTLP_LOGS, WRITE),
    ("POST", paths::LEDGER_OTLP_METRICS, WRITE),
    ("POST", paths::OTLP_TRACES, WRITE_ONE),
    ("POST", paths::OTLP_LOGS, WRITE_ONE),
    ("POST", paths::OTLP_METRICS, WRITE_ONE),
    ("GET", paths::INCLUSION, READ),
    ("GET", paths::CONSISTENCY, READ),
    ("GET", paths::TILE, READ),
    ("GET", paths::RECEIPT, READ),
    ("GET", paths::TREE_HEAD, READ),
    ("GET", paths::TREE_CHECKPOINT, READ),
    ("GET", paths::EVIDENCE, READ),
    ("POST", paths::DECIDE, WRITE),
    ("POST", paths::DECIDE_BATCH, WRITE),
    ("POST", paths::OUTCOME, WRITE),
    ("POST", paths::HOOK, WRITE),
    ("GET", paths::APPROVALS, READ),
    ("GET", paths::APPROVAL, READ),
    ("POST", paths::APPROVAL, GOVERN),
    ("GET", paths::DECISION, READ),
    ("GET", paths::TOOLS, READ),
    ("PUT", paths::TOOL, GOVERN),
    ("DELETE", paths::TOOL, GOVERN),
    ("GET", paths::UNREGISTERED_TOOLS, READ),
    ("GET", paths::POLICY, READ),
    ("PUT", paths::POLICY, GOVERN),
    ("GET", paths::POLICY_VERSION, READ),
    ("POST", paths::POLICY_VERSION, GOVERN),
    ("GET", paths::POLICY_DIFF, READ),
    ("POST", paths::POLICY_DRY_RUN, READ),
    ("GET", paths::STARTER, READ),
    ("POST", paths::STARTER_UPGRADE, GOVERN),
    ("GET", paths::POLICY_CACHE, READ),
    ("GET", paths::POLICY_CACHE_WATCH, READ),
    ("GET", paths::REPLAY, READ),
    ("GET", paths::TRUST, READ),
    ("GET", paths::TRUST_RECORD, READ),
    ("GET", paths::TRUST_HISTORY, READ),
    ("GET", paths::TRUST_MONTHS, READ),
    ("POST", paths::TRUST_SET, GOVERN),
    ("POST", paths::TRUST_PROBE, GOVERN),
    ("GET", paths::BREAKERS, READ),
    ("POST", paths::BREAKER_SETTINGS, GOVERN),
    ("POST", paths::BREAKER_CLOSE, GOVERN),
    ("GET", paths::MODE, READ),
    ("PUT", paths::MODE, GOVERN),
    ("GET", paths::BUDGETS, READ),
    ("PUT", paths::BUDGETS, GOVERN),
    ("GET", paths::CONTRACTS, READ),
    ("GET", paths::CONTRACT, READ),
    ("GET", paths::CONTRACT_CHECKS, READ),
    ("GET", paths::ROLLBACKS, READ),
    ("GET", paths::RATES, READ),
    ("PUT", paths::RATES, GOVERN),
    ("GET", paths::GRANTS, READ),
    ("POST", paths::GRANTS, GOVERN),
    ("DELETE", paths::GRANT, GOVERN),
    ("GET", paths::IMPORTS, READ),
    ("GET", paths::IMPORT, READ),
    ("POST", paths::IMPORT, ADMINISTER),
    ("GET", paths::CLOCK, READ),
    ("POST", paths::CLOCK_ACCEPT, GOVERN),
    ("GET", paths::PANIC, READ),
    ("POST", paths::PANIC, GOVERN),
    ("DELETE", paths::PANIC, GOVERN),
    ("POST", paths::AGENT, GOVERN),
    ("GET", paths::GOVERNANCE_STATE, READ),
    ("POST", paths::PROJECTION, GOVERN),
    ("GET", paths::CALLS, READ),
    ("GET", paths::CALL, READ),
    ("GET", paths::COSTS, READ),
    ("GET", paths::TOOL_USAGE, READ),
    ("GET", paths::DECISIONS, READ),
    ("GET", paths::GAPS, READ),
    ("GET", paths::RESOLUTIONS, READ),
    ("GET", paths::ANSWERERS, READ),
    ("GET", paths::SUGGESTIONS, READ),
    ("POST", paths::SUGGESTIONS_REFRESH, GOVERN),
    ("POST", paths::SUGGESTION, GOVERN),
    ("GET", paths::ANNOTATIONS, READ),
    ("POST", paths::ANNOTATIONS, WRITE),
    ("GET", paths::RUNS, READ),
    ("GET", paths::RUN, READ),
    ("GET", paths::RUN_STEPS, READ),
    ("GET", paths::SESSIONS, READ),
    ("GET", paths::SESSION, READ),
    ("GET", paths::CHECKPOINTS, READ),
    ("GET", paths::CHECKPOINT_THREAD, READ),
    ("POST", paths::CHECKPOINT_THREAD, WRITE),
    ("DELETE", paths::CHECKPOINT_THREAD, WRITE),
    ("POST", paths::CONTENTS, WRITE),
    ("GET", paths::PROJECTIONS, READ),
    ("GET", paths::SCHEMAS, READ),
    ("GET", paths::SCHEMA, READ),
    ("POST", paths::DRAIN, ADMINISTER),
    ("POST", paths::SEAL, ADMINISTER_ONE),
    ("POST", paths::READ_ONLY, ADMINISTER_ONE),
    ("POST", paths::BULK_EXPORTS, Access::Audit),
];

/// The room for a body. Only what a caller of that role may ask gets as far as this.
pub(crate) fn lane(needs: Role, path: &str) -> Lane {
    match path {
        _ if STOPS.contains(&path) => Lane::Stops,
        _ if DECISIONS.contains(&path) => Lane::Decisions,
        _ if suffices(needs, Role::Operator) => Lane::Acts,
        _ => Lane::Others,
    }
}

/// Returns `true` if a path answers every caller.
pub(crate) fn is_open_path(method: &Method, path: &str) -> bool {
    access(method, path) == Access::Open
}

/// Returns the access that a path takes.
pub(crate) fn access(method: &Method, path: &str) -> Access {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let row = PATHS.iter().find(|(of, at, _)| *of == method && *at == path);
    row.map_or(ADMINISTER, |(_, _, access)| *access)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/security.md");

    /// The rights that the page names.
    const RIGHTS: [(&str, Access); 7] = [
        ("open", Access::Open),
        ("metrics", METRICS),
        ("read", READ),
        ("audit", Access::Audit),
        ("write", WRITE),
        ("govern", GOVERN),
        ("administer", ADMINISTER),
    ];

    fn role(access: Access) -> Option<Role> {
        match access {
            Access::Open => None,
            Access::Role(needs) | Access::Named(needs) => Some(needs),
            Access::Audit => Some(Role::Auditor),
        }
    }

    fn is_for_agents(access: Access) -> bool {
        access != Access::Audit
    }

    #[test]
    fn the_page_on_security_shows_the_roles_of_each_right() {
        for (right, access) in RIGHTS {
            let yes = |may: bool| if may { "yes" } else { "no" };
            let may = |of| {
                let is_barred = of == Role::Agent && !is_for_agents(access);
                yes(!is_barred && role(access).is_none_or(|needs| suffices(of, needs)))
            };
            let [agent, operator, admin, auditor, metrics] = Role::ALL.map(may);
            let none = yes(role(access).is_none());
            let row =
                format!("| `{right}` | {none} | {agent} | {operator} | {admin} | {auditor} | {metrics} |");
            assert!(PAGE.lines().any(|line| line == row), "docs/security.md has no row {row}");
        }
    }

    #[test]
    fn the_page_on_security_shows_every_path_and_no_other() {
        let shown: Vec<&str> = PAGE
            .lines()
            .filter(|line| {
                ["GET", "POST", "PUT", "DELETE"]
                    .iter()
                    .any(|method| line.starts_with(&format!("| `{method} ")))
            })
            .collect();
        let row = |(method, path, access): &(&str, &str, Access)| {
            let of = |access: Access| (role(access), is_for_agents(access));
            let (right, _) = RIGHTS.iter().find(|(_, right)| of(*right) == of(*access)).unwrap();
            format!("| `{method} {path}` | {right} |")
        };
        assert_eq!(shown, PATHS.iter().map(row).collect::<Vec<_>>());
    }

    /// The table is compared with the router as it is written, so that a new route cannot be forgotten here.
    #[test]
    fn every_route_stands_in_the_table() {
        let source = include_str!("../router.rs");
        let mut routed = Vec::new();
        for route in source.split(".route(").skip(1) {
            // The last route of a group ends with its function.
            let route = route.split("\n}").next().unwrap();
            let (_, rest) = route.split_once("paths::").unwrap();
            let (name, handlers) = rest.split_once(',').unwrap();
            let path = paths::ALL.iter().find(|(of, _)| *of == name).unwrap().1;
            for method in ["get", "post", "put", "delete", "patch", "any", "on", "options"] {
                let begins = [format!(" {method}("), format!(".{method}(")];
                if begins.iter().any(|begin| handlers.contains(begin.as_str())) {
                    routed.push((method.to_uppercase(), path));
                }
            }
            // What `HEAD` takes is what `GET` takes, as `access` has it.
            assert!(!handlers.contains("head(") || handlers.contains(" get("), "{name}");
        }
        routed.sort_unstable();
        let mut listed: Vec<_> =
            PATHS.iter().map(|(method, path, _)| ((*method).to_owned(), *path)).collect();
        listed.sort_unstable();
        assert_eq!(routed, listed);
    }

    #[test]
    fn acts_and_decisions_have_lanes_of_their_own_and_every_path_of_a_lane_is_one() {
        let of =
            |method: &str, path: &str| match access(&Method::from_bytes(method.as_bytes()).unwrap(), path) {
                Access::Open => Lane::Others,
                Access::Role(needs) | Access::Named(needs) => lane(needs, path),
                Access::Audit => lane(Role::Auditor, path),
            };
        assert_eq!(of("POST", "/v1/ledgers/{ledger}/panic"), Lane::Stops);
        assert_eq!(of("POST", "/v1/ledgers/{ledger}/approvals/{approval}"), Lane::Acts);
        assert_eq!(of("POST", "/v1/admin/drain"), Lane::Acts);
        assert_eq!(of("POST", "/v1/ledgers/{ledger}/decide"), Lane::Decisions);
        assert_eq!(of("POST", "/v1/ledgers/{ledger}/events"), Lane::Others);
        for path in STOPS.iter().chain(DECISIONS) {
            assert!(PATHS.iter().any(|(_, routed, _)| routed == path), "{path}");
        }
        let governs = |access: &Access| matches!(access, Access::Role(Role::Operator | Role::Admin));
        for (method, path, _) in PATHS.iter().filter(|(.., access)| governs(access)) {
            assert!(matches!(of(method, path), Lane::Acts | Lane::Stops), "{method} {path}");
        }
    }

    #[test]
    fn what_stands_nowhere_is_an_admins() {
        assert_eq!(access(&Method::DELETE, "/livez"), ADMINISTER);
        assert_eq!(access(&Method::GET, "/v1/anything"), ADMINISTER);
        assert_eq!(access(&Method::HEAD, "/v1/ledgers"), READ);
    }
}

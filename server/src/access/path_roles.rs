//! The table of the role that each path takes.
//!
//! `docs/security.md` shows the table; a path that stands in none is an admin's.

use axum::http::Method;
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
    /// The same in the ledger that the body names, which the resource asks for once it has read that; and in some ledger, before the
    /// body is read at all.
    Named(Role),
}

/// Reading.
const READ: Access = Access::Role(Role::Auditor);
/// Writing; `bitacora_governance` decides which types of events.
const WRITE: Access = Access::Role(Role::Agent);
/// Governing agents.
const GOVERN: Access = Access::Role(Role::Operator);
/// Administering the service.
const ADMINISTER: Access = Access::Role(Role::Admin);
/// Administering one of its ledgers, which the body names.
const ADMINISTER_ONE: Access = Access::Named(Role::Admin);

/// The path of the sign-in page.
pub(crate) const SIGN_IN: &str = "/";
/// The path of one ledger.
pub(crate) const LEDGER: &str = "/v1/ledgers/{ledger}";

/// Paths that stop agents, and let them go on.
const STOPS: &[&str] = &["/v1/ledgers/{ledger}/panic", "/v1/ledgers/{ledger}/agents/{agent}"];
/// Paths on which calls wait.
const DECISIONS: &[&str] =
    &["/v1/ledgers/{ledger}/decide", "/v1/ledgers/{ledger}/decide:batch", "/v1/ledgers/{ledger}/outcome"];

/// Every path of the interface, as the router names it.
const PATHS: &[(&str, &str, Access)] = &[
    ("GET", SIGN_IN, Access::Open),
    ("GET", "/livez", Access::Open),
    ("GET", "/readyz", Access::Open),
    ("GET", "/metrics", READ),
    ("GET", "/v1/openapi.json", READ),
    ("GET", "/v1/ledgers", READ),
    ("POST", "/v1/ledgers", ADMINISTER),
    ("GET", LEDGER, READ),
    ("GET", "/v1/ledgers/{ledger}/head", READ),
    ("GET", "/v1/ledgers/{ledger}/events", READ),
    ("POST", "/v1/ledgers/{ledger}/events", WRITE),
    ("POST", "/v1/ledgers/{ledger}/events:ingest", WRITE),
    ("GET", "/v1/ledgers/{ledger}/events/{position}", READ),
    ("GET", "/v1/ledgers/{ledger}/streams/{stream}/events", READ),
    ("POST", "/v1/ledgers/{ledger}/streams/{stream}/events", WRITE),
    ("POST", "/v1/ledgers/{ledger}/streams/{stream}/events:ingest", WRITE),
    ("GET", "/v1/ledgers/{ledger}/proofs/inclusion", READ),
    ("GET", "/v1/ledgers/{ledger}/proofs/consistency", READ),
    ("GET", "/v1/ledgers/{ledger}/tile/{*tile}", READ),
    ("GET", "/v1/ledgers/{ledger}/receipts/{position}", READ),
    ("GET", "/v1/ledgers/{ledger}/treehead", READ),
    ("GET", "/v1/ledgers/{ledger}/checkpoint", READ),
    ("POST", "/v1/ledgers/{ledger}/decide", WRITE),
    ("POST", "/v1/ledgers/{ledger}/decide:batch", WRITE),
    ("POST", "/v1/ledgers/{ledger}/outcome", WRITE),
    ("GET", "/v1/ledgers/{ledger}/approvals", READ),
    ("GET", "/v1/ledgers/{ledger}/approvals/{approval}", READ),
    ("POST", "/v1/ledgers/{ledger}/approvals/{approval}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/decisions/{position}", READ),
    ("GET", "/v1/ledgers/{ledger}/tools", READ),
    ("PUT", "/v1/ledgers/{ledger}/tools/{tool}", GOVERN),
    ("DELETE", "/v1/ledgers/{ledger}/tools/{tool}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/unregistered-tools", READ),
    ("GET", "/v1/ledgers/{ledger}/policy", READ),
    ("PUT", "/v1/ledgers/{ledger}/policy", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/policy/{version}", READ),
    ("POST", "/v1/ledgers/{ledger}/policy/{version}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/policy/{version}/diff", READ),
    ("POST", "/v1/ledgers/{ledger}/policy:dry-run", READ),
    ("GET", "/v1/ledgers/{ledger}/starter", READ),
    ("POST", "/v1/ledgers/{ledger}/starter:upgrade", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/policy-cache", READ),
    ("GET", "/v1/ledgers/{ledger}/policy-cache:watch", READ),
    ("GET", "/v1/ledgers/{ledger}/replay", READ),
    ("GET", "/v1/ledgers/{ledger}/trust", READ),
    ("GET", "/v1/ledgers/{ledger}/trust/record", READ),
    ("GET", "/v1/ledgers/{ledger}/trust/history", READ),
    ("GET", "/v1/ledgers/{ledger}/trust/months", READ),
    ("POST", "/v1/ledgers/{ledger}/trust:set", GOVERN),
    ("POST", "/v1/ledgers/{ledger}/trust:probe", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/breakers", READ),
    ("POST", "/v1/ledgers/{ledger}/breakers:configure", GOVERN),
    ("POST", "/v1/ledgers/{ledger}/breakers:close", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/mode", READ),
    ("PUT", "/v1/ledgers/{ledger}/mode", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/budgets", READ),
    ("PUT", "/v1/ledgers/{ledger}/budgets", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/contracts", READ),
    ("GET", "/v1/ledgers/{ledger}/contracts/{contract}", READ),
    ("GET", "/v1/ledgers/{ledger}/contracts/{contract}/checks", READ),
    ("GET", "/v1/ledgers/{ledger}/rollbacks", READ),
    ("GET", "/v1/ledgers/{ledger}/rates", READ),
    ("PUT", "/v1/ledgers/{ledger}/rates", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/grants", READ),
    ("POST", "/v1/ledgers/{ledger}/grants", GOVERN),
    ("DELETE", "/v1/ledgers/{ledger}/grants/{grant}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/imports", READ),
    ("GET", "/v1/ledgers/{ledger}/imports/{import}", READ),
    ("POST", "/v1/ledgers/{ledger}/imports/{import}", ADMINISTER),
    ("GET", "/v1/ledgers/{ledger}/clock", READ),
    ("POST", "/v1/ledgers/{ledger}/clock:accept", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/panic", READ),
    ("POST", "/v1/ledgers/{ledger}/panic", GOVERN),
    ("DELETE", "/v1/ledgers/{ledger}/panic", GOVERN),
    ("POST", "/v1/ledgers/{ledger}/agents/{agent}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/projections/governance", READ),
    ("POST", "/v1/ledgers/{ledger}/projections/{projection}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/calls", READ),
    ("GET", "/v1/ledgers/{ledger}/calls/{call}", READ),
    ("GET", "/v1/ledgers/{ledger}/costs", READ),
    ("GET", "/v1/ledgers/{ledger}/tool-usage", READ),
    ("GET", "/v1/ledgers/{ledger}/gaps", READ),
    ("GET", "/v1/ledgers/{ledger}/resolutions", READ),
    ("GET", "/v1/ledgers/{ledger}/answerers", READ),
    ("GET", "/v1/ledgers/{ledger}/suggestions", READ),
    ("POST", "/v1/ledgers/{ledger}/suggestions:refresh", GOVERN),
    ("POST", "/v1/ledgers/{ledger}/suggestions/{suggestion}", GOVERN),
    ("GET", "/v1/ledgers/{ledger}/annotations", READ),
    ("POST", "/v1/ledgers/{ledger}/annotations", WRITE),
    ("GET", "/v1/ledgers/{ledger}/runs", READ),
    ("GET", "/v1/ledgers/{ledger}/runs/{run}", READ),
    ("GET", "/v1/ledgers/{ledger}/runs/{run}/steps", READ),
    ("GET", "/v1/ledgers/{ledger}/sessions", READ),
    ("GET", "/v1/ledgers/{ledger}/sessions/{session}", READ),
    ("GET", "/v1/ledgers/{ledger}/checkpoints", READ),
    ("GET", "/v1/ledgers/{ledger}/checkpoints/{thread}", READ),
    ("POST", "/v1/ledgers/{ledger}/checkpoints/{thread}", WRITE),
    ("DELETE", "/v1/ledgers/{ledger}/checkpoints/{thread}", WRITE),
    ("POST", "/v1/ledgers/{ledger}/contents", WRITE),
    ("GET", "/v1/projections", READ),
    ("GET", "/v1/schemas", READ),
    ("GET", "/v1/schemas/{type}", READ),
    ("POST", "/v1/admin/drain", ADMINISTER),
    ("POST", "/v1/admin/seal", ADMINISTER_ONE),
    ("POST", "/v1/admin/read-only", ADMINISTER_ONE),
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

    #[test]
    fn the_page_on_security_shows_every_path_and_no_other() {
        let shown: Vec<&str> = include_str!("../../../docs/security.md")
            .lines()
            .filter(|line| {
                ["GET", "POST", "PUT", "DELETE"]
                    .iter()
                    .any(|method| line.starts_with(&format!("| `{method} ")))
            })
            .collect();
        let row = |(method, path, access): &(&str, &str, Access)| {
            let may = |role| match access {
                Access::Open => "yes",
                Access::Role(needs) | Access::Named(needs) if suffices(role, *needs) => "yes",
                Access::Role(_) | Access::Named(_) => "no",
            };
            let none = if *access == Access::Open { "yes" } else { "no" };
            let [agent, operator, admin, auditor] = Role::ALL.map(may);
            format!("| `{method} {path}` | {none} | {agent} | {operator} | {admin} | {auditor} |")
        };
        assert_eq!(shown, PATHS.iter().map(row).collect::<Vec<_>>());
    }

    /// The table is compared with the router as it is written, so that a new route cannot be forgotten here.
    #[test]
    fn every_route_stands_in_the_table() {
        let source = include_str!("../router.rs");
        let routes = source.split_once("Router::new()").unwrap().1.split_once(".route_layer").unwrap().0;
        let mut routed = Vec::new();
        for route in routes.split(".route(").skip(1) {
            let (_, rest) = route.split_once('"').unwrap();
            let (path, handlers) = rest.split_once('"').unwrap();
            for method in ["get", "post", "put", "delete", "patch", "any", "on", "options", "head"] {
                let begins = [format!(" {method}("), format!(".{method}(")];
                if begins.iter().any(|begin| handlers.contains(begin.as_str())) {
                    routed.push((method.to_uppercase(), path));
                }
            }
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

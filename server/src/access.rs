//! The table of the role that each path takes, and the check of every request before its resource.
//!
//! `docs/security.md` shows the table; a path that stands in none is an admin's.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use bitacora_formats::vocabulary::{BoundedText, PrincipalCreated, Role};
use bitacora_formats::{Event, LedgerName};
use bitacora_governance::{AuthorityError, Identity, suffices};

use crate::api::Api;
use crate::connection::ConnectionPlace;
use crate::identity::{Shown, first_admin, identify, identify_anywhere, token_of};
use crate::lanes::Lane;
use crate::path::PathNames;
use crate::pool::CallerKey;
use crate::problem::{Code, Place, Problem};
use crate::query::Query;
use crate::resources::openapi::takes_parameter;
use crate::resources::sign_in;

/// The access that a path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
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

/// The path of one ledger.
const LEDGER: &str = "/v1/ledgers/{ledger}";

/// Paths that stop agents, and let them go on.
const STOPS: &[&str] = &["/v1/ledgers/{ledger}/panic", "/v1/ledgers/{ledger}/agents/{agent}"];
/// Paths on which calls wait.
const DECISIONS: &[&str] =
    &["/v1/ledgers/{ledger}/decide", "/v1/ledgers/{ledger}/decide:batch", "/v1/ledgers/{ledger}/outcome"];

/// Every path of the interface, as the router names it.
const PATHS: &[(&str, &str, Access)] = &[
    ("GET", sign_in::PATH, Access::Open),
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

/// The sender of a request, for resources that write.
#[derive(Clone)]
pub(crate) struct Caller(Arc<Known>);

struct Known {
    identity: Identity,
    shown: Shown,
    /// The ledger that knows them, where the path names one.
    ledger: Option<LedgerName>,
    /// As whom they share what there is only so much of.
    key: CallerKey,
    lane: Lane,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Problem::new(Code::Unauthorized, "this path is open to all; what it does needs a token")
        })
    }
}

impl Caller {
    /// As whom they share what there is only so much of.
    pub(crate) fn key(&self) -> &CallerKey {
        &self.0.key
    }

    /// The room that the body of their request takes.
    pub(crate) fn lane(&self) -> Lane {
        self.0.lane
    }

    /// Returns the name of the actor, as events have it.
    pub(crate) fn actor(&self) -> &str {
        &self.0.identity.actor
    }

    /// Returns the same name, as data has it.
    pub(crate) fn actor_text<const MAX: usize>(&self) -> BoundedText<MAX> {
        BoundedText::new(self.actor()).unwrap_or(BoundedText::LEAST)
    }

    /// Returns the name of the caller that asks for a call, as events have it.
    pub(crate) fn caller(&self) -> &str {
        self.0.identity.caller()
    }

    /// The agent that a call is of: the token's, where it is an agent's.
    pub(crate) fn agent_for<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>, Problem> {
        self.agent_named(named, Place::Body { line: None, pointer: "/agent".to_owned() })
    }

    /// The same, where a parameter names it.
    pub(crate) fn agent_asked_for<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>, Problem> {
        self.agent_named(named, Place::Parameter("agent".to_owned()))
    }

    fn agent_named<'a>(&'a self, named: Option<&'a str>, place: Place) -> Result<Option<&'a str>, Problem> {
        let identity = &self.0.identity;
        identity.agent_for(named).map_err(|error| of_authority(&error, error.to_string(), place))
    }

    /// Checks that the token is still taken. A resource that goes on for long asks again, and so does one that has waited for a body.
    pub(crate) fn still_holds(&self, api: &Api) -> Result<(), Problem> {
        identify(api, self.0.ledger.as_ref(), &self.0.shown).map(|_| ())
    }

    /// The principal whose token this is, as the first admin of a ledger that it makes; `None` for a caller without a token.
    ///
    /// # Errors
    /// The token has ended since the request was let in.
    pub(crate) fn as_first_admin(&self, api: &Api) -> Result<Option<PrincipalCreated>, Problem> {
        first_admin(api, &self.0.shown)
    }

    /// Checks that the caller may administer this ledger, which no path names.
    pub(crate) fn may_administer(&self, api: &Api, ledger: &LedgerName) -> Result<(), Problem> {
        let identity = identify(api, Some(ledger), &self.0.shown)?;
        must_suffice(&identity, Role::Admin)
    }

    /// Puts the sender into events that they may write.
    pub(crate) fn sign(&self, events: &mut [Event<'_>]) -> Result<(), Refused> {
        for (index, event) in events.iter_mut().enumerate() {
            self.0.identity.sign(event).map_err(|error| Refused { index, error })?;
        }
        Ok(())
    }
}

/// An event that is not its sender's to write.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) index: usize,
    error: AuthorityError,
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let Refused { index, error } = refused;
        let place = Place::Body { line: None, pointer: format!("/{index}") };
        of_authority(&error, format!("event {index}: {error}"), place)
    }
}

fn of_authority(error: &AuthorityError, detail: String, place: Place) -> Problem {
    let (code, needs) = match error {
        AuthorityError::Reserved { .. } => (Code::ReservedType, None),
        AuthorityError::Role { needs, .. } => (Code::Forbidden, Some(*needs)),
        AuthorityError::OtherAgent { .. } => (Code::Forbidden, Some(Role::Operator)),
        AuthorityError::Imported { .. } => (Code::Forbidden, Some(Role::Admin)),
        AuthorityError::OtherBy { .. } | AuthorityError::OwnSource(_) => (Code::Forbidden, None),
        AuthorityError::TwoOthers => (Code::BadAttribute, None),
    };
    let problem = Problem::new(code, detail.clone()).with_fault(place, detail);
    match needs {
        Some(needs) => problem.with("needs", needs.as_str()),
        None => problem,
    }
}

/// Lets a request through to its resource if its sender may ask that.
pub(crate) async fn guard(
    State(api): State<Arc<Api>>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let access = access(request.method(), path.as_str());
    let (mut parts, body) = request.into_parts();
    let needs = match access {
        Access::Role(needs) | Access::Named(needs) => needs,
        Access::Open => {
            // A caller that identifies itself is told more, and nobody is turned away.
            if let Ok(shown) = token_of(&parts)
                && let Ok(identity) = identify(&api, None, &shown)
            {
                let key = known_as(&parts, None, &identity);
                let known = Known { identity, shown, ledger: None, key, lane: Lane::Others };
                parts.extensions.insert(Caller(Arc::new(known)));
            }
            refuse_unknown_parameters(&parts, path.as_str())?;
            return Ok(next.run(Request::from_parts(parts, body)).await);
        }
    };
    let names = PathNames::from_request_parts(&mut parts, &api).await?;
    let shown = token_of(&parts)?;
    // A caller that may see the list of ledgers may see why one of them is not open.
    let is_seen =
        path.as_str() == LEDGER && !names.ledger.as_ref().is_some_and(|name| api.ledgers.is_open(name));
    let ledger = names.ledger.filter(|_| !is_seen);
    let identity = match access {
        Access::Named(_) => identify_anywhere(&api, &shown)?,
        _ => identify(&api, ledger.as_ref(), &shown)?,
    };
    must_suffice(&identity, needs)?;
    refuse_unknown_parameters(&parts, path.as_str())?;
    let key = known_as(&parts, ledger.as_ref(), &identity);
    let lane = lane(needs, path.as_str());
    parts.extensions.insert(Caller(Arc::new(Known { identity, shown, ledger, key, lane })));
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// A misspelt condition or filter must not read as none, on any path: what an operation does not describe it is not sent.
fn refuse_unknown_parameters(parts: &Parts, path: &str) -> Result<(), Problem> {
    let Some(text) = parts.uri.query() else { return Ok(()) };
    Query::parse(Some(text))?.refuse_unknown(|name| takes_parameter(&parts.method, path, name))
}

pub(crate) fn must_suffice(identity: &Identity, needs: Role) -> Result<(), Problem> {
    if suffices(identity.role, needs) {
        return Ok(());
    }
    let detail = format!("this takes the role {}; the token's is {}", needs.as_str(), identity.role.as_str());
    Err(Problem::new(Code::Forbidden, detail).with("needs", needs.as_str()))
}

/// The caller as somebody with a share. The connection counts as theirs from here on, no more as its address's.
fn known_as(parts: &Parts, ledger: Option<&LedgerName>, identity: &Identity) -> CallerKey {
    let ledger = ledger.map_or("", LedgerName::as_str);
    let key = CallerKey::new(&format!("{ledger}/{}", identity.actor));
    if let Some(ConnectionPlace(Some(place))) = parts.extensions.get() {
        place.becomes(&key);
    }
    key
}

/// The room for a body. Only what a caller of that role may ask gets as far as this.
fn lane(needs: Role, path: &str) -> Lane {
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

fn access(method: &Method, path: &str) -> Access {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let row = PATHS.iter().find(|(of, at, _)| *of == method && *at == path);
    row.map_or(ADMINISTER, |(_, _, access)| *access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_security_shows_every_path_and_no_other() {
        let shown: Vec<&str> = include_str!("../../docs/security.md")
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
        let source = include_str!("api.rs");
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

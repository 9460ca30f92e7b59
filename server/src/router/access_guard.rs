//! The check of every request before its resource: its token, its role, and the parameters that it may have.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bitacora_api::paths;
use bitacora_formats::LedgerName;
use bitacora_governance::Identity;
use bitacora_vocabulary::Role;

use crate::access::authenticator::{must_suffice, token_of};
use crate::access::caller::Caller;
use crate::access::path_roles::{Access, access, lane};
use crate::api::Api;
use crate::http::lanes::Lane;
use crate::http::path::PathNames;
use crate::http::peer::ConnectionSlot;
use crate::http::pool::CallerKey;
use crate::http::query::Query;
use crate::problem::{Code, Problem};
use crate::resources::operate::openapi::takes_parameter;
use crate::router::answer_signing;

/// The note on an answer whose caller is known by its token. The ledger signs no other answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownCaller;

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
        Access::Audit => Role::Auditor,
        Access::Open => {
            // A caller that identifies itself is told more, and nobody is turned away.
            if let Ok(credentials) = token_of(&parts)
                && let Ok(identity) = api.authenticator.identify(None, &credentials)
            {
                let key = known_as(&parts, None, &identity);
                parts.extensions.insert(Caller::new(identity, credentials, None, key, Lane::Others));
            }
            refuse_unknown_parameters(&parts, path.as_str())?;
            return Ok(next.run(Request::from_parts(parts, body)).await);
        }
    };
    let names = PathNames::from_request_parts(&mut parts, &api).await?;
    let credentials = token_of(&parts)?;
    // A caller that may see the list of ledgers may see why one of them is not open.
    let is_seen = path.as_str() == paths::LEDGER
        && !names.ledger.as_ref().is_some_and(|name| api.ledgers.is_open(name));
    let ledger = names.ledger.filter(|_| !is_seen);
    let identity = match access {
        Access::Named(_) => api.authenticator.identify_anywhere(&credentials)?,
        _ => api.authenticator.identify(ledger.as_ref(), &credentials)?,
    };
    let may_ask = must_suffice(&identity, needs)
        .and_then(|()| refuse_agent(access, &identity))
        .and_then(|()| refuse_unknown_parameters(&parts, path.as_str()));
    if let Err(problem) = may_ask {
        return Ok(of_known_caller(problem.into_response()));
    }
    let key = known_as(&parts, ledger.as_ref(), &identity);
    let lane = lane(needs, path.as_str());
    parts.extensions.insert(Caller::new(identity, credentials, ledger, key, lane));
    Ok(of_known_caller(next.run(Request::from_parts(parts, body)).await))
}

/// Refuses an agent where others may look closer.
fn refuse_agent(access: Access, identity: &Identity) -> Result<(), Problem> {
    if access != Access::Audit || identity.role != Role::Agent {
        return Ok(());
    }
    let detail = "this is not for the role agent; it takes the role auditor or operator";
    Err(Problem::new(Code::Forbidden, detail).with("needs", Role::Operator.as_str()))
}

fn of_known_caller(mut answer: Response) -> Response {
    answer.extensions_mut().insert(KnownCaller);
    answer
}

/// A misspelt condition or filter must not read as none, on any path: what an operation does not describe it is not sent.
fn refuse_unknown_parameters(parts: &Parts, path: &str) -> Result<(), Problem> {
    let Some(text) = parts.uri.query() else { return Ok(()) };
    Query::parse(Some(text))?.refuse_unknown(|name| {
        takes_parameter(&parts.method, path, name)
            || answer_signing::takes_parameter(&parts.headers, path, name)
    })
}

/// The caller as somebody with a share. The connection counts as theirs from here on, no more as its address's.
fn known_as(parts: &Parts, ledger: Option<&LedgerName>, identity: &Identity) -> CallerKey {
    let ledger = ledger.map_or("", LedgerName::as_str);
    let key = CallerKey::new(&format!("{ledger}/{}", identity.actor));
    if let Some(ConnectionSlot(Some(place))) = parts.extensions.get() {
        place.becomes(&key);
    }
    key
}

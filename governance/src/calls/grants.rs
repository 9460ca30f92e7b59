//! Standing consent: calls within a scope need no approval of their own, until it expires.

use std::collections::BTreeMap;

use bitacora_formats::Micros;
use bitacora_vocabulary::{GrantGiven, GrantScope, Name, ReasonCode};
use serde::{Deserialize, Serialize};

use crate::tools::arguments::{ArgumentFindings, PlaceText};
use crate::version::is_isolated;

/// All grants that hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    by_id: BTreeMap<Name, GrantGiven>,
}

/// The call that a grant may cover.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantSubject<'a> {
    pub(crate) tool: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) context: &'a str,
    pub(crate) agent: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) workspace: Option<&'a str>,
    /// The findings about its arguments, where they could be read.
    pub(crate) examined: Option<&'a ArgumentFindings>,
    /// The version of the rules by which it is judged.
    pub(crate) rules: u32,
}

/// Returns `true` where standing consent can stand in for a person. It cannot where each call has to be looked at by itself.
pub(crate) const fn may_lift(code: ReasonCode) -> bool {
    matches!(
        code,
        ReasonCode::PolicyReview
            | ReasonCode::NoRule
            | ReasonCode::NoPolicy
            | ReasonCode::TrustRequireReview
            | ReasonCode::ScoreTooLow
            | ReasonCode::ToolRequiresReview
    )
}

impl GrantSubject<'_> {
    /// Returns `true` where a scope names all that the newest rules ask for, and a command has no other parts than it names.
    fn is_covered_by(&self, scope: &GrantScope) -> bool {
        let is_whole = scope.agent.is_some()
            && scope.context.is_some()
            && self.workspace.is_some()
            && scope.workspace.as_deref() == self.workspace;
        let Some(examined) = self.examined.filter(|examined| is_whole && !examined.opaque) else {
            return false;
        };
        let named = |part: &PlaceText| match &scope.parts {
            Some(parts) => parts.contains(part),
            None => scope.context.as_deref() == Some(part.as_str()),
        };
        !examined.parts.is_empty() && examined.parts.iter().all(named)
    }
}

impl Grants {
    /// Returns the first grant, by its id, that covers a call at this time.
    pub(crate) fn covering(&self, call: &GrantSubject<'_>, time: Micros) -> Option<&Name> {
        let covers = |grant: &GrantGiven| {
            let scope = &grant.scope;
            let agrees =
                |wanted: Option<&str>, found: Option<&str>| wanted.is_none_or(|wanted| Some(wanted) == found);
            if is_isolated(call.rules) && !call.is_covered_by(scope) {
                return false;
            }
            // A session is whose it is said to be; one without its agent covers nobody's.
            time.0 < grant.expires
                && (scope.session.is_none() || scope.agent.is_some())
                && scope.tool.as_str() == call.tool
                && scope.server.as_deref() == call.server
                && agrees(scope.context.as_deref(), Some(call.context))
                && agrees(scope.agent.as_deref(), call.agent)
                && agrees(scope.session.as_deref(), call.session)
        };
        self.by_id.iter().find(|(_, grant)| covers(grant)).map(|(id, _)| id)
    }

    /// Returns those that hold at this time.
    pub fn holding(&self, time: Micros) -> impl Iterator<Item = &GrantGiven> {
        self.by_id.values().filter(move |grant| time.0 < grant.expires)
    }

    /// Returns those for an agent's calls, and for everybody's.
    pub(crate) fn of_agent(&self, agent: Option<&str>) -> Self {
        let is_for = |grant: &GrantGiven| {
            let named = grant.scope.agent.as_deref();
            named.is_none() || named == agent
        };
        let by_id = self.by_id.iter().filter(|(_, grant)| is_for(grant));
        Self { by_id: by_id.map(|(id, grant)| (id.clone(), grant.clone())).collect() }
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    pub(crate) fn apply_given(&mut self, grant: GrantGiven, time: Micros) {
        self.by_id.retain(|_, held| time.0 < held.expires);
        self.by_id.insert(grant.grant.clone(), grant);
    }

    pub(crate) fn apply_revoked(&mut self, id: &Name) {
        self.by_id.remove(id);
    }
}

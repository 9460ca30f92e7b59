//! The caller of a request: its identity, its share, and what it may write.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bitacora_api::CallerAnswer;
use bitacora_formats::{Event, LedgerName};
use bitacora_governance::{AuthorityError, Identity};
use bitacora_vocabulary::{BoundedText, PrincipalCreated, Role};

use crate::access::authenticator::{Authenticator, Credentials, must_suffice};
use crate::http::lanes::Lane;
use crate::http::pool::CallerKey;
use crate::problem::{Code, FaultLocation, Problem};

/// The sender of a request, for resources that write.
#[derive(Clone)]
pub(crate) struct Caller(Arc<CallerIdentity>);

struct CallerIdentity {
    identity: Identity,
    credentials: Arc<Credentials>,
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
    pub(crate) fn new(
        identity: Identity,
        credentials: Credentials,
        ledger: Option<LedgerName>,
        key: CallerKey,
        lane: Lane,
    ) -> Self {
        Self(Arc::new(CallerIdentity { identity, credentials: Arc::new(credentials), ledger, key, lane }))
    }

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

    /// Returns their role in the ledger, or in the service where the path names none.
    pub(crate) fn role(&self) -> Role {
        self.0.identity.role
    }

    /// Returns `true` if a ledger takes the same credentials.
    pub(crate) fn is_known_in(&self, authenticator: &Authenticator, ledger: &LedgerName) -> bool {
        authenticator.identify(Some(ledger), &self.0.credentials).is_ok()
    }

    /// Returns the caller as they are told about themselves.
    pub(crate) fn answer(&self) -> CallerAnswer {
        let Identity { role, actor, agent, is_attested } = &self.0.identity;
        CallerAnswer {
            actor: actor.clone(),
            role: role.as_str().to_owned(),
            agent: agent.clone(),
            attested: *is_attested,
        }
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
        self.agent_named(named, FaultLocation::Body { line: None, pointer: "/agent".to_owned() })
    }

    /// The same, where a parameter names it.
    pub(crate) fn requested_agent<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>, Problem> {
        self.agent_named(named, FaultLocation::Parameter("agent".to_owned()))
    }

    fn agent_named<'a>(
        &'a self,
        named: Option<&'a str>,
        place: FaultLocation,
    ) -> Result<Option<&'a str>, Problem> {
        let identity = &self.0.identity;
        identity.agent_for(named).map_err(|error| of_authority(&error, error.to_string(), place))
    }

    /// Checks that the token is still taken. A resource that goes on for long asks again, and so does one that has waited for a body.
    pub(crate) fn still_holds(&self, authenticator: &Authenticator) -> Result<(), Problem> {
        authenticator.identify(self.0.ledger.as_ref(), &self.0.credentials).map(|_| ())
    }

    /// The principal whose token this is, as the first admin of a ledger that it makes; `None` for a caller without a token.
    ///
    /// # Errors
    /// The token has ended since the request was let in.
    pub(crate) fn as_first_admin(
        &self,
        authenticator: &Authenticator,
    ) -> Result<Option<PrincipalCreated>, Problem> {
        authenticator.first_admin(&self.0.credentials)
    }

    /// Returns the ledger that the caller writes to where neither the path nor a header names one.
    pub(crate) fn own_ledger(&self, authenticator: &Authenticator) -> Result<LedgerName, Problem> {
        authenticator.written_ledger(&self.0.credentials)
    }

    /// Returns the same caller in this ledger, which no path names, if they may write there.
    pub(crate) fn writing_to(
        &self,
        authenticator: &Authenticator,
        ledger: LedgerName,
    ) -> Result<Self, Problem> {
        let identity = authenticator.identify(Some(&ledger), &self.0.credentials)?;
        must_suffice(&identity, Role::Agent)?;
        let key = CallerKey::new(&format!("{ledger}/{}", identity.actor));
        let credentials = Arc::clone(&self.0.credentials);
        let (ledger, lane) = (Some(ledger), self.0.lane);
        Ok(Self(Arc::new(CallerIdentity { identity, credentials, ledger, key, lane })))
    }

    /// Checks that the caller may administer this ledger, which no path names.
    pub(crate) fn may_administer(
        &self,
        authenticator: &Authenticator,
        ledger: &LedgerName,
    ) -> Result<(), Problem> {
        let identity = authenticator.identify(Some(ledger), &self.0.credentials)?;
        must_suffice(&identity, Role::Admin)
    }

    /// Puts the sender into events that they may write.
    pub(crate) fn sign(&self, events: &mut [Event<'_>]) -> Result<(), EventRefusal> {
        for (index, event) in events.iter_mut().enumerate() {
            self.0.identity.sign(event).map_err(|error| EventRefusal { index, error })?;
        }
        Ok(())
    }
}

/// An event that is not its sender's to write.
#[derive(Debug)]
pub(crate) struct EventRefusal {
    pub(crate) index: usize,
    error: AuthorityError,
}

impl From<EventRefusal> for Problem {
    fn from(refusal: EventRefusal) -> Self {
        let EventRefusal { index, error } = refusal;
        let place = FaultLocation::Body { line: None, pointer: format!("/{index}") };
        of_authority(&error, format!("event {index}: {error}"), place)
    }
}

fn of_authority(error: &AuthorityError, detail: String, place: FaultLocation) -> Problem {
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

//! The right to write each type, in one place.
//! The vocabulary names the writer of each type; this module says which roles count as one.

use std::borrow::Cow;

use bitacora_formats::{Data, Event, ExtensionValue};
use bitacora_vocabulary::{
    ApprovalResolved, EventData, EventWriter, PolicyPublished, PrincipalCreated, Role, SuggestionAccepted,
    SuggestionRejected, TELEMETRY_PREFIX, TrustObserved, event_type, is_service_kind,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The extension that keeps the actor that the sender named, when that is another one.
pub const ON_BEHALF_OF: &str = "onbehalfof";

/// The beginning of the sources that the service writes under.
const OWN_SOURCES: &str = "urn:bitacora:";
/// The beginning of the types that are about the use of a ledger.
const PRINCIPALS: &str = "principal.";
/// The actor of calls from an unknown sender. A call is an agent's, also when another role tries one.
const UNKNOWN_AGENT: &str = "agent:local";

/// The sender of a request, as their token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The role of the sender.
    pub role: Role,
    /// The sender, as events name them.
    pub actor: String,
    /// The name of an agent; `None` for other roles.
    pub agent: Option<String>,
    /// `true` if a token says so. Without one the sender is unknown, and events name any they like.
    pub is_attested: bool,
}

/// The reason for which an event is not its sender's to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// The reactor or the service alone writes this type.
    #[error("type `{kind}` is written by the {} alone", writer.as_str())]
    Reserved {
        /// The type.
        kind: String,
        /// Its writer.
        writer: EventWriter,
    },
    /// The role may not.
    #[error("`{kind}` is not for the role {}; it takes the role {}", has.as_str(), needs.as_str())]
    Role {
        /// The type.
        kind: String,
        /// The role that the sender has.
        has: Role,
        /// The least role that may.
        needs: Role,
    },
    /// An agent speaks for another one.
    #[error("the token is agent `{own}`'s; it does not write for agent `{named}`")]
    OtherAgent {
        /// The token's agent.
        own: String,
        /// The one that the event names.
        named: String,
    },
    /// The data names another person as its author.
    #[error("`{member}` names `{named}`, but the token's holder is `{own}`; nobody speaks for another")]
    OtherBy {
        /// The member of the data that names them.
        member: &'static str,
        /// The holder, as events name them.
        own: String,
        /// The one that the data names.
        named: String,
    },
    /// The data says that it was recorded elsewhere.
    #[error("`assurance` marks what was recorded elsewhere; the role {} may not bring that, it takes the role {}", has.as_str(), Role::Admin.as_str())]
    Imported {
        /// The role that the sender has.
        has: Role,
    },
    /// The event claims to come from the service itself.
    #[error("the source `{0}` is the service's own; use one of your own")]
    OwnSource(String),
    /// Two others are named as the one on whose behalf it was sent.
    #[error("`actor` and `onbehalfof` name two others; leave one out")]
    TwoOthers,
}

/// Checks that a role may write events of this type.
///
/// # Errors
/// The role may not; the error names the roles that may.
pub fn may_write(role: Role, kind: &str) -> Result<(), AuthorityError> {
    let writer = match event_type(kind) {
        Some(listed) => listed.writer,
        None if is_service_kind(kind) => EventWriter::Service,
        None => EventWriter::Anyone,
    };
    // An answer to a suggestion and the policy that comes of it stand together, which the service sees to.
    if [SuggestionAccepted::KIND, SuggestionRejected::KIND].contains(&kind) {
        return Err(AuthorityError::Reserved { kind: kind.to_owned(), writer: EventWriter::Service });
    }
    let needs = match writer {
        EventWriter::Anyone => Role::Agent,
        EventWriter::Operators => Role::Operator,
        EventWriter::Admins => Role::Admin,
        // An import brings what was observed elsewhere; the ledger sees that it is marked so.
        EventWriter::Reactor if kind == TrustObserved::KIND && role == Role::Admin => return Ok(()),
        EventWriter::Reactor | EventWriter::Service => {
            return Err(AuthorityError::Reserved { kind: kind.to_owned(), writer });
        }
    };
    if suffices(role, needs) {
        return Ok(());
    }
    Err(AuthorityError::Role { kind: kind.to_owned(), has: role, needs })
}

/// Returns `true` if a role may do all that another one may. An auditor may read, and has none of the others' further rights. The
/// role `metrics` may do what every role may.
#[must_use]
pub const fn suffices(role: Role, needs: Role) -> bool {
    match (role, needs) {
        (Role::Admin, _)
        | (Role::Operator, Role::Operator | Role::Agent)
        | (Role::Agent, Role::Agent)
        | (Role::Operator | Role::Agent | Role::Auditor, Role::Auditor)
        | (_, Role::Metrics) => true,
        (Role::Operator | Role::Agent | Role::Auditor | Role::Metrics, _) => false,
    }
}

impl Identity {
    /// Returns the identity of anybody on the machine of a ledger that has no tokens.
    #[must_use]
    pub fn local(role: Role) -> Self {
        Self { role, actor: format!("{}:local", role.as_str()), agent: None, is_attested: false }
    }

    /// Returns the identity of a token's holder.
    #[must_use]
    pub fn of(principal: &PrincipalCreated) -> Self {
        let agent = principal.agent.as_ref().map(ToString::to_string);
        Self { role: principal.role, actor: principal.actor(), agent, is_attested: true }
    }

    /// Returns the actor under which they ask for calls, and report outcomes.
    #[must_use]
    pub fn caller(&self) -> &str {
        if self.is_attested { &self.actor } else { UNKNOWN_AGENT }
    }

    /// Returns the agent that a call is asked for or reported of: of an agent's token its own, else the one that is named.
    ///
    /// # Errors
    /// The token is another agent's.
    pub fn agent_for<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>, AuthorityError> {
        let Some(own) = &self.agent else { return Ok(named) };
        match named.filter(|named| named != own) {
            Some(named) => Err(AuthorityError::OtherAgent { own: own.clone(), named: named.to_owned() }),
            None => Ok(Some(own)),
        }
    }

    /// Puts the sender into an event that they may write: as its actor, and, of an agent, as its agent. An actor that the event
    /// named before goes to the extension `onbehalfof`. A sender without a token is unknown, and puts nothing in.
    ///
    /// # Errors
    /// The event is not theirs to write.
    pub fn sign(&self, event: &mut Event<'_>) -> Result<(), AuthorityError> {
        may_write(self.role, &event.kind)?;
        self.check_source(event)?;
        if !self.is_attested {
            return Ok(());
        }
        self.check_claims(event)?;
        if let Some(own) = &self.agent {
            self.agent_for(event.agent.as_deref())?;
            event.agent = Some(Cow::Owned(own.clone()));
        }
        let other = event.actor.take().filter(|named| *named != self.actor);
        if let Some(other) = other {
            if event.extensions.iter().any(|(name, _)| name == ON_BEHALF_OF) {
                return Err(AuthorityError::TwoOthers);
            }
            event.extensions.push((Cow::Borrowed(ON_BEHALF_OF), ExtensionValue::Text(other)));
        }
        event.actor = Some(Cow::Owned(self.actor.clone()));
        Ok(())
    }

    /// Refuses events under the service's own sources: a sender could take their identities, and keep the service from writing its
    /// own. Principals alone are written from outside, by admins.
    fn check_source(&self, event: &Event<'_>) -> Result<(), AuthorityError> {
        let is_own = event.source.starts_with(OWN_SOURCES);
        let may = self.role == Role::Admin && event.kind.starts_with(PRINCIPALS);
        if is_own && !may { Err(AuthorityError::OwnSource(event.source.to_string())) } else { Ok(()) }
    }

    /// Checks the claims of data whose type has a meaning here: its author, and the place of its recording.
    fn check_claims(&self, event: &Event<'_>) -> Result<(), AuthorityError> {
        if event_type(&event.kind).is_none() {
            return Ok(());
        }
        let Data::Json(json) = &event.data else { return Ok(()) };
        // Data that is no object claims nothing, and is refused where it is read.
        let Ok(claims) = serde_json::from_slice::<DataClaims<'_>>(json.as_bytes()) else { return Ok(()) };
        // Telemetry has to say that it is self-reported; nothing follows from it.
        let is_telemetry = event.kind.starts_with(TELEMETRY_PREFIX);
        if claims.assurance.is_some() && self.role != Role::Admin && !is_telemetry {
            return Err(AuthorityError::Imported { has: self.role });
        }
        // `by` of every other type is on whose behalf.
        let (member, claimed) = match &*event.kind {
            ApprovalResolved::KIND => ("by", claims.by),
            PolicyPublished::KIND => ("author", claims.author),
            _ => return Ok(()),
        };
        match claimed {
            Some(ClaimText::Text(named)) if named != self.actor => {
                Err(AuthorityError::OtherBy { member, own: self.actor.clone(), named: named.into_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// The claims of data that only a token proves.
#[derive(Deserialize)]
#[serde(expecting = "struct Claims")]
struct DataClaims<'a> {
    #[serde(borrow, default)]
    by: Option<ClaimText<'a>>,
    #[serde(borrow, default)]
    author: Option<ClaimText<'a>>,
    #[serde(default)]
    assurance: Option<IgnoredAny>,
}

/// A text, or something that its type will not take.
#[derive(Deserialize)]
#[serde(untagged)]
enum ClaimText<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(IgnoredAny),
}

#[cfg(test)]
mod tests {
    use bitacora_formats::Json;
    use bitacora_vocabulary::EVENT_TYPES;

    use super::*;

    #[test]
    fn every_type_is_written_by_whom_the_vocabulary_names() {
        for listed in EVENT_TYPES {
            let may: Vec<Role> =
                Role::ALL.into_iter().filter(|role| may_write(*role, listed.kind).is_ok()).collect();
            let expected: &[Role] = match listed.writer {
                // Recorded by answering, which takes an operator too.
                EventWriter::Operators if listed.kind.starts_with("suggestion.") => &[],
                EventWriter::Anyone => &[Role::Agent, Role::Operator, Role::Admin],
                EventWriter::Operators => &[Role::Operator, Role::Admin],
                EventWriter::Admins => &[Role::Admin],
                EventWriter::Reactor if listed.kind == "trust.observed" => &[Role::Admin],
                EventWriter::Reactor | EventWriter::Service => &[],
            };
            assert_eq!(may, expected, "{}", listed.kind);
        }
        for role in Role::ALL {
            assert_eq!(may_write(role, "x.note").is_ok(), ![Role::Auditor, Role::Metrics].contains(&role));
            for kind in ["ledger.anything", "hold.placed", "key.lost", "principal.renamed", "subject.erased"]
            {
                let reserved = may_write(role, kind).unwrap_err();
                assert!(
                    matches!(reserved, AuthorityError::Reserved { writer: EventWriter::Service, .. }),
                    "{kind}"
                );
            }
        }
    }

    #[test]
    fn a_role_may_what_those_below_it_may() {
        use Role::{Admin, Agent, Auditor, Metrics, Operator};
        for (role, may) in [
            (Agent, vec![Agent, Auditor, Metrics]),
            (Operator, vec![Agent, Operator, Auditor, Metrics]),
            (Admin, vec![Agent, Operator, Admin, Auditor, Metrics]),
            (Auditor, vec![Auditor, Metrics]),
            (Metrics, vec![Metrics]),
        ] {
            let found: Vec<Role> = Role::ALL.into_iter().filter(|needs| suffices(role, *needs)).collect();
            assert_eq!(found, may, "{role:?}");
        }
    }

    #[test]
    fn who_sent_an_event_stands_in_it_whatever_it_says() {
        let agent = Identity {
            role: Role::Agent,
            actor: "agent:0123456789ab".to_owned(),
            agent: Some("coder".to_owned()),
            is_attested: true,
        };
        let mut event = Event::new("1", "/s", "x.note", "s");
        agent.sign(&mut event).unwrap();
        assert_eq!(event.actor.as_deref(), Some("agent:0123456789ab"));
        assert_eq!(event.agent.as_deref(), Some("coder"));
        assert!(event.extensions.is_empty());
        let once = event.clone();
        agent.sign(&mut event).unwrap();
        assert_eq!(event, once, "signing twice is signing once");

        event.actor = Some("admin:local".into());
        agent.sign(&mut event).unwrap();
        assert_eq!(event.actor.as_deref(), Some("agent:0123456789ab"));
        assert_eq!(event.extensions, [("onbehalfof".into(), ExtensionValue::Text("admin:local".into()))]);
        event.actor = Some("another".into());
        assert_eq!(agent.sign(&mut event), Err(AuthorityError::TwoOthers));

        let mut event = Event::new("1", "/s", "x.note", "s");
        event.agent = Some("other".into());
        assert!(matches!(agent.sign(&mut event), Err(AuthorityError::OtherAgent { .. })));
        let operator = Identity { role: Role::Operator, agent: None, ..agent };
        operator.sign(&mut event).unwrap();
        assert_eq!(event.agent.as_deref(), Some("other"), "operators may name one");
        let once = event.clone();
        Identity::local(Role::Admin).sign(&mut event).unwrap();
        assert_eq!(event, once, "who has shown no token is not written into what they send");
        assert!(Identity::local(Role::Auditor).sign(&mut event).is_err());
    }

    #[test]
    fn what_data_claims_of_its_sender_is_so_or_refused() {
        let holder = |role: Role| Identity {
            role,
            actor: format!("{}:0123456789ab", role.as_str()),
            agent: None,
            is_attested: true,
        };
        let sign = |role, kind: &'static str, data: &'static str| {
            let mut event = Event::new("1", "/s", kind, "s");
            event.data = Data::Json(Json::check(data.as_bytes().to_vec()).unwrap());
            holder(role).sign(&mut event)
        };
        let word = r#"{"approval":"a1","resolution":"approved","by":"operator:0123456789ab"}"#;
        assert_eq!(sign(Role::Operator, "approval.resolved", word), Ok(()));
        let refused = sign(Role::Admin, "approval.resolved", word).unwrap_err();
        assert!(matches!(refused, AuthorityError::OtherBy { .. }), "{refused}");
        // It is refused in any spelling.
        let word = r#"{"approval":"a1","resolution":"approved","\u0062y":"ana"}"#;
        assert!(sign(Role::Operator, "approval.resolved", word).is_err());
        assert_eq!(sign(Role::Operator, "panic.engaged", r#"{"by":"ana","reason":"r"}"#), Ok(()));

        let published = r#"{"version":1,"author":"operator:0123456789ab"}"#;
        assert_eq!(sign(Role::Operator, "policy.published", published), Ok(()));
        let refused = sign(Role::Admin, "policy.published", published).unwrap_err();
        assert!(refused.to_string().starts_with("`author` names `operator:0123456789ab`"), "{refused}");
        assert_eq!(sign(Role::Operator, "x.note", published), Ok(()));

        for (kind, data) in [
            ("tool.requested", r#"{"call":"c","tool":"t","assurance":"imported"}"#),
            ("session.started", r#"{"assurance":{}}"#),
            ("tool.completed", r#"{"by":7,"\u0061ssurance":"imported"}"#),
        ] {
            for role in [Role::Agent, Role::Operator] {
                assert_eq!(sign(role, kind, data), Err(AuthorityError::Imported { has: role }), "{kind}");
            }
            assert_eq!(sign(Role::Admin, kind, data), Ok(()));
        }
        assert_eq!(sign(Role::Agent, "x.note", r#"{"assurance":"high"}"#), Ok(()));
        assert_eq!(sign(Role::Agent, "tool.completed", r#"{"call":"c","assurance":null}"#), Ok(()));
        assert_eq!(sign(Role::Agent, "session.started", "[1]"), Ok(()));
    }
}

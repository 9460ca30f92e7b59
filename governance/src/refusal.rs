//! The refusal of a request by the reactor.

/// A reactor's reason not to admit a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactorRefusal {
    /// The reason in one word, as answers name it.
    pub code: RefusalCode,
    /// The reason in words that a caller can act on.
    pub reason: String,
}

/// The reason for which a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// The event's data does not fit its type.
    InvalidData,
    /// The call is not known: it was never requested, or it is long over.
    NoSuchCall,
    /// Another request was made under the same call.
    CallReused,
    /// Another caller made one.
    CallTaken,
    /// Another call was made under the same idempotency key.
    KeyReused,
    /// There is no such approval.
    NoSuchApproval,
    /// The approval is resolved already.
    AlreadyResolved,
    /// Nobody resolves a request of their own.
    OwnRequest,
    /// There is no such policy, or it cannot be read.
    NoSuchPolicy,
    /// The event names a thing that does not exist.
    NoSuchThing,
    /// Only the reactor writes this type.
    ReservedType,
    /// The facts that it was examined with have changed since.
    Moved,
    /// A limit of the state is reached.
    StateFull,
    /// The state cannot be trusted any more.
    Broken,
}

impl RefusalCode {
    /// Returns the word that answers name it by.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidData => "schema",
            Self::NoSuchCall => "no-such-call",
            Self::CallReused => "call-reused",
            Self::CallTaken => "call-taken",
            Self::KeyReused => "key-reused",
            Self::NoSuchApproval => "no-such-approval",
            Self::AlreadyResolved => "already-resolved",
            Self::OwnRequest => "own-request",
            Self::NoSuchPolicy => "no-such-policy",
            Self::NoSuchThing => "no-such-thing",
            Self::ReservedType => "reserved-type",
            Self::Moved => "state-moved",
            Self::StateFull => "state-full",
            Self::Broken => "reactor-broken",
        }
    }

    /// Returns `true` if the same request may pass when it is sent again.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Moved)
    }
}

impl ReactorRefusal {
    /// Returns the refusal of data that does not fit its type.
    pub(crate) fn unfit(why: &dyn std::fmt::Display) -> Self {
        Self::new(RefusalCode::InvalidData, why.to_string())
    }

    /// Returns the refusal of an entry that there is no room for.
    pub(crate) fn too_many(what: &str) -> Self {
        Self::new(RefusalCode::StateFull, format!("there are too many {what}; take some away first"))
    }

    /// Returns a refusal for this reason.
    #[must_use]
    pub fn new(code: RefusalCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// Returns the refusal of an act on a thing that is not there.
pub(crate) fn no_such(what: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::NoSuchThing, format!("there is no {what}"))
}

/// Returns a name that somebody chose, between backticks, with none in it: readers see where it ends.
pub(crate) fn quoted(name: &dyn std::fmt::Display) -> String {
    format!("`{}`", name.to_string().replace('`', "'"))
}

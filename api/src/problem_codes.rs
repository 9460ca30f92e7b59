//! The codes of problems: one table decides the status, the title and the effects of each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The effect of a refused or failed request on the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideEffects {
    /// It has none.
    None,
    /// It may have one: repeat the same request, it is accepted once.
    Unknown,
    /// It took effect.
    Committed,
}

impl SideEffects {
    /// Returns its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Unknown => "unknown",
            Self::Committed => "committed",
        }
    }
}

/// The facts that are the same for every occurrence of a [`ProblemCode`].
#[derive(Debug, Clone, Copy)]
pub struct ProblemFacts {
    /// Its name on the wire.
    pub name: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// `true` if the same request may succeed later.
    pub retryable: bool,
    /// The effect that the request may have had.
    pub side_effects: SideEffects,
    /// The title in words.
    pub title: &'static str,
}

macro_rules! codes {
    ($($variant:ident, $name:literal, $status:literal, $retryable:literal, $effects:ident, $title:literal;)*) => {
        /// Every error of the interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemCode { $(#[doc = $title] $variant),* }

        impl ProblemCode {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the code with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Returns what every occurrence of the code has in common.
            #[must_use]
            pub fn facts(self) -> ProblemFacts {
                match self {
                    $(Self::$variant => ProblemFacts {
                        name: $name,
                        status: $status,
                        retryable: $retryable,
                        side_effects: SideEffects::$effects,
                        title: $title,
                    },)*
                }
            }
        }
    };
}

codes! {
    // The connection and the request's envelope.
    RequestFraming, "request-framing", 400, false, None, "the request is not well-formed HTTP/1.1";
    BodyCut, "body-cut", 400, true, None, "the request body is shorter than announced";
    RequestTimeout, "request-timeout", 408, true, None, "the request did not arrive in time";
    TargetTooLong, "target-too-long", 414, false, None, "the request target is too long";
    HeadersTooLarge, "headers-too-large", 431, false, None, "the request head is too large";
    MisdirectedHost, "misdirected-host", 421, false, None, "this host is not served here";
    Unauthorized, "unauthorized", 401, false, None, "a token is needed, or this one is not taken";
    Forbidden, "forbidden", 403, false, None, "the role may not do this";
    CrossSite, "cross-site", 403, false, None, "requests from another site's pages are refused";
    NoSuchResource, "no-such-resource", 404, false, None, "there is no such resource";
    MethodNotAllowed, "method-not-allowed", 405, false, None, "the resource does not know this method";
    NotAcceptable, "not-acceptable", 406, false, None, "no media type of the Accept field is offered";
    UnsupportedMediaType, "unsupported-media-type", 415, false, None, "the content type is not taken here";
    UnsupportedEncoding, "unsupported-encoding", 415, false, None, "the content encoding is not taken here";
    BadEncoding, "bad-encoding", 400, false, None, "the body does not decode as its content encoding";
    BadHeader, "bad-header", 400, false, None, "a header field is malformed";
    BadQuery, "bad-query", 400, false, None, "a query parameter is unknown, repeated or malformed";
    BadBody, "bad-body", 400, false, None, "the body is not what this resource takes";
    BadPosition, "bad-position", 400, false, None, "a position is a decimal number from 1 to 2^64 - 1";
    HistoryTooLong, "history-too-long", 400, false, None, "too much happened up to there to answer it at once";
    InvalidLedgerName, "invalid-ledger-name", 400, false, None, "that cannot be a ledger's name";
    InvalidStreamName, "invalid-stream-name", 400, false, None, "that cannot be a stream's name";
    // A body of events.
    RequestTooLarge, "request-too-large", 413, false, None, "the request is too large";
    TooManyEvents, "too-many-events", 413, false, None, "the request holds too many events";
    EmptyBatch, "empty-batch", 400, false, None, "the request holds no event";
    NotJson, "not-json", 400, false, None, "the body is not JSON";
    TruncatedJson, "truncated-json", 400, false, None, "the JSON ends early";
    InvalidUtf8, "invalid-utf8", 400, false, None, "the body is not UTF-8";
    DuplicateKey, "duplicate-key", 400, false, None, "a JSON object names a member twice";
    TooDeep, "too-deep", 400, false, None, "the JSON is nested too deep";
    NumberRange, "number-range", 400, false, None, "a JSON number is past 2^53";
    LoneSurrogate, "lone-surrogate", 400, false, None, "a JSON string holds half a character";
    NulCharacter, "nul-character", 400, false, None, "a JSON string holds a NUL";
    NotAnEvent, "not-an-event", 400, false, None, "a CloudEvent is a JSON object";
    NotABatch, "not-a-batch", 400, false, None, "a batch is a JSON array";
    BadSpecVersion, "bad-specversion", 400, false, None, "the specversion is not 1.0";
    DataTwice, "data-and-data-base64", 400, false, None, "an event has its data twice";
    StreamMismatch, "stream-mismatch", 400, false, None, "an event is of another stream than the request";
    // One event.
    MissingAttribute, "missing-attribute", 400, false, None, "an event lacks an attribute";
    EmptyAttribute, "empty-attribute", 400, false, None, "an attribute is empty";
    AttributeTooLong, "attribute-too-long", 400, false, None, "an attribute is too long";
    DataTooLarge, "data-too-large", 413, false, None, "an event's data is too large";
    TooManyAttributes, "too-many-attributes", 400, false, None, "an event has too many tags or extensions";
    BadExtensionName, "bad-extension-name", 400, false, None, "an extension's name is not taken";
    BadAttribute, "bad-attribute", 400, false, None, "an attribute is malformed";
    BadEvent, "bad-event", 400, false, None, "an event cannot be kept";
    Schema, "schema", 422, false, None, "an event's data is not what its type asks for";
    ReservedType, "reserved-type", 403, false, None, "only the service writes this event type";
    SecretName, "secret-name", 422, false, None, "what an event is known by looks like a secret";
    RepeatedId, "repeated-id", 400, false, None, "an id stands twice in the request";
    // An append's conditions and outcome.
    IdReused, "id-reused", 409, false, None, "the id stands for another event already";
    ConditionFailed, "condition-failed", 412, false, None, "the ledger is not as expected";
    ConditionScope, "condition-scope", 400, false, None, "an expected version needs events of one stream";
    ConditionSize, "condition-size", 400, false, None, "the append condition names nothing or too much";
    ConditionTooFar, "condition-too-far", 400, false, None, "the append condition reaches back too far";
    LedgerFull, "ledger-full", 507, false, None, "the ledger takes no more events";
    TooManyStreams, "too-many-streams", 507, false, None, "the ledger takes no more streams";
    // Governance did not take an event.
    NoSuchCall, "no-such-call", 404, false, None, "the call is not known";
    NoSuchRun, "no-such-run", 404, false, None, "the run is not known";
    NoSuchSession, "no-such-session", 404, false, None, "the session is not known";
    NoSuchContract, "no-such-contract", 404, false, None, "the contract is not known";
    CallReused, "call-reused", 409, false, None, "the call was asked for before";
    CallTaken, "call-taken", 409, false, None, "another caller asked for a call of this id";
    KeyReused, "key-reused", 409, false, None, "the idempotency key stands for another call";
    NoSuchApproval, "no-such-approval", 404, false, None, "there is no such approval";
    SubjectSealed, "subject-sealed", 409, false, None, "the call's arguments are a data subject's";
    SubjectDiffers, "subject-differs", 409, false, None, "the event names another data subject";
    SubjectUnknown, "subject-unknown", 404, false, None, "no key of this data subject is here";
    NameInReason, "name-in-reason", 422, false, None, "what is recorded for good names the data subject";
    Held, "held", 409, false, None, "a legal hold covers the data subject's events";
    TooManyErasures, "too-many-erasures", 507, false, None, "the ledger takes no more erasures";
    ErasureUnfinished, "erasure-unfinished", 500, true, Committed, "the erasure is recorded and not complete";
    AlreadyResolved, "already-resolved", 409, false, None, "the approval is resolved already";
    OwnRequest, "own-request", 403, false, None, "nobody resolves a request of their own";
    SuggestionAnswered, "suggestion-answered", 409, false, None, "the suggestion is answered already";
    SuggestionStale, "suggestion-stale", 409, false, None, "what was observed speaks for the suggestion no more";
    NoSuchPolicy, "no-such-policy", 404, false, None, "there is no such policy";
    OwnPolicy, "own-policy", 409, false, None, "the active policy is no starter";
    NoSuchGoverned, "no-such-thing", 404, false, None, "what the event names is not there";
    StateMoved, "state-moved", 503, true, None, "what governs the ledger has just changed";
    StateFull, "state-full", 507, true, None, "a limit of what governs the ledger is reached";
    ReactorBroken, "reactor-broken", 503, false, None, "what governs the ledger cannot be trusted any more";
    NotGoverned, "not-governed", 503, false, None, "nothing decides about calls in this ledger";
    StateTooLarge, "state-too-large", 507, false, None, "the state is too large to be handed out";
    QueueFull, "queue-full", 503, true, None, "the ledger's queue is full";
    ReadOnly, "read-only", 503, true, None, "the ledger takes no appends now";
    DiskFull, "disk-full", 507, true, None, "the disk is full";
    WriterStopped, "writer-stopped", 503, false, None, "the ledger's writer stopped after a failed write";
    Closing, "closing", 503, true, None, "the ledger is closing";
    SubjectKey, "subject-key", 503, true, None, "a data subject's key could not be kept";
    SubjectKeyDamaged, "subject-key-damaged", 500, false, None, "a data subject's key is damaged";
    LookUpFailed, "look-up-failed", 503, true, None, "what came before could not be looked up";
    OutOfMemory, "out-of-memory", 503, false, None, "the ledger holds too much in memory";
    Unknown, "unknown", 503, true, Unknown, "whether the events were kept is unknown";
    // Checkpoints.
    NoSuchCheckpoint, "no-such-checkpoint", 404, false, None, "there is no such checkpoint";
    NoSuchContent, "no-such-content", 422, false, None, "a checkpoint names content that is not there";
    ContentTooLarge, "content-too-large", 413, false, None, "a content is too large";
    ThreadOfAnother, "thread-of-another", 403, false, None, "the thread is another agent's";
    ThreadTaken, "thread-taken", 409, false, None, "the thread holds checkpoints already";
    ThreadFull, "thread-full", 507, false, None, "the thread holds too much";
    // Ledgers and reads.
    LedgerNotFound, "ledger-not-found", 404, false, None, "there is no such ledger";
    NoTreeHead, "no-tree-head", 503, true, None, "no tree head is signed yet";
    LedgerExists, "ledger-exists", 409, false, None, "the ledger exists already";
    LedgerUnavailable, "ledger-unavailable", 503, false, None, "the ledger could not be opened";
    TooManyLedgers, "too-many-ledgers", 507, false, None, "the service takes no more ledgers";
    LedgerNotMade, "ledger-not-made", 503, true, None, "the ledger could not be made";
    NotFound, "not-found", 404, false, None, "nothing stands at that position";
    OtherLedger, "other-ledger", 409, false, None, "the position is another ledger's";
    Corrupt, "corrupt", 500, false, None, "stored bytes are damaged";
    DiskError, "disk-error", 503, true, None, "the disk gave an error";
    KeyMissing, "key-missing", 503, false, None, "the keyring lacks the key of stored bytes";
    KeyRetired, "key-retired", 503, false, None, "the key of these events was moved into an offline keyring";
    ArchiveUnavailable, "archive-unavailable", 503, true, None, "archived events cannot be reached now";
    ContentExpired, "content-expired", 410, false, None, "content was removed under the retention policy";
    ContentErased, "content-erased", 410, false, None, "content was erased with its data subject";
    ArchiveDamaged, "archive-damaged", 500, false, None, "an archive is not what its manifest says";
    TreeBehind, "tree-behind", 503, true, None, "the tree over the events cannot be read now";
    ProjectionBehind, "projection-behind", 503, true, None, "the state is not that fresh yet";
    ProjectionStopped, "projection-stopped", 503, false, None, "the state cannot take in an event, or what it is made of cannot be read";
    // The service.
    NotReady, "not-ready", 503, true, None, "an append could not be made durable now";
    Overloaded, "overloaded", 503, true, None, "too much is asked at once";
    Internal, "internal", 500, true, Unknown, "the service failed on this request";
}

impl ProblemCode {
    /// Returns its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_an_error_status_and_is_found_by_its_name() {
        for code in ProblemCode::ALL {
            let facts = code.facts();
            assert!((400..600).contains(&facts.status), "{code:?}");
            assert_eq!(ProblemCode::named(facts.name), Some(*code));
            assert!(
                facts
                    .name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'0'..=b'9')),
                "{code:?}"
            );
        }
    }

    #[test]
    fn the_page_on_http_lists_every_code_and_no_other() {
        let listed: Vec<&str> = include_str!("../../docs/HTTP.md")
            .split_once("## Errors")
            .map_or("", |(_, errors)| errors)
            .lines()
            .filter(|line| line.starts_with("| `"))
            .collect();
        let row = |code: &ProblemCode| {
            let ProblemFacts { name, status, retryable, side_effects, title } = code.facts();
            let again = if retryable { "yes" } else { "no" };
            format!("| `{name}` | {status} | {again} | {} | {title} |", side_effects.as_str())
        };
        assert_eq!(listed, ProblemCode::ALL.iter().map(row).collect::<Vec<_>>());
    }
}

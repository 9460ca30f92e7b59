//! Problem documents (RFC 9457), and the one table that decides their status.

use std::fmt::Display;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bitacora_formats::LedgerName;

use crate::json::JsonWriter;

/// The effect of a refused or failed request on the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideEffects {
    None,
    /// It may have: repeat the same request, it is accepted once.
    Unknown,
    Committed,
}

impl SideEffects {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Unknown => "unknown",
            Self::Committed => "committed",
        }
    }
}

macro_rules! codes {
    ($($variant:ident, $name:literal, $status:literal, $retryable:literal, $effects:ident, $title:literal;)*) => {
        /// Every error of the interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Code { $(#[doc = $title] $variant),* }

        impl Code {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code with this name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            pub(crate) fn facts(self) -> Facts {
                match self {
                    $(Self::$variant => Facts {
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

/// The facts that are the same for every occurrence of a [`Code`].
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) status: u16,
    /// `true` if the same request may succeed later.
    pub(crate) retryable: bool,
    pub(crate) side_effects: SideEffects,
    pub(crate) title: &'static str,
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
    ArchiveDamaged, "archive-damaged", 500, false, None, "an archive is not what its manifest says";
    TreeBehind, "tree-behind", 503, true, None, "the tree over the events cannot be read now";
    ProjectionBehind, "projection-behind", 503, true, None, "the state is not that fresh yet";
    ProjectionStopped, "projection-stopped", 503, false, None, "the state cannot take in an event, or what it is made of cannot be read";
    // The service.
    NotReady, "not-ready", 503, true, None, "an append could not be made durable now";
    Overloaded, "overloaded", 503, true, None, "too much is asked at once";
    Internal, "internal", 500, true, Unknown, "the service failed on this request";
}

/// One fault inside a request, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) place: FaultLocation,
    pub(crate) detail: String,
}

/// The place of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultLocation {
    /// A value by its JSON pointer (RFC 6901), in NDJSON within the line, from 1.
    Body {
        line: Option<usize>,
        pointer: String,
    },
    Parameter(String),
    Header(&'static str),
    /// Not in the request at all: in a ledger.
    Ledger(LedgerName),
}

/// One error, as it is answered.
#[derive(Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    faults: Vec<RequestFault>,
    members: Vec<(&'static str, String)>,
    retry_after_s: Option<u32>,
    side_effects: Option<SideEffects>,
    closes: bool,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            faults: Vec::new(),
            members: Vec::new(),
            retry_after_s: None,
            side_effects: None,
            closes: false,
        }
    }

    /// Returns `true` if it has this code.
    pub(crate) fn is(&self, code: Code) -> bool {
        self.code == code
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns a member of the problem document.
    pub(crate) fn member(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(member, _)| *member == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn with_fault(mut self, place: FaultLocation, detail: impl Into<String>) -> Self {
        self.faults.push(RequestFault { place, detail: detail.into() });
        self
    }

    /// Adds a member of the problem document, such as `position`; numbers past 2^53 are the reason it is a string.
    pub(crate) fn with(mut self, member: &'static str, value: impl Display) -> Self {
        self.members.push((member, format!("{value}")));
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// For an error whose effects are known better than its code says.
    pub(crate) fn with_side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = Some(side_effects);
        self
    }

    /// For an error about one event of many lines: its fault stands in this line.
    pub(crate) fn at_line(mut self, number: u64) -> Self {
        let number = usize::try_from(number).ok();
        for fault in &mut self.faults {
            if let FaultLocation::Body { line, pointer } = &mut fault.place {
                *line = number;
                // A first step that is a number is the event among those of the request, which is the line now.
                let after_first =
                    pointer.get(1..).unwrap_or_default().find('/').map_or(pointer.len(), |at| at + 1);
                if pointer.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
                    pointer.replace_range(..after_first, "");
                }
            }
        }
        if self.faults.is_empty() {
            let place = FaultLocation::Body { line: number, pointer: String::new() };
            self.faults.push(RequestFault { place, detail: self.detail.clone() });
        }
        self
    }

    /// Returns `true` if the effect of the request is not known.
    pub(crate) fn is_unknown(&self) -> bool {
        self.side_effects.unwrap_or(self.code.facts().side_effects) == SideEffects::Unknown
    }

    /// The connection ends with this answer.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let facts = self.code.facts();
        let mut json = JsonWriter::with_capacity(256 + self.detail.len());
        json.begin_object();
        json.text_member("type", &format!("urn:bitacora:problem:{}", facts.name));
        json.text_member("title", facts.title);
        json.number_member("status", u64::from(facts.status));
        json.text_member("detail", &self.detail);
        json.text_member("code", facts.name);
        json.bool_member("retryable", facts.retryable);
        json.text_member("sideEffects", self.side_effects.unwrap_or(facts.side_effects).as_str());
        for (member, value) in &self.members {
            json.text_member(member, value);
        }
        if !self.faults.is_empty() {
            json.key("errors");
            json.begin_array();
            for fault in &self.faults {
                json.begin_object();
                match &fault.place {
                    FaultLocation::Body { line, pointer } => {
                        if let Some(line) = line {
                            json.number_member("line", *line as u64);
                        }
                        json.text_member("pointer", pointer);
                    }
                    FaultLocation::Parameter(parameter) => json.text_member("parameter", parameter),
                    FaultLocation::Header(header) => json.text_member("header", header),
                    FaultLocation::Ledger(name) => json.text_member("ledger", name.as_str()),
                }
                json.text_member("detail", &fault.detail);
                json.end_object();
            }
            json.end_array();
        }
        json.end_object();
        json.into_bytes()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let facts = self.code.facts();
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() =
            StatusCode::from_u16(facts.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"bitacora\""));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_an_error_status_and_is_found_by_its_name() {
        for code in Code::ALL {
            let facts = code.facts();
            assert!(StatusCode::from_u16(facts.status).unwrap().as_u16() >= 400, "{code:?}");
            assert_eq!(Code::named(facts.name), Some(*code));
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
        let row = |code: &Code| {
            let Facts { name, status, retryable, side_effects, title } = code.facts();
            let again = if retryable { "yes" } else { "no" };
            format!("| `{name}` | {status} | {again} | {} | {title} |", side_effects.as_str())
        };
        assert_eq!(listed, Code::ALL.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn a_problem_is_a_json_document_whatever_its_texts_hold() {
        let problem = Problem::new(Code::NotJson, "a \"quote\"\nand \u{1}")
            .with("position", u64::MAX)
            .with_fault(FaultLocation::Body { line: Some(3), pointer: "/0/a~1b".to_owned() }, "bad");
        let json: serde_json::Value = serde_json::from_slice(&problem.to_json()).unwrap();
        assert_eq!(json["detail"], "a \"quote\"\nand \u{1}");
        assert_eq!(json["position"], "18446744073709551615");
        assert_eq!(json["errors"][0], serde_json::json!({"line": 3, "pointer": "/0/a~1b", "detail": "bad"}));
        assert_eq!((json["status"].as_u64(), json["sideEffects"].as_str()), (Some(400), Some("none")));
    }
}

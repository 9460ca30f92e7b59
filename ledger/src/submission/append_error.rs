//! The reasons for which an append was not acknowledged, by what the caller will do about them.

use std::io;

use bitacora_formats::{After, EventError, Position, StreamVersion};
use bitacora_governance::{ReactorRefusal, RefusalCode};

use crate::read_error::ReadError;
use crate::subjects::SubjectsError;
use crate::submission::request::ExpectedVersion;
use crate::writer_state::ReadOnlyReason;

/// The remedy for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Change the request: repeating it gives the same answer.
    Refused,
    /// Repeat the same request later.
    Retry,
    /// Call the operator.
    Stop,
}

/// The state that a failed operation may have left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffects {
    /// Nothing.
    None,
    /// All of it or nothing; repeating the same request tells.
    Unknown,
}

/// The reasons for which an append was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The request names no event.
    #[error("the request holds no event")]
    EmptyRequest,
    /// Too many events at once.
    #[error("the request holds {found} events, at most {max} are taken; split it")]
    TooManyEvents {
        /// The number of events in the request.
        found: usize,
        /// The most events that a request may hold.
        max: usize,
    },
    /// Too many bytes at once.
    #[error("the request's records take {found} bytes, at most {max} are taken; split it")]
    TooLarge {
        /// The size of the encoded records, in bytes.
        found: usize,
        /// The largest size that is taken, in bytes.
        max: usize,
    },
    /// An event breaks a rule of its own.
    #[error("event {index}: {source}")]
    Invalid {
        /// The index of the event, from 0.
        index: usize,
        /// The rule that it breaks.
        source: EventError,
    },
    /// An event does not become a record.
    #[error("event {index}: {reason}")]
    Unencodable {
        /// The index of the event, from 0.
        index: usize,
        /// The reason, in words.
        reason: String,
    },
    /// An event's data is not what its type asks for, or its type is none that is known.
    #[error("event {index}{pointer}: {problem}")]
    Schema {
        /// The index of the event, from 0.
        index: usize,
        /// The value at fault within the event, as a JSON pointer.
        pointer: String,
        /// The problem with that value.
        problem: String,
    },
    /// A client used a type that only the service writes, or what derives events from events.
    #[error("event {index}: type `{kind}` is written by the service alone")]
    ReservedType {
        /// The index of the event, from 0.
        index: usize,
        /// Its type.
        kind: String,
    },
    /// The identity was accepted before, with other content.
    #[error("event {index}: its source and id stand at position {position} with other content; use a new id")]
    IdReused {
        /// The index of the event, from 0.
        index: usize,
        /// The position at which the identity stands.
        position: Position,
    },
    /// The identity stands twice in the request.
    #[error("event {index}: its source and id are those of event {first} of the same request; use a new id")]
    RepeatedId {
        /// The index of the event, from 0.
        index: usize,
        /// The event before it with the same identity.
        first: usize,
    },
    /// A name within the event looks like a secret: it would not be kept as it is.
    #[error("the {what} of event {index} looks like a secret, which is not recorded; name it otherwise")]
    SecretName {
        /// The index of the event, from 0.
        index: usize,
        /// The attribute that looks like one.
        what: &'static str,
    },
    /// The stream is not at the expected version.
    #[error("the stream is at version {}, not as expected ({expected:?}); read it again and decide anew", actual.map_or(0, StreamVersion::get))]
    VersionConflict {
        /// The version that the caller expected.
        expected: ExpectedVersion,
        /// The stream's version; `None` if it has no event.
        actual: Option<StreamVersion>,
        /// The position of its last event.
        position: Option<Position>,
    },
    /// An event matches the append condition.
    #[error("an event at position {position} matches the append condition; read up to it and decide anew")]
    ConditionFailed {
        /// The newest event that matches.
        position: Position,
    },
    /// The append condition reaches back to an event that the ledger does not have.
    #[error(
        "the append condition rests on position {after}, the ledger stands at {head}; the caller has seen another ledger, or one \
         that was rolled back"
    )]
    ConditionPastHead {
        /// The last position that the caller has seen.
        after: After,
        /// The durable head.
        head: Position,
    },
    /// An expected version needs all events to be of one stream.
    #[error("an expected version needs all events to be of one stream; split the request")]
    ConditionScope,
    /// The condition matches every event, or names too much.
    #[error("an append condition names 1 to {max} types and tags in all")]
    ConditionSize {
        /// The most types and tags that it may name.
        max: usize,
    },
    /// The condition reaches back too far.
    #[error(
        "the append condition reaches back over {span} events, at most {max} are searched; read on and use a later `after`"
    )]
    ConditionTooFar {
        /// The number of events that it reaches back over.
        span: u64,
        /// The most events that are searched.
        max: u64,
    },
    /// The ledger holds as many events as it may.
    #[error("the ledger holds {max} events, no more can be taken; begin another ledger")]
    LedgerFull {
        /// The most events that a ledger may hold.
        max: u64,
    },
    /// The ledger holds as many streams as it may.
    #[error("the ledger holds {max} streams, no more can be begun; use another ledger")]
    TooManyStreams {
        /// The most streams that a ledger may hold.
        max: usize,
    },
    /// The reactor failed on this request, or refused it.
    #[error("the request was not admitted: {reason}")]
    Reactor {
        /// The reason as a code.
        code: RefusalCode,
        /// The reason in the reactor's words.
        reason: String,
    },
    /// Too much is waiting already.
    #[error("the ledger's queue is full; repeat the request in {retry_after_s} s")]
    QueueFull {
        /// The time to wait before a retry, in seconds.
        retry_after_s: u64,
    },
    /// The ledger takes no appends now.
    #[error("the ledger is read-only: {0}")]
    ReadOnly(ReadOnlyReason),
    /// The writer is dead in this process.
    #[error("the writer stopped after a failed write ({0}); restart the service")]
    Poisoned(String),
    /// The ledger is ending.
    #[error("the ledger is closing; repeat the request when it is back")]
    Closing,
    /// A subject's key could not be made durable.
    #[error("the key of the data subject could not be kept: {0}; nothing was appended")]
    SubjectKey(io::Error),
    /// The file of a subject's key is damaged, or the key is gone that it leads to. Asking again gives the same.
    #[error(
        "the key of a data subject is damaged: {0}; nothing was appended, and nothing about others is held up"
    )]
    SubjectKeyDamaged(io::Error),
    /// A look-up that dedupe or a condition needs failed.
    #[error("the ledger could not look up what came before: {0}; nothing was appended")]
    LookUp(ReadError),
    /// The events may be kept or not: that is not known.
    #[error("whether the events were kept is unknown; repeat the same request, it is accepted once")]
    Unknown,
}

impl From<ReactorRefusal> for AppendError {
    fn from(refusal: ReactorRefusal) -> Self {
        Self::Reactor { code: refusal.code, reason: refusal.reason }
    }
}

impl AppendError {
    /// Returns the remedy for the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::QueueFull { .. } | Self::ReadOnly(_) | Self::Closing | Self::Unknown => ErrorKind::Retry,
            Self::Reactor { code, .. } if code.is_passing() => ErrorKind::Retry,
            Self::Reactor { code: RefusalCode::Broken, .. } => ErrorKind::Stop,
            Self::Poisoned(_) | Self::SubjectKey(_) | Self::SubjectKeyDamaged(_) | Self::LookUp(_) => {
                ErrorKind::Stop
            }
            _ => ErrorKind::Refused,
        }
    }

    /// Returns why nothing can be appended about a subject, by why its key cannot be had.
    pub(crate) fn of_subject_key(error: io::Error) -> Self {
        if SubjectsError::is_lasting(&error) {
            Self::SubjectKeyDamaged(error)
        } else {
            Self::SubjectKey(error)
        }
    }

    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyRequest => "empty-batch",
            Self::TooManyEvents { .. } => "too-many-events",
            Self::TooLarge { .. } => "request-too-large",
            Self::Invalid { source, .. } => source.code(),
            Self::Unencodable { .. } => "bad-event",
            Self::Schema { .. } => "schema",
            Self::ReservedType { .. } => "reserved-type",
            Self::IdReused { .. } => "id-reused",
            Self::RepeatedId { .. } => "repeated-id",
            Self::SecretName { .. } => "secret-name",
            Self::VersionConflict { .. } | Self::ConditionFailed { .. } | Self::ConditionPastHead { .. } => {
                "condition-failed"
            }
            Self::ConditionScope => "condition-scope",
            Self::ConditionSize { .. } => "condition-size",
            Self::ConditionTooFar { .. } => "condition-too-far",
            Self::LedgerFull { .. } => "ledger-full",
            Self::TooManyStreams { .. } => "too-many-streams",
            Self::Reactor { code, .. } => code.as_str(),
            Self::QueueFull { .. } => "queue-full",
            Self::ReadOnly(ReadOnlyReason::DiskFull) => "disk-full",
            Self::ReadOnly(_) => "read-only",
            Self::Poisoned(_) => "writer-stopped",
            Self::Closing => "closing",
            Self::SubjectKey(_) => "subject-key",
            Self::SubjectKeyDamaged(_) => "subject-key-damaged",
            Self::LookUp(_) => "look-up-failed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the state that the append may have left behind.
    #[must_use]
    pub fn side_effects(&self) -> SideEffects {
        match self {
            Self::Unknown => SideEffects::Unknown,
            _ => SideEffects::None,
        }
    }
}

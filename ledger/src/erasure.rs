//! The erasure of data subjects: the log says it, then the subject's key is destroyed.
//!
//! Everything that a subject's key sealed is unreadable without it, wherever it lies: in segments, in archives, in copies of both. The
//! erasure is recorded first and destroyed after, so a crash in between leaves an erasure that the next opening finishes
//! ([`recall`]).

mod anchor_memory;
mod held;
pub(crate) mod kept;
mod list_file;
pub(crate) mod named_subject;
pub(crate) mod recall;

use std::borrow::Cow;
use std::io;

use bitacora_formats::limits::MAX_ERASED_KEYS;
use bitacora_formats::{After, Position};
use bitacora_vocabulary::{FreeText, Name, SubjectErased, SubjectKeyId};

pub use self::anchor_memory::ErasureMemory;
use crate::append::own_events::append_own_at;
use crate::append::service_events::ServiceEvent;
use crate::erasure::held::{KeyHold, hold_on};
use crate::erasure::named_subject::naming_member;
use crate::ledger::Ledger;
use crate::ledger::visit::records;
use crate::limits::MAX_ERASED_KEYS_KEPT_WRITTEN;
use crate::read::log_reader::LogReader;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::subjects::destruction::NamedKey;
use crate::submission::append_error::AppendError;

/// A request to erase a data subject.
#[derive(Debug, Clone)]
pub struct ErasureRequest<'a> {
    /// The subject.
    pub subject: ErasedSubject<'a>,
    /// The authority for the erasure, in words that do not name the subject.
    pub authority: FreeText,
    /// The person who asked for it.
    pub by: Option<Name>,
    /// The reason, in words that do not name the subject.
    pub reason: Option<FreeText>,
    /// The person whose token is used.
    pub actor: Option<&'a str>,
}

/// The data subject that is to be erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasedSubject<'a> {
    /// By the name that events give in `datasubject`.
    Named(&'a str),
    /// That of the event at `position`, with the key under which this event is sealed. It needs no file in `subjects/by-name`.
    OfEvent {
        /// The event.
        position: Position,
        /// The name that the event has to give in `datasubject`, so that a mistyped position erases nobody.
        named: Option<&'a str>,
    },
}

/// A data subject's erasure, which is recorded, durable and complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erasure {
    /// The id of the key that is destroyed.
    pub key: SubjectKeyId,
    /// The event that records it.
    pub position: Position,
    /// The anchor's memory of it.
    pub memory: ErasureMemory,
}

/// The reasons for which a subject is not erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// No event names this subject, or it was erased before.
    #[error(
        "no key of this data subject is here: no event names it in `datasubject`, or it was erased before; compare the name with the event's"
    )]
    Unknown,
    /// The name leads to a key that was erased and destroyed before: an older file took the name's place, and nothing leads to a newer key.
    #[error(
        "the subject's name leads to a key that event {position} erased: the files in `subjects/by-name` are older than the log; name an event of the subject instead, by its position"
    )]
    OlderName {
        /// The event that records the erasure of that key.
        position: Position,
    },
    /// The event at this position names no data subject, or its key was erased before.
    #[error(
        "the event at position {position} names no data subject that is still to be erased; name an event with `datasubject` that can be read"
    )]
    UnknownOfEvent {
        /// The event.
        position: Position,
    },
    /// The event at this position does not give the name that the request gives beside it.
    #[error(
        "the event at position {position} does not name this data subject, or its name cannot be read; nothing is erased: compare the position and the name"
    )]
    OtherSubject {
        /// The event.
        position: Position,
    },
    /// The event whose subject is to be erased cannot be read.
    #[error("the event whose data subject is to be erased cannot be read: {0}")]
    Event(ReadError),
    /// The words that are recorded would name the subject.
    #[error(
        "`{member}` holds the subject's name, and events cannot be erased; name a ticket or a case instead"
    )]
    NamesSubject {
        /// The member of the request.
        member: &'static str,
    },
    /// A legal hold covers events of the subject.
    #[error(
        "legal hold `{hold}`, placed by event {position}, covers events of this data subject; nothing is erased until it is released"
    )]
    Held {
        /// The hold's id.
        hold: Name,
        /// The event that placed it.
        position: Position,
    },
    /// An event cannot be read that may have placed a hold.
    #[error(
        "the event at position {position} governs and cannot be read by this version; it may be a legal hold, so use the version that recorded it"
    )]
    HoldsUnknown {
        /// The event.
        position: Position,
    },
    /// The events that legal holds cover cannot be read.
    #[error("whether a legal hold covers events of this data subject is not known: {0}; nothing is erased")]
    HoldsUnread(ReadError),
    /// The ledger has as many erased keys as it can.
    #[error("{MAX_ERASED_KEYS} keys of this ledger are erased, and it takes no more; begin another ledger")]
    TooMany,
    /// The erasure is not known to be recorded, and nothing is destroyed.
    #[error("the erasure is not known to be recorded, and nothing is destroyed: {0}")]
    Append(#[from] AppendError),
    /// The erasure is recorded and nothing is readable through this process any more, but the key's file may still be there.
    #[error(
        "the erasure is recorded at position {position}, and no event is opened with the key any more, but its file may still be there: {source}; erase the subject again, or restart the service"
    )]
    Unfinished {
        /// The event that records it.
        position: Position,
        /// The error of the disk.
        source: io::Error,
    },
}

impl Ledger {
    /// Erases a data subject: records `subject.erased`, then destroys the subject's key. Returned `Ok` ⇒ both are durable, and everything
    /// that was sealed under the key reads as erased, here and after any crash. A legal hold that is in force wins. An event of the subject that is appended meanwhile may be
    /// erased with the others; a later one is sealed under a new key. Blocks on the disk and on the anchor.
    ///
    /// # Errors
    /// An [`EraseError`]. With [`EraseError::Unfinished`] the next call for the same subject, or the next opening, finishes it.
    pub fn erase(&self, request: &ErasureRequest<'_>) -> Result<Erasure, EraseError> {
        let shared = self.shared();
        if let ErasedSubject::Named(subject) = request.subject {
            refuse_names(request, subject)?;
        }
        self.check_open()?;
        let subjects = shared.write.preparer.subjects();
        let erasing = shared.erasures.begin();
        let (key, position) = find_and_record(shared, request)?;
        if let Err(source) = subjects.destroy(&key) {
            shared.erasures.note_unfinished(key, position);
            return Err(EraseError::Unfinished { position, source });
        }
        shared.erasures.note_finished(&key);
        save_list_locked(shared);
        // The next erasure, or a hold, does not wait for the anchor.
        drop(erasing);
        let memory =
            shared.erasures.kept().map_or(ErasureMemory::NoAnchor, |kept| kept.anchor.remember([key.id]));
        Ok(Erasure { key: SubjectKeyId::new(key.id), position, memory })
    }
}

/// Finds the subject's key, and records its erasure, unless that is recorded and the key not destroyed yet.
fn find_and_record(
    shared: &SharedState,
    request: &ErasureRequest<'_>,
) -> Result<(NamedKey, Position), EraseError> {
    let subjects = shared.write.preparer.subjects();
    match request.subject {
        ErasedSubject::Named(subject) => {
            let name = subjects.name_of(subject);
            if let Some(unfinished) = shared.erasures.unfinished(|key| key.name == Some(name)) {
                return Ok(unfinished);
            }
            let key = subjects.named_key(subject).map_err(AppendError::of_subject_key)?;
            begin(shared, request, key.ok_or(EraseError::Unknown)?)
        }
        ErasedSubject::OfEvent { position, named } => {
            let (id, subject) = sealed_at(shared, position)?;
            // Before the name: the key of an unfinished erasure opens nothing any more.
            if let Some(unfinished) = shared.erasures.unfinished(|key| key.id == id) {
                return Ok(unfinished);
            }
            // Nothing is left to compare the name with; whoever repeats the request hears what it would hear by name.
            if matches!(subjects.erasure_of(&id), Some(Some(_)))
                && !subjects.has_file(&id).map_err(AppendError::of_subject_key)?
            {
                return Err(EraseError::UnknownOfEvent { position });
            }
            if named.is_some_and(|named| subject.as_deref() != Some(named)) {
                return Err(EraseError::OtherSubject { position });
            }
            if let Some(subject) = &subject {
                refuse_names(request, subject)?;
            }
            let named = subject.as_deref().and_then(|subject| subjects.named_key(subject).ok()?);
            // A hold on the subject is on the key that the name leads to, which may be another one.
            if let Some(named) = named.filter(|named| named.id != id) {
                refuse_held(shared, &named)?;
            }
            begin(shared, request, NamedKey { name: subject.map(|subject| subjects.name_of(&subject)), id })
        }
    }
}

/// Returns the id of the key under which an event is sealed, and the subject's name if the key opens it.
fn sealed_at(shared: &SharedState, position: Position) -> Result<([u8; 16], Option<String>), EraseError> {
    let mut seal = None;
    let event = LogReader::new(shared).event(position).map_err(EraseError::Event)?;
    records(shared, After::new(position.get() - 1), position, &mut |visited| {
        seal = visited.record.seal().copied();
    })
    .map_err(EraseError::Event)?;
    let seal = seal.ok_or(EraseError::UnknownOfEvent { position })?;
    Ok((seal.subject_key, event.event.datasubject.map(Cow::into_owned)))
}

/// Records the erasure of a key, and bars it.
fn begin(
    shared: &SharedState,
    request: &ErasureRequest<'_>,
    key: NamedKey,
) -> Result<(NamedKey, Position), EraseError> {
    let subjects = shared.write.preparer.subjects();
    let position = match subjects.erasure_of(&key.id) {
        Some(Some(position)) => {
            if !subjects.has_file(&key.id).map_err(AppendError::of_subject_key)? {
                return Err(match request.subject {
                    ErasedSubject::Named(_) => EraseError::OlderName { position },
                    ErasedSubject::OfEvent { position, .. } => EraseError::UnknownOfEvent { position },
                });
            }
            position
        }
        // The anchor alone remembers it: it is erased.
        Some(None) => record(shared, request, &key)?,
        None => {
            refuse_held(shared, &key)?;
            record(shared, request, &key)?
        }
    };
    subjects.bar([(key.id, Some(position))].into());
    Ok((key, position))
}

/// Refuses the erasure of a key under which held events are sealed.
fn refuse_held(shared: &SharedState, key: &NamedKey) -> Result<(), EraseError> {
    Err(match hold_on(shared, SubjectKeyId::new(key.id)) {
        None => return Ok(()),
        Some(KeyHold::Held(hold, position)) => EraseError::Held { hold, position },
        Some(KeyHold::Unknown(position)) => EraseError::HoldsUnknown { position },
        Some(KeyHold::Unread(error)) => EraseError::HoldsUnread(error),
    })
}

/// Refuses words that name the subject: what is recorded stays.
fn refuse_names(request: &ErasureRequest<'_>, subject: &str) -> Result<(), EraseError> {
    let members = [
        ("authority", Some(request.authority.as_str())),
        ("by", request.by.as_ref().map(Name::as_str)),
        ("reason", request.reason.as_ref().map(FreeText::as_str)),
    ];
    naming_member(subject, &members).map_or(Ok(()), |member| Err(EraseError::NamesSubject { member }))
}

fn record(
    shared: &SharedState,
    request: &ErasureRequest<'_>,
    key: &NamedKey,
) -> Result<Position, EraseError> {
    if shared.write.preparer.subjects().erased_count() >= MAX_ERASED_KEYS {
        return Err(EraseError::TooMany);
    }
    let erased = SubjectErased {
        key: SubjectKeyId::new(key.id),
        authority: request.authority.clone(),
        by: request.by.clone(),
        reason: request.reason.clone(),
    };
    Ok(append_own_at(shared, &ServiceEvent::Erased { erased: &erased, actor: request.actor })?)
}

/// Has the list remember an erasure that is complete, unless so many are in it that each would write much. The log says it.
fn save_list_locked(shared: &SharedState) {
    let Some(kept) = shared.erasures.kept() else { return };
    if shared.write.preparer.subjects().erased_count() <= MAX_ERASED_KEYS_KEPT_WRITTEN {
        list_file::save_locked(shared, kept.generation);
    }
}

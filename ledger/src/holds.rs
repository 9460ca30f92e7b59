//! Legal holds and the retention policy: recorded one after the other, and never while an erasure is under way.
//!
//! A hold that is acknowledged therefore wins over every erasure that begins after it.

use bitacora_formats::Position;
use bitacora_vocabulary::{
    EventPosition, FreeText, HoldPlaced, HoldReleased, HoldScope, Name, RetentionChanged, StreamName,
    SubjectKeyId,
};

use crate::append::own_events::append_own_at;
use crate::append::service_events::ServiceEvent;
use crate::erasure::named_subject::naming_member;
use crate::ledger::Ledger;
use crate::submission::append_error::AppendError;

/// A request to place a hold.
#[derive(Debug, Clone)]
pub struct HoldRequest<'a> {
    /// The hold's id.
    pub hold: Name,
    /// The data subject whose events it covers, as events name it in `datasubject`. The name is not recorded.
    pub subject: Option<&'a str>,
    /// The first event that it covers.
    pub first: Option<EventPosition>,
    /// The last one.
    pub last: Option<EventPosition>,
    /// The stream whose events it covers.
    pub stream: Option<StreamName>,
    /// The reason, in words that do not name the subject.
    pub reason: FreeText,
    /// The person on whose behalf it is placed.
    pub by: Option<Name>,
    /// The person whose token is used.
    pub actor: Option<&'a str>,
}

/// The reasons for which a hold is not placed.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// No event names this subject, or it was erased before.
    #[error(
        "no key of this data subject is here: no event names it in `datasubject`, or it was erased before; nothing of it is left to be held"
    )]
    Gone,
    /// A recorded member holds the subject's name.
    #[error(
        "`{member}` holds the subject's name, and events cannot be erased; name a ticket or a case instead"
    )]
    NamesSubject {
        /// The member of the request.
        member: &'static str,
    },
    /// Nothing governs the ledger, so nothing would heed the hold.
    #[error("nothing governs this ledger, so nothing would heed a hold")]
    Ungoverned,
    /// It is not known to be recorded.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Ledger {
    /// Places a hold. Returned `Ok` ⇒ it is durable, and no erasure that begins later destroys what it covers. Waits for an erasure that
    /// is under way. Blocks on the disk.
    ///
    /// # Errors
    /// A [`HoldError`]; of those of the append, a refusal of a hold that cannot be.
    pub fn place_hold(&self, request: HoldRequest<'_>) -> Result<Position, HoldError> {
        let shared = self.shared();
        if shared.governance.is_none() {
            return Err(HoldError::Ungoverned);
        }
        refuse_names(&request)?;
        self.check_open()?;
        let _no_erasure = shared.erasures.begin();
        let key = request.subject.map(|subject| self.key_to_hold(subject)).transpose()?;
        let HoldRequest { hold, first, last, stream, reason, by, actor, .. } = request;
        let scope = HoldScope { key, first, last, stream };
        let placed = HoldPlaced { hold, scope, by, reason };
        Ok(append_own_at(shared, &ServiceEvent::HoldPlaced { placed: &placed, actor })?)
    }

    /// Returns the id of the key whose events a hold on a subject covers.
    fn key_to_hold(&self, subject: &str) -> Result<SubjectKeyId, HoldError> {
        let subjects = self.shared().write.preparer.subjects();
        let key = subjects.named_key(subject).map_err(AppendError::of_subject_key)?;
        let key = key.filter(|key| subjects.erasure_of(&key.id).is_none()).ok_or(HoldError::Gone)?;
        Ok(SubjectKeyId::new(key.id))
    }

    /// Releases a hold. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// As an append; a refusal of a hold that is not in force.
    pub fn release_hold(
        &self,
        released: &HoldReleased,
        actor: Option<&str>,
    ) -> Result<Position, AppendError> {
        let shared = self.shared();
        let _no_erasure = shared.erasures.begin();
        append_own_at(shared, &ServiceEvent::HoldReleased { released, actor })
    }

    /// Sets the whole retention policy. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// As an append; a refusal of a policy that cannot be.
    pub fn change_retention(
        &self,
        changed: &RetentionChanged,
        actor: Option<&str>,
    ) -> Result<Position, AppendError> {
        let shared = self.shared();
        let _in_turn = shared.erasures.begin();
        append_own_at(shared, &ServiceEvent::RetentionChanged { changed, actor })
    }
}

/// Refuses what would stand beside the id of the subject's key and name the subject.
fn refuse_names(request: &HoldRequest<'_>) -> Result<(), HoldError> {
    let Some(subject) = request.subject else { return Ok(()) };
    let members = [
        ("hold", Some(request.hold.as_str())),
        ("reason", Some(request.reason.as_str())),
        ("by", request.by.as_ref().map(Name::as_str)),
        ("stream", request.stream.as_ref().map(StreamName::as_str)),
    ];
    naming_member(subject, &members).map_or(Ok(()), |member| Err(HoldError::NamesSubject { member }))
}

//! The removals of expired content that the log records.

use bitacora_formats::{After, Data};
use bitacora_vocabulary::{EventData, RetentionExpired, Sha256Text};

use crate::ledger::Ledger;
use crate::limits::MAX_PAGE_EVENTS;
use crate::query::{Filter, ReadFrom, ReadQuery, StoredEvent};
use crate::read_error::ReadError;

impl Ledger {
    /// Returns `true` if an event records the removal that made the archive whose signed manifest has this digest.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn records_removal(&self, manifest: &Sha256Text) -> Result<bool, ReadError> {
        let filter = Filter { kinds: vec![RetentionExpired::KIND.to_owned()], ..Filter::default() };
        let mut from = Some(ReadFrom::After(After::START));
        while let Some(next) = from {
            let query = ReadQuery { from: next, until: None, limit: MAX_PAGE_EVENTS, filter: filter.clone() };
            let page = self.read(&query)?;
            if page.events.iter().any(|event| names(event, manifest)) {
                return Ok(true);
            }
            from = page.next;
        }
        Ok(false)
    }
}

fn names(event: &StoredEvent<'_>, manifest: &Sha256Text) -> bool {
    let Data::Json(json) = &event.event.data else { return false };
    let removal = serde_json::from_slice::<RetentionExpired>(json.as_bytes());
    removal.is_ok_and(|removal| removal.manifest_sha256 == *manifest)
}

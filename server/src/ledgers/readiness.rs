//! The reasons for which a ledger takes no appends.

use bitacora_ledger::{HeadStatus, WriterState};

use crate::ledgers::slot::Slot;
use crate::limits::MAX_UNANCHORED;

/// Returns the reason for which an append could not be made durable; `None` where it could.
pub(crate) fn why_writer_is_not_ready(writer: &WriterState) -> Option<String> {
    match writer {
        WriterState::Ready => None,
        WriterState::ReadOnly(reason) => Some(reason.to_string()),
        WriterState::Poisoned(what) => Some(format!("a write failed: {what}; restart the service")),
        WriterState::Closing | WriterState::Closed => Some("the ledger is closing".to_owned()),
    }
}

/// Appends are durable without the anchor; that they cannot be taken back is not recorded anywhere else.
fn why_unanchored(heads: &HeadStatus) -> Option<String> {
    let unanchored = heads.unanchored_for.filter(|time| *time > MAX_UNANCHORED)?;
    Some(format!("its anchor could not be moved for {} s", unanchored.as_secs()))
}

/// Returns the reason for which an append to the ledger could not be made durable, or anchored, now.
pub(crate) fn why_slot_is_not_ready(slot: &Slot) -> Option<String> {
    match slot {
        Slot::Open(ledger) => {
            let status = ledger.status();
            why_writer_is_not_ready(&status.writer).or_else(|| why_unanchored(&status.heads))
        }
        Slot::Failed(why) | Slot::Waiting(why) => Some(why.clone()),
    }
}

//! The erasures that an opening recalls before anything is read: from the list, the log behind it, and the anchor.
//!
//! A copy of the store of keys, or of the whole folder, may have brought erased keys back. None of them is used, and an opening for writing
//! destroys them again.

use std::io;
use std::ops::ControlFlow;

use bitacora_formats::{After, Data, ErasedKeys, Generation, LedgerName, Position};
use bitacora_governance::ObservedEvent;
use bitacora_vocabulary::{EventData, FreeText, SubjectErased, SubjectKeyId};

use crate::append::own_events::append_own_at;
use crate::append::service_events::ServiceEvent;
use crate::erasure::anchor_memory::AnchorMemory;
use crate::erasure::kept::KeptErasures;
use crate::erasure::list_file;
use crate::open_error::OpenError;
use crate::options::HeadOptions;
use crate::read::log_fold::fold_to_head;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::subjects::destruction::ErasedIds;
use crate::tables::fold::Fold;

/// The authority of an erasure that only the anchor, or an older list, remembers.
const REMEMBERED: &str = "this erasure is remembered beside the log, which does not record it any more";

/// Bars every key whose erasure is known, and tells the ledger where its erasures are kept. Nothing is written.
///
/// # Errors
/// A disk that fails; an anchor that is required and does not answer.
pub(crate) fn bar_erased(
    shared: &SharedState,
    (heads, name): (Option<&HeadOptions>, Option<&LedgerName>),
    generation: Generation,
) -> Result<(), OpenError> {
    let keys = shared.write.preparer.keys();
    let anchor = AnchorMemory::new(heads, name, keys.index_key());
    let is_required = heads.is_some_and(|heads| heads.anchor_required);
    let remembered = match anchor.load() {
        Err(error) if is_required => return Err(error.into()),
        Err(error) => {
            tracing::error!(%error, "erasures that the anchor remembers are not known");
            Default::default()
        }
        Ok(remembered) => remembered,
    };
    let failed = |source| OpenError::Disk {
        what: format!("recalling the erasures of {}", shared.folder.display()),
        source,
    };
    let mut list = load_list(shared, generation).map_err(failed)?;
    let has_more = remembered.iter().any(|id| !list.keys.contains_key(id));
    let subjects = shared.write.preparer.subjects();
    if has_more || !list.keys.is_empty() || subjects.has_keys().map_err(failed)? {
        read_log(shared, &mut list).map_err(failed)?;
    }
    for id in remembered {
        list.keys.entry(id).or_insert(None);
    }
    subjects.bar(list.keys);
    shared.erasures.keep(KeptErasures { generation, anchor });
    Ok(())
}

/// The list of the folder, as far as it is of this log.
fn load_list(shared: &SharedState, generation: Generation) -> io::Result<ErasedKeys> {
    let key = shared.write.preparer.keys().index_key();
    let list = list_file::load(&*shared.environment.disk, &shared.folder, key, generation)?;
    if list.generation == generation && list.through.get() <= shared.read.head().position.get() {
        return Ok(list);
    }
    // Its positions are of another history. That a key is erased holds in each.
    let keys = list.keys.into_keys().map(|id| (id, None)).collect();
    Ok(ErasedKeys { keys, ..ErasedKeys::new(generation) })
}

/// Adds the erasures that the log records behind the list. In a damaged log, those before the damage.
fn read_log(shared: &SharedState, list: &mut ErasedKeys) -> io::Result<()> {
    let mut found = RecordedErasures { keys: &mut list.keys, through: list.through };
    match fold_to_head(shared, list.through, &mut found) {
        Err(ReadError::Corrupt(fault)) => {
            tracing::error!(%fault, "erasures that the log records behind the damage are not known");
            Ok(())
        }
        read => read.map_err(io::Error::other),
    }
}

/// The erasures of a log, as it is folded.
struct RecordedErasures<'a> {
    keys: &'a mut ErasedIds,
    through: After,
}

impl Fold for RecordedErasures<'_> {
    fn concerns(&self, kind: &str) -> bool {
        kind == SubjectErased::KIND
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        for observed in frame {
            let Data::Json(json) = &observed.event.data else { continue };
            match serde_json::from_slice::<SubjectErased>(json.as_bytes()) {
                Ok(erased) => {
                    self.keys.insert(erased.key.bytes(), Some(observed.position));
                }
                Err(error) => {
                    tracing::error!(%error, position = %observed.position, "an erasure cannot be read");
                }
            }
        }
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.through = position.into();
        ControlFlow::Continue(())
    }
}

/// Finishes what the log and the anchor say of erasures: destroys keys that are there again, records erasures that the log lacks, and has
/// the list and the anchor remember all. Of a damaged ledger nothing is changed.
///
/// # Errors
/// A key that cannot be destroyed: nobody may serve a ledger whose erased keys lie in its folder.
pub(crate) fn finish(shared: &SharedState) -> Result<(), OpenError> {
    let Some(kept) = shared.erasures.kept() else { return Ok(()) };
    let subjects = shared.write.preparer.subjects();
    let erased = subjects.erased();
    let back = subjects.destroy_again().map_err(|source| OpenError::Disk {
        what: format!("destroying erased keys of {}", shared.folder.display()),
        source,
    })?;
    if back > 0 {
        tracing::warn!(
            keys = back,
            "a copy had brought back keys of erased data subjects; they are destroyed again"
        );
    }
    for id in erased.iter().filter_map(|(id, position)| position.is_none().then_some(*id)) {
        match record_again(shared, id) {
            Ok(position) => subjects.bar([(id, Some(position))].into()),
            Err(error) => {
                tracing::warn!(%error, "an erasure that is remembered beside the log could not be recorded");
            }
        }
    }
    if !erased.is_empty() || subjects.has_keys().unwrap_or(true) {
        list_file::save_locked(shared, kept.generation);
    }
    match kept.anchor.load() {
        Ok(known) => {
            kept.anchor.remember(erased.into_keys().filter(|id| !known.contains(id)));
        }
        Err(error) => {
            tracing::warn!(%error, "the anchor was not told of erasures; it is told at the next opening");
        }
    }
    Ok(())
}

fn record_again(shared: &SharedState, id: [u8; 16]) -> io::Result<Position> {
    let authority = FreeText::new(REMEMBERED).map_err(io::Error::other)?;
    let erased = SubjectErased { key: SubjectKeyId::new(id), authority, by: None, reason: None };
    append_own_at(shared, &ServiceEvent::Erased { erased: &erased, actor: None }).map_err(io::Error::other)
}

/// Writes the list at a close, so that the next opening reads nothing of the log for it.
pub(crate) fn note_close(shared: &SharedState) {
    let Some(kept) = shared.erasures.kept() else { return };
    let _erasing = shared.erasures.begin();
    let subjects = shared.write.preparer.subjects();
    if subjects.erased_count() > 0 || subjects.has_keys().unwrap_or(false) {
        list_file::save_locked(shared, kept.generation);
    }
}

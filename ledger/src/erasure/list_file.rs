//! The file `erased-keys` of a ledger, which spares an opening most of the log.

use std::io;
use std::path::Path;

use bitacora_formats::limits::MAX_ERASED_KEYS_BYTES;
use bitacora_formats::{After, ErasedKeys, Generation, Secret};

use crate::host::disk::{Disk, OpenMode};
use crate::host::index_folder::UNFINISHED;
use crate::host::replacement::replace;
use crate::shared_state::SharedState;

/// The name of the file.
const LIST: &str = "erased-keys";

/// Reads the list. One that is missing, damaged or another ledger's is empty: the log is read from its beginning instead.
pub(super) fn load(
    disk: &dyn Disk,
    folder: &Path,
    key: &Secret,
    generation: Generation,
) -> io::Result<ErasedKeys> {
    let file = match disk.open(&folder.join(LIST), OpenMode::Read) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
            return Ok(ErasedKeys::new(generation));
        }
        Err(error) => return Err(error),
    };
    let length = usize::try_from(file.len()?).unwrap_or(MAX_ERASED_KEYS_BYTES).min(MAX_ERASED_KEYS_BYTES + 1);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(ErasedKeys::of_file(key, &bytes).unwrap_or_else(|error| {
        tracing::warn!(%error, "the list of erased keys is not used; the log is read for them instead");
        ErasedKeys::new(generation)
    }))
}

/// Writes the list of all erasures up to the durable head, if it can: without it the next opening reads more of the log. The caller holds
/// the lock of erasures, or is alone.
pub(super) fn save_locked(shared: &SharedState, generation: Generation) {
    let through = After::from(shared.read.head().position);
    let list = ErasedKeys { generation, through, keys: shared.write.preparer.subjects().erased() };
    let text = list.to_file(shared.write.preparer.keys().index_key());
    let disk = &*shared.environment.disk;
    let saved = replace(disk, &shared.folder, LIST, UNFINISHED, |file| file.write_all_at(text.as_bytes(), 0));
    if let Err(error) = saved {
        tracing::warn!(%error, "the list of erased keys was not written; the next opening reads the log for them");
    }
}

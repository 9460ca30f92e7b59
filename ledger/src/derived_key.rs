//! The check of the keyring's key of derived state against the sealed files beside the log.

use std::io;
use std::path::Path;

use bitacora_formats::{
    Decompressor, Keyring, LedgerId, LedgerKeys, MAX_STATE_SNAPSHOT_BYTES, Secret, open_state,
};

use crate::dedup::id_table;
use crate::host::disk::{Disk, OpenMode};
use crate::host::index_folder::INDEX;
use crate::open_error::OpenError;
use crate::tables::snapshots;
use crate::tables::tip_tables;

/// Sealed files that have to fail, and none to open, before the key is taken for another one: one alone may have rotted.
const FAILURES: usize = 2;

/// Refuses a keyring whose key of derived state is another one, before anything is removed or made anew that the right one would keep. The
/// key never rotates. A folder with fewer than [`FAILURES`] sealed files says nothing about it.
///
/// Syscalls: `getdents64` of the tables' folder; `openat`, `statx`, `pread64` of tables and snapshots until one opens.
pub(crate) fn refuse_another(
    disk: &dyn Disk,
    ledger: &Path,
    keyring: &Keyring,
    id: LedgerId,
) -> Result<(), OpenError> {
    let (folder, keys) = (ledger.join(INDEX), LedgerKeys::new(keyring, id));
    let names: Vec<_> = disk.list(&folder).unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    let mut failed = Vec::new();
    for name in &names {
        match opens(disk, &folder, name, keys.index_key()) {
            Some(true) => return Ok(()),
            Some(false) => failed.push(name),
            None => {}
        }
    }
    match failed.first().filter(|_| failed.len() >= FAILURES) {
        None => Ok(()),
        Some(first) => Err(OpenError::Keyring {
            file: format!("{INDEX}/{first}"),
            what: "it was sealed under another key of derived state than the keyring's".to_owned(),
        }),
    }
}

/// Returns `Some(true)` where a sealed file opens under this key; `None` for any other file, and for one that cannot be read.
fn opens(disk: &dyn Disk, folder: &Path, name: &str, key: &Secret) -> Option<bool> {
    let path = folder.join(name);
    tip_tables::opens(disk, &path, name, key)
        .or_else(|| snapshots::is_snapshot(name).then(|| snapshot_opens(disk, &path, key).ok()).flatten())
        .or_else(|| id_table::opens(disk, folder, name, key))
}

fn snapshot_opens(disk: &dyn Disk, path: &Path, key: &Secret) -> io::Result<bool> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    if length > MAX_STATE_SNAPSHOT_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    let mut decompressor = Decompressor::new().map_err(io::Error::other)?;
    Ok(open_state(key, &bytes, &mut decompressor).is_ok())
}

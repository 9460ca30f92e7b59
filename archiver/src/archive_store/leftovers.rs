//! Copies of archives that a crash left under names of unfinished ones: each may hold content that expires from the archive itself.

use std::io;
use std::path::Path;

use bitacora_archive_format::ArchiveRange;

use super::{ArchiveStoreError, Objects, UNFINISHED, folder, names};

/// Returns `true` for a name under which an archive is written before it has its own.
pub(super) fn is_leftover(name: &str) -> bool {
    let whole =
        if names::is_unfinished(name) { name.split_once('#').map_or(name, |(whole, _)| whole) } else { name };
    let archive = whole.strip_suffix(UNFINISHED).unwrap_or(whole);
    archive.len() < name.len() && ArchiveRange::of_object(archive).is_some()
}

/// Removes those that a store lists in a folder; returns their number.
pub(super) fn remove_listed<O: Objects + ?Sized>(
    objects: &O,
    folder: &str,
) -> Result<u64, ArchiveStoreError> {
    let listed = objects.list(folder)?.objects;
    let leftovers = listed.into_iter().map(|(name, _)| name).filter(|name| is_leftover(name));
    let mut removed = 0;
    for name in leftovers {
        match objects.remove(&format!("{folder}/{name}")) {
            Ok(()) => removed += 1,
            Err(ArchiveStoreError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

/// Removes them from a folder of this machine; returns their number. A folder that is not there has none. Returned `Ok` ⇒ they are gone,
/// also after a crash.
///
/// Syscalls: `openat(O_DIRECTORY)`, `getdents64`; for each `unlink`; if there was one `openat`, `fsync` of the folder.
pub(super) fn remove(within: &Path) -> io::Result<u64> {
    let entries = match std::fs::read_dir(within) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_leftover) && entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    if removed > 0 {
        folder::sync(within)?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_named_as_archives_with_a_number_or_an_ending() {
        let range = ArchiveRange::new(1, 256).unwrap().file_stem();
        for leftover in [".bca#1", ".r2.bca#17", ".bca.unfinished", ".r2.bca.unfinished", ".bca.unfinished#3"]
        {
            assert!(is_leftover(&format!("{range}{leftover}")), "{leftover}");
        }
        for other in
            [".bca", ".r2.bca", ".bca#", ".bca#1x", ".manifest#1", ".unfinished", ".bca#1.unfinished"]
        {
            assert!(!is_leftover(&format!("{range}{other}")), "{other}");
        }
        assert!(!is_leftover("notes.bca#1") && !is_leftover("notes.unfinished"));
    }
}

//! Folders of a store on this machine: made, and made durable with their contents.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// The mode of a folder: only its owner may use it.
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder that only its owner may use, and those it lies in. Returned `Ok` ⇒ durable, as far as they were made here.
///
/// Syscalls: `statx`; for each that is made `mkdir`, `openat`, `fsync` of the folder it lies in.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = parent_of(folder);
    make(parent)?;
    match for_owner().create(folder) {
        // By somebody else, just now.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync(parent)
}

fn for_owner() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(FOLDER_MODE);
    builder
}

/// Returned `Ok` ⇒ the names of this object and of every folder from the store's own down to it are durable. An object's content is
/// synced before the object has its name.
///
/// Syscalls: for each of them `openat`, `fsync` of the folder it lies in.
pub(super) fn settle(store: &Path, object: &Path) -> io::Result<()> {
    let mut within = parent_of(object);
    while within.starts_with(store) && within != store {
        sync(within)?;
        within = parent_of(within);
    }
    sync(store)?;
    sync(parent_of(store))
}

/// One name alone lies in the working folder, which has no empty name.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Returned `Ok` ⇒ the names in a folder are durable, and those that were removed stay so.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_folder_is_made_with_those_it_lies_in_and_what_is_in_it_settles() {
        let outer = tempfile::tempdir().unwrap();
        let store = outer.path().join("a/b");
        make(&store).unwrap();
        make(&store).unwrap();
        assert_eq!(store.metadata().unwrap().mode() & 0o777, FOLDER_MODE);
        fs::create_dir_all(store.join("l/g1")).unwrap();
        fs::write(store.join("l/g1/x.bca"), b"x").unwrap();
        settle(&store, &store.join("l/g1/x.bca")).unwrap();
        // A missing object cannot be said to stay.
        let missing = settle(&store, &store.join("m/g1/x.bca")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        fs::write(outer.path().join("file"), b"").unwrap();
        assert!(make(&outer.path().join("file/c")).is_err());
    }
}

//! The store of ledgers' archives: by default a folder beside the ledgers.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bitacora_archiver::{
    ArchiveLocation, ArchiveStore, Objects, READ_CACHE_BYTES, StoreSettings, StoredArchive, StoredArchives,
};
use bitacora_ledger::Environment;
use bitacora_verify::{ArchiveBytes, ArchiveFolder};

/// The folder within the data folder.
const FOLDER: &str = "archives";

/// Returns the place of archives beside the ledgers of a data folder.
#[must_use]
pub fn archives_beside(data: &Path) -> ArchiveLocation {
    ArchiveLocation::Folder(data.join(FOLDER))
}

/// Returns the store at a place, with settings from the environment. It is contacted with the first request.
#[must_use]
pub fn archive_store(place: ArchiveLocation) -> Arc<dyn Objects> {
    Arc::new(ArchiveStore::at(place, StoreSettings::from_environment()))
}

/// Returns the archives at a place, for the verifier's reading.
#[must_use]
pub fn readable_archives(place: ArchiveLocation) -> Box<dyn bitacora_verify::ArchiveStore> {
    match place {
        ArchiveLocation::Folder(folder) => Box::new(ArchiveFolder(folder)),
        ArchiveLocation::Store(_) => Box::new(StoredObjects(archive_store(place))),
    }
}

/// Returns the machine's own disk, clock and random generator, with the archives of this store.
#[must_use]
pub fn environment_with_archives(objects: &Arc<dyn Objects>) -> Environment {
    let mut environment = Environment::real();
    let archives = StoredArchives::new(Arc::clone(objects), Arc::clone(&environment.disk), READ_CACHE_BYTES);
    environment.archives = Arc::new(archives);
    environment
}

/// Archives in an object store.
struct StoredObjects(Arc<dyn Objects>);

/// An archive in an object store.
struct StoredObject(StoredArchive);

impl bitacora_verify::ArchiveStore for StoredObjects {
    fn open(&self, name: &str) -> io::Result<Box<dyn ArchiveBytes>> {
        // The reader verifies the layout again, with the ledger's keys.
        let archive = StoredArchive::open(&self.0, name, None).map_err(io::Error::other)?;
        Ok(Box::new(StoredObject(archive)))
    }
}

impl ArchiveBytes for StoredObject {
    fn size(&self) -> u64 {
        self.0.bytes()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.0.read(range).map_err(io::Error::other)
    }
}

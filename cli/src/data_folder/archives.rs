//! The store of ledgers' archives: by default a folder beside the ledgers.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bitacora_archiver::{
    ArchiveLocation, ArchiveStore, Objects, READ_CACHE_BYTES, Rules, StoreSettings, StoredArchive,
    StoredArchives,
};
use bitacora_formats::Micros;
use bitacora_ledger::Environment;
use bitacora_server::{ArchivePauses, ArchiveSettings};
use bitacora_verify::{ArchiveBytes, ArchiveFolder};
use clap::Args;

use crate::options::time;

/// The folder within the data folder.
const FOLDER: &str = "archives";

/// The rules for archiving in the background.
#[derive(Debug, Args)]
#[command(next_help_heading = "Archiving in the background")]
pub(crate) struct ArchivingArguments {
    /// Archive a month's events once all of them are older than this (30d, 90d), and release their segments; `never` ignores the age.
    #[arg(long, env = "BITACORA_ARCHIVE_AFTER", value_name = "TIME", default_value = "90d", value_parser = age)]
    archive_after: Age,
    /// Archive the older half of the events once more than this many are not archived, however new they are.
    #[arg(long, env = "BITACORA_ARCHIVE_OVER", value_name = "EVENTS")]
    archive_over: Option<u64>,
    /// Keep the segments of archived events.
    #[arg(long)]
    keep_archived_segments: bool,
}

/// The age from which on events are due for archiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Never,
    Over(Micros),
}

fn age(text: &str) -> Result<Age, String> {
    if text == "never" { Ok(Age::Never) } else { time::age(text).map(Age::Over) }
}

impl ArchivingArguments {
    /// Returns the archiving into this store; `None` where no rule makes events due.
    pub(crate) fn archiving(
        &self,
        objects: &Arc<dyn Objects>,
        place: &ArchiveLocation,
    ) -> Option<ArchiveSettings> {
        let cold_after = match self.archive_after {
            Age::Never if self.archive_over.is_none() => return None,
            Age::Never => None,
            Age::Over(after) => Some(Duration::from_micros(after.0)),
        };
        let rules = Rules { cold_after, hot_events: self.archive_over, ..Rules::default() };
        let (objects, store) = (Arc::clone(objects), place.to_string());
        let (releases, pauses) = (!self.keep_archived_segments, ArchivePauses::default());
        Some(ArchiveSettings { objects, store, rules, releases, pauses })
    }
}

/// Returns the place beside the ledgers of a data folder.
pub(crate) fn beside(data: &Path) -> ArchiveLocation {
    ArchiveLocation::Folder(data.join(FOLDER))
}

/// Returns the store at a place, with settings from the environment. It is contacted with the first request.
pub(crate) fn store_at(place: ArchiveLocation) -> Arc<dyn Objects> {
    Arc::new(ArchiveStore::at(place, StoreSettings::from_environment()))
}

/// Returns the archives at a place, for the verifier's reading.
pub(crate) fn readable(place: ArchiveLocation) -> Box<dyn bitacora_verify::ArchiveStore> {
    match place {
        ArchiveLocation::Folder(folder) => Box::new(ArchiveFolder(folder)),
        ArchiveLocation::Store(_) => Box::new(StoredObjects(store_at(place))),
    }
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

/// Returns the machine's own disk, clock and random generator, with the archives of this store.
pub(crate) fn environment(objects: &Arc<dyn Objects>) -> Environment {
    let mut environment = Environment::real();
    let archives = StoredArchives::new(Arc::clone(objects), Arc::clone(&environment.disk), READ_CACHE_BYTES);
    environment.archives = Arc::new(archives);
    environment
}

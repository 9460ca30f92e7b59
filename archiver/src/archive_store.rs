//! Objects of archives in a store: written once, read in ranges, listed.

mod error;
mod folder;
mod leftovers;
mod names;

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutOptions,
};

pub use self::error::ArchiveStoreError;
use self::names::Names;
use crate::archive_location::ArchiveLocation;
use crate::limits::{MAX_LISTED, MAX_SINGLE_WRITE_BYTES, TRANSFER_BYTES, TRANSFER_PATIENCE};
use crate::store::{self, Bounds, OpenedStore, StoreError, StoreSettings, error_text};
use crate::store_thread::StoreThread;
use crate::upload::ObjectUpload;

/// The suffix of an archive that is being written in pieces.
const UNFINISHED: &str = ".unfinished";

/// One version of an object: a later one has another tag, even with the same content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Its length.
    pub bytes: u64,
    /// The store's name of the version, where it gives one.
    pub tag: Option<String>,
}

/// The entries of a folder of a store, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectListing {
    /// The names of folders in it, without what they hold.
    pub folders: Vec<String>,
    /// The names of objects in it, and the length of each.
    pub objects: Vec<(String, u64)>,
}

/// Reads what is to be written: bytes at an offset, exactly as many as fit the buffer.
pub type ReadPiece<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// A store of archives. All calls block, for a bounded time.
pub trait Objects: fmt::Debug + Send + Sync {
    /// Returns the name that the object is shown as.
    fn shown(&self, name: &str) -> String;

    /// Makes an object of this many bytes. Returned `Ok` ⇒ it is kept, whole.
    ///
    /// # Errors
    /// [`ArchiveStoreError::Exists`] where the name is taken; also after an answer was lost, by this very object.
    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError>;

    /// Returned `Ok` ⇒ an object that is there is kept, also if its maker was never told so. A store that is asked for things has it then
    /// anyway.
    ///
    /// # Errors
    /// The error of the store.
    fn settle(&self, name: &str) -> Result<(), ArchiveStoreError> {
        let _kept = name;
        Ok(())
    }

    /// Removes an object. Returned `Ok` ⇒ it is gone, also after a crash.
    ///
    /// # Errors
    /// [`ArchiveStoreError::Missing`], where the store tells that, and what else a store says.
    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError>;

    /// Returns the version of an object that is there.
    ///
    /// # Errors
    /// [`ArchiveStoreError::Missing`] and what else a store says.
    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError>;

    /// A range of an object, of the version that was seen before.
    ///
    /// # Errors
    /// [`ArchiveStoreError::Changed`] if it is another one, [`ArchiveStoreError::CutShort`], and what else a store says.
    fn read(
        &self,
        name: &str,
        version: &ObjectVersion,
        range: Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError>;

    /// Returns the entries of a folder; none if there is no such folder.
    ///
    /// # Errors
    /// The error of the store.
    fn list(&self, folder: &str) -> Result<ObjectListing, ArchiveStoreError>;

    /// Removes copies of archives that a crash left in a folder under names of unfinished ones; returns their number. Nobody may write there
    /// meanwhile.
    ///
    /// # Errors
    /// The error of the store.
    fn remove_leftovers(&self, folder: &str) -> Result<u64, ArchiveStoreError> {
        leftovers::remove_listed(self, folder)
    }
}

/// A store of archives through `object_store`. Opened when it is first asked for something.
pub struct ArchiveStore {
    place: ArchiveLocation,
    settings: StoreSettings,
    opened: Mutex<Option<Arc<OpenStore>>>,
}

/// A client, and the thread that waits for it.
struct OpenStore {
    store: Arc<dyn ObjectStore>,
    names: Arc<Names>,
    thread: StoreThread,
}

/// The purpose of opening a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A folder that is not there holds nothing.
    Read,
    /// A folder that is not there is made.
    Write,
}

impl ArchiveStore {
    /// The store at this place. Nothing is asked of it, and no folder is made, before somebody writes.
    #[must_use]
    pub fn at(place: ArchiveLocation, settings: StoreSettings) -> Self {
        Self { place, settings, opened: Mutex::default() }
    }

    /// A store that keeps archives as long as it lives, for comparison with those that keep them longer.
    ///
    /// # Errors
    /// [`StoreError::Thread`].
    pub fn in_memory(place: ArchiveLocation) -> Result<Self, StoreError> {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let names = Arc::new(Names::Memory(Arc::clone(&store)));
        let opened = OpenStore { store, names, thread: started(&place)? };
        let opened = Mutex::new(Some(Arc::new(opened)));
        Ok(Self { place, settings: StoreSettings::default(), opened })
    }

    /// Checks that it can be opened, as far as that is known without asking it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.open(Purpose::Read).map(|_| ())
    }

    /// The store, opened once; `None` for a folder that is not there and is only read.
    fn open(&self, purpose: Purpose) -> Result<Option<Arc<OpenStore>>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(Some(Arc::clone(opened)));
        }
        let (store, names) = match &self.place {
            ArchiveLocation::Store(url) => {
                let OpenedStore { store, pages } = store::open(url, &self.settings, Bounds::ARCHIVES)?;
                (store, Names::Pages(pages))
            }
            ArchiveLocation::Folder(folder) => {
                let failed = |what: String| StoreError::Folder { folder: folder.display().to_string(), what };
                match purpose {
                    Purpose::Read if !folder.exists() => return Ok(None),
                    Purpose::Read if !folder.is_dir() => return Err(failed("not a folder".to_owned())),
                    Purpose::Read => {}
                    Purpose::Write => {
                        folder::make(folder).map_err(|error| failed(error.to_string()))?;
                    }
                }
                let store =
                    LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(error_text(&error)))?;
                let store: Arc<dyn ObjectStore> = Arc::new(store.with_fsync(true));
                (store, Names::Folder(folder.clone()))
            }
        };
        let now = Arc::new(OpenStore { store, names: Arc::new(names), thread: started(&self.place)? });
        *opened = Some(Arc::clone(&now));
        Ok(Some(now))
    }

    /// The store, for reading an object of it.
    fn for_reading(&self, name: &str) -> Result<Arc<OpenStore>, ArchiveStoreError> {
        self.open(Purpose::Read)?.ok_or_else(|| ArchiveStoreError::Missing { object: self.shown(name) })
    }

    fn for_writing(&self, name: &str) -> Result<Arc<OpenStore>, ArchiveStoreError> {
        self.open(Purpose::Write)?.ok_or_else(|| ArchiveStoreError::Missing { object: self.shown(name) })
    }

    fn key(&self, name: &str) -> Path {
        match &self.place {
            ArchiveLocation::Folder(_) => Path::from(name),
            ArchiveLocation::Store(url) => Path::from(url.key_of(name)),
        }
    }

    /// Has the thread do it, and waits no longer than a transfer is waited for.
    fn ask<T: Send + 'static>(
        &self,
        opened: &OpenStore,
        name: &str,
        what: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, ArchiveStoreError> {
        let object = || self.shown(name);
        match opened.thread.run(async { tokio::time::timeout(TRANSFER_PATIENCE, what).await }) {
            Ok(Ok(answer)) => answer.map_err(|error| classify(object(), &error)),
            Ok(Err(_)) => {
                Err(ArchiveStoreError::TimedOut { object: object(), seconds: TRANSFER_PATIENCE.as_secs() })
            }
            Err(defect) => Err(ArchiveStoreError::Failed { object: object(), reason: defect.to_string() }),
        }
    }

    /// Writes it by one request, which the store itself compares with what it has.
    fn create_at_once(&self, name: &str, content: Vec<u8>) -> Result<(), ArchiveStoreError> {
        let opened = self.for_writing(name)?;
        let (store, key) = (Arc::clone(&opened.store), self.key(name));
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        self.ask(
            &opened,
            name,
            async move { store.put_opts(&key, content.into(), options).await.map(|_| ()) },
        )
    }

    /// Writes it in pieces under a name that only unfinished ones have, and has the store give it its own unless that is taken:
    /// an upload in pieces cannot be made to depend on that by itself in every store.
    fn create_in_pieces(
        &self,
        name: &str,
        bytes: u64,
        read: &mut ReadPiece<'_>,
    ) -> Result<(), ArchiveStoreError> {
        let unfinished = format!("{name}{UNFINISHED}");
        let opened = self.for_writing(name)?;
        let (store, key) = (Arc::clone(&opened.store), self.key(&unfinished));
        let begun = self.ask(&opened, name, async move { store.put_multipart(&key).await })?;
        let upload = ObjectUpload::new(begun);
        if let Err(error) = self.send_pieces(&opened, name, (bytes, read), &upload) {
            // The remainder of it is not an archive: no reader takes its name for one.
            let _tidied = self.ask(&opened, name, upload.abort()).is_ok();
            return Err(error);
        }
        let (store, from, to) = (Arc::clone(&opened.store), self.key(&unfinished), self.key(name));
        let options = CopyOptions { mode: CopyMode::Create, ..CopyOptions::default() };
        let copied = self.ask(&opened, name, async move { store.copy_opts(&from, &to, options).await });
        let (store, key) = (Arc::clone(&opened.store), self.key(&unfinished));
        let _tidied = self.ask(&opened, name, async move { store.delete(&key).await }).is_ok();
        copied
    }

    fn send_pieces(
        &self,
        opened: &OpenStore,
        name: &str,
        (bytes, read): (u64, &mut ReadPiece<'_>),
        upload: &ObjectUpload,
    ) -> Result<(), ArchiveStoreError> {
        for piece in pieces(0..bytes) {
            let content = self.content(name, &piece, read)?;
            self.ask(opened, name, upload.put(content))?;
        }
        self.ask(opened, name, upload.complete())
    }

    fn content(
        &self,
        name: &str,
        piece: &Range<u64>,
        read: &mut ReadPiece<'_>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        let mut content = vec![0; usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX)];
        let unreadable = |source| ArchiveStoreError::Source { object: self.shown(name), source };
        read(piece.start, &mut content).map_err(unreadable)?;
        Ok(content)
    }

    fn read_piece(
        &self,
        name: &str,
        version: &ObjectVersion,
        piece: &Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        let opened = self.for_reading(name)?;
        let (store, key) = (Arc::clone(&opened.store), self.key(name));
        let (range, if_match) = (GetRange::Bounded(piece.clone()), version.tag.clone());
        let options = GetOptions { range: Some(range), if_match, ..GetOptions::default() };
        let (meta, given, content) = self.ask(&opened, name, async move {
            let got = store.get_opts(&key, options).await?;
            let (meta, given) = (got.meta.clone(), got.range.clone());
            Ok((meta, given, got.bytes().await?))
        })?;
        if version_of(&meta) != *version {
            return Err(ArchiveStoreError::Changed { object: self.shown(name) });
        }
        let (expected, found) = (piece.end - piece.start, content.len() as u64);
        if given != *piece || found != expected {
            let (object, offset) = (self.shown(name), piece.start);
            return Err(ArchiveStoreError::CutShort { object, offset, expected, found });
        }
        Ok(content.into())
    }
}

impl fmt::Debug for ArchiveStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ArchiveStore").field(&self.place.to_string()).finish()
    }
}

impl Objects for ArchiveStore {
    fn shown(&self, name: &str) -> String {
        match &self.place {
            ArchiveLocation::Folder(folder) => folder.join(name).display().to_string(),
            ArchiveLocation::Store(url) => url.shown_key_of(name),
        }
    }

    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError> {
        if bytes > MAX_SINGLE_WRITE_BYTES {
            return self.create_in_pieces(name, bytes, read);
        }
        let content = self.content(name, &(0..bytes), read)?;
        self.create_at_once(name, content)
    }

    fn settle(&self, name: &str) -> Result<(), ArchiveStoreError> {
        let ArchiveLocation::Folder(store) = &self.place else { return Ok(()) };
        folder::settle(store, &store.join(name)).map_err(|error| ArchiveStoreError::Failed {
            object: self.shown(name),
            reason: error.to_string(),
        })
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError> {
        let opened = self.for_writing(name)?;
        let (store, key) = (Arc::clone(&opened.store), self.key(name));
        self.ask(&opened, name, async move { store.delete(&key).await })?;
        // The folder is synced: otherwise a crash could bring the name back.
        self.settle(name)
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        let opened = self.for_reading(name)?;
        let (store, key) = (Arc::clone(&opened.store), self.key(name));
        let meta = self.ask(&opened, name, async move { store.head(&key).await })?;
        Ok(version_of(&meta))
    }

    fn read(
        &self,
        name: &str,
        version: &ObjectVersion,
        range: Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        if range.end > version.bytes {
            let (object, offset) = (self.shown(name), range.start);
            let (expected, found) =
                (range.end.saturating_sub(range.start), version.bytes.saturating_sub(range.start));
            return Err(ArchiveStoreError::CutShort { object, offset, expected, found });
        }
        let mut whole = Vec::new();
        for piece in pieces(range) {
            let content = self.read_piece(name, version, &piece)?;
            if whole.is_empty() {
                whole = content;
            } else {
                whole.extend_from_slice(&content);
            }
        }
        Ok(whole)
    }

    fn list(&self, folder: &str) -> Result<ObjectListing, ArchiveStoreError> {
        let Some(opened) = self.open(Purpose::Read)? else { return Ok(ObjectListing::default()) };
        let listed = match &*opened.names {
            Names::Folder(store) => names::in_folder(&store.join(folder), MAX_LISTED).map_err(|error| {
                ArchiveStoreError::Failed { object: self.shown(folder), reason: error.to_string() }
            }),
            _ => {
                let (names, key) = (Arc::clone(&opened.names), self.key(folder));
                self.ask(&opened, folder, async move { names::in_store(&names, &key, MAX_LISTED).await })
            }
        };
        match listed {
            Err(ArchiveStoreError::Missing { .. }) => Ok(ObjectListing::default()),
            listed => listed?.ok_or_else(|| ArchiveStoreError::TooMany { object: self.shown(folder) }),
        }
    }

    /// Some of their names are in no listing.
    fn remove_leftovers(&self, folder: &str) -> Result<u64, ArchiveStoreError> {
        let ArchiveLocation::Folder(store) = &self.place else {
            return leftovers::remove_listed(self, folder);
        };
        leftovers::remove(&store.join(folder)).map_err(|error| ArchiveStoreError::Failed {
            object: self.shown(folder),
            reason: error.to_string(),
        })
    }
}

fn started(place: &ArchiveLocation) -> Result<StoreThread, StoreError> {
    StoreThread::start().map_err(|source| StoreError::Thread { place: place.to_string(), source })
}

fn version_of(meta: &ObjectMeta) -> ObjectVersion {
    ObjectVersion { bytes: meta.size, tag: meta.e_tag.clone() }
}

/// A range, in pieces of what is transferred at once.
fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    (range.start..end).step_by(TRANSFER_BYTES).map(move |start| start..end.min(start + TRANSFER_BYTES as u64))
}

fn classify(object: String, error: &Error) -> ArchiveStoreError {
    match error {
        Error::NotFound { .. } => ArchiveStoreError::Missing { object },
        Error::AlreadyExists { .. } => ArchiveStoreError::Exists { object },
        Error::Precondition { .. } | Error::NotModified { .. } => ArchiveStoreError::Changed { object },
        Error::NotSupported { .. }
        | Error::NotImplemented { .. }
        | Error::PermissionDenied { .. }
        | Error::Unauthenticated { .. }
        | Error::InvalidPath { .. } => ArchiveStoreError::Refused { object, reason: error_text(error) },
        _ => ArchiveStoreError::Failed { object, reason: error_text(error) },
    }
}

#[cfg(test)]
mod tests;

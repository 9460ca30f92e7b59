//! An anchor in an object store: one object for each ledger, moved by conditional writes alone.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_formats::LedgerName;
use bitacora_formats::limits::MAX_NOTE_BYTES;
use bitacora_ledger::{Anchor, AnchorError, FolderAnchor};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};

use crate::limits::ANCHOR_PATIENCE;
use crate::store::{self, Bounds, StoreError, StoreSettings, error_text};
use crate::store_thread::StoreThread;
use crate::store_url::StoreUrl;

/// The texts by which stores say that they do not know the whole bucket. An anchor without its bucket is not one that remembers nothing.
const NO_BUCKET: [&str; 4] =
    ["NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "The specified bucket does not exist"];

/// Remembers heads in an object store. The object of a ledger has the name and the content of [`FolderAnchor`]'s file.
///
/// A head takes the place of another one by a conditional write: the store itself compares, so that of two who have read the
/// same one alone writes. A store that does not compare is found out before the first head is entrusted to it, and is not used.
pub struct ObjectAnchor {
    url: StoreUrl,
    store: Arc<dyn ObjectStore>,
    thread: StoreThread,
    /// `true` once the store was seen to refuse a write whose condition did not hold.
    is_proven: Arc<AtomicBool>,
}

impl ObjectAnchor {
    /// The anchor at this place. Nothing is asked of the store yet.
    ///
    /// # Errors
    /// [`StoreError`]: what the environment says does not make a client for it.
    pub fn open(url: StoreUrl, settings: &StoreSettings) -> Result<Self, StoreError> {
        let store = store::open(&url, settings, Bounds::HEADS)?.store;
        Self::over(store, url)
    }

    /// An anchor that remembers as long as it lives, for comparison with those that remember longer.
    ///
    /// # Errors
    /// [`StoreError::Thread`].
    pub fn in_memory(url: StoreUrl) -> Result<Self, StoreError> {
        Self::over(Arc::new(InMemory::new()), url)
    }

    fn over(store: Arc<dyn ObjectStore>, url: StoreUrl) -> Result<Self, StoreError> {
        match StoreThread::start() {
            Ok(thread) => Ok(Self { url, store, thread, is_proven: Arc::default() }),
            Err(source) => Err(StoreError::Thread { place: url.to_string(), source }),
        }
    }

    /// Returns the name that the object of this ledger is shown as.
    #[must_use]
    pub fn shown(&self, ledger: &LedgerName) -> String {
        self.url.shown_key_of(&FolderAnchor::file_name(ledger))
    }

    fn slot(&self, ledger: &LedgerName) -> Slot {
        let key = Path::from(self.url.key_of(&FolderAnchor::file_name(ledger)));
        Slot { store: Arc::clone(&self.store), key, is_proven: Arc::clone(&self.is_proven) }
    }

    /// Has the thread do it, and waits no longer than an anchor is waited for.
    fn ask<T: Send + 'static>(
        &self,
        anchor: String,
        what: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Result<T, AnchorError> {
        let answered = self.thread.run(async {
            tokio::time::timeout(ANCHOR_PATIENCE, what).await.unwrap_or_else(|_| {
                let what = format!("no answer within {} s", ANCHOR_PATIENCE.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, what))
            })
        });
        answered.and_then(|answer| answer).map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => AnchorError::Damaged { anchor, found: source.to_string() },
            _ => AnchorError::Unreachable { anchor, source },
        })
    }
}

impl fmt::Debug for ObjectAnchor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ObjectAnchor").field(&self.url.to_string()).finish()
    }
}

impl Anchor for ObjectAnchor {
    fn load(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError> {
        let slot = self.slot(ledger);
        let object = self.ask(self.shown(ledger), async move { slot.read().await })?;
        Ok(object.map(|object| object.note))
    }

    fn swap(&self, ledger: &LedgerName, expected: Option<&str>, head: &str) -> Result<(), AnchorError> {
        let (slot, expected) = (self.slot(ledger), expected.map(str::to_owned));
        let (compared, head) = (expected.clone(), head.to_owned());
        match self.ask(self.shown(ledger), async move { slot.swap(compared.as_deref(), &head).await })? {
            SwapResult::Done => Ok(()),
            SwapResult::Moved(found) => {
                Err(AnchorError::Moved { anchor: self.shown(ledger), expected, found })
            }
        }
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        let (store, prefix) = (Arc::clone(&self.store), Path::from(self.url.key_of("")));
        self.ask(self.url.to_string(), async move {
            let prefix = Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty());
            let listed = store.list_with_delimiter(prefix).await.map_err(|error| failed(&error))?;
            let names = listed.objects.iter().filter_map(|object| object.location.filename());
            Ok(names.filter_map(FolderAnchor::ledger_of).collect())
        })
    }

    fn remember_erased(&self, ledger: &LedgerName, name: &str) -> Result<(), AnchorError> {
        let store = Arc::clone(&self.store);
        let key = Path::from(self.url.key_of(&format!("{}/{name}", FolderAnchor::erased_folder(ledger))));
        self.ask(self.shown(ledger), async move {
            // What is there has the same name, and a name is all that it says.
            let put = store.put(&key, PutPayload::new()).await;
            put.map(|_| ()).map_err(|error| failed(&error))
        })
    }

    fn erased(&self, ledger: &LedgerName) -> Result<Vec<String>, AnchorError> {
        let store = Arc::clone(&self.store);
        let prefix = Path::from(self.url.key_of(&FolderAnchor::erased_folder(ledger)));
        self.ask(self.shown(ledger), async move {
            let listed = store.list_with_delimiter(Some(&prefix)).await.map_err(|error| failed(&error))?;
            let names = listed.objects.iter().filter_map(|object| object.location.filename());
            Ok(names.map(str::to_owned).collect())
        })
    }
}

/// The object of one ledger.
struct Slot {
    store: Arc<dyn ObjectStore>,
    key: Path,
    is_proven: Arc<AtomicBool>,
}

/// An object's content and its version: a later object has another version, even with the same content.
struct AnchorObject {
    note: String,
    version: UpdateVersion,
}

enum SwapResult {
    Done,
    Moved(Option<String>),
}

impl Slot {
    /// Reads the object that is there. A store that does not know the bucket is no anchor which remembers nothing.
    async fn read(&self) -> io::Result<Option<AnchorObject>> {
        let got = match self.store.get(&self.key).await {
            Err(Error::NotFound { source, .. }) => {
                let what = source.to_string();
                return match NO_BUCKET.iter().any(|said| what.contains(said)) {
                    true => Err(io::Error::new(io::ErrorKind::NotFound, "the store has no such bucket")),
                    false => Ok(None),
                };
            }
            got => got.map_err(|error| failed(&error))?,
        };
        // Before anything of it is taken into memory.
        if got.meta.size > MAX_NOTE_BYTES as u64 {
            let what = format!("{} bytes, of which a tree head has at most {MAX_NOTE_BYTES},", got.meta.size);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let version = UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
        if version.e_tag.is_none() && version.version.is_none() {
            return Err(unfit("it gives no versions (ETags) of objects"));
        }
        let bytes = got.bytes().await.map_err(|error| failed(&error))?;
        // Shown as text, two that differ would be taken for the same.
        let note = String::from_utf8(bytes.into());
        let note =
            note.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "bytes that are no UTF-8 text"))?;
        Ok(Some(AnchorObject { note, version }))
    }

    async fn swap(&self, expected: Option<&str>, head: &str) -> io::Result<SwapResult> {
        let object = self.read().await?;
        if object.as_ref().map(|object| object.note.as_str()) != expected {
            return Ok(SwapResult::Moved(object.map(|object| object.note)));
        }
        let mode = match object {
            Some(AnchorObject { note, version }) => {
                self.prove(&note).await?;
                PutMode::Update(version)
            }
            None => PutMode::Create,
        };
        match self.put(head, mode).await {
            Ok(()) => self.prove(head).await.map(|()| SwapResult::Done),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotModified { .. }) => {
                self.after_refusal(expected, head).await
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// The condition did not hold: somebody was faster, be it this very write, whose answer was lost and which was repeated.
    async fn after_refusal(&self, expected: Option<&str>, head: &str) -> io::Result<SwapResult> {
        let found = self.read().await?.map(|object| object.note);
        if found.as_deref() == Some(head) {
            return Ok(SwapResult::Done);
        }
        if found.as_deref() == expected {
            return Err(io::Error::other("the store refused the write, though it holds what was expected"));
        }
        Ok(SwapResult::Moved(found))
    }

    /// Sees the store refuse a write whose condition does not hold, once: that nothing is there. It would change nothing.
    async fn prove(&self, note: &str) -> io::Result<()> {
        if self.is_proven.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.put(note, PutMode::Create).await {
            Ok(()) => Err(unfit(
                "it writes although a condition does not hold, so that two could move the anchor at once",
            )),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotModified { .. }) => {
                self.is_proven.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(failed(&error)),
        }
    }

    async fn put(&self, note: &str, mode: PutMode) -> Result<(), Error> {
        let options = PutOptions { mode, ..PutOptions::default() };
        self.store.put_opts(&self.key, note.to_owned().into(), options).await.map(|_| ())
    }
}

fn failed(error: &Error) -> io::Error {
    match error {
        Error::NotImplemented { .. } | Error::NotSupported { .. } => unfit(&error_text(error)),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::Error::new(io::ErrorKind::PermissionDenied, error_text(error))
        }
        _ => io::Error::other(error_text(error)),
    }
}

/// A store that no anchor can lie in.
fn unfit(why: &str) -> io::Error {
    let what = format!("{why}; this store cannot hold an anchor: it needs conditional writes");
    io::Error::new(io::ErrorKind::Unsupported, what)
}

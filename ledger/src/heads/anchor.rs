//! The anchor: a memory of each ledger's last tree head, out of reach for a thief of the data folder.
//!
//! An older copy of a ledger, one that lost its end, and a new one in its place are all whole in themselves. Only a memory of more events
//! shows that they are not the ledger which was there.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::LedgerName;
use bitacora_formats::limits::MAX_NOTE_BYTES;

use crate::host::disk::{Disk, OpenMode};
use crate::host::index_folder::make_folder;
use crate::host::replacement::replace;

/// The suffix of a head's file name.
const HEAD: &str = ".head";
/// The suffix of the name of the folder of erased keys.
const ERASED: &str = ".erased";
/// The suffix of a head's file name while it is written.
const UNFINISHED: &str = ".new";
/// The text shown for bytes that are no UTF-8.
const NO_TEXT: &str = "bytes that are no UTF-8 text";

/// The reasons for which an anchor refuses or fails.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// It holds another head than the one that was to be replaced: somebody else moved it.
    #[error("{anchor}: it remembers {} where {} was expected; another copy of the ledger is, or was, in use", shown(found.as_deref()), shown(expected.as_deref()))]
    Moved {
        /// The anchor that was asked.
        anchor: String,
        /// The head that was expected there; `None` for an empty place.
        expected: Option<String>,
        /// The head that is there; `None` for an empty place.
        found: Option<String>,
    },
    /// The bytes in the place of the head cannot be a head: they were damaged, or somebody else put them there.
    #[error(
        "{anchor}: {found} found, the note of a tree head expected; find out who put it there, then bring the head back from a copy, or take it away and begin with --new-anchor"
    )]
    Damaged {
        /// The anchor that was asked.
        anchor: String,
        /// The bytes that are there, shown as text.
        found: String,
    },
    /// It could not be reached. It may have moved or not.
    #[error("{anchor}: {source}; the last tree head is not remembered there until it can be reached")]
    Unreachable {
        /// The anchor that was asked.
        anchor: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl AnchorError {
    /// Returns `true` where asking again tells nothing else: what is there can be no tree head.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

/// The size in a head's note, to name it in a message.
fn shown(note: Option<&str>) -> String {
    let size = note.and_then(|note| note.lines().nth(1));
    size.map_or_else(|| "no tree head".to_owned(), |size| format!("the tree head of size {size}"))
}

/// Stores one tree head, as its signed note, for each ledger by name.
pub trait Anchor: fmt::Debug + Send + Sync + 'static {
    /// Returns the text that is stored for the ledger, be it a tree head or not.
    ///
    /// # Errors
    /// [`AnchorError::Unreachable`]; [`AnchorError::Damaged`] for what is no text, or neither can be read nor replaced.
    fn load(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError>;

    /// Puts a head in the place of the one that is expected there. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// [`AnchorError::Moved`] and [`AnchorError::Damaged`] without effect; [`AnchorError::Unreachable`], with or without effect.
    fn swap(&self, ledger: &LedgerName, expected: Option<&str>, head: &str) -> Result<(), AnchorError>;

    /// Returns the names of all ledgers of which something is stored.
    ///
    /// # Errors
    /// [`AnchorError::Unreachable`].
    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError>;

    /// Remembers the erasure of one key of the ledger for good, under a name of 97 characters (`docs/formats/erased_keys.md`). Returned
    /// `Ok` ⇒ durable; once more is the same.
    ///
    /// # Errors
    /// [`AnchorError::Unreachable`], with or without effect.
    fn remember_erased(&self, ledger: &LedgerName, name: &str) -> Result<(), AnchorError>;

    /// Returns the names under which erasures of the ledger are remembered, and perhaps others.
    ///
    /// # Errors
    /// [`AnchorError::Unreachable`].
    fn erased(&self, ledger: &LedgerName) -> Result<Vec<String>, AnchorError>;
}

/// An anchor in a folder: one file for each ledger, `<name>.head`. It belongs on another disk than the data, or at least beside
/// the keyring, so that restoring a data folder does not restore it too.
#[derive(Debug)]
pub struct FolderAnchor {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

impl FolderAnchor {
    /// The anchor in this folder, which is made when something is to be stored.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, folder: &Path) -> Self {
        Self { disk, folder: folder.to_owned() }
    }

    /// The file in which an anchor's folder remembers this ledger: the note of its last tree head.
    #[must_use]
    pub fn file_name(ledger: &LedgerName) -> String {
        format!("{ledger}{HEAD}")
    }

    /// The folder in which an anchor remembers this ledger's erased keys, one empty file for each.
    #[must_use]
    pub fn erased_folder(ledger: &LedgerName) -> String {
        format!("{ledger}{ERASED}")
    }

    /// Returns the ledger whose head has this name in an anchor's folder.
    #[must_use]
    pub fn ledger_of(file_name: &str) -> Option<LedgerName> {
        file_name.strip_suffix(HEAD)?.parse().ok()
    }

    fn path(&self, ledger: &LedgerName) -> PathBuf {
        self.folder.join(Self::file_name(ledger))
    }

    fn unreachable(&self, ledger: &LedgerName) -> impl Fn(io::Error) -> AnchorError {
        let anchor = self.path(ledger).display().to_string();
        move |source| AnchorError::Unreachable { anchor: anchor.clone(), source }
    }

    fn read(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError> {
        let anchor = || self.path(ledger).display().to_string();
        let unreachable = self.unreachable(ledger);
        let file = match self.disk.open(&self.path(ledger), OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // The disk opens regular files alone.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory) =>
            {
                return Err(AnchorError::Damaged { anchor: anchor(), found: "no regular file".to_owned() });
            }
            opened => opened.map_err(&unreachable)?,
        };
        let bytes = usize::try_from(file.len().map_err(&unreachable)?).unwrap_or(usize::MAX);
        if bytes > MAX_NOTE_BYTES {
            let found = format!("{bytes} bytes, of which a tree head has at most {MAX_NOTE_BYTES},");
            return Err(AnchorError::Damaged { anchor: anchor(), found });
        }
        let mut note = vec![0; bytes];
        file.read_exact_at(&mut note, 0).map_err(unreachable)?;
        // Shown as text, two that differ would be taken for the same.
        let note = String::from_utf8(note);
        note.map(Some).map_err(|_| AnchorError::Damaged { anchor: anchor(), found: NO_TEXT.to_owned() })
    }

    /// Returned `Ok` ⇒ durable; a crash before leaves the old head or the new one.
    ///
    /// Syscalls: those of [`replace`], with `pwrite64`.
    fn write(&self, ledger: &LedgerName, head: &str) -> io::Result<()> {
        let name = Self::file_name(ledger);
        replace(&*self.disk, &self.folder, &name, UNFINISHED, |file| file.write_all_at(head.as_bytes(), 0))
    }
}

impl Anchor for FolderAnchor {
    fn load(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError> {
        self.read(ledger)
    }

    fn swap(&self, ledger: &LedgerName, expected: Option<&str>, head: &str) -> Result<(), AnchorError> {
        let unreachable = self.unreachable(ledger);
        if expected.is_none() {
            make_folder(&*self.disk, &self.folder).map_err(&unreachable)?;
        } else if self.read(ledger)?.is_none() {
            // Not the folder that it was: nothing is to appear in the one that is in its place.
            let (anchor, expected) = (self.path(ledger).display().to_string(), expected.map(str::to_owned));
            return Err(AnchorError::Moved { anchor, expected, found: None });
        }
        // The locked, compared and written files are in one folder, whatever is moved meanwhile.
        let disk = self.disk.within(&self.folder).map_err(&unreachable)?;
        let here = Self { disk, folder: self.folder.clone() };
        // A caller that compares holds this lock until it has written.
        let lock = here.disk.lock(&self.folder.join(format!("{ledger}.lock"))).map_err(&unreachable)?;
        let found = here.read(ledger)?;
        if found.as_deref() != expected {
            let (anchor, expected) = (self.path(ledger).display().to_string(), expected.map(str::to_owned));
            return Err(AnchorError::Moved { anchor, expected, found });
        }
        here.write(ledger, head).map_err(&unreachable)?;
        drop(lock);
        Ok(())
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        match self.disk.list(&self.folder) {
            Ok(entries) => Ok(entries.iter().filter_map(|entry| Self::ledger_of(&entry.name)).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => {
                Err(AnchorError::Unreachable { anchor: self.folder.display().to_string(), source })
            }
        }
    }

    fn remember_erased(&self, ledger: &LedgerName, name: &str) -> Result<(), AnchorError> {
        let unreachable = self.unreachable(ledger);
        let folder = self.folder.join(Self::erased_folder(ledger));
        make_folder(&*self.disk, &self.folder).map_err(&unreachable)?;
        make_folder(&*self.disk, &folder).map_err(&unreachable)?;
        match self.disk.open(&folder.join(name), OpenMode::CreateNew) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unreachable(error)),
            _ => self.disk.sync_folder(&folder).map_err(unreachable),
        }
    }

    fn erased(&self, ledger: &LedgerName) -> Result<Vec<String>, AnchorError> {
        match self.disk.list(&self.folder.join(Self::erased_folder(ledger))) {
            Ok(entries) => Ok(entries.into_iter().map(|entry| entry.name).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(self.unreachable(ledger)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::disk::RealDisk;

    fn anchor(folder: &Path) -> (FolderAnchor, LedgerName) {
        (FolderAnchor::new(Arc::new(RealDisk), folder), "main".parse().unwrap())
    }

    #[test]
    fn a_swap_with_another_head_than_the_stored_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (anchor, main) = anchor(&folder.path().join("anchors"));
        assert_eq!(anchor.load(&main).unwrap(), None);
        anchor.swap(&main, None, "o\n1\nfirst").unwrap();
        assert_eq!(anchor.load(&main).unwrap().as_deref(), Some("o\n1\nfirst"));
        for expected in [None, Some("o\n2\nother")] {
            let error = anchor.swap(&main, expected, "o\n3\nthird").unwrap_err();
            assert!(matches!(&error, AnchorError::Moved { .. }), "{error}");
            assert!(error.to_string().contains("remembers the tree head of size 1"), "{error}");
        }
        anchor.swap(&main, Some("o\n1\nfirst"), "o\n2\nsecond").unwrap();
        assert_eq!(anchor.load(&main).unwrap().as_deref(), Some("o\n2\nsecond"));
        assert_eq!(anchor.load(&"other".parse().unwrap()).unwrap(), None);
    }

    #[test]
    fn who_cannot_be_reached_is_not_taken_for_one_that_remembers_nothing() {
        let folder = tempfile::tempdir().unwrap();
        // A file where the anchor's folder should be: nothing can be looked up in it.
        let in_the_way = folder.path().join("file");
        RealDisk.open(&in_the_way, OpenMode::CreateNew).unwrap();
        let (anchor, main) = anchor(&in_the_way);
        assert!(matches!(anchor.load(&main), Err(AnchorError::Unreachable { .. })));
        assert!(matches!(anchor.swap(&main, None, "x"), Err(AnchorError::Unreachable { .. })));
    }

    #[test]
    fn what_can_be_no_tree_head_is_damage_and_neither_silence_nor_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (anchor, main) = anchor(folder.path());
        let path = folder.path().join("main.head");
        let write = |bytes: &[u8]| {
            let file = RealDisk.open(&path, OpenMode::CreateNew).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        };
        write(b"o\n1\n\xff\xfe");
        assert!(matches!(anchor.load(&main), Err(AnchorError::Damaged { .. })));
        let lossy = anchor.swap(&main, Some("o\n1\n\u{fffd}\u{fffd}"), "x");
        assert!(matches!(lossy, Err(AnchorError::Damaged { .. })), "{lossy:?}");
        RealDisk.remove_file(&path).unwrap();
        write(&vec![b'x'; MAX_NOTE_BYTES + 1]);
        assert!(matches!(anchor.load(&main), Err(AnchorError::Damaged { .. })));
        RealDisk.remove_file(&path).unwrap();
        RealDisk.create_folder(&path).unwrap();
        assert!(matches!(anchor.load(&main), Err(AnchorError::Damaged { .. })));
        assert!(matches!(anchor.swap(&main, None, "x"), Err(AnchorError::Damaged { .. })));
    }

    #[test]
    fn two_do_not_move_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (anchor, main) = anchor(folder.path());
        let held = RealDisk.lock(&folder.path().join("main.lock")).unwrap();
        assert!(matches!(anchor.swap(&main, None, "x"), Err(AnchorError::Unreachable { .. })));
        drop(held);
        anchor.swap(&main, None, "x").unwrap();
    }
}

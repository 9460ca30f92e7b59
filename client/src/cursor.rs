//! The cursor of a follower, in a file.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bitacora_formats::After;
use serde::{Deserialize, Serialize};

/// Bytes of a cursor's file that are read at all.
const MAX_CURSOR_BYTES: u64 = 4_096;

/// The file of a cursor. [`Cursor::save`] notes the handled events. After a crash the events after those come again,
/// and none is left out.
#[derive(Debug, Clone)]
pub struct Cursor {
    path: PathBuf,
}

/// The reason why a cursor is not read or kept.
#[derive(Debug, thiserror::Error)]
pub enum CursorError {
    /// The disk gave an error. The cursor stands where it stood, or at the new place.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The disk's error.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{}: not a cursor; remove it to begin anew", .0.display())]
    Malformed(PathBuf),
    /// The cursor is of another ledger: its position says nothing here.
    #[error("{}: a cursor of ledger {found}, not of {expected}; remove it to begin anew", path.display())]
    OtherLedger {
        /// The file.
        path: PathBuf,
        /// The ledger that is followed.
        expected: String,
        /// The ledger that the cursor is of.
        found: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CursorContent {
    ledger: String,
    after: String,
}

impl Cursor {
    /// Returns the cursor in this file, which need not exist yet; its folder must.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the cursor's ledger, and the position up to which everything was handled; `None` where there is none
    /// yet.
    ///
    /// # Errors
    /// [`CursorError::Disk`], [`CursorError::Malformed`].
    pub fn load(&self) -> Result<Option<(String, After)>, CursorError> {
        let failed = |source| CursorError::Disk { path: self.path.clone(), source };
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(failed)?,
        };
        let malformed = || CursorError::Malformed(self.path.clone());
        // A pipe would be waited for, and a device may have no end.
        if !metadata.is_file() || metadata.len() > MAX_CURSOR_BYTES {
            return Err(malformed());
        }
        let mut text = Vec::new();
        let file = File::open(&self.path).map_err(failed)?;
        file.take(MAX_CURSOR_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        let CursorContent { ledger, after } = serde_json::from_slice(&text).map_err(|_| malformed())?;
        Ok(Some((ledger, after.parse().map_err(|_| malformed())?)))
    }

    /// Notes that everything up to `after` was handled. Returned `Ok` ⇒ durable.
    ///
    /// Syscalls: `unlink`, `openat`, `write`, `fsync`, `rename`, `fsync` of the folder.
    ///
    /// # Errors
    /// [`CursorError::Disk`].
    pub fn save(&self, ledger: &str, after: After) -> Result<(), CursorError> {
        let failed = |source| CursorError::Disk { path: self.path.clone(), source };
        let text = CursorContent { ledger: ledger.to_owned(), after: after.to_string() };
        let text = serde_json::to_vec(&text).map_err(|error| failed(io::Error::other(error)))?;
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = self.path.with_file_name(name);
        let write = || {
            // Made anew: what has the name may be a link to another file.
            match fs::remove_file(&fresh) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = File::create_new(&fresh)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&fresh, &self.path)?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(failed)
    }

    /// Returns the position to resume from in this ledger.
    pub(crate) fn after(&self, ledger: &str) -> Result<Option<After>, CursorError> {
        match self.load()? {
            Some((found, _)) if found != ledger => {
                let (path, expected) = (self.path.clone(), ledger.to_owned());
                Err(CursorError::OtherLedger { path, expected, found })
            }
            found => Ok(found.map(|(_, after)| after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_kept_and_one_of_another_ledger_or_of_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursor");
        let cursor = Cursor::at(&path);
        assert!(cursor.load().unwrap().is_none());
        for position in [7, 8] {
            cursor.save("5e", After::new(position)).unwrap();
            assert_eq!(Cursor::at(&path).after("5e").unwrap(), Some(After::new(position)));
        }
        assert!(matches!(cursor.after("5f"), Err(CursorError::OtherLedger { .. })));
        for text in ["", "{}", r#"{"ledger":"5e","after":"-1"}"#, &"x".repeat(5_000)] {
            fs::write(&path, text).unwrap();
            assert!(matches!(cursor.load(), Err(CursorError::Malformed(_))), "{text:.20}");
        }
        for no_file in [Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(Cursor::at(no_file).load(), Err(CursorError::Malformed(_))), "{no_file:?}");
        }
        let gone = Cursor::at(folder.path().join("missing/cursor"));
        assert!(matches!(gone.save("5e", After::new(1)), Err(CursorError::Disk { .. })));
    }
    #[test]
    fn no_other_file_is_written_through_a_link_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("cursor"), folder.path().join("precious"));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join("cursor.new")).unwrap();
        Cursor::at(&path).save("5e", After::new(7)).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(Cursor::at(&path).after("5e").unwrap(), Some(After::new(7)));
    }
}

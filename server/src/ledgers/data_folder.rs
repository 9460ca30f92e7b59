//! The data folder: its mark, its lock, and the folders of its ledgers.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::LedgerName;
use bitacora_ledger::{Environment, FolderLock, OpenMode, Rollback};

use super::Ledgers;

/// The file that marks a data folder.
const MARK: &str = "FORMAT";
/// A mark that was damaged, beside the one that was written again.
const DAMAGED_MARK: &str = "FORMAT.damaged";
/// The beginning of the mark of any version; a number and a newline follow.
const ANY_FORMAT: &[u8] = b"bitacora-data v";
/// The whole content of the file `FORMAT`.
const FORMAT: &[u8] = b"bitacora-data v1\n";
/// The longest `FORMAT` that is read, bytes.
const MAX_FORMAT_BYTES: usize = 64;

/// The reason for which a folder is not used as data folder.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// It holds other things, or lost its mark.
    #[error("{}: not empty and not marked as a data folder; choose an empty folder, or restore its file FORMAT", .0.display())]
    Foreign(PathBuf),
    /// It is of a version this program does not know.
    #[error("{}: its FORMAT is {found:?}, this program reads \"bitacora-data v1\"; use the version that wrote it", folder.display())]
    OtherFormat {
        /// The folder.
        folder: PathBuf,
        /// The text of its mark.
        found: String,
    },
    /// A ledger in it is not the one that its anchor remembers.
    #[error("ledger {ledger}: {source}")]
    RolledBack {
        /// The ledger.
        ledger: LedgerName,
        /// The difference from what the anchor remembers.
        source: Rollback,
    },
    /// Another service serves it.
    #[error("{}: another service serves this data folder; stop it first", .0.display())]
    InUse(PathBuf),
    /// The disk gave an error.
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk {
        /// The path that was touched.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A folder that is marked as ours. It is opened once. Its mark, its lock, its list of ledgers and the ledgers are those of the folder that
/// stood under its name then. Another folder that stands there later is never used.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
    /// Its disk is this folder.
    environment: Environment,
}

impl DataFolder {
    /// Finds the data folder there; `None` where a missing or empty folder may become one.
    ///
    /// # Errors
    /// A folder with other content, or of another version, is refused.
    pub fn find(environment: &Environment, path: &Path) -> Result<Option<Self>, DataError> {
        let environment = match environment.within(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed(path))?,
        };
        let folder = Self { path: path.to_owned(), environment };
        Ok(folder.is_marked()?.then_some(folder))
    }

    /// Opens a data folder; an empty or missing one is begun. Returned ⇒ its mark is durable.
    ///
    /// # Errors
    /// A folder with other content is not taken: a mistyped path must not become a data folder.
    pub fn open_or_begin(environment: &Environment, path: &Path) -> Result<Self, DataError> {
        match Self::find(environment, path)? {
            Some(folder) => Ok(folder),
            None => Self::begin(environment, path).map_err(failed(path)),
        }
    }

    /// Returns the environment whose disk is this folder.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Writes the mark of a folder again where it is missing, or is the mark of no version. The ledgers in the folder have to be exactly
    /// those that `listed` returns, which reads a list under the keyring's seal. Returns `true` where it was written; the bytes that stood
    /// there are kept beside it.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn mend_mark(
        environment: &Environment,
        path: &Path,
        listed: impl FnOnce(&Self) -> Option<Vec<LedgerName>>,
    ) -> Result<bool, DataError> {
        let environment = match environment.within(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(failed(path))?,
        };
        let folder = Self { path: path.to_owned(), environment };
        let found = folder.read(MARK, MAX_FORMAT_BYTES).map_err(failed(&path.join(MARK)))?;
        if found.as_deref().is_some_and(is_mark) {
            return Ok(false);
        }
        let Some(listed) = listed(&folder).filter(|listed| !listed.is_empty()) else { return Ok(false) };
        if !folder.ledger_names().is_ok_and(|here| here == listed) {
            return Ok(false);
        }
        let kept = found.map_or(Ok(()), |found| folder.replace(DAMAGED_MARK, &found));
        kept.and_then(|()| folder.replace(MARK, FORMAT)).map_err(failed(&path.join(MARK)))?;
        Ok(true)
    }

    /// Keeps other services away until the lock is dropped.
    ///
    /// # Errors
    /// [`DataError::InUse`] where one has it.
    pub fn lock(&self) -> Result<Box<dyn FolderLock>, DataError> {
        let path = self.path.join("lock");
        self.environment.disk.lock(&path).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => DataError::InUse(self.path.clone()),
            _ => DataError::Disk { path, source },
        })
    }

    /// Returns the folder of the ledger of this name.
    #[must_use]
    pub fn ledger(&self, name: &LedgerName) -> PathBuf {
        self.path.join("ledgers").join(name.as_str())
    }

    /// The ledgers that lie here, sorted by name.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn ledger_names(&self) -> Result<Vec<LedgerName>, DataError> {
        let ledgers = self.path.join("ledgers");
        let entries = self.environment.disk.list(&ledgers).map_err(failed(&ledgers))?;
        // An entry without a ledger's name was left by a creation that did not end.
        Ok(entries
            .into_iter()
            .filter(|entry| entry.is_folder)
            .filter_map(|entry| entry.name.parse().ok())
            .collect())
    }

    /// Reads a file of this name, up to `most` bytes of it; `None` where there is none.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn read(&self, name: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
        let file = match self.environment.disk.open(&self.path.join(name), OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(most)];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }

    /// Writes a file in the place of the one of this name, if any. Returned `Ok` ⇒ durable. A crash before leaves the old file or the new
    /// one. It may also leave a part of the new one under a name that ends in `.new`.
    ///
    /// # Errors
    /// The disk's error.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (disk, unfinished) = (&self.environment.disk, self.path.join(format!("{name}.new")));
        unless(io::ErrorKind::NotFound, disk.remove_file(&unfinished))?;
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, &self.path.join(name))?;
        disk.sync_folder(&self.path)
    }

    /// `false`: it has no mark, and holds nothing that would be in the way of one.
    fn is_marked(&self) -> Result<bool, DataError> {
        let found = self.read(MARK, MAX_FORMAT_BYTES).map_err(failed(&self.path.join(MARK)))?;
        match found {
            None => self.refuse_foreign().map(|()| false),
            Some(found) if found == FORMAT => Ok(true),
            Some(found) => {
                let found = String::from_utf8_lossy(&found).trim_end().to_owned();
                Err(DataError::OtherFormat { folder: self.path.clone(), found })
            }
        }
    }

    fn refuse_foreign(&self) -> Result<(), DataError> {
        let disk = &self.environment.disk;
        // Leftovers of an interrupted beginning, and entries that file systems put at their root.
        let is_ours = |name: &str| match name {
            "ledgers" => disk.list(&self.path.join(name)).is_ok_and(|entries| entries.is_empty()),
            "FORMAT.new" | "lost+found" => true,
            _ => false,
        };
        let entries = disk.list(&self.path).map_err(failed(&self.path))?;
        match entries.iter().all(|entry| is_ours(&entry.name)) {
            true => Ok(()),
            false => Err(DataError::Foreign(self.path.clone())),
        }
    }

    /// The mark comes last and whole: a folder that has it has everything.
    fn begin(environment: &Environment, path: &Path) -> io::Result<Self> {
        let anywhere = &environment.disk;
        unless(io::ErrorKind::AlreadyExists, anywhere.create_folder(path))?;
        let folder = Self { path: path.to_owned(), environment: environment.within(path)? };
        let ledgers = folder.environment.disk.create_folder(&path.join("ledgers"));
        unless(io::ErrorKind::AlreadyExists, ledgers)?;
        folder.replace(MARK, FORMAT)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or(Ok(()), |parent| anywhere.sync_folder(parent))?;
        Ok(folder)
    }
}

/// `true` for the mark of a data folder, of any version.
fn is_mark(bytes: &[u8]) -> bool {
    let number = bytes.strip_prefix(ANY_FORMAT).and_then(|rest| rest.strip_suffix(b"\n"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DataError + use<> {
    let path = path.to_owned();
    move |source| DataError::Disk { path, source }
}

fn unless(fine: io::ErrorKind, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == fine => Ok(()),
        other => other,
    }
}

impl Ledgers {
    /// Returns the folder of archives inside the data folder, where there is one.
    pub(crate) fn archives_folder(&self) -> Option<PathBuf> {
        Some(self.config.data.join("archives")).filter(|folder| folder.is_dir())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_mark_is_written_again_where_the_sealed_list_is_of_what_lies_there() {
        let below = tempfile::tempdir().unwrap();
        let (data, environment) = (below.path().join("data"), Environment::real());
        let listed =
            |names: &[&str]| Some(names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>());
        let mend =
            |list: Option<Vec<LedgerName>>| DataFolder::mend_mark(&environment, &data, |_| list).unwrap();
        assert!(!mend(listed(&["main"])) && !data.exists(), "there is no folder");
        DataFolder::open_or_begin(&environment, &data).unwrap();
        fs::create_dir(data.join("ledgers/main")).unwrap();
        for (mark, is_lost) in
            [(Some("bitacoRa-data v1\n"), true), (Some("bitacora-data v2\n"), false), (None, true)]
        {
            match mark {
                Some(mark) => fs::write(data.join(MARK), mark).unwrap(),
                None => fs::remove_file(data.join(MARK)).unwrap(),
            }
            let refused = [None, listed(&[]), listed(&["other"]), listed(&["main", "other"])];
            assert!(refused.into_iter().all(|list| !mend(list)), "{mark:?}");
            assert_eq!(mend(listed(&["main"])), is_lost, "{mark:?}");
            assert_eq!(DataFolder::find(&environment, &data).is_ok_and(|found| found.is_some()), is_lost);
        }
        assert_eq!(fs::read_to_string(data.join(DAMAGED_MARK)).unwrap(), "bitacoRa-data v1\n");
    }
}

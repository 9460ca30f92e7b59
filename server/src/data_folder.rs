//! The data folder: what marks it as ours, and where its ledgers lie.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::LedgerName;
use bitacora_ledger::{Environment, FolderLock, OpenMode, Rollback};

/// The file that marks a data folder.
const MARK: &str = "FORMAT";
/// How the mark of any version begins; a number and a newline follow.
const ANY_FORMAT: &[u8] = b"bitacora-data v";
/// The whole content of the file `FORMAT`.
const FORMAT: &[u8] = b"bitacora-data v1\n";
/// The longest `FORMAT` that is read, bytes.
const MAX_FORMAT_BYTES: usize = 64;

/// Why a folder is not used as data folder.
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
        /// What its mark says.
        found: String,
    },
    /// A ledger in it is not the one that its anchor remembers.
    #[error("ledger {ledger}: {source}")]
    RolledBack {
        /// Which one.
        ledger: LedgerName,
        /// How it differs.
        source: Rollback,
    },
    /// Another service serves it.
    #[error("{}: another service serves this data folder; stop it first", .0.display())]
    InUse(PathBuf),
    /// The disk gave an error.
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder that is marked as ours.
#[derive(Debug, Clone)]
pub struct DataFolder(PathBuf);

impl DataFolder {
    /// Opens a data folder; an empty or missing one is begun. Returned ⇒ its mark is durable.
    ///
    /// # Errors
    /// A folder with other content is not taken: a mistyped path must not become a data folder.
    pub fn open_or_begin(environment: &Environment, folder: &Path) -> Result<Self, DataError> {
        let disk = &environment.disk;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| DataError::Disk { path, source }
        };
        let mark = folder.join("FORMAT");
        match disk.open(&mark, OpenMode::Read) {
            Ok(file) => {
                let mut bytes = [0; MAX_FORMAT_BYTES];
                let read = file.read_at(&mut bytes, 0).map_err(failed(&mark))?;
                let found = bytes.get(..read).unwrap_or_default();
                if found != FORMAT {
                    let found = String::from_utf8_lossy(found).trim_end().to_owned();
                    return Err(DataError::OtherFormat { folder: folder.to_owned(), found });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => begin(environment, folder, &mark)?,
            Err(error) => return Err(failed(&mark)(error)),
        }
        Ok(Self(folder.to_owned()))
    }

    /// Returns whether the folder has the mark of any version.
    ///
    /// # Errors
    /// What the disk says.
    pub fn is_marked(environment: &Environment, folder: &Path) -> Result<bool, DataError> {
        let found = found_mark(environment, folder)?;
        Ok(found.as_deref().is_some_and(is_mark))
    }

    /// Writes the mark of a folder again that has lost it: where it is missing, or is the mark of no version, and these ledgers and no others
    /// lie there. Whoever calls this knows from a list under the keyring's seal that they do. `true`: it was written. What stood there is kept
    /// beside it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn mend_mark(
        environment: &Environment,
        folder: &Path,
        listed: &[LedgerName],
    ) -> Result<bool, DataError> {
        let found = found_mark(environment, folder)?;
        let is_here = |names: Result<Vec<LedgerName>, _>| names.is_ok_and(|names| names == listed);
        if listed.is_empty()
            || found.as_deref().is_some_and(is_mark)
            || !is_here(Self(folder.to_owned()).ledger_names(environment))
        {
            return Ok(false);
        }
        let disk = &environment.disk;
        let put = |name: &str, bytes: &[u8]| -> io::Result<()> {
            let unfinished = folder.join(format!("{name}.new"));
            unless(io::ErrorKind::NotFound, disk.remove_file(&unfinished))?;
            let file = disk.open(&unfinished, OpenMode::CreateNew)?;
            file.write_all_at(bytes, 0)?;
            file.sync_all()?;
            disk.rename(&unfinished, &folder.join(name))?;
            disk.sync_folder(folder)
        };
        let damaged = found.map_or(Ok(()), |found| put("FORMAT.damaged", &found));
        let written = damaged.and_then(|()| put(MARK, FORMAT));
        written.map_err(|source| DataError::Disk { path: folder.join(MARK), source })?;
        Ok(true)
    }

    /// Keeps other services away until the lock is dropped.
    pub(crate) fn lock(&self, environment: &Environment) -> Result<Box<dyn FolderLock>, DataError> {
        let path = self.0.join("lock");
        environment.disk.lock(&path).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => DataError::InUse(self.0.clone()),
            _ => DataError::Disk { path, source },
        })
    }

    /// Where the ledger of this name lies.
    #[must_use]
    pub fn ledger(&self, name: &LedgerName) -> PathBuf {
        self.0.join("ledgers").join(name.as_str())
    }

    /// The ledgers that lie here, sorted by name.
    ///
    /// # Errors
    /// What the disk says.
    pub fn ledger_names(&self, environment: &Environment) -> Result<Vec<LedgerName>, DataError> {
        let ledgers = self.0.join("ledgers");
        let entries =
            environment.disk.list(&ledgers).map_err(|source| DataError::Disk { path: ledgers, source })?;
        // Whatever has no ledger's name was left by a creation that did not end.
        Ok(entries
            .into_iter()
            .filter(|entry| entry.is_folder)
            .filter_map(|entry| entry.name.parse().ok())
            .collect())
    }
}

/// What stands in the place of the mark, as far as that is read.
fn found_mark(environment: &Environment, folder: &Path) -> Result<Option<Vec<u8>>, DataError> {
    let path = folder.join(MARK);
    let mut bytes = vec![0; MAX_FORMAT_BYTES];
    let read = match environment.disk.open(&path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|file| file.read_at(&mut bytes, 0)),
    };
    bytes.truncate(read.map_err(|source| DataError::Disk { path, source })?);
    Ok(Some(bytes))
}

/// Whether this is the mark of a data folder, of any version.
fn is_mark(bytes: &[u8]) -> bool {
    let number = bytes.strip_prefix(ANY_FORMAT).and_then(|rest| rest.strip_suffix(b"\n"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// The mark comes last and whole: a folder that has it has everything.
fn begin(environment: &Environment, folder: &Path, mark: &Path) -> Result<(), DataError> {
    let disk = &environment.disk;
    let ledgers = folder.join("ledgers");
    let unfinished = folder.join("FORMAT.new");
    // What an interrupted beginning leaves, and what file systems put at their root.
    let is_ours = |name: &str| match name {
        "ledgers" => disk.list(&ledgers).is_ok_and(|entries| entries.is_empty()),
        "FORMAT.new" | "lost+found" => true,
        _ => false,
    };
    match disk.list(folder) {
        Ok(entries) if entries.iter().all(|entry| is_ours(&entry.name)) => (),
        Ok(_) => return Err(DataError::Foreign(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(source) => return Err(DataError::Disk { path: folder.to_owned(), source }),
    }
    let write = || {
        for path in [folder, &ledgers] {
            unless(io::ErrorKind::AlreadyExists, disk.create_folder(path))?;
        }
        unless(io::ErrorKind::NotFound, disk.remove_file(&unfinished))?;
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        file.write_all_at(FORMAT, 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, mark)?;
        disk.sync_folder(folder)?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or(Ok(()), |parent| disk.sync_folder(parent))
    };
    write().map_err(|source| DataError::Disk { path: folder.to_owned(), source })
}

fn unless(fine: io::ErrorKind, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == fine => Ok(()),
        other => other,
    }
}

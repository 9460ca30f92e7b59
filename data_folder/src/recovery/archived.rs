//! Recovery of a ledger from its archives: a restored folder takes the place of the damaged one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archiver::{ArchiveProgress, Objects, RestoringError, archived_reach, restore_history};
use bitacora_formats::{Keyring, Position};
use bitacora_ledger::{Disk, Environment, KnownSegments, OpenMode};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// The suffix of a ledger's folder while it is being restored. No ledger has such a name.
const RESTORED: &str = "restored";
/// The suffix of a folder whose ledger was restored; a number follows.
const LOST: &str = "lost";
/// The most folders of one ledger that are kept under that suffix.
const MAX_LOST_FOLDERS: u32 = 1_000;
/// The folder of data subjects' keys, which are in no archive.
const SUBJECTS: &str = "subjects";
/// The file that names erased keys: the restored log may end before their erasure.
const ERASED_KEYS: &str = "erased-keys";

/// The rest of a damaged ledger.
pub(super) struct DamagedLedger<'a> {
    pub(super) environment: &'a Environment,
    pub(super) folder: &'a Path,
    pub(super) keyring: &'a Keyring,
}

/// A restored ledger.
pub struct RestoredLedger {
    /// The number of its events.
    pub events: u64,
    /// The folder that holds the damaged ledger's files now.
    pub kept: PathBuf,
}

/// The reason why a ledger was not restored. The damaged one is unchanged under its name.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveRecoveryError {
    /// The archives do not give the ledger.
    #[error("{0}; nothing was given up: mend that, or give up what archives hold with --without-archives")]
    Restoring(#[from] RestoringError),
    /// The disk gave an error.
    #[error("{}: {source}; nothing was given up", path.display())]
    Disk {
        /// The damaged ledger's folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The damaged ledger's id is not known.
    #[error("{}: no ledger's header can be read there; restore it with `bitacora archive restore`", .0.display())]
    Unknown(PathBuf),
}

/// Returns the folders beside a ledger's own that hold what it was before it was restored.
///
/// # Errors
/// The error of the disk.
pub fn lost_folders(disk: &dyn Disk, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_lost = |entry: &str| {
        let ending = entry.strip_prefix(&*name).and_then(|rest| rest.strip_prefix('.'));
        let number = ending.and_then(|ending| ending.strip_prefix(LOST)?.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let listed = disk.list(folder.parent().unwrap_or(folder))?;
    let lost = listed.into_iter().filter(|entry| entry.is_folder && is_lost(&entry.name));
    Ok(lost.map(|entry| folder.with_file_name(entry.name)).collect())
}

impl DamagedLedger<'_> {
    /// Returns the last position in archives of this history.
    pub(super) fn archived(
        &self,
        objects: &Arc<dyn Objects>,
    ) -> Result<Option<Position>, ArchiveRecoveryError> {
        let known = self.known()?;
        match known.ledger {
            Some(ledger) => Ok(archived_reach(objects, ledger, self.keyring, &known)?),
            None => Ok(None),
        }
    }

    /// Restores the ledger from its archives, with the data subjects' keys that are here, and replaces the damaged one.
    /// Returned `Ok` ⇒ durable. A crash leaves one of the two under the ledger's name, whole, and the other beside it.
    pub(super) fn make_again(
        &self,
        objects: &Arc<dyn Objects>,
    ) -> Result<RestoredLedger, ArchiveRecoveryError> {
        let disk = &*self.environment.disk;
        let known = self.known()?;
        let id = known.ledger.ok_or_else(|| ArchiveRecoveryError::Unknown(self.folder.to_owned()))?;
        let fresh = self.beside(RESTORED);
        // A crash left one there, from before it took the ledger's place or from after.
        if disk.exists(&fresh).map_err(self.failed())? {
            self.put_aside(&fresh)?;
        }
        let (of, progress) = ((id, &known, self.folder), ArchiveProgress::default());
        let restored = restore_history(self.environment, objects, of, self.keyring, &fresh, &progress)?;
        copy_folder(disk, &self.folder.join(SUBJECTS), &fresh.join(SUBJECTS)).map_err(self.failed())?;
        copy_file(disk, &self.folder.join(ERASED_KEYS), &fresh.join(ERASED_KEYS)).map_err(self.failed())?;
        disk.sync_folder(&fresh).map_err(self.failed())?;
        let exchanged = renameat_with(CWD, &fresh, CWD, self.folder, RenameFlags::EXCHANGE);
        exchanged.map_err(|error| self.failed()(error.into()))?;
        let kept = self.put_aside(&fresh)?;
        Ok(RestoredLedger { events: restored.events, kept })
    }

    fn known(&self) -> Result<KnownSegments, ArchiveRecoveryError> {
        KnownSegments::read(&*self.environment.disk, self.folder).map_err(self.failed())
    }

    /// Returns the path of a folder beside the ledger's.
    fn beside(&self, ending: &str) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        self.folder.with_file_name(format!("{name}.{ending}"))
    }

    /// Renames a folder beside the ledger's to the next free name of kept folders, without its subjects' keys: the ledger has them, and a
    /// second copy would outlive their erasure. Returned `Ok` ⇒ durable.
    fn put_aside(&self, folder: &Path) -> Result<PathBuf, ArchiveRecoveryError> {
        let disk = &*self.environment.disk;
        for number in 1..=MAX_LOST_FOLDERS {
            let kept = self.beside(&format!("{LOST}-{number}"));
            if disk.exists(&kept).map_err(self.failed())? {
                continue;
            }
            // Before it takes a name that nobody looks at again.
            remove_folder(disk, &folder.join(SUBJECTS)).map_err(self.failed())?;
            disk.rename(folder, &kept).map_err(self.failed())?;
            let parent = self.folder.parent().unwrap_or(self.folder);
            disk.sync_folder(parent).map_err(self.failed())?;
            return Ok(kept);
        }
        Err(self.failed()(io::ErrorKind::AlreadyExists.into()))
    }

    fn failed(&self) -> impl Fn(io::Error) -> ArchiveRecoveryError {
        let path = self.folder.to_owned();
        move |source| ArchiveRecoveryError::Disk { path: path.clone(), source }
    }
}

/// Copies a folder's files and folders into another one that exists. Returned `Ok` ⇒ durable.
fn copy_folder(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    let entries = match disk.list(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for entry in &entries {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        if entry.is_folder {
            disk.create_folder(&to)?;
            copy_folder(disk, &from, &to)?;
            continue;
        }
        copy_file(disk, &from, &to)?;
    }
    disk.sync_folder(to)
}

/// Copies a file, if it is there. Returned `Ok` ⇒ its bytes are durable, its name not yet.
fn copy_file(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    let source = match disk.open(from, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut bytes = vec![0; usize::try_from(source.len()?).map_err(io::Error::other)?];
    source.read_exact_at(&mut bytes, 0)?;
    let file = disk.open(to, OpenMode::CreateNew)?;
    file.write_all_at(&bytes, 0)?;
    file.sync_all()
}

/// Removes a folder with all it holds, if it is there. Returned `Ok` ⇒ what it held is gone for good.
fn remove_folder(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    let entries = match disk.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for entry in &entries {
        let path = folder.join(&entry.name);
        if entry.is_folder { remove_folder(disk, &path)? } else { disk.remove_file(&path)? }
    }
    disk.sync_folder(folder)?;
    disk.remove_folder(folder)
}

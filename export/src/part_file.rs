//! The files of an export: a part that grows, its progress, and at the end the file with its manifest.
//!
//! The progress names a length of the part that is durable. A crash leaves the part longer than that; going on cuts it there. The
//! part is locked while an export writes it. Links are not followed: they may lead to files that are not the export's.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::export_plan::ExportPlan;
use crate::row_tally::RowTally;

/// The mode: access for the owner alone, because the contents are out of a ledger.
const FILE_MODE: u32 = 0o600;
/// The version of the progress file.
const PROGRESS_VERSION: u32 = 2;
/// Bytes of a progress file that is read.
const MAX_PROGRESS_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that are hashed at once.
const HASH_BUFFER_BYTES: usize = 256 * 1024;

/// The names of an export's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportNames {
    /// The file itself.
    pub file: PathBuf,
    /// The part of it, until it is whole.
    pub part: PathBuf,
    /// The progress of the part.
    pub progress: PathBuf,
    /// The manifest.
    pub manifest: PathBuf,
    /// The ledger's signed receipt of the export.
    pub receipt: PathBuf,
}

/// The reason why the files are not written.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// A file of that name is there.
    #[error("{}: exists already, and is not written over; name another file, or remove this one first", .0.display())]
    Exists(PathBuf),
    /// A part is there, and it was not said that it is gone on with.
    #[error("{}: is the part of an export that was interrupted; go on with --resume, or remove it first", .0.display())]
    Interrupted(PathBuf),
    /// There is no part to go on with.
    #[error("{}: there is no interrupted export to go on with; leave --resume out", .0.display())]
    NoPart(PathBuf),
    /// A part is there without its progress.
    #[error("{}: a part without its progress, so that nothing goes on from it; remove it, and begin again without --resume", .0.display())]
    NoProgress(PathBuf),
    /// A progress is there without its part.
    #[error("{}: the progress of an export whose part is gone; remove it, and begin again without --resume", .0.display())]
    PartGone(PathBuf),
    /// Another program writes the part.
    #[error("{}: another export is writing it; wait until that one ends", .0.display())]
    Busy(PathBuf),
    /// A link, a folder or a device has the name of a file.
    #[error("{}: not a regular file; remove it, and begin again", .0.display())]
    NotRegular(PathBuf),
    /// An error before anything was exported.
    #[error("{}: {source}; nothing was written", path.display())]
    Begin {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The progress is not one.
    #[error("{}: not the progress of an export: {reason}; remove it and the part, and begin again", path.display())]
    Progress {
        /// The progress file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The part is not the one that the progress tells of.
    #[error("{}: not the part that was left: {reason}; remove it and its progress, and begin again", path.display())]
    Changed {
        /// The part.
        path: PathBuf,
        /// The difference.
        reason: &'static str,
    },
    /// The interrupted export is another one.
    #[error("{}: the interrupted export has another {member}; name the same, or begin again with another file", path.display())]
    Other {
        /// The part.
        path: PathBuf,
        /// The member that differs.
        member: &'static str,
    },
    /// An error of the disk, or of the pipe.
    #[error("{}: {source}; what was written stays, and --resume goes on", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The progress of an export: what the part holds up to a length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    version: u32,
    pub(crate) plan: ExportPlan,
    pub(crate) tally: RowTally,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) footer: Option<String>,
}

impl Progress {
    pub(crate) fn new(
        (plan, tally): (&ExportPlan, &RowTally),
        (bytes, sha256): (u64, String),
        footer: Option<String>,
    ) -> Self {
        Self { version: PROGRESS_VERSION, plan: plan.clone(), tally: tally.clone(), bytes, sha256, footer }
    }

    /// Returns the progress beside the part.
    ///
    /// # Errors
    /// There is none, or it is not one.
    pub(crate) fn load(names: &ExportNames) -> Result<Self, PartError> {
        let path = &names.progress;
        let file = open_regular(path, OFlags::RDONLY, || PartError::NoProgress(names.part.clone()))?;
        let mut text = Vec::new();
        file.take(MAX_PROGRESS_BYTES)
            .read_to_end(&mut text)
            .map_err(|source| PartError::disk(path, source))?;
        let no_progress = |reason: String| PartError::Progress { path: path.clone(), reason };
        let progress: Self = serde_json::from_slice(&text).map_err(|error| no_progress(error.to_string()))?;
        if progress.version != PROGRESS_VERSION {
            return Err(no_progress(format!(
                "version {} of it, expected {PROGRESS_VERSION}",
                progress.version
            )));
        }
        Ok(progress)
    }

    /// Checks that an export can have come so far. `now` is the plan of the same export by the ledger as it is.
    ///
    /// # Errors
    /// It cannot, or it began at another head than this ledger had.
    pub(crate) fn check(
        &self,
        names: &ExportNames,
        (now, after): (&ExportPlan, u64),
    ) -> Result<(), PartError> {
        let fault =
            |reason: &str| PartError::Progress { path: names.progress.clone(), reason: reason.to_owned() };
        let position = |plan: &ExportPlan| plan.head.position.parse::<u64>().ok();
        let (Some(head), Some(head_now)) = (position(&self.plan), position(now)) else {
            return Err(fault("its head has no position"));
        };
        if head > head_now {
            return Err(fault("it began at a head past that of the ledger"));
        }
        if head == head_now && self.plan.head.hash != now.head.hash {
            return Err(fault("it began at a head with another hash"));
        }
        let is_dense = self.plan.selection.is_empty();
        self.tally.fault((after, head), is_dense).map_or(Ok(()), |reason| Err(fault(reason)))
    }

    /// Writes it over an earlier one. Returned `Ok` ⇒ durable.
    pub(crate) fn store(&self, names: &ExportNames) -> Result<(), PartError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        replace(&names.progress, &text)
    }
}

impl PartError {
    pub(crate) fn disk(path: &Path, source: io::Error) -> Self {
        Self::Disk { path: path.to_owned(), source }
    }
}

impl ExportNames {
    /// Returns the names for a file.
    #[must_use]
    pub fn new(file: &Path) -> Self {
        let beside = |suffix: &str| {
            let mut name = file.file_name().unwrap_or_default().to_owned();
            name.push(suffix);
            file.with_file_name(name)
        };
        Self {
            file: file.to_owned(),
            part: beside(".part"),
            progress: beside(".part.json"),
            manifest: beside(".manifest.json"),
            receipt: beside(".receipt"),
        }
    }

    /// Refuses names that are taken, before any work is done. A resumed export may find its manifest and receipt.
    ///
    /// # Errors
    /// [`PartError::Exists`], [`PartError::Interrupted`], [`PartError::NoPart`], [`PartError::NoProgress`] or [`PartError::PartGone`].
    pub fn check(&self, is_resumed: bool) -> Result<(), PartError> {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let finished =
            if is_resumed { vec![&self.file] } else { vec![&self.file, &self.manifest, &self.receipt] };
        if let Some(taken) = finished.into_iter().find(|path| is_there(path)) {
            return Err(PartError::Exists(taken.clone()));
        }
        match (is_there(&self.part), is_there(&self.progress)) {
            (true, true) if !is_resumed => Err(PartError::Interrupted(self.part.clone())),
            (false, false) if is_resumed => Err(PartError::NoPart(self.part.clone())),
            (true, false) => Err(PartError::NoProgress(self.part.clone())),
            (false, true) => Err(PartError::PartGone(self.progress.clone())),
            _ => Ok(()),
        }
    }
}

/// Creates the part, and locks it.
pub(crate) fn create(names: &ExportNames) -> Result<File, PartError> {
    let path = &names.part;
    let created = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    let file = created.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => PartError::Interrupted(path.clone()),
        _ => PartError::Begin { path: path.clone(), source },
    })?;
    lock(&file, names)?;
    Ok(file)
}

/// Removes a part that an export has just created and not begun.
pub(crate) fn discard(names: &ExportNames) {
    // A part that stays is named when its export is begun again.
    let _stays = fs::remove_file(&names.part).is_err();
    let _was_there = fs::remove_file(&names.progress).is_ok();
}

/// Opens the part of an interrupted export, and locks it.
pub(crate) fn open(names: &ExportNames) -> Result<File, PartError> {
    let file = open_regular(&names.part, OFlags::RDWR, || PartError::NoPart(names.part.clone()))?;
    lock(&file, names)?;
    Ok(file)
}

/// Opens a regular file, never one that a link leads to, and without waiting for the other end of a pipe.
fn open_regular(path: &Path, access: OFlags, absent: impl FnOnce() -> PartError) -> Result<File, PartError> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(absent()),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(PartError::NotRegular(path.to_owned())),
        Err(errno) => return Err(PartError::disk(path, errno.into())),
    };
    let metadata = file.metadata().map_err(|source| PartError::disk(path, source))?;
    if metadata.is_file() { Ok(file) } else { Err(PartError::NotRegular(path.to_owned())) }
}

/// Locks the part until it is closed. Checks that it still has its name: an export that ended meanwhile gave it another.
fn lock(part: &File, names: &ExportNames) -> Result<(), PartError> {
    let path = &names.part;
    match part.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(PartError::Busy(path.clone())),
        // A file system without locks.
        Err(TryLockError::Error(source)) if source.kind() == io::ErrorKind::Unsupported => (),
        Err(TryLockError::Error(source)) => return Err(PartError::disk(path, source)),
        Ok(()) => (),
    }
    let opened = part.metadata().map_err(|source| PartError::disk(path, source))?;
    let is_same = |named: fs::Metadata| (named.dev(), named.ino()) == (opened.dev(), opened.ino());
    let is_named = fs::symlink_metadata(path).is_ok_and(is_same);
    if is_named { Ok(()) } else { Err(PartError::NoPart(path.clone())) }
}

/// Checks the bytes of a part that its progress tells of, and cuts off what is behind them. Returns the hash over them.
pub(crate) fn cut(file: &mut File, names: &ExportNames, progress: &Progress) -> Result<Sha256, PartError> {
    let path = &names.part;
    let disk = |source| PartError::disk(path, source);
    let changed = |reason| PartError::Changed { path: path.clone(), reason };
    let mut hash = Sha256::new();
    let mut left = progress.bytes;
    let mut buffer = vec![0; HASH_BUFFER_BYTES];
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = file.read(buffer.get_mut(..wanted).unwrap_or_default()).map_err(disk)?;
        if read == 0 {
            return Err(changed("it is shorter"));
        }
        hash.update(buffer.get(..read).unwrap_or_default());
        left -= read as u64;
    }
    if hex::encode(hash.clone().finalize()) != progress.sha256 {
        return Err(changed("its bytes are others"));
    }
    file.set_len(progress.bytes).map_err(disk)?;
    file.seek(SeekFrom::End(0)).map_err(disk)?;
    Ok(hash)
}

/// Writes a small file over an earlier one, by a new name beside it. Returned `Ok` ⇒ durable.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), PartError> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let write = || {
        // Left by an export that was killed, or put there by somebody else.
        let _was_there = fs::remove_file(&fresh).is_ok();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        sync_folder(path)
    };
    write().map_err(|source| {
        // On a full disk half of a new one helps nobody.
        let _stays = fs::remove_file(&fresh).is_err();
        PartError::disk(path, source)
    })
}

/// Gives the finished part its name, and removes the progress. Returned `Ok` ⇒ durable. A file that came to be meanwhile is not replaced.
pub(crate) fn publish(names: &ExportNames) -> Result<(), PartError> {
    let linked = fs::hard_link(&names.part, &names.file);
    match linked {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
            return Err(PartError::Exists(names.file.clone()));
        }
        // A file system without hard links.
        Err(_) => {
            fs::rename(&names.part, &names.file).map_err(|source| PartError::disk(&names.file, source))?;
        }
        Ok(()) => {
            fs::remove_file(&names.part).map_err(|source| PartError::disk(&names.part, source))?;
        }
    }
    fs::remove_file(&names.progress).map_err(|source| PartError::disk(&names.progress, source))?;
    sync_folder(&names.file).map_err(|source| PartError::disk(&names.file, source))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

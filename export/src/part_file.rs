//! The files of an export: a part that grows, its progress, and at the end the file with its manifest.
//!
//! The progress names a length of the part that is durable. A crash leaves the part longer than that; going on cuts it there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::export_plan::ExportPlan;
use crate::row_tally::RowTally;

/// The mode: access for the owner alone, because the contents are out of a ledger.
const FILE_MODE: u32 = 0o600;
/// The version of the progress file.
const PROGRESS_VERSION: u32 = 1;
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
        let file = File::open(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => PartError::NoPart(names.part.clone()),
            _ => PartError::disk(path, source),
        })?;
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
    /// [`PartError::Exists`], [`PartError::Interrupted`] or [`PartError::NoPart`].
    pub fn check(&self, is_resumed: bool) -> Result<(), PartError> {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let finished =
            if is_resumed { vec![&self.file] } else { vec![&self.file, &self.manifest, &self.receipt] };
        if let Some(taken) = finished.into_iter().find(|path| is_there(path)) {
            return Err(PartError::Exists(taken.clone()));
        }
        let has_part = is_there(&self.part) || is_there(&self.progress);
        match (is_resumed, has_part) {
            (false, true) => Err(PartError::Interrupted(self.part.clone())),
            (true, false) => Err(PartError::NoPart(self.part.clone())),
            _ => Ok(()),
        }
    }
}

/// Creates the part.
pub(crate) fn create(names: &ExportNames) -> Result<File, PartError> {
    let created = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&names.part);
    created.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => PartError::Interrupted(names.part.clone()),
        _ => PartError::disk(&names.part, source),
    })
}

/// Opens the part of an interrupted export, checks the bytes that its progress tells of, and cuts off what is behind them. Returns the
/// hash over them.
pub(crate) fn reopen(names: &ExportNames, progress: &Progress) -> Result<(File, Sha256), PartError> {
    let path = &names.part;
    let disk = |source| PartError::disk(path, source);
    let changed = |reason| PartError::Changed { path: path.clone(), reason };
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let mut file = opened.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => PartError::NoPart(path.clone()),
        _ => disk(source),
    })?;
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
    Ok((file, hash))
}

/// Writes a small file over an earlier one, by a new name beside it. Returned `Ok` ⇒ durable.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), PartError> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&fresh)?;
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

//! A harness's settings file: where it lies, and how it is changed without losing anything of it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bitacora_harness::{Dialect, SettingsError};

use crate::limits::MAX_SETTINGS_BYTES;
use crate::remnants::{MARK_AMONG_OTHERS, place_beside, remove_remnants_of};

/// The permissions of a settings file that is made.
const NEW_FILE_MODE: u32 = 0o644;

/// The settings that a connection changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope<'a> {
    /// Those of the user, for all projects.
    User {
        /// The home folder.
        home: &'a Path,
    },
    /// The user's own for one project.
    Project {
        /// The project's folder.
        folder: &'a Path,
    },
}

/// A settings file that cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFileError {
    /// The file cannot be read or written.
    #[error("{}: {source}; nothing was changed", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not settings.
    #[error("{}: {source}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: SettingsError,
    },
    /// Somebody else wrote the file at the same time.
    #[error("{}: somebody changed the file in these moments; nothing was changed, try again", path.display())]
    Meanwhile {
        /// The file.
        path: PathBuf,
    },
    /// The file may not be written.
    #[error("{}: found a read-only file; make it writable, or connect with the other scope", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file is a link to one that is not there.
    #[error("{}: found a link to a file that is not there; make that file, or remove the link", path.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// The file is no file, or too large for settings.
    #[error("{}: found no file of at most {MAX_SETTINGS_BYTES} bytes; expected settings", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
}

/// Returns the settings file of a harness.
#[must_use]
pub fn settings_path(dialect: Dialect, scope: SettingsScope<'_>) -> PathBuf {
    match (dialect, scope) {
        (Dialect::Claude, SettingsScope::User { home }) => home.join(".claude/settings.json"),
        // The file of a project that is not shared with others: it names this user's connection.
        (Dialect::Claude, SettingsScope::Project { folder }) => folder.join(".claude/settings.local.json"),
        (Dialect::Codex, SettingsScope::User { home: folder } | SettingsScope::Project { folder }) => {
            folder.join(".codex/hooks.json")
        }
        (Dialect::Gemini, SettingsScope::User { home: folder } | SettingsScope::Project { folder }) => {
            folder.join(".gemini/settings.json")
        }
        (Dialect::Cursor, SettingsScope::User { home: folder } | SettingsScope::Project { folder }) => {
            folder.join(".cursor/hooks.json")
        }
    }
}

/// Reads settings; `None` where there is no file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_settings(path: &Path) -> Result<Option<String>, SettingsFileError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(SettingsFileError::File { path: path.to_owned(), source }),
    };
    if !metadata.is_file() || metadata.len() > MAX_SETTINGS_BYTES {
        return Err(SettingsFileError::NoFile { path: path.to_owned() });
    }
    let text = fs::read_to_string(path);
    text.map(Some).map_err(|source| SettingsFileError::File { path: path.to_owned(), source })
}

/// Writes settings, or removes the file where `text` is `None`. The file is there whole, as it was or as it is to be. A link
/// stays a link: what it points to is replaced. Permissions stay.
///
/// # Errors
/// The file cannot be written; it is as it was.
pub(crate) fn write_settings(path: &Path, text: Option<&str>) -> Result<(), SettingsFileError> {
    if let Some(text) = text {
        return StagedSettings::beside(path, text)?.place();
    }
    let (target, _) = target_of(path)?;
    fs::remove_file(target).map_err(|source| SettingsFileError::File { path: path.to_owned(), source })
}

/// Settings that lie complete beside their place. Dropped, they are gone, and so is the folder that was made for them.
pub(crate) struct StagedSettings {
    path: PathBuf,
    target: PathBuf,
    beside: PathBuf,
    made_folder: Option<PathBuf>,
    is_placed: bool,
}

impl StagedSettings {
    /// Writes settings beside their place. Returned `Ok` ⇒ the file may be replaced.
    ///
    /// # Errors
    /// The file or its folder may not be written; both are as they were.
    pub(crate) fn beside(path: &Path, text: &str) -> Result<Self, SettingsFileError> {
        let failed = |source| SettingsFileError::File { path: path.to_owned(), source };
        let (target, mode) = target_of(path)?;
        remove_remnants_of(&target);
        let beside = place_beside(&target, MARK_AMONG_OTHERS).map_err(failed)?;
        let folder = target.parent().filter(|folder| !folder.exists()).map(Path::to_owned);
        let staged = Self { path: path.to_owned(), target, beside, made_folder: folder, is_placed: false };
        if let Some(folder) = &staged.made_folder {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&staged.beside);
        let written = file.and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(failed)?;
        Ok(staged)
    }

    /// Puts them into their place.
    ///
    /// # Errors
    /// The file cannot be replaced; it is as it was.
    pub(crate) fn place(mut self) -> Result<(), SettingsFileError> {
        fs::rename(&self.beside, &self.target)
            .map_err(|source| SettingsFileError::File { path: self.path.clone(), source })?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for StagedSettings {
    fn drop(&mut self) {
        if self.is_placed {
            return;
        }
        // A half-written file is of no use, and a folder that is not empty is somebody's.
        let _removed = fs::remove_file(&self.beside);
        if let Some(folder) = &self.made_folder {
            let _removed = fs::remove_dir(folder);
        }
    }
}

/// Returns the file that a path of settings means, and its permissions. It may be written.
fn target_of(path: &Path) -> Result<(PathBuf, u32), SettingsFileError> {
    let failed = |source| SettingsFileError::File { path: path.to_owned(), source };
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                return Err(SettingsFileError::DanglingLink { path: path.to_owned() });
            }
            path.to_owned()
        }
        Err(error) => return Err(failed(error)),
    };
    let mode = match fs::metadata(&target) {
        Ok(metadata) if metadata.permissions().readonly() => {
            return Err(SettingsFileError::ReadOnly { path: path.to_owned() });
        }
        Ok(metadata) => metadata.mode(),
        Err(_) => NEW_FILE_MODE,
    };
    Ok((target, mode))
}

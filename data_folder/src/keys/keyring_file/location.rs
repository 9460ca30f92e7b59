//! The allowed places of a keyring and an anchor: anywhere outside the data folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::KeyringFileError;

/// Refuses a keyring that lies in the data folder, under any name or link; neither needs to exist.
///
/// # Errors
/// [`KeyringFileError::InData`], or a path that cannot be resolved.
pub fn refuse_in_data(keyring: &Path, data: Option<&Path>) -> Result<(), KeyringFileError> {
    let Some(data) = data else { return Ok(()) };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| KeyringFileError::Disk { path, source, then: "the keyring was not used" }
    };
    let folder = resolved(data).map_err(failed(data))?;
    if is_in(keyring, &folder).map_err(failed(keyring))? {
        return Err(KeyringFileError::InData { path: keyring.to_owned(), data: data.to_owned() });
    }
    Ok(())
}

/// Returns `true` if a file or folder lies in the data folder, under any name or link; neither needs to exist. Returns
/// `false` for a path that cannot be looked at, because it cannot be used either.
#[must_use]
pub fn lies_in_data(path: &Path, data: &Path) -> bool {
    resolved(data).and_then(|folder| is_in(path, &folder)).unwrap_or(false)
}

/// Checks both the name and its target: a link in the folder is lost with it.
fn is_in(path: &Path, resolved_folder: &Path) -> io::Result<bool> {
    Ok(resolved_name(path)?.starts_with(resolved_folder) || resolved(path)?.starts_with(resolved_folder))
}

/// Returns the path without links and dots, as far as it exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut at = absolute.as_path();
    loop {
        match at.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(error) => match (at.parent(), at.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name);
                    at = parent;
                }
                _ => return Err(error),
            },
        }
    }
}

/// Does the same as [`resolved`], without following the last name itself.
fn resolved_name(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) => Ok(resolved(parent)?.join(name)),
        _ => resolved(&absolute),
    }
}

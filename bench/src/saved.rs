//! Results of an earlier run, as `--json` wrote them.

use std::io;
use std::path::{Path, PathBuf};

use super::results::Results;
use bitacora_verify::input_file;

/// The size limit of saved results, bytes; those of a whole run are far fewer.
const MAX_SAVED_BYTES: usize = 4 * 1024 * 1024;

/// The reason why an earlier run's results are not read.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the disk.
        source: io::Error,
    },
    /// The file holds no results.
    #[error("{}: not what `bitacora bench --json` of this version writes: {what}", path.display())]
    Strange {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: String,
    },
}

/// Reads the results of an earlier run.
///
/// # Errors
/// A [`SavedError`].
pub fn read_saved(path: &Path) -> Result<Results, SavedError> {
    let failed = |source| SavedError::Read { path: path.to_owned(), source };
    let bytes = input_file::read(path, MAX_SAVED_BYTES).map_err(failed)?;
    if bytes.len() > MAX_SAVED_BYTES {
        let what = format!("longer than {MAX_SAVED_BYTES} bytes");
        return Err(SavedError::Strange { path: path.to_owned(), what });
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = bitacora_formats::printable(&error.to_string());
        SavedError::Strange { path: path.to_owned(), what }
    })
}

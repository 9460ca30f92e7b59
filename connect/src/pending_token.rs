//! The note of a token that is being made, so that one whose connection never came to be is revoked later.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::connection::{make_private_folder, write_private};
use crate::error::ConnectionError;
use crate::limits::MAX_NOTE_BYTES;

/// The end of the note's name, beside the connection's file.
const EXTENSION: &str = "pending";

/// A holder whose token is in no connection yet. The note is written before the token is made, and removed when the connection
/// stands or the token is revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PendingToken {
    /// The id of the token's holder.
    pub principal: String,
    /// The key of the ledger that the holder is recorded in, hexadecimal.
    pub answer_key: String,
}

impl PendingToken {
    /// Writes the note of the connection in `file`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&self, file: &Path) -> Result<(), ConnectionError> {
        let path = path_of(file);
        let failed = |source| ConnectionError::File { path: path.clone(), source };
        let text = serde_json::to_vec(self).map_err(|error| failed(io::Error::other(error)))?;
        make_private_folder(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        write_private(&path, &text).map_err(failed)
    }

    /// Returns the note beside a connection's file; `None` where there is none that can be read.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(path_of(file)).ok()?.take(MAX_NOTE_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Removes the note.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget(file: &Path) -> Result<(), ConnectionError> {
        let path = path_of(file);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(ConnectionError::File { path, source })
            }
            _ => Ok(()),
        }
    }
}

fn path_of(file: &Path) -> PathBuf {
    file.with_extension(EXTENSION)
}

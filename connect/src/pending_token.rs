//! Notes of tokens to revoke: of one that is being made until its connection stands, and of one whose connection goes away.
//!
//! A note is written before anything else changes, and removed when the token is known to be gone or in use. So a process that is
//! killed leaves a note, and the next `connect` or `disconnect` revokes the token, and `doctor` names it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::connection::{Connection, make_private_folder, open_file, write_private};
use crate::error::ConnectionError;
use crate::install::quoted_word;
use crate::limits::{MAX_CONNECTIONS, MAX_NOTE_BYTES};
use crate::places::Places;

/// The end of a note's name, beside the connection's file.
const EXTENSION: &str = "pending";
/// The digits of a holder's digest in the name of its note.
const HOLDER_DIGITS: usize = 16;

/// A holder whose token no connection has, or soon has no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PendingToken {
    /// The id of the token's holder.
    pub principal: String,
    /// The key of the ledger that the holder is recorded in, hexadecimal.
    pub answer_key: String,
    /// The service's address; empty in notes of earlier versions.
    #[serde(default)]
    pub url: String,
    /// The ledger; empty in notes of earlier versions.
    #[serde(default)]
    pub ledger: String,
    /// The note's own file, where it was read.
    #[serde(skip)]
    pub place: PathBuf,
}

impl PendingToken {
    /// Returns the note of a connection's token.
    #[must_use]
    pub fn of_connection(connection: &Connection) -> Self {
        Self {
            principal: connection.principal.clone(),
            answer_key: connection.answer_key.clone(),
            url: connection.url.clone(),
            ledger: connection.ledger.clone(),
            place: PathBuf::new(),
        }
    }

    /// Writes the note beside a connection's file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&self, file: &Path) -> Result<(), ConnectionError> {
        let path = path_of(file, &self.principal);
        let failed = |source| ConnectionError::File { path: path.clone(), source };
        let text = serde_json::to_vec(self).map_err(|error| failed(io::Error::other(error)))?;
        make_private_folder(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        write_private(&path, &text).map_err(failed)
    }

    /// Returns the notes beside a connection's file that can be read.
    #[must_use]
    pub fn all_of(file: &Path) -> Vec<Self> {
        let notes = notes_in(file.parent().unwrap_or(Path::new(".")));
        notes.into_iter().filter(|(of, _)| of == file).map(|(_, note)| note).collect()
    }

    /// Returns all notes of a user that can be read, each with the file of its connection, which may be gone.
    #[must_use]
    pub fn all(places: &Places) -> Vec<(PathBuf, Self)> {
        notes_in(places.connections())
    }

    /// Removes the notes of a holder beside a connection's file.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn forget(file: &Path, principal: &str) -> Result<(), ConnectionError> {
        let notes = Self::all_of(file).into_iter().filter(|note| note.principal == principal);
        for PendingToken { place: path, .. } in notes {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(ConnectionError::File { path, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Says how the token is revoked. No address stands there: a forged note's would get the token of an admin.
    #[must_use]
    pub fn revoke_advice(&self) -> String {
        format!("`bitacora token revoke {}` where its ledger is served", quoted_word(&self.principal))
    }
}

fn path_of(file: &Path, principal: &str) -> PathBuf {
    let digest = blake3::hash(principal.as_bytes()).to_hex();
    let digits: String = digest.chars().take(HOLDER_DIGITS).collect();
    file.with_extension(format!("{digits}.{EXTENSION}"))
}

fn notes_in(folder: &Path) -> Vec<(PathBuf, PendingToken)> {
    let mut notes: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let (connection, rest) = path.file_name()?.to_str()?.split_once('.')?;
            let is_note = rest == EXTENSION || rest.ends_with(&format!(".{EXTENSION}"));
            let file = folder.join(format!("{connection}.json"));
            is_note.then(|| read(&path))?.map(|note| (file, PendingToken { place: path, ..note }))
        })
        .take(MAX_CONNECTIONS)
        .collect();
    notes.sort_by(|one, other| (&one.0, &one.1.principal).cmp(&(&other.0, &other.1.principal)));
    notes
}

fn read(path: &Path) -> Option<PendingToken> {
    let mut text = String::new();
    open_file(path).ok()?.take(MAX_NOTE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

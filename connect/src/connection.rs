//! The record of a connection: the service, the token, and the settings that were changed.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bitacora_client::{ClientIdentity, ServiceTrust, ServiceUrl, Token};
use serde::{Deserialize, Serialize};

use crate::error::ConnectionError;
use crate::limits::MAX_CONNECTION_BYTES;
use crate::remnants::{OWN_MARK, place_beside};

/// The version of the file's form that is written.
const FORM: u32 = 2;
/// Permissions of the group and of others; a file with a token has none.
const OTHERS: u32 = 0o077;

/// A connection, as its file holds it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Connection {
    /// The version of this form.
    pub form: u32,
    /// Its name.
    pub name: String,
    /// The harness, by its dialect's name.
    pub harness: String,
    /// The settings file that names the hook.
    pub settings: PathBuf,
    /// The bytes of the settings before, as text; `None` where there was no file.
    pub original: Option<String>,
    /// The settings as they were written.
    pub written: String,
    /// The service's address.
    pub url: String,
    /// The issuers that are trusted for it, where they are not the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown to it, and the certificate's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The ledger.
    pub ledger: String,
    /// The agent's token.
    pub token: String,
    /// The Ed25519 key that the ledger signs its answers with, hexadecimal. No other program's answer is obeyed.
    pub answer_key: String,
    /// The agent's name.
    pub agent: String,
    /// The id of the token's holder, by which the token is revoked.
    pub principal: String,
    /// `true` if a call that cannot be decided is blocked.
    pub enforce: bool,
    /// The time for which a call that needs an approval is held where its user cannot be asked, seconds.
    pub wait_s: u64,
    /// The folder of its spool, and of calls that wait for their end.
    pub state: PathBuf,
    /// The time of the first connecting, microseconds since 1970. Calls before it were nobody's to ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<u64>,
}

impl Connection {
    /// Returns the version of the form that is written.
    #[must_use]
    pub fn form() -> u32 {
        FORM
    }

    /// Reads a connection. Its file belongs to its user alone, because its token may ask for calls.
    ///
    /// # Errors
    /// There is none, or it is not one.
    pub fn load(path: &Path) -> Result<Self, ConnectionError> {
        let file = open_file(path).map_err(|source| unusable(path, source))?;
        let mode = file.metadata().map_err(|source| unusable(path, source))?.mode();
        if mode & OTHERS != 0 {
            return Err(ConnectionError::Exposed { path: path.to_owned(), mode: mode & 0o777 });
        }
        Self::read(path, file)
    }

    /// Reads a connection that is to be replaced or removed, also one whose file others may read.
    ///
    /// # Errors
    /// There is none, or it is not one.
    pub fn load_to_replace(path: &Path) -> Result<Self, ConnectionError> {
        Self::read(path, open_file(path).map_err(|source| unusable(path, source))?)
    }

    fn read(path: &Path, file: File) -> Result<Self, ConnectionError> {
        let mut text = String::new();
        let read = file.take(MAX_CONNECTION_BYTES).read_to_string(&mut text);
        read.map_err(|source| unusable(path, source))?;
        let read: Self = serde_json::from_str(&text)
            .map_err(|error| ConnectionError::Unreadable { path: path.to_owned(), why: error.to_string() })?;
        if read.form != FORM {
            let why = format!("found form {}, expected {FORM}", read.form);
            return Err(ConnectionError::Unreadable { path: path.to_owned(), why });
        }
        Ok(read)
    }

    /// Writes a connection: the file is there whole, or as it was.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ConnectionError> {
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| unusable(path, io::Error::other(error)))?;
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(|source| unusable(path, source))?;
        }
        write_private(path, &text).map_err(|source| unusable(path, source))
    }

    /// Returns the folder of the one project that is connected; `None` where all of this user's are.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        if self.name == self.harness {
            return None;
        }
        self.settings.parent()?.parent()
    }

    /// Returns the home folder, and the folder whose settings a harness reads beside those of this connection: its project, or the
    /// working folder.
    #[must_use]
    pub fn read_places(&self) -> (PathBuf, PathBuf) {
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let folder = self.project().map(Path::to_owned).or_else(|| env::current_dir().ok());
        (home, folder.unwrap_or_default())
    }

    /// Returns the service's address.
    ///
    /// # Errors
    /// It is none.
    pub fn service(&self) -> Result<ServiceUrl, ConnectionError> {
        let identity = self.client_certificate.clone();
        let identity = identity.map(|(certificate, key)| ClientIdentity { certificate, key });
        let url: ServiceUrl = self.url.parse()?;
        Ok(url.trusting(ServiceTrust { ca_file: self.ca_file.clone(), identity }))
    }

    /// Returns the agent's token.
    ///
    /// # Errors
    /// It is none.
    pub fn token(&self) -> Result<Token, ConnectionError> {
        Ok(self.token.parse()?)
    }

    /// Returns the key that answers are verified with.
    ///
    /// # Errors
    /// It is none.
    pub fn answer_key(&self) -> Result<[u8; 32], ConnectionError> {
        let mut key = [0; 32];
        hex::decode_to_slice(&self.answer_key, &mut key).map_err(|_| ConnectionError::AnswerKey)?;
        Ok(key)
    }
}

fn unusable(path: &Path, source: io::Error) -> ConnectionError {
    ConnectionError::File { path: path.to_owned(), source }
}

/// Opens a file. A pipe in its place would stop this process.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("not a file")),
    }
}

/// Makes a folder, and those above it, that only its user may enter.
///
/// # Errors
/// The folder cannot be made.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file that only its user may read, beside its place first, so that no reader sees half of it.
///
/// # Errors
/// The file cannot be written; it is as it was.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = place_beside(path, OWN_MARK)?;
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        // The fault is told; the half-written file is of no use.
        let _removed = fs::remove_file(&beside);
    }
    placed
}

//! The spool: inputs of hooks that the service could not take, kept encrypted until it can.
//!
//! One file holds one input, sealed under a key that is derived from the agent's token. Its name begins with the time, so
//! names sort in the order of writing. A file is written beside its place and renamed, so a killed hook leaves no half file.
//! Secrets are replaced before anything is written. The spool is bounded by files and bytes; a full one takes nothing.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use bitacora_client::Token;
use bitacora_redaction::Redactor;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::connection::{make_private_folder, write_private};
use crate::error::SpoolError;
use crate::limits::{MAX_SPOOL_BYTES, MAX_SPOOL_FILES};
use crate::losses::{LossReason, Losses};

/// The first bytes of a spooled file, with its version.
const MAGIC: &[u8; 8] = b"BTSPOOL1";
/// The context of the key.
const KEY_CONTEXT: &str = "bitacora 2026-11 spool of hooks";
/// The context of the key for codes.
const CODE_CONTEXT: &str = "bitacora 2026-11 other ids of calls";
/// The hexadecimal digits of a code.
const CODE_DIGITS: usize = 16;
/// The bytes of a nonce.
const NONCE_BYTES: usize = 12;
/// The end of a spooled file's name.
const SUFFIX: &str = ".hook";

/// The spool of one connection.
pub struct Spool {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
    losses: Losses,
}

/// An input that waits for the service.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SpooledInput {
    /// The path and query that it is posted to.
    pub(crate) path: String,
    /// The harness's input.
    pub(crate) body: String,
    /// The traces of an input under another id, of which one is delivered after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<FollowingTraces>,
}

/// The events that follow an input under another id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FollowingTraces {
    /// That it is recorded under that id.
    pub(crate) taken: String,
    /// That it is not.
    pub(crate) refused: String,
}

/// The contents of a spool, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolCounts {
    /// Inputs that wait.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
}

impl Spool {
    /// Returns the spool in a connection's folder of state.
    #[must_use]
    pub fn of(state: &Path, token: &Token) -> Self {
        let key = blake3::derive_key(KEY_CONTEXT, token.reveal().as_bytes());
        Self { folder: state.join("spool"), key: Zeroizing::new(key), losses: Losses::of(state, token) }
    }

    /// Returns a code that the same text has again and that nobody foretells without the token.
    pub(crate) fn code_of(&self, text: &str) -> String {
        let key = blake3::derive_key(CODE_CONTEXT, self.key.as_slice());
        let code = blake3::keyed_hash(&key, text.as_bytes()).to_hex();
        code.get(..CODE_DIGITS).unwrap_or_default().to_owned()
    }

    /// Returns the marks of inputs that are kept nowhere.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Counts what waits.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn counts(&self) -> Result<SpoolCounts, SpoolError> {
        let mut counts = SpoolCounts::default();
        for path in self.waiting()? {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            counts.files = counts.files.saturating_add(1);
            counts.bytes = counts.bytes.saturating_add(metadata.len());
        }
        Ok(counts)
    }

    /// Keeps an input. Returned `Ok` ⇒ a later delivery brings it to the path.
    ///
    /// # Errors
    /// The spool is full, or its folder cannot be written; the input is lost, and a mark of that stays where it can be made.
    pub fn keep(&self, path: &str, body: &[u8]) -> Result<(), SpoolError> {
        let kept = self.write(path, body);
        if kept.is_err() {
            self.losses.mark(LossReason::Spool);
        }
        kept
    }

    fn write(&self, path: &str, body: &[u8]) -> Result<(), SpoolError> {
        let counts = self.counts()?;
        let redacted = Redactor::new().redact_json(body).map(|(json, _)| json);
        let body = String::from_utf8_lossy(redacted.as_deref().unwrap_or(body)).into_owned();
        let text = self.text_of(&SpooledInput { path: path.to_owned(), body, then: None })?;
        let bytes = counts.bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if counts.files >= MAX_SPOOL_FILES || bytes > MAX_SPOOL_BYTES {
            return Err(SpoolError::Full { files: counts.files, bytes: counts.bytes });
        }
        make_private_folder(&self.folder).map_err(|source| self.failed(source))?;
        let name = new_name()?;
        let sealed = self.seal(&name, &text)?;
        write_private(&self.folder.join(&name), &sealed).map_err(|source| self.failed(source))
    }

    /// Returns the files that wait, in the order of writing.
    pub(crate) fn waiting(&self) -> Result<Vec<PathBuf>, SpoolError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed(source)),
        };
        let mut waiting = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| self.failed(source))?;
            // A pipe in the place of a file would stop its reader.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let path = entry.path();
            if is_file
                && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(SUFFIX))
            {
                waiting.push(path);
            }
        }
        waiting.sort();
        Ok(waiting)
    }

    /// Reads an input that waits.
    pub(crate) fn read(&self, path: &Path) -> Result<SpooledInput, SpoolError> {
        let mut sealed = Vec::new();
        let read = fs::File::open(path).and_then(|file| file.take(MAX_SPOOL_BYTES).read_to_end(&mut sealed));
        read.map_err(|source| SpoolError::File { path: path.to_owned(), source })?;
        let foreign = || SpoolError::Foreign { path: path.to_owned() };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(foreign)?;
        let text = self.open(name, &sealed).ok_or_else(foreign)?;
        serde_json::from_slice(&text).map_err(|_| foreign())
    }

    /// Puts another input in the place of one that waits: the file holds the one or the other.
    pub(crate) fn replace(&self, path: &Path, input: &SpooledInput) -> Result<(), SpoolError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let sealed = self.seal(name, &self.text_of(input)?)?;
        write_private(path, &sealed).map_err(|source| SpoolError::File { path: path.to_owned(), source })
    }

    fn text_of(&self, input: &SpooledInput) -> Result<Vec<u8>, SpoolError> {
        serde_json::to_vec(input).map_err(|error| self.failed(io::Error::other(error)))
    }

    /// Removes an input that the service took, or that nobody wrote here.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), SpoolError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(SpoolError::File { path: path.to_owned(), source: error })
            }
            _ => Ok(()),
        }
    }

    /// Takes the lock of delivery; `None` where another process delivers.
    pub(crate) fn lock(&self) -> Result<Option<fs::File>, SpoolError> {
        let path = self.folder.join("lock");
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|source| SpoolError::File { path, source })?;
        Ok(file.try_lock().is_ok().then_some(file))
    }

    /// The name goes into the seal, so that no file takes the place of another.
    pub(crate) fn seal(&self, name: &str, text: &[u8]) -> Result<Vec<u8>, SpoolError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SpoolError::Random)?;
        self.seal_under(nonce, name, text)
    }

    pub(crate) fn seal_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        name: &str,
        text: &[u8],
    ) -> Result<Vec<u8>, SpoolError> {
        let payload = Payload { msg: text, aad: name.as_bytes() };
        let sealed = self.cipher().encrypt(&Nonce::from(nonce), payload).map_err(|_| SpoolError::Random)?;
        Ok([MAGIC.as_slice(), &nonce, &sealed].concat())
    }

    pub(crate) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.strip_prefix(MAGIC)?.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: name.as_bytes() };
        self.cipher().decrypt(&Nonce::from(*nonce), payload).ok()
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&Key::<Aes256Gcm>::from(*self.key))
    }

    fn failed(&self, source: io::Error) -> SpoolError {
        SpoolError::File { path: self.folder.clone(), source }
    }
}

/// Returns a name that sorts by time and that no other process makes.
fn new_name() -> Result<String, SpoolError> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|_| SpoolError::Random)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{:020}-{}{SUFFIX}", now.as_nanos(), hex::encode(random)))
}

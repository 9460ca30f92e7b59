//! The two ways to a ledger: the service at `--url`, or the folder `--data`.
//! A folder can be read at any time, and appended to while no service has it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_api::ImportAnswer;
use bitacora_archiver::StoreError;
use bitacora_data_folder::{KeyringFileError, TokenError};
use bitacora_formats::{Keyring, LedgerName};
use bitacora_ledger::{CloseError, Environment, FolderLock, Ledger, OpenError, Options};
use bitacora_server::{DataError, DataFolder};
use tracing_subscriber::filter::LevelFilter;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::options::global::{Global, LedgerLocation};
use crate::options::usage::UsageError;
use crate::terminal::logging::{self, LogForm};
use crate::terminal::passphrase::keyring_file;
use bitacora_client::Connection;

/// The media type that answers are asked for in.
const JSON: &str = "application/json";

/// A way to one ledger.
pub enum Access {
    /// A connection to a service.
    Service(Connection),
    /// A ledger that this process opened.
    Folder(OpenFolder),
}

/// An open ledger in a folder.
pub struct OpenFolder {
    /// The ledger.
    pub ledger: Ledger,
    /// The lock of an opening for writing; released after the ledger.
    _lock: Option<Box<dyn FolderLock>>,
}

/// The reason why there is no way to the ledger.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The command line names no place, or two.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The keyring cannot be read.
    #[error(transparent)]
    Keyring(#[from] KeyringFileError),
    /// The folder is no data folder.
    #[error("{}: no data folder; name the right one with --data, or a service with --url", .0.display())]
    NoData(PathBuf),
    /// Another process holds the data folder.
    #[error("{}: a service or another command has this data folder; name the service's address with --url, or wait for the command to end", .0.display())]
    Held(PathBuf),
    /// The disk fails.
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// The error of the disk.
        source: io::Error,
    },
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(DataError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store of the anchor fails.
    #[error(transparent)]
    Anchor(#[from] StoreError),
    /// The system gives no event loop.
    #[error("the system gives no event loop: {0}; nothing was done")]
    Runtime(io::Error),
}

impl From<DataError> for AccessError {
    fn from(error: DataError) -> Self {
        match error {
            DataError::InUse(data) => Self::Held(data),
            error => Self::Data(error),
        }
    }
}

impl CommandFailure for AccessError {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Open(OpenError::RolledBack(_)) | Self::Data(DataError::RolledBack { .. }) => Exit::Diverged,
            _ => Exit::Failed,
        }
    }
}

impl Access {
    /// Opens the ledger that the command line names. A ledger in a folder is opened as by the service: reads are of
    /// durable events, frames torn by a crash are set aside, and the opening is recorded.
    pub fn open(global: &Global) -> Result<Self, AccessError> {
        match global.place() {
            LedgerLocation::Service(url) => Ok(Self::Service(global.client(&url)?)),
            LedgerLocation::Folder(data) => OpenFolder::open(global, data).map(Self::Folder),
        }
    }

    /// Opens the ledger that the command line names, for reading. In a folder nothing is changed and nobody is locked
    /// out; reads are of the events that were durable at the opening.
    pub fn open_for_reading(global: &Global) -> Result<Self, AccessError> {
        match global.place() {
            LedgerLocation::Service(url) => Ok(Self::Service(global.client(&url)?)),
            LedgerLocation::Folder(data) => OpenFolder::open_for_reading(global, data).map(Self::Folder),
        }
    }

    /// Returns the bytes written to the ledger's segments since it was opened, if they can be learnt.
    pub async fn stored_bytes(&mut self, ledger: &LedgerName) -> Option<u64> {
        match self {
            Self::Folder(folder) => Some(folder.ledger.status().counters.stored_bytes),
            Self::Service(client) => {
                let metrics = client.get("/metrics", "*/*").await.ok()?.whole().await.ok()?;
                let name = format!("bitacora_ledger_stored_bytes_total{{ledger=\"{ledger}\"}} ");
                let metrics = std::str::from_utf8(&metrics).ok()?;
                metrics.lines().find_map(|line| line.strip_prefix(&name))?.parse().ok()
            }
        }
    }

    /// Returns the position from which on an import counts, if it does, and if it can be learnt.
    pub async fn import_counts_since(&self, ledger: &LedgerName, digest: &str) -> Option<String> {
        match self {
            Self::Folder(folder) => {
                let digest = serde_json::from_value(digest.into()).ok()?;
                let accepted = folder.ledger.governance()?.copy().state.import(&digest)?.accepted?;
                Some(accepted.to_string())
            }
            Self::Service(client) => {
                let path = format!("/v1/ledgers/{ledger}/imports/{digest}?limit=1");
                let answer = client.another().get(&path, JSON).await.ok()?.whole().await.ok()?;
                serde_json::from_slice::<ImportAnswer>(&answer).ok()?.import.accepted
            }
        }
    }

    /// Closes the ledger: in a folder, its last segment gets its footer.
    pub fn end(self) -> Result<(), CloseError> {
        match self {
            Self::Folder(folder) => folder.ledger.close(),
            Self::Service(_) => Ok(()),
        }
    }
}

impl OpenFolder {
    /// Opens the folder for reading, whether or not a service is named.
    pub fn open_for_reading(global: &Global, data: &Path) -> Result<Self, AccessError> {
        let (environment, keyring) = before_opening(global, data)?;
        Self::open_for_reading_with(global, data, (&environment, &Arc::new(keyring)))
    }

    /// Opens the folder for reading, with a prepared environment and keyring.
    pub fn open_for_reading_with(
        global: &Global,
        data: &Path,
        (environment, keyring): (&Environment, &Arc<Keyring>),
    ) -> Result<Self, AccessError> {
        let folder = DataFolder::open_or_begin(environment, data)?.ledger(&global.ledger);
        let name = Some(&global.ledger);
        let ledger = Ledger::open_for_reading(environment, &folder, Arc::clone(keyring), name)?;
        note_doubt(global, &ledger);
        Ok(Self { ledger, _lock: None })
    }

    /// Opens the folder for questions, with a prepared environment and keyring: for reading, with the state that decides.
    pub fn open_for_questions_with(
        global: &Global,
        data: &Path,
        (environment, keyring): (&Environment, &Arc<Keyring>),
    ) -> Result<Self, AccessError> {
        let folder = DataFolder::open_or_begin(environment, data)?.ledger(&global.ledger);
        let options = global.anchor()?.options(environment, global.anchor_trust()?)?;
        let ledger = Ledger::open_for_questions(environment, &folder, keyring, &global.ledger, &options)?;
        note_doubt(global, &ledger);
        Ok(Self { ledger, _lock: None })
    }

    /// Opens the folder for writing, while no service has it.
    pub fn open(global: &Global, data: &Path) -> Result<Self, AccessError> {
        let (environment, keyring) = before_opening(global, data)?;
        Self::open_with(global, data, (&environment, &Arc::new(keyring)), |_| ())
    }

    /// Opens the folder for writing, with a prepared environment and keyring; `change` changes the options.
    pub fn open_with(
        global: &Global,
        data: &Path,
        (environment, keyring): (&Environment, &Arc<Keyring>),
        change: impl FnOnce(&mut Options),
    ) -> Result<Self, AccessError> {
        let folder = DataFolder::open_or_begin(environment, data)?;
        let lock = folder.lock().map_err(|error| match error {
            DataError::InUse(folder) => AccessError::Held(folder),
            error => error.into(),
        })?;
        let folder = folder.ledger(&global.ledger);
        let options = global.anchor()?.options(environment, global.anchor_trust()?)?;
        let mut options = Options { name: Some(global.ledger.clone()), ..options };
        change(&mut options);
        let ledger = Ledger::open(environment, &folder, Arc::clone(keyring), options);
        let ledger = ledger.map_err(|error| match error {
            OpenError::Locked(_) => AccessError::Held(data.to_owned()),
            error => error.into(),
        })?;
        note_doubt(global, &ledger);
        Ok(Self { ledger, _lock: Some(lock) })
    }
}

/// Notes the doubt of an opened ledger.
fn note_doubt(global: &Global, ledger: &Ledger) {
    ledger.doubt().into_iter().for_each(|reason| global.doubt.note(reason));
}

/// Returns the environment and the keyring for an opening. A folder that is no data folder is not made one.
pub fn before_opening(global: &Global, data: &Path) -> Result<(Environment, Keyring), AccessError> {
    let environment = environment_of(global, data)?;
    let keyring = keyring_file(&global.keyring()?, Some(data)).load()?.keyring;
    Ok((environment, keyring))
}

/// Returns the environment for an opening without keys.
pub fn environment_of(global: &Global, data: &Path) -> Result<Environment, AccessError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let environment = global.environment(data);
    let mark = data.join("FORMAT");
    let is_begun = environment.disk.exists(&mark);
    if !is_begun.map_err(|source| AccessError::Disk { path: mark, source })? {
        return Err(AccessError::NoData(data.to_owned()));
    }
    Ok(environment)
}

/// Returns the folder of the ledger that the command line names.
pub fn ledger_folder(global: &Global, data: &Path) -> PathBuf {
    data.join("ledgers").join(global.ledger.as_str())
}

/// Returns an event loop of one thread, for commands that talk to a service or can be interrupted.
pub fn event_loop() -> Result<tokio::runtime::Runtime, AccessError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(AccessError::Runtime)
}

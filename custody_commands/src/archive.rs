//! `archive`: sealed archives of old events, from the plan to a ledger restored from them.

mod archived_ledger;
mod checking;
mod expiring;
mod listing;
mod restoring;
mod running;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bitacora_archive_format::SignedManifest;
use bitacora_archiver::{ArchiveProgress, ArchiverError, ManifestFolderError, RestoringError, StoredError};
use bitacora_formats::{Keyring, Position};
use bitacora_ledger::{CloseError, Environment, ExpiryRulesError, Ledger, ReadError};
use clap::{Args, Subcommand};

use self::archived_ledger::ArchivedLedger;
use self::checking::{FetchArguments, VerifyArguments};
use self::expiring::ExpireArguments;
use self::listing::ShowArguments;
use self::restoring::RestoreArguments;
use self::running::{PlanArguments, RunArguments};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::new_file::NewFileError;
use crate::ledger_access::access::{AccessError, OpenFolder, before_opening, event_loop};
use crate::ledger_access::interrupt::Interrupts;
use crate::options::global::Global;
use crate::terminal::output::Output;

/// The arguments of `archive`.
#[derive(Debug, Args)]
pub struct ArchiveArguments {
    #[command(subcommand)]
    command: ArchiveCommand,
}

#[derive(Debug, Subcommand)]
enum ArchiveCommand {
    /// Show the events that are due to be archived; changes nothing.
    Plan(PlanArguments),
    /// Archive due events, read them back, compare them with the ledger, and release their segments.
    Run(RunArguments),
    /// Remove the content of events whose time under the retention policy is over.
    Expire(ExpireArguments),
    /// List the archives of the ledger, and whether the store still has each.
    List,
    /// Show the manifest of the archive that holds a position: its contents in clear.
    Show(ShowArguments),
    /// Verify every byte of archives in their store.
    Verify(VerifyArguments),
    /// Write a verified archive to a file.
    Fetch(FetchArguments),
    /// Restore the ledger from its archives, into a data folder that does not have it.
    Restore(RestoreArguments),
}

/// The reason why an `archive` command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveFailure {
    #[error(transparent)]
    Archiver(#[from] ArchiverError),
    #[error(transparent)]
    Expiry(#[from] ExpiryRulesError),
    #[error(transparent)]
    Kept(#[from] ManifestFolderError),
    #[error(transparent)]
    Stored(#[from] StoredError),
    #[error(transparent)]
    Restoring(#[from] RestoringError),
    #[error(transparent)]
    Ledger(#[from] ReadError),
    #[error("no archive holds position {0}; `bitacora archive list` shows what there is")]
    NotArchived(Position),
    #[error("{0}; nothing was written")]
    File(#[from] NewFileError),
    #[error(
        "{}: {what}; without it and without a keyring nobody tells who signs for the ledger, name the keyring with --keyring", path.display()
    )]
    Note { path: PathBuf, what: String },
    #[error("{store}: archives of {found} ledgers; say which with --id")]
    WhichLedger { store: String, found: usize },
    #[error("{store}: no archives of any ledger; name where they lie with --archive-store")]
    NoArchives { store: String },
    #[error("{path}: no ledger here; nothing was verified")]
    NoLedger { path: String },
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("it broke off: {0}")]
    Panicked(#[from] tokio::task::JoinError),
}

impl CommandFailure for ArchiveFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Archiver(ArchiverError::Stopped)
            | Self::Restoring(RestoringError::Archives(ArchiverError::Stopped)) => Exit::Interrupted,
            Self::WhichLedger { .. } | Self::NoArchives { .. } => Exit::Usage,
            Self::Note { .. } | Self::NoLedger { .. } => Exit::Incomplete,
            _ => Exit::Failed,
        }
    }
}

/// Runs `archive`.
pub fn run(arguments: &ArchiveArguments, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    match &arguments.command {
        ArchiveCommand::Plan(plan) => running::plan(plan, global, output),
        ArchiveCommand::Run(run) => running::run(run, global, output),
        ArchiveCommand::Expire(expire) => expiring::expire(expire, global, output),
        ArchiveCommand::List => listing::list(global, output),
        ArchiveCommand::Show(show) => listing::show(show, global, output),
        ArchiveCommand::Verify(verify) => checking::verify(verify, global, output),
        ArchiveCommand::Fetch(fetch) => checking::fetch(fetch, global, output),
        ArchiveCommand::Restore(restore) => restoring::restore(restore, global, output),
    }
}

/// A ledger that is open, with its keys.
struct OpenedLedger {
    ledger: Ledger,
    keyring: Arc<Keyring>,
    /// The store of archives, as it is shown.
    store: String,
    known: ArchivedLedger,
    /// The lock on the folder, if it was opened for writing; released after the ledger.
    _open: OpenFolder,
}

impl OpenedLedger {
    /// Opens the ledger for reading, also while a service has the folder.
    fn for_reading(global: &Global) -> Result<Self, CommandError> {
        Self::open(global, OpenFolder::open_for_reading_with)
    }

    /// Opens the ledger for questions about its rules, also while a service has the folder.
    fn for_questions(global: &Global) -> Result<Self, CommandError> {
        Self::open(global, OpenFolder::open_for_questions_with)
    }

    /// Opens the ledger for archiving, while no service has the folder.
    fn for_writing(global: &Global) -> Result<Self, CommandError> {
        // The log is proven at once: nothing is released before.
        Self::open(global, |global, data, prepared| {
            OpenFolder::open_with(global, data, prepared, |options| options.proof_delay = Duration::ZERO)
        })
    }

    fn open(
        global: &Global,
        open: impl FnOnce(&Global, &Path, (&Environment, &Arc<Keyring>)) -> Result<OpenFolder, AccessError>,
    ) -> Result<Self, CommandError> {
        let data = global.data()?;
        let (environment, keyring) = before_opening(global, data)?;
        let keyring = Arc::new(keyring);
        let open = open(global, data, (&environment, &keyring))?;
        let ledger = open.ledger.clone();
        let known = ArchivedLedger::new(global, data, &environment, (ledger.id(), keyring.signing_chain()));
        let store = global.archive_place(data).to_string();
        Ok(Self { ledger, keyring, store, known, _open: open })
    }
}

/// Returns the name of an archive in the store.
fn name_of(manifest: &SignedManifest) -> String {
    let manifest = manifest.manifest();
    manifest.object_name()
}

/// Runs work on a separate thread that an interruption can stop.
fn interruptible<T: Send + 'static>(
    progress: &Arc<ArchiveProgress>,
    work: impl FnOnce() -> Result<T, ArchiveFailure> + Send + 'static,
) -> Result<T, CommandError> {
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let mut work = tokio::task::spawn_blocking(work);
        tokio::select! {
            done = &mut work => Ok(done.map_err(ArchiveFailure::from)??),
            () = interrupts.next() => {
                progress.stop();
                // The work ends at a place where the next run resumes.
                Ok(work.await.map_err(ArchiveFailure::from)??)
            }
        }
    })
}

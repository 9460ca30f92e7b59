//! The errors of commands, and the exit code of each.

use bitacora_archiver::StoreError;
use bitacora_ledger::{CreateError, OpenError};
use bitacora_server::{DataError, ListenError, StartError};

use crate::access::AccessError;
use crate::anchor::NotRecalled;
use crate::arguments::UsageError;
use crate::commands::append::AppendFailure;
use crate::commands::archive::ArchiveFailure;
use crate::commands::bench::BenchFailure;
use crate::commands::import::ImportFailure;
use crate::commands::keys::KeysError;
use crate::commands::prove::ProveFailure;
use crate::commands::quickstart::QuickstartFailure;
use crate::commands::read::ReadFailure;
use crate::commands::recover::RecoverFailure;
use crate::commands::replay::ReplayFailure;
use crate::commands::report::ReportFailure;
use crate::commands::serve::ServeError;
use crate::commands::tail::TailFailure;
use crate::commands::token::TokenFailure;
use crate::commands::tools::SeenFailure;
use crate::document::DocumentError;
use crate::exit::Exit;
use crate::keyring_file::KeyringFileError;
use crate::known_ledgers::KnownLedgersError;
use crate::output::OutputError;
use crate::prices::PricesError;
use crate::service::ServiceFailure;

/// The reason why a command failed, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    KeyringFile(#[from] KeyringFileError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The keyring is missing or unusable, so nothing was verified.
    #[error("{0}; nothing was verified")]
    VerifyKeyring(KeyringFileError),
    #[error("{path}: {source}; nothing was verified")]
    VerifyFolder { path: String, source: std::io::Error },
    #[error("{path}: {what}; nothing was verified")]
    KnownHead { path: String, what: String },
    #[error("{path}: {what}; nothing was verified")]
    Policy { path: String, what: String },
    #[error("{0}; nothing was verified")]
    StoredHead(#[from] NotRecalled),
    #[error("{path}: no ledger here; nothing was verified")]
    NoLedger { path: String },
    #[error(transparent)]
    Anchor(#[from] StoreError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Recover(#[from] RecoverFailure),
    #[error(transparent)]
    Prove(#[from] ProveFailure),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Append(#[from] AppendFailure),
    #[error(transparent)]
    Read(#[from] ReadFailure),
    #[error(transparent)]
    Replay(#[from] ReplayFailure),
    #[error(transparent)]
    Tail(#[from] TailFailure),
    #[error(transparent)]
    Archive(#[from] ArchiveFailure),
    #[error(transparent)]
    Seen(#[from] SeenFailure),
    #[error(transparent)]
    Bench(#[from] BenchFailure),
    #[error(transparent)]
    Quickstart(#[from] QuickstartFailure),
    #[error(transparent)]
    Import(#[from] ImportFailure),
    #[error(transparent)]
    Report(#[from] ReportFailure),
    #[error(transparent)]
    Token(#[from] TokenFailure),
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Prices(#[from] PricesError),
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl CommandError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Serve(ServeError::Start(StartError::Listen(ListenError::NotLoopback(_))))
            | Self::Usage(_)
            | Self::Policy { .. } => Exit::Usage,
            Self::Access(failure) => failure.exit(),
            Self::Serve(ServeError::Start(StartError::Data(DataError::RolledBack { .. })))
            | Self::Serve(ServeError::Create { source: CreateError::Remembered(_), .. })
            | Self::Serve(ServeError::Known(KnownLedgersError::Anchored { .. }))
            | Self::Recover(RecoverFailure::Open(OpenError::RolledBack(_))) => Exit::Diverged,
            Self::Prove(failure) => failure.exit(),
            Self::Append(failure) => failure.exit(),
            Self::Archive(failure) => failure.exit(),
            Self::Read(failure) => failure.exit(),
            Self::Import(failure) => failure.exit(),
            Self::Replay(failure) => failure.exit(),
            Self::Tail(failure) => failure.exit(),
            Self::Token(failure) => failure.exit(),
            Self::Quickstart(failure) => failure.exit(),
            Self::Service(failure) => failure.exit(),
            Self::Document(failure) => failure.exit(),
            Self::Prices(failure) => failure.exit(),
            Self::Interrupted => Exit::Interrupted,
            Self::VerifyKeyring(_)
            | Self::VerifyFolder { .. }
            | Self::KnownHead { .. }
            | Self::StoredHead(_)
            | Self::NoLedger { .. } => Exit::Incomplete,
            // A reader that closed stdout has seen enough.
            Self::Output(OutputError::Closed) => Exit::Done,
            Self::KeyringFile(_)
            | Self::Keys(_)
            | Self::Anchor(_)
            | Self::Serve(_)
            | Self::Recover(_)
            | Self::Bench(_)
            | Self::Seen(_)
            | Self::Report(_)
            | Self::Output(OutputError::Write(_)) => Exit::Failed,
        }
    }
}

//! The resources of one ledger inside another program: the same answers, without an address.

use std::sync::Arc;

use bitacora_formats::LedgerName;
use tokio::io::DuplexStream;
use tokio::sync::watch;

use crate::api::Admittance;
use crate::api::Api;
use crate::http::connection::{ConnectionContext, serve_connection};
use crate::http::peer::Peer;
use crate::http::phase::Phase;
use crate::ledgers::data_folder::DataError;
use crate::ledgers::{CloseFailures, Ledgers, LedgersConfig};
use crate::router::router;
use crate::server_limits::ServerLimits;

/// Bytes of a connection that are on their way in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// A service of one ledger for the program that has its folder to itself. The owner of the folder and its keys may do all that an admin
/// may, with or without tokens.
pub struct InProcess {
    context: ConnectionContext,
    ledgers: Arc<Ledgers>,
    phase: watch::Sender<Phase>,
}

impl InProcess {
    /// Opens this ledger of the data folder and no other. If it does not open, each answer says why.
    ///
    /// # Errors
    /// As for a [`Server`](crate::Server): the folder is another service's, or the ledger is not the one that its anchor
    /// remembers.
    pub async fn open(config: LedgersConfig, ledger: LedgerName) -> Result<Self, DataError> {
        Ok(Self::of(Ledgers::open_alone(config, ledger).await?))
    }

    /// Does the same for questions alone: nothing is appended or signed, no anchor moves, and every act is refused. The folder need not be
    /// writable.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_to_ask(config: LedgersConfig, ledger: LedgerName) -> Result<Self, DataError> {
        Ok(Self::of(Ledgers::open_alone_to_ask(config, ledger).await?))
    }

    fn of(ledgers: Ledgers) -> Self {
        let ledgers = Arc::new(ledgers);
        let (phase, seen) = watch::channel(Phase::Serving);
        let limits = ServerLimits::default();
        let patience = limits.patience.clone();
        let api = Arc::new(Api::new(Arc::clone(&ledgers), Vec::new(), Admittance::default(), limits, seen));
        let metrics = Arc::clone(&api.metrics);
        let context = ConnectionContext { router: router(api), metrics, patience, phase: phase.subscribe() };
        Self { context, ledgers, phase }
    }

    /// A connection that speaks HTTP/1.1. It is served by a task of the runtime that this is called on.
    #[must_use]
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        tokio::spawn(serve_connection(far, Peer::Owner, None, self.context.clone()));
        near
    }

    /// Cuts what still goes on and closes the ledger: what was acknowledged is synced and sealed when this returns.
    ///
    /// # Errors
    /// It did not end cleanly. Acknowledged events are durable all the same.
    pub async fn close(&self) -> Result<(), CloseFailures> {
        self.phase.send_replace(Phase::Cut);
        self.ledgers.close_all().await
    }
}

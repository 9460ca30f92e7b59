//! The recovery of a ledger that lost acknowledged events.
//!
//! Events are put back from quarantine, or the loss is declared and a new generation starts. Events in archives are not
//! lost: where archives reach further than the log, the ledger is restored from them.

pub(crate) mod archived;

use std::sync::Arc;

use bitacora_archiver::Objects;
use bitacora_formats::{Generation, Keyring, LedgerName, Position};
use bitacora_ledger::{CloseError, DeclaredLoss, Ledger, OpenError, Options};

use self::archived::{ArchiveRecoveryError, DamagedLedger, RestoredLedger};
use crate::locked_folder::LockedFolder;

/// The reason why a ledger was not recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The ledger does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The archives do not give the ledger.
    #[error(transparent)]
    Archived(#[from] ArchiveRecoveryError),
    /// The loss is declared, and the anchor does not know the new generation.
    #[error(
        "generation {0} has begun, but the anchor could not be moved to it; once it can, `bitacora serve` moves it and goes on"
    )]
    NotAnchored(Generation),
    /// The recovered ledger could not be closed.
    #[error(transparent)]
    Close(#[from] CloseError),
}

/// The recovery of one ledger in a data folder.
pub struct LedgerRecovery<'a> {
    /// The data folder.
    pub folder: &'a LockedFolder,
    /// The ledger.
    pub ledger: &'a LedgerName,
    /// The keyring.
    pub keyring: &'a Arc<Keyring>,
    /// The options of the opening.
    pub options: &'a Options,
}

impl LedgerRecovery<'_> {
    /// Puts the frames in quarantine back, and returns the last position.
    ///
    /// # Errors
    /// A ledger that does not open, or a quarantine that does not continue the log.
    pub fn put_back(&self) -> Result<Position, RecoveryError> {
        let LockedFolder { environment, folder, .. } = self.folder;
        let place = folder.ledger(self.ledger);
        let ledger = Ledger::put_back(environment, &place, Arc::clone(self.keyring), self.options.clone())?;
        ledger.close()?;
        Ok(ledger.head().position)
    }

    /// Declares the loss of events that are remembered and not here, and starts a new generation. If the archives hold
    /// events that the log has lost, the ledger is restored from them first; `None` gives these events up too.
    ///
    /// # Errors
    /// A ledger that lost nothing, or that does not open; archives that do not give it.
    pub fn declare_loss(
        &self,
        archives: Option<&Arc<dyn Objects>>,
    ) -> Result<(DeclaredLoss, Option<RestoredLedger>), RecoveryError> {
        let LockedFolder { environment, folder, .. } = self.folder;
        let has_anchor = self.options.heads.as_ref().is_some_and(|heads| heads.anchor.is_some());
        let place = folder.ledger(self.ledger);
        let damaged = DamagedLedger { environment, folder: &place, keyring: self.keyring };
        let archived = archives.map_or(Ok(None), |objects| damaged.archived(objects))?;
        let declare = |options| Ledger::declare_loss(environment, &place, Arc::clone(self.keyring), options);
        let declared = declare(Options { archived, ..self.options.clone() });
        let (declared, restored) = match (declared, archives.filter(|_| archived.is_some())) {
            (Err(OpenError::Archived { .. } | OpenError::Corrupt(_)), Some(objects)) => {
                let restored = damaged.make_again(objects)?;
                (declare(self.options.clone()), Some(restored))
            }
            (declared, _) => (declared, None),
        };
        let (ledger, loss) = declared?;
        ledger.close()?;
        let heads = ledger.status().heads;
        if has_anchor && (heads.published == 0 || heads.unanchored_for.is_some()) {
            return Err(RecoveryError::NotAnchored(loss.generation));
        }
        Ok((loss, restored))
    }
}

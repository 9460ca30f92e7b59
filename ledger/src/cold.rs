//! Events that no segment here holds any more: they lie in archives, which the ledger knows behind a trait.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{Keyring, LedgerId, Micros, Position};

/// A frame as it was, read from archives.
#[derive(Debug, Clone)]
pub struct ColdFrame {
    /// The position of its first event.
    pub first_position: Position,
    /// How many events it holds.
    pub count: u32,
    /// Its time.
    pub time: Micros,
    /// Its body, as `docs/formats/body.md` says; whole, also where the frame lies in two archives.
    pub body: Arc<Vec<u8>>,
}

/// The state that decides, as a reactor wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColdState {
    /// The last event that is folded in it.
    pub position: Position,
    /// What the reactor wrote.
    pub bytes: Vec<u8>,
}

/// What an archive's reader is asked to do about an event that cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColdErrorKind {
    /// It may be there later: the store does not answer, or no archives were named.
    Unavailable,
    /// It is not what its manifest says.
    Damaged,
}

/// Why archived events cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("positions {first} to {last} lie in an archive: {what}")]
pub struct ColdError {
    /// The first position that cannot be read.
    pub first: Position,
    /// The last one.
    pub last: Position,
    /// Whether to try again.
    pub kind: ColdErrorKind,
    /// What stands against it.
    pub what: String,
}

impl ColdError {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            ColdErrorKind::Unavailable => "archive-unavailable",
            ColdErrorKind::Damaged => "archive-damaged",
        }
    }
}

/// The archives of one ledger.
pub trait ColdTier: fmt::Debug + Send + Sync {
    /// The frame that holds `position`. Blocks on the store.
    ///
    /// # Errors
    /// [`ColdError`], which names the positions that are out of reach with it.
    fn frame(&self, position: Position) -> Result<ColdFrame, ColdError>;

    /// The newest state that decides that is kept there, by a reactor of this version and of no event after `until`. Blocks on the
    /// store.
    ///
    /// # Errors
    /// [`ColdError`], which names the positions of the archive that does not give its state.
    fn state(&self, until: Position, reactor: u32) -> Result<Option<ColdState>, ColdError> {
        let (_, _) = (until, reactor);
        Ok(None)
    }
}

/// Where the archives of ledgers are.
pub trait ColdArchives: fmt::Debug + Send + Sync {
    /// Those of the ledger in this folder. Nothing is asked of a store before an event is.
    fn of_ledger(&self, folder: &Path, ledger: LedgerId, keyring: &Arc<Keyring>) -> Arc<dyn ColdTier>;
}

/// No archives: what was released cannot be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoArchives;

impl ColdArchives for NoArchives {
    fn of_ledger(&self, _: &Path, _: LedgerId, _: &Arc<Keyring>) -> Arc<dyn ColdTier> {
        Arc::new(Self)
    }
}

impl ColdTier for NoArchives {
    fn frame(&self, position: Position) -> Result<ColdFrame, ColdError> {
        Err(ColdError {
            first: position,
            last: position,
            kind: ColdErrorKind::Unavailable,
            what: "the segment was released, and it was not said where the archives are".to_owned(),
        })
    }
}

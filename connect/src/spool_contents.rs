//! The contents of a spool whose connection is replaced or removed.

use std::path::Path;

use crate::connection::write_private;
use crate::error::SpoolError;
use crate::spool::Spool;

/// The bytes of a nonce.
const NONCE_BYTES: usize = 12;

/// The contents of a spool, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolContents {
    /// Events of this connection that wait.
    pub events: usize,
    /// Files that this connection's token does not open.
    pub unreadable: usize,
}

impl Spool {
    /// Opens every file that waits, and counts.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn contents(&self) -> Result<SpoolContents, SpoolError> {
        let mut contents = SpoolContents::default();
        for path in self.waiting()? {
            let counted = match self.read(&path) {
                Ok(_) => &mut contents.events,
                Err(_) => &mut contents.unreadable,
            };
            *counted = counted.saturating_add(1);
        }
        Ok(contents)
    }

    /// Removes the events of this connection. Files that it cannot read stay.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn discard(&self) -> Result<usize, SpoolError> {
        let mut discarded = 0_usize;
        for path in self.waiting()? {
            if self.read(&path).is_ok() {
                self.remove(&path)?;
                discarded = discarded.saturating_add(1);
            }
        }
        Ok(discarded)
    }

    /// Seals the events of this connection for another token of the same agent, each in its place. Returns their number.
    ///
    /// # Errors
    /// A file cannot be written; it and those after it keep their seal.
    pub fn hand_over(&self, to: &Self) -> Result<usize, SpoolError> {
        let mut handed = 0_usize;
        for path in self.waiting()? {
            let Ok(input) = self.read(&path) else { continue };
            let failed = |source| SpoolError::File { path: path.clone(), source };
            let text = serde_json::to_vec(&input).map_err(|error| failed(error.into()))?;
            let mut nonce = [0; NONCE_BYTES];
            getrandom::fill(&mut nonce).map_err(|_| SpoolError::Random)?;
            let sealed = to.seal_under(nonce, name_of(&path), &text)?;
            write_private(&path, &sealed).map_err(failed)?;
            handed = handed.saturating_add(1);
        }
        Ok(handed)
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

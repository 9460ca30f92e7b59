//! The contents of a spool whose connection is replaced or removed.

use crate::error::SpoolError;
use crate::spool::Spool;

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

    /// Seals the events of this connection, and its marks of losses, for another token of the same agent, each in its place. Returns
    /// the number of events.
    ///
    /// # Errors
    /// A file cannot be written; it and those after it keep their seal.
    pub fn hand_over(&self, to: &Self) -> Result<usize, SpoolError> {
        let mut handed = 0_usize;
        for path in self.waiting()? {
            let Ok(input) = self.read(&path) else { continue };
            to.replace(&path, &input)?;
            handed = handed.saturating_add(1);
        }
        self.hand_over_losses(to)?;
        Ok(handed)
    }
}

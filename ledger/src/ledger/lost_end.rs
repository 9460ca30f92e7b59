//! A ledger whose end is known to be lost: no answer about its end passes for a whole one.

use bitacora_formats::Position;

use crate::ledger::Ledger;
use crate::log_fault::LogFault;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::writer_state::{ReadOnlyReason, WriterState};

impl Ledger {
    /// Returns why this ledger holds less than it did, or another history than others remember; `None` while nothing says so. An answer
    /// about all events, or about none, rests on less than there was.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        match self.shared().write.writer() {
            WriterState::ReadOnly(reason @ (ReadOnlyReason::Corrupt(_) | ReadOnlyReason::Diverged(_))) => {
                Some(match self.shared().read.lost_behind() {
                    Some(fault) => format!("{reason}; and its end is lost: {fault}"),
                    None => reason.to_string(),
                })
            }
            // Of a ledger that is dead or closing damage is told all the same.
            _ => self
                .shared()
                .write
                .found
                .get()
                .map(|fault| ReadOnlyReason::Corrupt(fault.clone()).to_string()),
        }
    }

    /// Returns the damage by which events are lost, before the head or behind it, where any is known.
    #[must_use]
    pub fn damage(&self) -> Option<LogFault> {
        match self.shared().write.writer() {
            WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) => Some(fault),
            _ => self.shared().write.found.get().cloned().or_else(|| self.lost_end()),
        }
    }

    /// Returns the damage that events behind the head are lost by, where that is known.
    #[must_use]
    pub fn lost_end(&self) -> Option<LogFault> {
        self.shared().lost_end()
    }
}

impl SharedState {
    /// Returns the damage that events behind the head are lost by. Reads before the head meet damage there themselves.
    pub(crate) fn lost_end(&self) -> Option<LogFault> {
        match self.write.writer() {
            WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault))
                if fault.first_position > self.read.head().position.get() =>
            {
                Some(fault)
            }
            _ => self.read.lost_behind().cloned(),
        }
    }

    /// Returns the error of a read past `head`: there is nothing yet, or what was there is lost.
    pub(crate) fn past_head(&self, asked: Position, head: Position) -> ReadError {
        match self.lost_end() {
            Some(fault) => ReadError::Corrupt(fault),
            None => ReadError::PastHead { asked, head },
        }
    }
}

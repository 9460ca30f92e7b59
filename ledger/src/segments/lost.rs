//! Positions between segments that are whole, of which nothing can be read.

use crate::log_fault::LogFault;
use crate::read_error::ReadError;

/// Positions that are lost, and the damage behind it.
pub(super) struct LostSegment {
    fault: LogFault,
}

impl LostSegment {
    /// `fault` says the first position and the last one.
    pub(super) fn new(fault: LogFault) -> Self {
        Self { fault }
    }

    pub(super) fn file(&self) -> &str {
        &self.fault.file
    }

    /// Returns the error of a read there.
    pub(super) fn error(&self) -> ReadError {
        ReadError::Corrupt(self.fault.clone())
    }
}

//! A place in the stored bytes that is not what it must be.

use std::fmt;

/// Damage found in a ledger's files: where, which events it touches, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// The file, relative to the ledger's folder.
    pub file: String,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The first position that cannot be read because of it.
    pub first_position: u64,
    /// The last one, where what is whole behind it tells that.
    pub last_position: Option<u64>,
    /// The expected value and the one found.
    pub what: String,
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, first_position, last_position, what } = self;
        match last_position {
            Some(last) => write!(f, "{file} at byte {offset}, positions {first_position} to {last}: {what}"),
            None => write!(f, "{file} at byte {offset}, from position {first_position}: {what}"),
        }
    }
}

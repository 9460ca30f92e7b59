//! Why a command line cannot be read.

use thiserror::Error;

/// Why a command line cannot be read. It is reviewed, never allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("byte {offset}: {construct}")]
pub struct Unreadable {
    /// What stands there.
    pub construct: Construct,
    /// The byte at which it begins.
    pub offset: usize,
}

/// What the grammar does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
#[non_exhaustive]
pub enum Construct {
    /// `$` outside of single quotes.
    #[error("an expansion; write the value out")]
    Expansion,
    /// A program has an option or operand that its entry does not list.
    #[error("an argument that the program's entry does not list")]
    UnlistedArgument,
}

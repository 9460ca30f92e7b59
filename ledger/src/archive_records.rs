//! The facts that the log records of archives and of released segments.

use bitacora_formats::Position;

/// An archive that was read back, as the log says it.
#[derive(Debug, Clone, Copy)]
pub struct SealedArchive<'a> {
    /// Its name in the store.
    pub name: &'a str,
    /// The position of its first event.
    pub first: Position,
    /// The position of its last event.
    pub last: Position,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its signed manifest.
    pub manifest: [u8; 32],
    /// The store that holds it, in the words of the configuration.
    pub store: &'a str,
}

/// The extent of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseExtent {
    /// The position of the first event.
    pub first: Position,
    /// The position of the last event.
    pub last: Position,
    /// The number of segments.
    pub segments: u32,
    /// Bytes of their files.
    pub bytes: u64,
}

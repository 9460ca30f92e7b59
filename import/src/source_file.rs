//! A file to import, and its identity.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// One file to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The file's path; `None` is stdin.
    pub path: Option<PathBuf>,
    /// The name in ids and messages: its path below the named folder, or its own name. The suffix of its compression is
    /// left out, because it says nothing of the contents.
    pub name: String,
    /// The file's size on the disk, bytes.
    pub bytes: u64,
    /// The file's identity; `None` where it is not there.
    pub identity: Option<FileIdentity>,
}

/// The identity of a file: its device and inode. Its names do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

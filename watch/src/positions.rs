//! Positions up to which the transcripts of a connection are read and decided.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitacora_import::TranscriptContext;
use serde::{Deserialize, Serialize};

use crate::sealed_file::StateKey;

/// The name of the file.
const NAME: &str = "watch-positions";

/// A position in one transcript: everything before it is decided and recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The file, by device and inode.
    pub(crate) file: (u64, u64),
    /// The bytes before the position.
    pub(crate) offset: u64,
    /// The digest of the last bytes before it, in hex.
    pub(crate) anchor: String,
    /// The context that earlier lines gave to later ones.
    pub(crate) context: TranscriptContext,
}

/// The positions by path.
pub(crate) type Positions = BTreeMap<PathBuf, Position>;

pub(crate) fn read(key: &StateKey, folder: &Path) -> Positions {
    key.read(folder, NAME).unwrap_or_default()
}

pub(crate) fn write(key: &StateKey, folder: &Path, positions: &Positions) -> std::io::Result<()> {
    key.write(folder, NAME, positions)
}

//! The ledgers to verify: those of a data folder, or one whose own folder is named.

use std::path::{Path, PathBuf};

use bitacora_archiver::ArchivePlace;
use bitacora_formats::LedgerName;

use super::ledger_names;
use crate::error::CommandError;
use crate::options::global::Global;

/// The folder that only a ledger's own folder holds.
const SEGMENTS: &str = "segments";
/// The file that only a data folder holds.
const MARK: &str = "FORMAT";
/// The folder of ledgers in a data folder.
const LEDGERS: &str = "ledgers";

/// The folder of one ledger.
pub(super) struct LedgerPlace {
    pub(super) folder: PathBuf,
    /// The ledger's name in the report.
    pub(super) name: LedgerName,
    /// Set when the ledger must have that name. A ledger's own folder may have been copied under any name.
    pub(super) is_named: bool,
}

/// Returns the ledgers to verify, and the folder of their archives; `None` where these are in a store. They have to be
/// fetched from there first, because verifying asks nobody.
pub(super) fn find(global: &Global, all: bool) -> Result<(Vec<LedgerPlace>, Option<PathBuf>), CommandError> {
    let data = global.data()?;
    let (places, data) = match own_folder(data) {
        Some(folder) => {
            let called = folder.file_name().and_then(|name| name.to_str()?.parse().ok());
            let is_named = global.is_ledger_named();
            let name = called.filter(|_| !is_named).unwrap_or_else(|| global.ledger.clone());
            let data = data_folder_of(&folder).unwrap_or_else(|| folder.clone());
            (vec![LedgerPlace { folder, name, is_named }], data)
        }
        None => {
            let names = if all { ledger_names(data)? } else { vec![global.ledger.clone()] };
            let place = |name: LedgerName| LedgerPlace {
                folder: data.join(LEDGERS).join(name.as_str()),
                name,
                is_named: true,
            };
            (names.into_iter().map(place).collect(), data.to_owned())
        }
    };
    let archives = match global.archive_place(&data) {
        ArchivePlace::Folder(folder) => Some(folder),
        ArchivePlace::Store(_) => None,
    };
    Ok((places, archives))
}

/// Returns the folder under its real name, if it is a ledger's own.
fn own_folder(folder: &Path) -> Option<PathBuf> {
    let is_own =
        folder.join(SEGMENTS).is_dir() && !folder.join(MARK).exists() && !folder.join(LEDGERS).exists();
    is_own.then(|| folder.canonicalize().ok()).flatten()
}

/// Returns the data folder of a ledger's folder, if it is in one.
fn data_folder_of(ledger: &Path) -> Option<PathBuf> {
    let ledgers = ledger.parent().filter(|parent| parent.ends_with(LEDGERS))?;
    ledgers.parent().filter(|data| data.join(MARK).exists()).map(Path::to_owned)
}

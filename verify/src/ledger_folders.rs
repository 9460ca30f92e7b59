//! The ledgers to verify: those of a data folder, or one whose own folder is named.

use std::fs;
use std::path::{Path, PathBuf};

use bitacora_formats::LedgerName;

use super::inputs::InputError;

/// The folder that only a ledger's own folder holds.
const SEGMENTS: &str = "segments";
/// The file that only a data folder holds.
const MARK: &str = "FORMAT";
/// The folder of ledgers in a data folder.
const LEDGERS: &str = "ledgers";

/// The ledgers that the user asks for.
#[derive(Debug, Clone, Copy)]
pub struct LedgerSelection<'a> {
    /// The ledger's name.
    pub name: &'a LedgerName,
    /// Set when the user gave the name. Otherwise a ledger's own folder gives it.
    pub is_named: bool,
    /// Set to take every ledger of a data folder instead.
    pub all: bool,
}

/// The folder of one ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLocation {
    /// Its path.
    pub folder: PathBuf,
    /// The ledger's name in the report.
    pub name: LedgerName,
    /// Set when the ledger must have that name. A ledger's own folder may have been copied under any name.
    pub is_named: bool,
}

/// Returns the ledgers to verify, and the data folder that they lie in; a ledger's own folder where it is in none.
///
/// # Errors
/// An [`InputError`] where all ledgers are asked for and cannot be listed, or there is none.
pub fn find_ledgers(
    folder: &Path,
    asked: LedgerSelection<'_>,
) -> Result<(Vec<LedgerLocation>, PathBuf), InputError> {
    let LedgerSelection { name, is_named, all } = asked;
    let Some(own) = own_folder(folder) else {
        let names = if all { ledger_names(folder)? } else { vec![name.clone()] };
        let place = |name: LedgerName| LedgerLocation {
            folder: folder.join(LEDGERS).join(name.as_str()),
            name,
            is_named: true,
        };
        return Ok((names.into_iter().map(place).collect(), folder.to_owned()));
    };
    let called = own.file_name().and_then(|name| name.to_str()?.parse().ok());
    let name = called.filter(|_| !is_named).unwrap_or_else(|| name.clone());
    let data = data_folder_of(&own).unwrap_or_else(|| own.clone());
    Ok((vec![LedgerLocation { folder: own, name, is_named }], data))
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

/// Returns the names of the ledgers. Folders without a ledger's name were left by an interrupted creation.
fn ledger_names(data: &Path) -> Result<Vec<LedgerName>, InputError> {
    let folder = data.join(LEDGERS);
    let path = || folder.display().to_string();
    let failed = |source| InputError::File { path: path(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.to_str().and_then(|name| name.parse::<LedgerName>().ok()));
    }
    names.sort_unstable();
    if names.is_empty() { Err(InputError::NoLedger { path: path() }) } else { Ok(names) }
}

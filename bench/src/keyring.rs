//! The keys of a benchmark's ledger: a keyring, its anchor and its admin's token, in files as the service has them.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::Keyring;
use bitacora_ledger::{
    Entropy, Environment, FolderAnchor, HeadOptions, Options, ReactorChoice, SystemEntropy,
};

use super::error::BenchError;

/// The mode of the file: access for its owner alone, or the service refuses it.
const FILE_MODE: u32 = 0o600;

/// Generates a keyring and writes it to a new file.
pub(super) fn create(path: &Path) -> Result<Keyring, BenchError> {
    let mut failed = None;
    let keyring = Keyring::generate(&mut |bytes| failed = failed.take().or(SystemEntropy.fill(bytes).err()));
    if let Some(source) = failed {
        return Err(BenchError::System { what: "random bytes", source });
    }
    let written = write(path, &keyring.to_text());
    written.map_err(|source| BenchError::Disk { path: path.to_owned(), source })?;
    Ok(keyring)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(text.as_bytes())
}

/// Returns the options for opening a ledger with the anchor beside the keyring.
pub(super) fn options_beside(keyring: &Path, environment: &Environment) -> Options {
    let anchor = FolderAnchor::new(Arc::clone(&environment.disk), &beside(keyring, ".anchors"));
    let heads = HeadOptions { anchor: Some(Arc::new(anchor)), ..HeadOptions::default() };
    Options { heads: Some(heads), governing: ReactorChoice::Governance, ..Options::default() }
}

/// Reads the token of the admin that a service wrote beside the keyring.
pub(super) fn admin_token(keyring: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(beside(keyring, ".admin-token"))?.trim().to_owned())
}

fn beside(keyring: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(keyring);
    path.push(ending);
    path.into()
}

//! The checks of the settings that open, make and start nothing.

use std::path::{Path, PathBuf};

use bitacora_data_folder::refuse_in_data;
use bitacora_ledger::Options;

use super::{ServeArguments, ServeError, ServeSettings};
use crate::error::{CommandError, CommandFailure};

/// A file or folder that a setting names and that is not there.
#[derive(Debug, thiserror::Error)]
#[error("`{name}`: found nothing at {}, expected {expected}", path.display())]
struct MissingPath {
    name: &'static str,
    path: PathBuf,
    expected: &'static str,
}

impl CommandFailure for MissingPath {}

/// Checks the settings as `serve` does before it opens anything, and that what they name is there.
///
/// # Errors
/// The first fault.
pub(crate) fn examine(settings: &ServeSettings) -> Result<(), CommandError> {
    let ServeSettings { global, serve, .. } = settings;
    let (data, keyring) = (global.data()?, global.keyring()?);
    refuse_in_data(&keyring, Some(data))?;
    global.anchor()?;
    // Whether the address is free is not asked: a running service has it.
    let protection = serve.protection(serve.load_tls()?.as_ref());
    protection.admit(serve.listen).map_err(|error| ServeError::Start(error.into()))?;
    serve.witnesses.add_to(&mut Options::default()).map_err(ServeError::from)?;
    serve.notices.target().map_err(ServeError::from)?;
    examine_paths(serve, data, &keyring)
}

fn examine_paths(serve: &ServeArguments, data: &Path, keyring: &Path) -> Result<(), CommandError> {
    let missing =
        |name, path: &Path, expected| Err(MissingPath { name, path: path.to_owned(), expected }.into());
    let makes = !serve.create.is_empty();
    if !makes && !data.is_dir() {
        return missing("data", data, "the data folder; `create` makes it");
    }
    if !makes && !keyring.is_file() {
        return missing("keyring", keyring, "the keyring; `create` makes it");
    }
    let socket_folder = serve.unix.as_deref().and_then(Path::parent);
    match socket_folder {
        // A name alone lies in the folder that the service starts in.
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            missing("unix", folder, "the folder of the socket")
        }
        _ => Ok(()),
    }
}

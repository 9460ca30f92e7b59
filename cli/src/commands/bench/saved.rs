//! Results of an earlier run, as `--json` wrote them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::bench::Results;

/// Bytes of saved results at most; those of a whole run are far fewer.
const MAX_SAVED_BYTES: u64 = 4 * 1024 * 1024;

/// Why an earlier run's results are not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SavedError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: not what `bitacora bench --json` of this version writes: {what}", path.display())]
    Strange { path: PathBuf, what: String },
}

pub(super) fn read(path: &Path) -> Result<Results, SavedError> {
    let failed = |source| SavedError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_SAVED_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = crate::output::printable(&error.to_string());
        SavedError::Strange { path: path.to_owned(), what }
    })
}

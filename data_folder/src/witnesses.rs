//! The witnesses of a ledger's tree heads, from the policy file that names them.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_POLICY_BYTES;
use bitacora_formats::{WitnessPolicy, WitnessPolicyError};
use bitacora_ledger::Options;
use bitacora_server::{WitnessesError, http_witnesses};
use bitacora_verify::input_file;

/// The reason why the witnesses cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum WitnessFailure {
    /// The policy's file could not be read.
    #[error("{}: {source}; nothing was opened", path.display())]
    File {
        /// The policy's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds no policy.
    #[error("{}: {source}; nothing was opened", path.display())]
    Policy {
        /// The policy's file.
        path: PathBuf,
        /// The error of its text.
        source: WitnessPolicyError,
    },
    /// The policy names witnesses that cannot be asked.
    #[error("{}: {source}; nothing was opened", path.display())]
    Witnesses {
        /// The policy's file.
        path: PathBuf,
        /// The reason.
        source: WitnessesError,
    },
}

/// Adds the witnesses of a policy file to the options of an opening that keeps tree heads.
///
/// # Errors
/// A file that cannot be read, or that holds no policy.
pub fn add_witnesses(path: &Path, options: &mut Options) -> Result<(), WitnessFailure> {
    let Some(heads) = &mut options.heads else { return Ok(()) };
    let named = || path.to_owned();
    // Of a longer file, one byte more than a policy may have, so that it is refused by its length.
    let policy = input_file::read(path, MAX_POLICY_BYTES)
        .map_err(|source| WitnessFailure::File { path: named(), source })?;
    let policy =
        WitnessPolicy::parse(&policy).map_err(|source| WitnessFailure::Policy { path: named(), source })?;
    let witnesses =
        http_witnesses(policy).map_err(|source| WitnessFailure::Witnesses { path: named(), source })?;
    heads.witnesses = Some(witnesses);
    Ok(())
}

//! The witnesses of a ledger's tree heads, from the policy file that names them.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_POLICY_BYTES;
use bitacora_formats::{WitnessPolicy, WitnessPolicyError};
use bitacora_ledger::Options;
use bitacora_server::{WitnessesError, http_witnesses};
use clap::Args;

use crate::files::input_file;

/// The witness options of the command line.
#[derive(Debug, Args)]
pub(crate) struct WitnessArguments {
    /// Send tree heads to the witnesses of this policy file (c2sp.org/tlog-policy), and refuse a ledger that one of
    /// them has seen more of.
    #[arg(long, env = "BITACORA_WITNESSES", value_name = "FILE")]
    witnesses: Option<PathBuf>,
}

/// The reason why the witnesses cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WitnessFailure {
    #[error("{}: {source}; nothing was opened", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}; nothing was opened", path.display())]
    Policy { path: PathBuf, source: WitnessPolicyError },
    #[error("{}: {source}; nothing was opened", path.display())]
    Witnesses { path: PathBuf, source: WitnessesError },
}

impl WitnessArguments {
    /// Adds the witnesses to the options of an opening.
    pub(crate) fn add_to(&self, options: &mut Options) -> Result<(), WitnessFailure> {
        let (Some(path), Some(heads)) = (&self.witnesses, &mut options.heads) else { return Ok(()) };
        let named = || path.clone();
        let policy = read(path).map_err(|source| WitnessFailure::File { path: named(), source })?;
        let policy = WitnessPolicy::parse(&policy)
            .map_err(|source| WitnessFailure::Policy { path: named(), source })?;
        let witnesses =
            http_witnesses(policy).map_err(|source| WitnessFailure::Witnesses { path: named(), source })?;
        heads.witnesses = Some(witnesses);
        Ok(())
    }
}

/// Reads a policy; of a longer file, one byte more than a policy may have, so that it is refused by its length.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    input_file::read(path, MAX_POLICY_BYTES)
}

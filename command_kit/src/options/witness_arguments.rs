//! The witnesses of tree heads, as named on the command line.

use std::path::PathBuf;

use bitacora_data_folder::{WitnessFailure, add_witnesses};
use bitacora_ledger::Options;
use clap::Args;

/// The witness options of the command line.
#[derive(Debug, Args)]
pub struct WitnessArguments {
    /// Send tree heads to the witnesses of this policy file (c2sp.org/tlog-policy), and refuse a ledger that one of
    /// them has seen more of.
    #[arg(long, env = "BITACORA_WITNESSES", value_name = "FILE")]
    witnesses: Option<PathBuf>,
}

impl WitnessArguments {
    /// Adds the witnesses to the options of an opening.
    pub fn add_to(&self, options: &mut Options) -> Result<(), WitnessFailure> {
        self.witnesses.as_deref().map_or(Ok(()), |path| add_witnesses(path, options))
    }
}

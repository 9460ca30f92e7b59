//! The witness policy that `--witnesses` names.

use std::path::Path;

use bitacora_formats::WitnessPolicy;

use super::failure::VerifyFailure;
use crate::data_folder::witnesses;
use crate::error::CommandError;

/// Reads the policy. A policy that requires no witness would accept everything, so it is refused like an unreadable one.
pub(super) fn read(path: &Path) -> Result<WitnessPolicy, CommandError> {
    let file = path.display().to_string();
    let failed = |source| VerifyFailure::Folder { path: file.clone(), source };
    let bytes = witnesses::read(path).map_err(failed)?;
    let refused = |what: String| VerifyFailure::Policy { path: file.clone(), what };
    let policy = WitnessPolicy::parse(&bytes).map_err(|error| refused(error.to_string()))?;
    if !policy.asks_for_witnesses() {
        return Err(refused(
            "the policy asks for no witness; name one, or a group, as its quorum".to_owned(),
        )
        .into());
    }
    Ok(policy)
}

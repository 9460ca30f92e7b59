//! The files that a verifier brings: tree heads that were kept, and witness policies.

use std::io;
use std::path::Path;

use bitacora_formats::limits::{MAX_NOTE_BYTES, MAX_POLICY_BYTES};
use bitacora_formats::{UnverifiedTreeHead, WitnessPolicy};

use super::input_file;
use super::options::KnownHead;

/// The reason why a file that the verifier brought, or one that it has to check, is of no use.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("{path}: {source}; nothing was verified")]
    File {
        /// The file or folder.
        path: String,
        /// The error of the disk.
        source: io::Error,
    },
    /// It is no tree head.
    #[error("{path}: {what}; nothing was verified")]
    KnownHead {
        /// The file.
        path: String,
        /// The fault.
        what: String,
    },
    /// No ledger lies in the folder.
    #[error("{path}: no ledger here; nothing was verified")]
    NoLedger {
        /// The folder.
        path: String,
    },
    /// It is no witness policy, or one that requires no witness.
    #[error("{path}: {what}; nothing was verified")]
    Policy {
        /// The file.
        path: String,
        /// The fault.
        what: String,
    },
}

/// Reads a tree head that was kept elsewhere.
///
/// # Errors
/// An unreadable head is an error, so that nothing is compared with less than was asked for.
pub fn read_known_head(path: &Path) -> Result<KnownHead, InputError> {
    let file = path.display().to_string();
    let note = input_file::read(path, MAX_NOTE_BYTES);
    // One byte more than a note can have is enough to refuse it.
    let note = note.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    match note {
        Ok(note) => parse_known_head(file, &note),
        Err(error) => Err(InputError::KnownHead { path: file, what: error.to_string() }),
    }
}

/// Reads a tree head from the note that `file` holds.
///
/// # Errors
/// [`InputError::KnownHead`] for a note that is no tree head.
pub fn parse_known_head(file: String, note: &str) -> Result<KnownHead, InputError> {
    match UnverifiedTreeHead::parse(note) {
        Ok(head) => Ok(KnownHead { file, head }),
        Err(error) => Err(InputError::KnownHead { path: file, what: error.to_string() }),
    }
}

/// Reads a witness policy.
///
/// # Errors
/// [`InputError::File`] if it cannot be read. [`InputError::Policy`] also for a policy that requires no witness, since it
/// would accept everything.
pub fn read_witness_policy(path: &Path) -> Result<WitnessPolicy, InputError> {
    let file = path.display().to_string();
    let failed = |source| InputError::File { path: file.clone(), source };
    let bytes = input_file::read(path, MAX_POLICY_BYTES).map_err(failed)?;
    let refused = |what: String| InputError::Policy { path: file.clone(), what };
    let policy = WitnessPolicy::parse(&bytes).map_err(|error| refused(error.to_string()))?;
    if !policy.asks_for_witnesses() {
        return Err(refused(
            "the policy asks for no witness; name one, or a group, as its quorum".to_owned(),
        ));
    }
    Ok(policy)
}

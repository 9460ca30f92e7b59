//! The errors of a command line that parses and does not make sense.

use crate::error::CommandFailure;
use crate::exit::Exit;
use std::path::PathBuf;

/// An option that the command needs and did not get, or options that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// No data folder is named.
    #[error("no data folder; name it with --data or BITACORA_DATA")]
    Data,
    /// No keyring is named.
    #[error("no keyring, and no home folder to look in; name it with --keyring or BITACORA_KEYRING")]
    Keyring,
    /// The anchor lies in the data folder.
    #[error(
        "{}: the anchor lies in the data folder {}; name a place outside, so that who puts a copy of the data back does not put back what it is compared with",
        path.display(), data.display()
    )]
    AnchorInData {
        /// The place of the anchor.
        path: PathBuf,
        /// The data folder.
        data: PathBuf,
    },
    /// Several imports begin with these digits.
    #[error(
        "{count} imports begin with {beginning}; name more of the digest, which `bitacora imports` shows"
    )]
    ImportBeginning {
        /// The digits.
        beginning: String,
        /// The number of imports.
        count: usize,
    },
    /// A folder and a service are named.
    #[error(
        "found --data and --url, expected one of them: a command asks a folder or a service; leave one out"
    )]
    TwoPlaces,
    /// A note names no thing that it is on.
    #[error("it is not said what the note is on; name --position, --call or --tool")]
    NoteOnNothing,
    /// A replay names no folder.
    #[error(
        "a replay reads a folder, and none is named; name it with --data, or try a policy on the service with `bitacora policy dry-run` and `bitacora policy what-if`"
    )]
    ReplayFolder,
}

impl CommandFailure for UsageError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

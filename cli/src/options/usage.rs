//! The errors of a command line that parses and does not make sense.

use crate::error::CommandFailure;
use crate::exit::Exit;
use std::path::PathBuf;

/// An option that the command needs and did not get, or options that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("no data folder; name it with --data or BITACORA_DATA")]
    Data,
    #[error("no keyring, and no home folder to look in; name it with --keyring or BITACORA_KEYRING")]
    Keyring,
    #[error(
        "{}: the anchor lies in the data folder {}; name a place outside, so that who puts a copy of the data back does not put back what it is compared with",
        path.display(), data.display()
    )]
    AnchorInData { path: PathBuf, data: PathBuf },
    #[error(
        "{count} imports begin with {beginning}; name more of the digest, which `bitacora imports` shows"
    )]
    ImportBeginning { beginning: String, count: usize },
    #[error(
        "found --data and --url, expected one of them: a command asks a folder or a service; leave one out"
    )]
    TwoPlaces,
    #[error("it is not said what the note is on; name --position, --call or --tool")]
    NoteOnNothing,
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

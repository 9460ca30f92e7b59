//! The ids of calls whose harness names none: drawn before a call, found again at its end.
//!
//! A file for each call that began lies in a folder named by the digest of session, tool and arguments. The end of a call
//! takes the oldest one. Equal calls at the same time may swap their ids, which changes nothing: they are equal.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bitacora_harness::{HookEvent, HookInput, pairing_digest};

use crate::connection::{make_private_folder, write_private};

/// The ids of calls that wait for their end.
pub(super) struct OpenCalls {
    folder: PathBuf,
}

impl OpenCalls {
    pub(super) fn of(state: &Path) -> Self {
        Self { folder: state.join("calls") }
    }

    /// Returns the id of the call that an input is about; `None` where the harness names it, or where the input is of no call.
    pub(super) fn id_for(&self, input: &HookInput) -> Option<String> {
        match &input.event {
            HookEvent::BeforeTool(call) if call.call.is_none() => {
                self.begin(&pairing_digest(&input.session, &call.tool, call.args.get()))
            }
            HookEvent::AfterTool(end) if end.call.is_none() => {
                self.end(&pairing_digest(&input.session, &end.tool, end.args.get()))
            }
            _ => None,
        }
    }

    /// An id is given even where it cannot be noted: the call is decided, and its outcome is missing then.
    fn begin(&self, digest: &str) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let id = hex::encode(random);
        let folder = self.folder.join(digest);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let _noted = make_private_folder(&folder)
            .and_then(|()| write_private(&folder.join(format!("{:020}-{id}", now.as_nanos())), b""));
        Some(id)
    }

    fn end(&self, digest: &str) -> Option<String> {
        let folder = self.folder.join(digest);
        let mut names: Vec<_> =
            fs::read_dir(&folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        names.sort();
        // Whoever removes the file has the call; another hook of the same call at the same time takes the next.
        let taken = names.into_iter().find(|name| fs::remove_file(folder.join(name)).is_ok())?;
        let _emptied = fs::remove_dir(&folder);
        taken.to_str()?.split_once('-').map(|(_, id)| id.to_owned())
    }
}

//! The folders that a command of a line may run in, behind `cd`.

use super::arguments::unlisted;
use crate::action::{Access, Action, FileUse};
use crate::line::{Joint, SimpleCommand};
use crate::unreadable::Unreadable;

/// The folders that a line may be in at once, because each `cd` may fail.
const MAX_FOLDERS: usize = 8;

/// Where the next command may run, as seen from the folder that the line begins in; that one is empty.
pub(super) struct Folders {
    /// If every `cd` since the last `;` or `||` went well.
    here: Vec<String>,
    /// If one of them did not.
    elsewhere: Vec<String>,
}

impl Default for Folders {
    fn default() -> Self {
        Folders { here: vec![String::new()], elsewhere: Vec::new() }
    }
}

impl Folders {
    /// Whether the next command runs where the line begins.
    pub(super) fn is_start(&self) -> bool {
        self.here.iter().all(String::is_empty)
    }

    /// Goes on to a command that is joined like this.
    pub(super) fn go_on(&mut self, joint: Joint) {
        if matches!(joint, Joint::Or | Joint::Then) {
            for folder in self.elsewhere.drain(..) {
                if !self.here.contains(&folder) {
                    self.here.push(folder);
                }
            }
        }
    }

    /// Says where the files of these actions are, as seen from the beginning. Each possible place is named.
    pub(super) fn place(&self, actions: &mut [Action]) {
        for action in actions {
            action.files = action
                .files
                .iter()
                .flat_map(|file| self.here.iter().map(|folder| seen(folder, file)))
                .collect();
        }
    }

    /// Goes to the folder of a `cd`.
    ///
    /// # Errors
    /// It is a part of a pipe, of which shells differ whether it counts, or there are too many possibilities.
    pub(super) fn enter(
        &mut self,
        actions: &[Action],
        command: &SimpleCommand,
        is_before_pipe: bool,
    ) -> Result<(), Unreadable> {
        let files = actions.iter().flat_map(|action| &action.files);
        let mut entered: Vec<String> =
            files.filter(|file| file.access == Access::Enters).map(|file| file.path.clone()).collect();
        if entered.is_empty() {
            return Ok(());
        }
        entered.dedup();
        let is_in_pipe = is_before_pipe || command.joint == Joint::Pipe;
        if is_in_pipe || self.elsewhere.len() + self.here.len() + entered.len() > MAX_FOLDERS {
            return Err(unlisted(command.offset));
        }
        self.elsewhere.append(&mut self.here);
        self.here = entered;
        Ok(())
    }
}

/// A file as seen from the beginning of a line whose command runs in a folder.
fn seen(folder: &str, file: &FileUse) -> FileUse {
    let mut seen = file.clone();
    // A pattern of names holds in every folder.
    let is_name = file.is_pattern && !file.path.contains('/');
    if !(folder.is_empty() || file.path.starts_with('/') || is_name) {
        let below = file.path.strip_prefix("./").unwrap_or(&file.path);
        seen.path = if below == "." {
            folder.to_owned()
        } else {
            format!("{}/{below}", folder.trim_end_matches('/'))
        };
    }
    seen
}

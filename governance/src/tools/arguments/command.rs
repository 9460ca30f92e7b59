//! The programs of a command line, in the words that rules and trust use.

use std::collections::BTreeSet;

use bitacora_shell::{Access, Effect, FileUse, ShellAction, ShellReading};
use bitacora_vocabulary::{DimensionPart, FileAccess};

use super::path::{clean_folder, lies_inside, read_path};

/// The prefix of the names of several programs, so that no pattern for one of them takes all.
pub(crate) const SEVERAL: &str = DimensionPart::SEVERAL;
/// Stands for files and folders that do not lie in the working folder, or of which that is not certain.
const OUTSIDE: &str = "outside";
/// Files that hold nothing of anybody.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// Places that one command line may name.
const MAX_COMMAND_PLACES: usize = super::MAX_CALL_DESTINATIONS;
/// Folders that one command line may go to, one from another.
const MAX_ENTERED: usize = 16;

/// The reading of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandFindings {
    /// Programs with their subcommands. Rules look at each of them.
    parts: BTreeSet<String>,
    /// The parts that do more than look.
    acting: BTreeSet<String>,
    /// `true` if it may run programs that were not read from it.
    pub(super) opaque: bool,
    /// Files and folders that it names, from the root on where that is known.
    pub(super) places: Vec<(String, FileAccess)>,
    /// Patterns for names of files that it works on.
    pub(super) patterns: Vec<(String, FileAccess)>,
    /// `true`: the command shows contents of tracked files without naming them.
    pub(super) shows_tracked: bool,
    /// `true`: the command may show any object in git's store.
    pub(super) reads_stored: bool,
    /// `true`: a program that does more than look may run outside the working folder.
    pub(super) acts_elsewhere: bool,
}

/// Reads a command line that is given in this working folder.
pub(super) fn read_command(text: &str, cwd: Option<&str>) -> CommandFindings {
    let (actions, opaque) = match bitacora_shell::read_in(text, cwd) {
        ShellReading::Readable(actions) => (actions, false),
        ShellReading::Unreadable(_, actions) => (actions, true),
    };
    let mut command = CommandFindings { opaque: opaque || actions.is_empty(), ..CommandFindings::default() };
    let mut entered = Vec::new();
    actions.iter().for_each(|action| command.take(action, &mut entered, cwd));
    command
}

impl CommandFindings {
    /// Returns the context by which trust is kept: the parts that do more than look, or, of a command that only looks, all of them.
    /// One part is named by itself, several with all their names, sorted; `opaque` where there can be others.
    pub(super) fn context(&self) -> String {
        if self.opaque {
            return DimensionPart::OPAQUE.to_owned();
        }
        let named = if self.acting.is_empty() { &self.parts } else { &self.acting };
        let names: Vec<&str> = named.iter().map(String::as_str).filter(|part| *part != OUTSIDE).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            several => format!("{SEVERAL}{}", several.join(",")),
        }
    }

    /// Returns each part by itself. A rule allows all of them or nothing.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(String::as_str).chain(self.opaque.then_some(DimensionPart::OPAQUE))
    }

    /// Returns `true` if it runs programs that reach more than their arguments say.
    pub(super) fn acts(&self) -> bool {
        !self.acting.is_empty()
    }

    /// `entered` are the folders that the commands before it may have gone to, told from the working folder on.
    fn take(&mut self, action: &ShellAction, entered: &mut Vec<String>, cwd: Option<&str>) {
        self.parts.insert(action.part.clone());
        // A program that is called by its path is not the one that its name stands for.
        if action.program.contains('/') {
            self.parts.insert(action.program.clone());
        }
        let writes = action.files.iter().any(|file| file.access == Access::Writes);
        if action.effect != Effect::Looks && (!action.program.is_empty() || writes) {
            self.acting.insert(action.part.clone());
            self.acts_elsewhere |= entered.iter().any(|folder| leaves(folder, cwd));
        }
        for file in action.files.iter().filter(|file| !HARMLESS.contains(&file.path.as_str())) {
            // A `cd` may have failed, so the file can lie in every folder before it too.
            let is_whole = file.path.starts_with('/') || file.is_pattern && !file.path.contains('/');
            let below = entered
                .iter()
                .filter(|_| !is_whole)
                .map(|folder| FileUse { path: format!("{folder}/{}", file.path), ..file.clone() });
            let uses: Vec<FileUse> = below.chain([file.clone()]).collect();
            for file in &uses {
                self.reach(file, cwd);
            }
            if file.access == Access::Enters {
                entered.extend(uses.into_iter().map(|file| file.path).take(MAX_ENTERED - entered.len()));
                self.opaque |= entered.len() >= MAX_ENTERED;
            }
        }
    }

    fn reach(&mut self, file: &FileUse, cwd: Option<&str>) {
        let is_inside = lies_inside(&file.path, cwd);
        let is_name = file.is_pattern && !file.path.contains('/');
        if !is_inside && !is_name {
            self.parts.insert(OUTSIDE.to_owned());
        }
        self.shows_tracked |= file.access == Access::ShowsTracked;
        self.reads_stored |= file.access == Access::ReadsStored;
        let access = match file.access {
            Access::Lists | Access::Enters => FileAccess::List,
            Access::Reads | Access::ReadsTracked | Access::ShowsTracked | Access::ReadsStored => {
                FileAccess::Read
            }
            Access::ReadsTree => FileAccess::ReadTree,
            Access::Writes => FileAccess::Write,
        };
        if self.places.len() + self.patterns.len() >= MAX_COMMAND_PLACES {
            self.opaque = true;
            return;
        }
        let whole = || read_path(&file.path, cwd).map(|path| path.whole());
        let (list, place) = if file.is_pattern {
            (&mut self.patterns, if is_name { format!("**/{}", file.path) } else { whole_pattern(file, cwd) })
        } else {
            (&mut self.places, whole().unwrap_or_else(|_| file.path.clone()))
        };
        if !list.contains(&(place.clone(), access)) {
            list.push((place, access));
        }
    }
}

/// Returns `false` if an entered folder is certainly the working folder.
fn leaves(folder: &str, cwd: Option<&str>) -> bool {
    let entered = read_path(folder, cwd).map(|path| path.whole());
    entered.ok() != cwd.and_then(clean_folder)
}

/// Returns a pattern with folders, from the root on where that is known.
fn whole_pattern(file: &FileUse, cwd: Option<&str>) -> String {
    let own = file.path.strip_prefix("./").unwrap_or(&file.path);
    let (Some(cwd), false) = (cwd, own.starts_with('/')) else { return own.trim_end_matches('/').to_owned() };
    let mut steps: Vec<&str> = cwd.trim_end_matches('/').split('/').collect();
    for step in own.split('/').filter(|step| !matches!(*step, "" | ".")) {
        match step {
            ".." if steps.len() > 1 => drop(steps.pop()),
            ".." => {}
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests;

//! The actions of programs with their arguments, by one entry a program.

mod arguments;
mod entry;
mod filter;
mod globs;
mod listing;
mod table;
mod unknown;

use crate::action::{Access, Effect, FileUse, ShellAction};
use crate::line::{CommandConnector, CommandLine, Redirection, RedirectionKind, ShellWord, SimpleCommand};
use crate::unreadable::{Construct, UnreadableCommand};
use arguments::{CommandArguments, unlisted};
use entry::ProgramUse;
pub use listing::{ListedOption, ListedUse, listed_uses};

/// Folders whose programs are the system's: nobody but an administrator writes them.
const SYSTEM_FOLDERS: [&str; 2] = ["/bin/", "/usr/bin/"];

/// Returns the actions of the commands of a line that is given in this folder, if it is known.
///
/// # Errors
/// A program has an argument that its entry does not list.
pub(crate) fn actions(line: &CommandLine, cwd: Option<&str>) -> Result<Vec<ShellAction>, UnreadableCommand> {
    let mut actions: Vec<ShellAction> = Vec::new();
    for command in &line.commands {
        let Some((program, args)) = command.words.split_first() else { return Err(unlisted(command.offset)) };
        let has_left = |action: &ShellAction| {
            action.files.iter().any(|file| file.access == Access::Enters && !is_same(&file.path, cwd))
        };
        let is_elsewhere = actions.iter().any(has_left);
        let call = ProgramCall {
            program,
            args,
            is_piped: command.joint == CommandConnector::Pipe,
            is_elsewhere,
            cwd,
        };
        actions.append(&mut call.actions()?);
        for redirection in &command.redirections {
            actions.extend(redirected(redirection, command)?);
        }
    }
    Ok(actions)
}

/// Returns `true` if a path is the folder that a call is given in, so that entering it changes nothing.
fn is_same(path: &str, cwd: Option<&str>) -> bool {
    let is_whole =
        |path: &str| path.starts_with('/') && path.split('/').all(|step| step != "." && step != "..");
    cwd.is_some_and(|cwd| is_whole(cwd) && path.trim_end_matches('/') == cwd.trim_end_matches('/'))
}

/// Returns the effect of a redirection on its file.
fn redirected(
    redirection: &Redirection,
    command: &SimpleCommand,
) -> Result<Option<ShellAction>, UnreadableCommand> {
    let (part, effect, access) = match redirection.kind {
        RedirectionKind::Harmless => return Ok(None),
        RedirectionKind::Reads => ("<", Effect::Looks, Access::Reads),
        RedirectionKind::Writes => (">", Effect::Acts, Access::Writes),
    };
    // Bash opens connections for names in `/dev`.
    let is_device = |file: &ShellWord| file.text.starts_with("/dev/") && file.text != "/dev/null";
    let file = redirection.file.as_ref().filter(|file| !file.is_glob && !is_device(file));
    let file = file.ok_or_else(|| unlisted(command.offset))?;
    let files = vec![FileUse { path: file.text.clone(), access, is_pattern: false }];
    Ok(Some(ShellAction { program: String::new(), part: part.to_owned(), effect, files }))
}

/// A program with its arguments and its surroundings.
#[derive(Clone, Copy)]
struct ProgramCall<'w> {
    program: &'w ShellWord,
    args: &'w [ShellWord],
    is_piped: bool,
    /// `true` if it may run in another folder than the line began in.
    is_elsewhere: bool,
    /// The folder that the line began in, if it is known.
    cwd: Option<&'w str>,
}

impl<'w> ProgramCall<'w> {
    /// Returns its actions, and those of the programs that it runs.
    fn actions(self) -> Result<Vec<ShellAction>, UnreadableCommand> {
        let text = self.program.text.as_str();
        let name = text.rsplit('/').next().unwrap_or_default();
        if self.program.is_glob || name.is_empty() {
            return Err(unlisted(self.program.offset));
        }
        if table::uses(name).next().is_none() {
            return Ok(vec![unknown::action(self.program, self.args)?]);
        }
        if name == "git" && self.is_elsewhere {
            return Err(UnreadableCommand {
                construct: Construct::GitElsewhere,
                offset: self.program.offset,
            });
        }
        let mut actions = self.listed(name)?;
        let is_in_system = SYSTEM_FOLDERS.iter().any(|folder| text.strip_prefix(folder) == Some(name));
        if name != text && !is_in_system {
            // It has the name of a program of the table, and may be any other one.
            for action in actions.iter_mut().filter(|action| action.program == text) {
                action.effect = Effect::Unknown;
            }
            actions.push(unknown::action(self.program, self.args)?);
        }
        Ok(actions)
    }

    /// Returns the actions of the first use that lists every argument.
    fn listed(self, name: &str) -> Result<Vec<ShellAction>, UnreadableCommand> {
        let args = self.behind_flags(name);
        let mut refused = unlisted(args.first().map_or(self.program.offset, |word| word.offset));
        let Some(words) = table::uses(name).filter_map(|used| used.words_before(args)).max() else {
            return Err(refused);
        };
        let behind = args.get(words..).unwrap_or_default();
        for used in table::uses(name).filter(|used| used.words_before(args) == Some(words)) {
            match self.used(name, used, behind) {
                Ok(actions) => return Ok(actions),
                Err(unreadable) => refused = unreadable,
            }
        }
        Err(refused)
    }

    /// Returns the arguments behind the flags that may stand before the words of a use. `git -C` with the folder of the call is one
    /// of them.
    fn behind_flags(self, name: &str) -> &'w [ShellWord] {
        let mut args = self.args;
        loop {
            args = match args {
                [flag, rest @ ..] if !flag.is_glob && table::is_before(name, &flag.text) => rest,
                [option, folder, rest @ ..]
                    if name == "git"
                        && option.text == "-C"
                        && !folder.is_glob
                        && is_same(&folder.text, self.cwd) =>
                {
                    rest
                }
                _ => return args,
            };
        }
    }

    fn used(
        self,
        name: &str,
        used: &'static ProgramUse,
        args: &[ShellWord],
    ) -> Result<Vec<ShellAction>, UnreadableCommand> {
        let read = CommandArguments::read(self, name, used, args)?;
        let mut meaning = read.meaning()?;
        if meaning.parts.is_empty() {
            let words = used.part.unwrap_or(used.words);
            meaning.parts.push(if words.is_empty() { name.to_owned() } else { format!("{name} {words}") });
        }
        let of_part = |part: String| ShellAction {
            program: self.program.text.clone(),
            part,
            effect: used.effect,
            files: meaning.files.clone(),
        };
        let mut actions: Vec<ShellAction> = meaning.parts.into_iter().map(of_part).collect();
        actions.append(&mut meaning.runs);
        Ok(actions)
    }
}

impl ProgramUse {
    /// Returns the number of words that choose this use, if the arguments begin with them.
    fn words_before(&self, args: &[ShellWord]) -> Option<usize> {
        let mut count = 0;
        for (at, word) in self.words.split_whitespace().enumerate() {
            let is_there = args.get(at).is_some_and(|arg| !arg.is_glob && arg.text == word);
            if !is_there {
                return None;
            }
            count = at + 1;
        }
        Some(count)
    }
}

#[cfg(test)]
mod tests;

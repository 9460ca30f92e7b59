//! What programs may do with their arguments, one entry a program.

mod arguments;
mod entry;
mod filter;
mod folders;
mod table;
mod unknown;

use crate::action::{Access, Action, Effect, FileUse};
use crate::line::{CommandLine, Joint, Redirection, RedirectionKind, SimpleCommand, Word};
use crate::unreadable::{Construct, Unreadable};
use arguments::{Given, unlisted};
use entry::Use;
use folders::Folders;

/// Folders whose programs are the system's: nobody but an administrator writes them.
const SYSTEM_FOLDERS: [&str; 2] = ["/bin/", "/usr/bin/"];

/// What the commands of a line do.
///
/// # Errors
/// A program has an argument that its entry does not list.
pub(crate) fn actions(line: &CommandLine) -> Result<Vec<Action>, Unreadable> {
    let mut actions = Vec::new();
    let mut folders = Folders::default();
    for (at, command) in line.commands.iter().enumerate() {
        folders.go_on(command.joint);
        let mut done = match command.words.split_first() {
            Some((program, args)) => Call {
                program,
                args,
                is_piped: command.joint == Joint::Pipe,
                is_elsewhere: !folders.is_start(),
            }
            .actions()?,
            None => return Err(unlisted(command.offset)),
        };
        for redirection in &command.redirections {
            done.extend(redirected(redirection, command)?);
        }
        folders.place(&mut done);
        let is_before_pipe = line.commands.get(at + 1).is_some_and(|next| next.joint == Joint::Pipe);
        folders.enter(&done, command, is_before_pipe)?;
        actions.append(&mut done);
    }
    Ok(actions)
}

/// What a redirection does to its file.
fn redirected(redirection: &Redirection, command: &SimpleCommand) -> Result<Option<Action>, Unreadable> {
    let (part, effect, access) = match redirection.kind {
        RedirectionKind::Harmless => return Ok(None),
        RedirectionKind::Reads => ("<", Effect::Looks, Access::Reads),
        RedirectionKind::Writes => (">", Effect::Acts, Access::Writes),
    };
    // Bash opens connections for names in `/dev`.
    let is_device = |file: &Word| file.text.starts_with("/dev/") && file.text != "/dev/null";
    let file = redirection.file.as_ref().filter(|file| !file.is_glob && !is_device(file));
    let file = file.ok_or_else(|| unlisted(command.offset))?;
    let files = vec![FileUse { path: file.text.clone(), access, is_pattern: false }];
    Ok(Some(Action { program: String::new(), part: part.to_owned(), effect, files }))
}

/// A program with its arguments, and what there is around it.
#[derive(Clone, Copy)]
struct Call<'w> {
    program: &'w Word,
    args: &'w [Word],
    is_piped: bool,
    /// Whether it may run in another folder than the line began in.
    is_elsewhere: bool,
}

impl Call<'_> {
    /// What it does, and what it runs.
    fn actions(self) -> Result<Vec<Action>, Unreadable> {
        if self.program.is_glob {
            return Err(unlisted(self.program.offset));
        }
        let text = self.program.text.as_str();
        let in_system = SYSTEM_FOLDERS.iter().find_map(|folder| text.strip_prefix(folder));
        let name = in_system.unwrap_or(text);
        if table::uses(name).next().is_none() {
            return Ok(vec![unknown::action(self.program, self.args)?]);
        }
        if name == "git" && self.is_elsewhere {
            return Err(Unreadable { construct: Construct::GitElsewhere, offset: self.program.offset });
        }
        self.listed(name)
    }

    /// What the first use does that lists every argument.
    fn listed(self, name: &str) -> Result<Vec<Action>, Unreadable> {
        let is_before = |word: &Word| !word.is_glob && table::is_before(name, &word.text);
        let skipped = self.args.iter().take_while(|word| is_before(word)).count();
        let args = self.args.get(skipped..).unwrap_or_default();
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

    fn used(self, name: &str, used: &'static Use, args: &[Word]) -> Result<Vec<Action>, Unreadable> {
        let given = Given::read(self, name, used, args)?;
        let mut meaning = given.meaning()?;
        if meaning.parts.is_empty() {
            let words = used.part.unwrap_or(used.words);
            meaning.parts.push(if words.is_empty() { name.to_owned() } else { format!("{name} {words}") });
        }
        let of_part = |part: String| Action {
            program: self.program.text.clone(),
            part,
            effect: used.effect,
            files: meaning.files.clone(),
        };
        let mut actions: Vec<Action> = meaning.parts.into_iter().map(of_part).collect();
        actions.append(&mut meaning.runs);
        Ok(actions)
    }
}

impl Use {
    /// How many words choose this use, if the arguments begin with them.
    fn words_before(&self, args: &[Word]) -> Option<usize> {
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

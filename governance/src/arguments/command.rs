//! What a text for a shell runs.
//!
//! The reader knows what plain scripts are made of, and names each program that they run. Where it meets anything else, or a
//! program whose own arguments are programs that it cannot follow, the whole is *opaque*: named as such, and never better than
//! reviewed. It may call a plain text opaque; it must not call one plain that runs something it did not name.

mod options;
mod programs;
mod reach;
mod verbs;
mod words;

use std::collections::BTreeSet;

use bitacora_formats::vocabulary::DimensionPart;
use programs::Following;
use reach::{is_outside, reaches_outside};
use words::Word;

/// Bytes of a command that is read at all.
const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// Commands within one another.
const MAX_COMMAND_DEPTH: usize = 8;
/// Programs that one command names.
const MAX_PROGRAMS: usize = 32;
/// What else it says of them.
const MAX_DOINGS: usize = 64;
/// What stands before the names of several programs, so that no pattern for one of them takes all.
pub(crate) const SEVERAL: &str = DimensionPart::SEVERAL;
/// Stands for writing into a file by `>`.
const WRITES_FILE: &str = ">";
/// Stands for files and folders that do not lie in the working folder, or of which that is not certain.
const OUTSIDE: &str = "outside";
/// Stands for a variable that is set, which can change what a program does; what the program of this name would do.
const SETS_VARIABLE: &str = "env";

/// The programs that a command runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// As they are called.
    programs: BTreeSet<String>,
    /// What more rules may look at: what a program is told to do (`git push`), its name without folders, that it reaches
    /// outside. Trust is not kept by it.
    doings: BTreeSet<String>,
    /// Whether it can run others.
    pub(super) opaque: bool,
}

/// Reads a command that is given in this working folder.
pub(super) fn read_command(text: &str, cwd: Option<&str>) -> Command {
    let mut command = Command::default();
    let read = command.read(text, cwd, 0);
    command.opaque |= read.is_err() || command.programs.is_empty();
    command
}

impl Command {
    /// The name of the one program; of several all their names, sorted; `opaque` where there can be others.
    pub(super) fn context(&self) -> String {
        let mut programs = self.programs.iter();
        match (self.opaque, programs.next(), programs.next()) {
            (false, Some(one), None) => one.clone(),
            (false, Some(_), Some(_)) => {
                let all: Vec<&str> = self.programs.iter().map(String::as_str).collect();
                format!("{SEVERAL}{}", all.join(","))
            }
            (true, ..) | (false, None, _) => DimensionPart::OPAQUE.to_owned(),
        }
    }

    /// Each program by itself, and what else rules look at. A rule allows all of it or nothing.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let named =
            self.programs.iter().chain(self.doings.iter().filter(|one| !self.programs.contains(*one)));
        named.map(String::as_str).chain(self.opaque.then_some(DimensionPart::OPAQUE))
    }

    fn read(&mut self, text: &str, cwd: Option<&str>, depth: usize) -> Result<(), Opaque> {
        if text.len() > MAX_COMMAND_BYTES || text.contains(['\r', '\0']) {
            return Err(Opaque);
        }
        let mut script = Script { text, cwd, at: 0, here: Vec::new(), is_redirected: false, command: self };
        script.commands(depth, None)?;
        if script.here.is_empty() { Ok(()) } else { Err(Opaque) }
    }

    fn add(&mut self, program: String) -> Result<(), Opaque> {
        if self.programs.len() >= MAX_PROGRAMS && !self.programs.contains(&program) {
            return Err(Opaque);
        }
        self.programs.insert(program);
        Ok(())
    }

    fn note(&mut self, doing: String) -> Result<(), Opaque> {
        if self.doings.len() >= MAX_DOINGS && !self.doings.contains(&doing) {
            return Err(Opaque);
        }
        self.doings.insert(doing);
        Ok(())
    }
}

/// The text can run what was not read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Opaque;

/// A text that waits at the end of a line, up to a line that is its mark.
struct HereText {
    mark: String,
    /// Tabs before the mark do not count.
    is_indented: bool,
    /// Nothing in it is expanded.
    is_quoted: bool,
}

/// A script that is being read.
struct Script<'t, 'c> {
    text: &'t str,
    cwd: Option<&'t str>,
    at: usize,
    here: Vec<HereText>,
    /// The command that is being read began with a file that it reads or writes: no word of it is reserved then.
    is_redirected: bool,
    command: &'c mut Command,
}

impl Script<'_, '_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Reads commands to the end, or to the character that closes them.
    fn commands(&mut self, depth: usize, closing: Option<char>) -> Result<(), Opaque> {
        let outer = std::mem::take(&mut self.is_redirected);
        self.lines(depth, closing)?;
        self.is_redirected = outer;
        Ok(())
    }

    fn lines(&mut self, depth: usize, closing: Option<char>) -> Result<(), Opaque> {
        if depth > MAX_COMMAND_DEPTH {
            return Err(Opaque);
        }
        let mut words: Vec<Word> = Vec::new();
        loop {
            let Some(next) = self.peek() else {
                self.end(&mut words, depth)?;
                return if closing.is_none() { Ok(()) } else { Err(Opaque) };
            };
            if self.skip("\\\n") || self.skip(" ") || self.skip("\t") {
                continue;
            }
            match next {
                '\n' => {
                    self.at += 1;
                    self.end(&mut words, depth)?;
                    self.here_texts()?;
                }
                '&' if self.rest().starts_with("&>") => {
                    self.at += 1;
                    self.is_redirected |= words.is_empty();
                    self.output(depth)?;
                    // A shell that does not know `&>` begins another command after it.
                    let rest = self.rest().trim_start_matches([' ', '\t']);
                    let is_end = rest.starts_with(['\n', ';', '|', ')']) || rest.is_empty();
                    self.command.opaque |= !(is_end || rest.starts_with("&&"));
                }
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.end(&mut words, depth)?;
                }
                '(' if words.is_empty() => {
                    self.at += 1;
                    self.commands(depth + 1, Some(')'))?;
                }
                ')' if closing.is_some() => {
                    self.at += 1;
                    return self.end(&mut words, depth);
                }
                '(' | ')' => return Err(Opaque),
                '<' => {
                    self.is_redirected |= words.is_empty();
                    self.input(depth)?;
                }
                '>' => {
                    self.is_redirected |= words.is_empty();
                    self.output(depth)?;
                }
                '#' => {
                    let line = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += line;
                }
                _ => {
                    let word = self.word(depth)?;
                    if !(word.is_descriptor() && matches!(self.peek(), Some('<' | '>'))) {
                        words.push(word);
                    }
                }
            }
        }
    }

    /// What is read from: files, texts, and what other commands say.
    fn input(&mut self, depth: usize) -> Result<(), Opaque> {
        if self.skip("<(") {
            return self.commands(depth + 1, Some(')'));
        }
        if self.skip("<<<") {
            let text = self.target(depth)?;
            return if text.has_expansion { self.command.note(OUTSIDE.to_owned()) } else { Ok(()) };
        }
        if self.skip("<<") {
            let is_indented = self.skip("-");
            let mark = self.target(depth)?;
            if !mark.is_literal || mark.text.is_empty() {
                return Err(Opaque);
            }
            self.here.push(HereText { mark: mark.text, is_indented, is_quoted: mark.is_quoted });
            return Ok(());
        }
        // `<>` opens for writing too.
        if self.skip("<>") {
            self.command.add(WRITES_FILE.to_owned())?;
        } else if !self.skip("<&") {
            self.at += 1;
        }
        let source = self.target(depth)?;
        if is_outside(&source, self.cwd) { self.command.note(OUTSIDE.to_owned()) } else { Ok(()) }
    }

    /// What is written to.
    fn output(&mut self, depth: usize) -> Result<(), Opaque> {
        if self.skip(">(") {
            return self.commands(depth + 1, Some(')'));
        }
        let is_descriptor = self.skip(">&");
        if !is_descriptor && !self.skip(">>") && !self.skip(">|") {
            self.at += 1;
        }
        let target = self.target(depth)?;
        let is_harmless = matches!(target.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr")
            || is_descriptor && (target.is_descriptor() || target.text == "-");
        if is_harmless && target.is_literal { Ok(()) } else { self.command.add(WRITES_FILE.to_owned()) }
    }

    fn target(&mut self, depth: usize) -> Result<Word, Opaque> {
        while self.skip("\\\n") || self.skip(" ") || self.skip("\t") {}
        match self.peek() {
            None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => Err(Opaque),
            Some(_) => self.word(depth),
        }
    }

    /// Passes over the texts that were announced on the line that has just ended.
    fn here_texts(&mut self) -> Result<(), Opaque> {
        for here in std::mem::take(&mut self.here) {
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return Err(Opaque);
                }
                let line = rest.split('\n').next().unwrap_or_default();
                let is_last = line.len() == rest.len();
                let unindented = if here.is_indented { line.trim_start_matches('\t') } else { line };
                let is_mark = unindented == here.mark;
                if !is_mark
                    && !here.is_quoted
                    && (line.contains("$(") || line.contains('`') || line.ends_with('\\'))
                {
                    return Err(Opaque);
                }
                let is_filled_in = !is_mark && !here.is_quoted && line.contains('$');
                self.at += line.len() + usize::from(!is_last);
                if is_filled_in {
                    self.command.note(OUTSIDE.to_owned())?;
                }
                if is_mark {
                    break;
                }
                if is_last {
                    return Err(Opaque);
                }
            }
        }
        Ok(())
    }

    /// A command has ended: names what it runs.
    fn end(&mut self, words: &mut Vec<Word>, depth: usize) -> Result<(), Opaque> {
        let words = std::mem::take(words);
        let mut words = words.as_slice();
        let is_redirected = std::mem::take(&mut self.is_redirected);
        if is_redirected && words.first().is_some_and(|first| first.is_reserved() || first.is_bare("for")) {
            self.command.opaque = true;
        }
        while let Some((first, rest)) = words.split_first() {
            if !first.is_reserved() {
                break;
            }
            words = rest;
        }
        if words.first().is_some_and(|first| first.is_bare("for")) {
            // Its words are values; what is done with them follows `do`.
            let is_own = words.get(1).is_some_and(Word::is_scratch_variable);
            return if is_own { Ok(()) } else { self.command.add(SETS_VARIABLE.to_owned()) };
        }
        while let Some((_, rest)) = words.split_first().filter(|(first, _)| first.is_assignment) {
            self.command.add(SETS_VARIABLE.to_owned())?;
            words = rest;
        }
        self.run(words, depth)
    }

    /// Names the program that these words run, and those that it runs in turn.
    fn run(&mut self, words: &[Word], depth: usize) -> Result<(), Opaque> {
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        let Some(name) = first.program() else {
            self.command.opaque = true;
            return Ok(());
        };
        let base = name.rsplit('/').next().unwrap_or(name);
        if base != name {
            self.command.note(base.to_owned())?;
        }
        if reaches_outside(name, rest, self.cwd) {
            self.command.note(OUTSIDE.to_owned())?;
        }
        match programs::follow(name, rest) {
            Following::Named(name) => self.command.add(name),
            Following::Doing(doing) => {
                self.command.add(name.to_owned())?;
                self.command.note(doing)
            }
            Following::Runs(more) => {
                self.command.add(name.to_owned())?;
                self.run(more, depth)
            }
            Following::Script(shown, script) => {
                self.command.add(shown)?;
                self.command.read(&script, self.cwd, depth + 1)
            }
            // What follows is read all the same: a rule may deny it.
            Following::Opaque => {
                self.command.opaque = true;
                self.command.add(name.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;

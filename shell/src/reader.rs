//! The grammar: one pass over a text, which ends at the first character that the grammar does not have.
//!
//! Nothing is skipped and nothing is guessed. A rule that only some shells have makes the text unreadable.

use crate::characters::{
    construct, is_escapable, is_of_program, is_plain, is_quotable, is_special_in_double_quotes,
    keeps_backslash,
};
use crate::line::{CommandConnector, CommandLine, Redirection, RedirectionKind, ShellWord, SimpleCommand};
use crate::shell_words::{check_builtin, is_shell_word};
use crate::unreadable::{Construct, UnreadableCommand};

/// The longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The simple commands that a text may have.
pub const MAX_COMMANDS: usize = 64;
/// The words that a text may have, those of redirections among them.
pub const MAX_WORDS: usize = 4096;

/// A text that is being read.
pub(crate) struct LineReader<'t> {
    text: &'t str,
    at: usize,
    words: usize,
}

impl<'t> LineReader<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self, UnreadableCommand> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(UnreadableCommand { construct: Construct::TooLong, offset: MAX_TEXT_BYTES });
        }
        Ok(Self { text, at: 0, words: 0 })
    }

    /// Reads all commands.
    pub(crate) fn read(mut self) -> Result<CommandLine, UnreadableCommand> {
        let mut commands: Vec<SimpleCommand> = Vec::new();
        let mut joint = CommandConnector::First;
        loop {
            self.skip_lines();
            if self.peek().is_none() {
                return match joint {
                    CommandConnector::First => Err(self.unreadable(Construct::Empty)),
                    CommandConnector::Then => Ok(CommandLine { commands }),
                    CommandConnector::Pipe | CommandConnector::And | CommandConnector::Or => {
                        Err(self.unreadable(Construct::MissingCommand))
                    }
                };
            }
            if commands.len() >= MAX_COMMANDS {
                return Err(self.unreadable(Construct::TooManyCommands));
            }
            commands.push(self.command(joint)?);
            joint = match self.joint()? {
                Some(joint) => joint,
                None => return Ok(CommandLine { commands }),
            };
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes a text, if it stands here.
    fn take(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    fn skip_while(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.at += self.rest().len() - self.rest().trim_start_matches(is_skipped).len();
    }

    /// Skips blanks, and lines that go on: a backslash at the end of a line, behind a blank.
    fn skip_blanks(&mut self) {
        let begin = self.at;
        self.skip_while(|next| matches!(next, ' ' | '\t'));
        while self.at > begin && self.take("\\\n") {
            self.skip_while(|next| matches!(next, ' ' | '\t'));
        }
    }

    /// Skips blanks and the ends of lines.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.take("\n") {
                return;
            }
        }
    }

    fn unreadable(&self, construct: Construct) -> UnreadableCommand {
        UnreadableCommand { construct, offset: self.at }
    }

    /// Reads the joint of the next command with the one that has just ended. `None` at the end of the text.
    fn joint(&mut self) -> Result<Option<CommandConnector>, UnreadableCommand> {
        let joint = match self.peek() {
            None => return Ok(None),
            Some('\n' | ';') => {
                self.at += 1;
                CommandConnector::Then
            }
            Some(_) if self.take("&&") => CommandConnector::And,
            Some(_) if self.take("||") => CommandConnector::Or,
            Some(_) if self.take("|") => CommandConnector::Pipe,
            Some(other) => return Err(self.unreadable(construct(other))),
        };
        Ok(Some(joint))
    }

    /// Reads a program, its arguments and redirections, up to the next joint.
    fn command(&mut self, joint: CommandConnector) -> Result<SimpleCommand, UnreadableCommand> {
        let offset = self.at;
        let mut command =
            SimpleCommand { joint, words: vec![self.program()?], redirections: Vec::new(), offset };
        loop {
            let before = self.at;
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|') => break,
                Some(other) if before == self.at => return Err(self.unreadable(construct(other))),
                Some(_) if self.is_at_redirection() => {
                    let redirection = self.redirection()?;
                    command.redirections.push(redirection);
                }
                Some(_) => {
                    let is_behind_dashes = command.words.iter().any(|word| word.text == "--");
                    let word = self.word()?;
                    check_glob(&word, is_behind_dashes)?;
                    command.words.push(word);
                }
            }
        }
        check_builtin(&command)?;
        Ok(command)
    }

    /// Reads the word that names a program.
    fn program(&mut self) -> Result<ShellWord, UnreadableCommand> {
        let rest = self.rest();
        let name = rest.split(|next: char| !is_of_program(next)).next().unwrap_or_default();
        let behind = rest.get(name.len()..).unwrap_or_default().chars().next();
        let is_whole = matches!(behind, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|'));
        if !is_whole || name.is_empty() || name.starts_with(['-', '+']) {
            return Err(self.not_a_program(name, behind));
        }
        if is_shell_word(name) {
            return Err(self.unreadable(Construct::ShellWord));
        }
        let word = ShellWord { text: name.to_owned(), is_glob: false, is_quoted: false, offset: self.at };
        self.count_word()?;
        self.at += name.len();
        Ok(word)
    }

    /// Says why no program's name stands here.
    fn not_a_program(&self, name: &str, behind: Option<char>) -> UnreadableCommand {
        let is_variable = |name: &str| {
            !name.starts_with(|first: char| first.is_ascii_digit())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let found = match behind {
            Some('=') if !name.is_empty() && is_variable(name.trim_end_matches('+')) => Construct::Assignment,
            Some('=') if name.is_empty() => Construct::Equals,
            None | Some(' ' | '\t' | '\n' | '\'' | '"' | '=' | ':' | ',' | '@' | '%') => {
                Construct::ProgramName
            }
            Some(';' | '|') if !name.is_empty() => Construct::ProgramName,
            Some(other) => {
                return UnreadableCommand { construct: construct(other), offset: self.at + name.len() };
            }
        };
        self.unreadable(found)
    }

    fn count_word(&mut self) -> Result<(), UnreadableCommand> {
        self.words += 1;
        if self.words > MAX_WORDS { Err(self.unreadable(Construct::TooManyWords)) } else { Ok(()) }
    }

    /// Returns `true` if `<`, `>` or a number before them stands here.
    fn is_at_redirection(&self) -> bool {
        self.rest().trim_start_matches(|next: char| next.is_ascii_digit()).starts_with(['<', '>'])
    }

    fn redirection(&mut self) -> Result<Redirection, UnreadableCommand> {
        if self.rest().starts_with("<<") {
            return Err(self.unreadable(Construct::HereDocument));
        }
        if self.rest().starts_with("<(") || self.rest().starts_with(">(") {
            return Err(self.unreadable(Construct::ProcessSubstitution));
        }
        let offset = self.at;
        if self.take("2>&1") || self.take("1>&2") || self.take(">&2") {
            let is_whole = matches!(self.peek(), None | Some(' ' | '\t' | '\n' | ';' | '&' | '|'));
            return if is_whole {
                Ok(Redirection { kind: RedirectionKind::Harmless, file: None })
            } else {
                Err(UnreadableCommand { construct: Construct::Redirection, offset })
            };
        }
        let kind = if self.take("2>>") || self.take("2>") || self.take(">>") || self.take(">") {
            RedirectionKind::Writes
        } else if self.take("<") {
            RedirectionKind::Reads
        } else {
            return Err(self.unreadable(Construct::Redirection));
        };
        self.skip_blanks();
        let begins_word = |next: char| is_plain(next) || matches!(next, '\'' | '"');
        if !self.peek().is_some_and(begins_word) {
            return Err(UnreadableCommand { construct: Construct::Redirection, offset });
        }
        let file = self.word()?;
        match file.text.as_str() {
            "/dev/null" if kind == RedirectionKind::Writes => {
                Ok(Redirection { kind: RedirectionKind::Harmless, file: None })
            }
            "/dev/null" => Ok(Redirection { kind, file: Some(file) }),
            // Some shells open connections, or copy descriptors, for names of this folder.
            path if file.is_glob || path.is_empty() || path.starts_with("/dev/") => {
                Err(UnreadableCommand { construct: Construct::Redirection, offset })
            }
            _ => Ok(Redirection { kind, file: Some(file) }),
        }
    }

    /// Reads a word: pieces that are plain, in single quotes or in double quotes.
    fn word(&mut self) -> Result<ShellWord, UnreadableCommand> {
        self.count_word()?;
        let mut word = ShellWord { text: String::new(), is_glob: false, is_quoted: false, offset: self.at };
        // The character before, if it was outside of quotes.
        let mut before = None;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' => break,
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                // Empty quotes before it do not count.
                '=' if word.text.is_empty() => return Err(self.unreadable(Construct::Equals)),
                // Behind anything else `~` is a home folder to some shells, and `^` a word of the history.
                '~' | '^' if before.is_some_and(|before: char| before.is_ascii_alphanumeric()) => {
                    word.text.push(next);
                }
                '*' | '?' => {
                    word.is_glob = true;
                    word.text.push(next);
                }
                _ if is_plain(next) => word.text.push(next),
                _ => return Err(self.unreadable(construct(next))),
            }
            let is_quote = matches!(next, '\'' | '"');
            before = (!is_quote).then_some(next);
            if !is_quote {
                self.at += next.len_utf8();
            }
        }
        Ok(word)
    }

    fn single_quotes(&mut self, word: &mut ShellWord) -> Result<(), UnreadableCommand> {
        let inner = self.rest().get(1..).unwrap_or_default();
        let Some((content, behind)) = inner.split_once('\'') else {
            return Err(self.unreadable(Construct::OpenQuote));
        };
        if let Some((index, other)) = content.char_indices().find(|(_, other)| !is_quotable(*other)) {
            return Err(UnreadableCommand { construct: construct(other), offset: self.at + 1 + index });
        }
        word.text.push_str(content);
        word.is_quoted = true;
        self.at += content.len() + 2;
        if behind.starts_with('\'') { Err(self.unreadable(Construct::AdjacentQuotes)) } else { Ok(()) }
    }

    fn double_quotes(&mut self, word: &mut ShellWord) -> Result<(), UnreadableCommand> {
        let begin = self.at;
        word.is_quoted = true;
        self.at += 1;
        loop {
            let Some(next) = self.peek() else {
                return Err(UnreadableCommand { construct: Construct::OpenQuote, offset: begin });
            };
            match next {
                '"' => break,
                '\\' => {
                    self.backslash(word)?;
                    continue;
                }
                '$' => return Err(self.unreadable(Construct::QuotedExpansion)),
                _ if is_special_in_double_quotes(next) || !is_quotable(next) => {
                    return Err(self.unreadable(construct(next)));
                }
                _ => word.text.push(next),
            }
            self.at += next.len_utf8();
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a backslash in double quotes, with the character behind it.
    fn backslash(&mut self, word: &mut ShellWord) -> Result<(), UnreadableCommand> {
        match self.rest().chars().nth(1) {
            Some(next) if is_escapable(next) => word.text.push(next),
            Some(next) if keeps_backslash(next) => word.text.extend(['\\', next]),
            _ => return Err(self.unreadable(Construct::QuotedBackslash)),
        }
        // Both are ASCII.
        self.at += 2;
        Ok(())
    }
}

/// Refuses a glob that could stand for an option, for a folder above, or for a whole tree.
fn check_glob(word: &ShellWord, is_behind_dashes: bool) -> Result<(), UnreadableCommand> {
    let is_glob = |letter| matches!(letter, '*' | '?');
    // All names begin with the folder that is written out, so that none is an option or a word that a program knows.
    let begins_as_path = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '/');
    let is_below_folder = word.text.starts_with(begins_as_path)
        && word.text.split(is_glob).next().is_some_and(|before| before.contains('/'));
    // `.*` matches `..` in some shells, and `**` goes down into folders in some.
    let is_bounded = |step: &str| !step.contains(is_glob) || !step.starts_with('.') && !step.contains("**");
    let has_place = is_behind_dashes || is_below_folder;
    let is_read =
        !word.is_quoted && has_place && is_clean(&word.text) && word.text.split('/').all(is_bounded);
    if !word.is_glob || is_read {
        return Ok(());
    }
    Err(UnreadableCommand { construct: Construct::Glob, offset: word.offset })
}

/// Returns `true` of a path whose steps each go down into a folder, behind any that go up. bash leaves empty steps out of the names
/// it finds, so that the names would differ from the pattern.
fn is_clean(path: &str) -> bool {
    let relative = path.strip_prefix("./").or(path.strip_prefix('/')).unwrap_or(path);
    let below = relative.trim_start_matches("../");
    let below = below.strip_suffix('/').unwrap_or(below);
    below.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

#[cfg(test)]
mod tests;

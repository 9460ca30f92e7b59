//! The arguments of a command against the options and operands that a use lists.

use super::ProgramCall;
use super::entry::{Check, OperandMeaning, Operands, OptionValue, ProgramUse, Style};
use super::globs::as_glob;
use crate::action::{Access, Effect, FileUse};
use crate::line::ShellWord;
use crate::unreadable::{Construct, UnreadableCommand};

/// The arguments of a command, as its use reads them.
pub(super) struct CommandArguments<'w> {
    /// The name that the program is called by, without folders.
    pub(super) name: &'w str,
    /// The use that lists them.
    pub(super) used: &'static ProgramUse,
    /// `true` if another program writes into it.
    pub(super) is_piped: bool,
    /// `true` if it may run in another folder than the line began in.
    pub(super) is_elsewhere: bool,
    /// The folder that the line began in, if it is known.
    pub(super) cwd: Option<&'w str>,
    /// The byte at which the command begins.
    pub(super) offset: usize,
    /// The options, in order.
    pub(super) options: Vec<CommandOption>,
    /// The operands, in order.
    pub(super) operands: Vec<Operand<'w>>,
}

/// An option that stands in a command.
pub(super) struct CommandOption {
    /// Its name, as the table spells it.
    pub(super) name: &'static str,
    /// Its value.
    pub(super) value: Option<String>,
    /// The kind of the value.
    takes: Option<OptionValue>,
    /// `true` if it is a text that some programs take for a file.
    may_be_file: bool,
}

/// A word that is no option.
#[derive(Clone, Copy)]
pub(super) struct Operand<'w> {
    pub(super) word: &'w ShellWord,
    /// `true` if `--` stands before it.
    pub(super) is_behind_dashes: bool,
}

/// Returns the refusal of an argument that is not listed.
pub(super) fn unlisted(offset: usize) -> UnreadableCommand {
    UnreadableCommand { construct: Construct::UnlistedArgument, offset }
}

/// Returns `true` if a word, or a name that it matches, begins with `@`.
fn may_begin_with_at(word: &ShellWord) -> bool {
    word.text.starts_with('@') || word.is_glob && word.text.starts_with(['*', '?', '[', '{', '+', '!', '\\'])
}

impl<'w> CommandArguments<'w> {
    /// Reads the words behind the program and the words of the use.
    ///
    /// # Errors
    /// An option that the use does not list, or a value that it does not take.
    pub(super) fn read(
        call: ProgramCall<'w>,
        name: &'w str,
        used: &'static ProgramUse,
        words: &'w [ShellWord],
    ) -> Result<CommandArguments<'w>, UnreadableCommand> {
        if used.has_argument_files
            && let Some(odd) = words.iter().find(|word| may_begin_with_at(word))
        {
            return Err(unlisted(odd.offset));
        }
        let mut args = CommandArguments {
            name,
            used,
            is_piped: call.is_piped,
            is_elsewhere: call.is_elsewhere,
            cwd: call.cwd,
            offset: call.program.offset,
            options: Vec::new(),
            operands: Vec::with_capacity(words.len()),
        };
        let mut rest = words;
        let mut has_ended = used.style == Style::Words;
        let is_leading = matches!(used.style, Style::Leading | Style::SingleLeading);
        let mut is_behind_dashes = false;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            if !has_ended && word.text == "--" && !word.is_glob {
                (has_ended, is_behind_dashes) = (true, true);
            } else if has_ended || word.text.len() < 2 || !word.text.starts_with('-') {
                has_ended |= is_leading;
                args.operands.push(Operand { word, is_behind_dashes });
            } else if word.is_glob {
                return Err(unlisted(word.offset));
            } else {
                rest = args.option(word, rest)?;
            }
        }
        Ok(args)
    }

    /// Returns `true` if one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.name))
    }

    /// Returns the operand as a text that names no file.
    ///
    /// # Errors
    /// It is a glob, or not such a text.
    pub(super) fn text(&self, operand: Operand<'w>, check: Check) -> Result<&'w str, UnreadableCommand> {
        let word = operand.word;
        // Behind `--`, a dash begins no option.
        let is_text = check.takes(&word.text) || operand.is_behind_dashes && matches!(check, Check::Any);
        if word.is_glob || !is_text { Err(unlisted(word.offset)) } else { Ok(&word.text) }
    }

    /// Returns the operand as a file. A single dash stands for the standard input where a program only looks, and is none.
    ///
    /// # Errors
    /// It is a glob whose names could be options.
    pub(super) fn file(
        &self,
        operand: Operand<'w>,
        access: Access,
    ) -> Result<Option<FileUse>, UnreadableCommand> {
        let word = operand.word;
        if word.is_glob && !(word.text.starts_with("./") || operand.is_behind_dashes) || word.text.is_empty()
        {
            return Err(unlisted(word.offset));
        }
        if word.text == "-" && !word.is_glob && self.used.effect == Effect::Looks {
            return Ok(None);
        }
        Ok(Some(FileUse { path: word.text.clone(), access, is_pattern: word.is_glob }))
    }

    /// Returns these operands as files.
    ///
    /// # Errors
    /// As [`CommandArguments::file`].
    pub(super) fn files(
        &self,
        operands: &[Operand<'w>],
        access: Access,
    ) -> Result<Vec<FileUse>, UnreadableCommand> {
        let mut files = Vec::with_capacity(operands.len());
        for operand in operands {
            let Some(file) = self.file(*operand, access)? else { continue };
            // A folder may be among the names that match: then so is whatever lies below it.
            let goes_through = matches!(
                access,
                Access::ReadsTree | Access::ReadsTracked | Access::ShowsTracked | Access::ReadsStored
            );
            let below = file.is_pattern && goes_through;
            let below = below.then(|| FileUse { path: format!("{}/**", file.path), ..file.clone() });
            files.push(file);
            files.extend(below);
        }
        Ok(files)
    }

    /// Returns the meaning of the operands, with the files that options name.
    ///
    /// # Errors
    /// An operand that the use does not list, or no flag of those that it needs.
    pub(super) fn meaning(&self) -> Result<OperandMeaning, UnreadableCommand> {
        let mut needed = self.used.needs.split_whitespace().peekable();
        if needed.peek().is_some() && !needed.any(|flag| self.has(&[flag])) {
            return Err(unlisted(self.offset));
        }
        let mut meaning = match self.used.operands {
            Operands::None => match self.operands.first() {
                None => OperandMeaning::default(),
                Some(operand) => return Err(unlisted(operand.word.offset)),
            },
            Operands::Texts(check) => {
                for operand in &self.operands {
                    self.text(*operand, check)?;
                }
                OperandMeaning::default()
            }
            Operands::Files(access) => OperandMeaning::of(self.files(&self.operands, access)?),
            Operands::FilesOrHere(access) => {
                let files = self.files(&self.operands, access)?;
                OperandMeaning::of(if files.is_empty() { vec![here(access)] } else { files })
            }
            Operands::By(rule, _) => rule(self)?,
        };
        let mut files = self.option_files();
        files.append(&mut meaning.files);
        meaning.files = files;
        Ok(meaning)
    }

    fn option_files(&self) -> Vec<FileUse> {
        let named = |option: &CommandOption| {
            let path = option.value.clone()?;
            match option.takes? {
                OptionValue::File(_) if path == "-" => None,
                OptionValue::File(access) => Some(FileUse { path, access, is_pattern: false }),
                OptionValue::Pattern(access) => {
                    Some(FileUse { path: as_glob(&path)?, access, is_pattern: true })
                }
                _ if option.may_be_file => Some(FileUse { path, access: Access::Reads, is_pattern: false }),
                OptionValue::Text(_) | OptionValue::Perhaps(_) | OptionValue::UnlessLast(_) => None,
            }
        };
        self.options.iter().filter_map(named).collect()
    }

    /// Reads an option, and returns the words behind it and its value.
    fn option(
        &mut self,
        word: &ShellWord,
        rest: &'w [ShellWord],
    ) -> Result<&'w [ShellWord], UnreadableCommand> {
        let text = word.text.as_str();
        let is_single = matches!(self.used.style, Style::Single | Style::SingleLeading);
        // Go takes `--name` for `-name`.
        let dashed =
            if is_single { text.strip_prefix('-').filter(|rest| rest.starts_with('-')) } else { None };
        let text = dashed.unwrap_or(text);
        if let Some(name) = self.flag(text) {
            self.options.push(CommandOption { name, value: None, takes: None, may_be_file: false });
            return Ok(rest);
        }
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) if is_single || text.starts_with("--") => (name, Some(value)),
            _ => (text, None),
        };
        if let Some((name, takes)) = self.value(name) {
            return self.valued(word, name, takes, attached, rest);
        }
        if is_single || text.starts_with("--") {
            return Err(unlisted(word.offset));
        }
        self.short(word, rest)
    }

    /// `-20`, `-Nvalue`, or flags in one word.
    fn short(
        &mut self,
        word: &ShellWord,
        rest: &'w [ShellWord],
    ) -> Result<&'w [ShellWord], UnreadableCommand> {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        if Check::Number.takes(letters)
            && let Some(name) = self.flag("-#")
        {
            self.options.push(CommandOption {
                name,
                value: Some(letters.to_owned()),
                takes: None,
                may_be_file: false,
            });
            return Ok(rest);
        }
        let mut chars = letters.chars();
        let first: String = chars.next().map(|letter| format!("-{letter}")).unwrap_or_default();
        if let Some((name, takes)) = self.value(&first) {
            return self.valued(word, name, takes, Some(chars.as_str()), rest);
        }
        for letter in letters.chars() {
            let name = self.flag(&format!("-{letter}")).ok_or_else(|| unlisted(word.offset))?;
            self.options.push(CommandOption { name, value: None, takes: None, may_be_file: false });
        }
        Ok(rest)
    }

    fn valued(
        &mut self,
        word: &ShellWord,
        name: &'static str,
        takes: OptionValue,
        attached: Option<&str>,
        rest: &'w [ShellWord],
    ) -> Result<&'w [ShellWord], UnreadableCommand> {
        let is_listed = |value: &str, is_attached: bool| match takes {
            // A value of its own word that begins with a dash is an option to programs that read this one without a value.
            OptionValue::Text(Check::Any) | OptionValue::UnlessLast(Check::Any) => {
                is_attached || Check::Any.takes(value)
            }
            OptionValue::Text(check) | OptionValue::Perhaps(check) | OptionValue::UnlessLast(check) => {
                check.takes(value)
            }
            OptionValue::File(_) => {
                !value.is_empty() && (is_attached || value == "-" || Check::Any.takes(value))
            }
            OptionValue::Pattern(_) => (is_attached || Check::Any.takes(value)) && as_glob(value).is_some(),
        };
        let (value, rest) = match (attached, takes) {
            (Some(value), OptionValue::Perhaps(Check::Any)) => (Some(value), rest),
            (Some(value), _) if is_listed(value, true) => (Some(value), rest),
            (None, OptionValue::Perhaps(_)) => (None, rest),
            (None, OptionValue::UnlessLast(_)) if rest.is_empty() => (None, rest),
            (None, _) => match rest.split_first() {
                Some((value, rest)) if !value.is_glob && is_listed(&value.text, false) => {
                    (Some(value.text.as_str()), rest)
                }
                _ => return Err(unlisted(word.offset)),
            },
            _ => return Err(unlisted(word.offset)),
        };
        let is_separate = attached.is_none() && value.is_some();
        let may_be_file = is_separate && self.used.style == Style::Gnu && !self.operands.is_empty();
        self.options.push(CommandOption {
            name,
            value: value.map(str::to_owned),
            takes: Some(takes),
            may_be_file,
        });
        Ok(rest)
    }

    fn flag(&self, name: &str) -> Option<&'static str> {
        self.used.flags.iter().flat_map(|flags| flags.split_whitespace()).find(|flag| *flag == name)
    }

    fn value(&self, name: &str) -> Option<(&'static str, OptionValue)> {
        let named = |(names, takes): &'static (&'static str, OptionValue)| {
            names.split_whitespace().find(|listed| *listed == name).map(|listed| (listed, *takes))
        };
        self.used.values.iter().flat_map(|values| values.iter()).find_map(named)
    }
}

/// Returns the use of the working folder.
pub(super) fn here(access: Access) -> FileUse {
    FileUse { path: ".".to_owned(), access, is_pattern: false }
}

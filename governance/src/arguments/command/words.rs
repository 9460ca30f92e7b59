//! Words of a shell: what is quoted, what is put in, what could become something else.

use super::{Opaque, Script};

/// Words that introduce a command or end one, and run nothing themselves.
const RESERVED: [&str; 14] =
    ["!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "in"];
/// Words that introduce what this reader does not follow.
const NOT_FOLLOWED: [&str; 6] = ["case", "function", "select", "coproc", "[[", "(("];

/// One word, without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// It stands for itself: nothing is put in, and nothing can make it several words or another one.
    pub(super) is_literal: bool,
    /// Some of it was quoted or escaped.
    pub(super) is_quoted: bool,
    /// It sets a variable, if it stands before a program.
    pub(super) is_assignment: bool,
    /// Something is put in that cannot be told from the text.
    pub(super) has_expansion: bool,
    /// What is put in may begin it, or become several words.
    pub(super) is_open: bool,
}

impl Word {
    /// Whether it is exactly this, unquoted, with nothing put in.
    pub(super) fn is_bare(&self, text: &str) -> bool {
        self.text == text && !self.is_quoted && !self.has_expansion
    }

    /// Whether it is a number, which before `<` and `>` stands for what is opened.
    pub(super) fn is_descriptor(&self) -> bool {
        let is_number = !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit());
        is_number && self.is_literal && !self.is_quoted
    }

    pub(super) fn is_reserved(&self) -> bool {
        RESERVED.iter().any(|reserved| self.is_bare(reserved)) && self.text != "in" && self.text != "esac"
    }

    /// Whether a program may take it for an option that does not stand here: what is put in, and what stands for names of files,
    /// may begin with a dash.
    pub(super) fn may_be_any_option(&self) -> bool {
        self.is_open || !self.is_literal && self.text.starts_with(['*', '?', '[', '{'])
    }

    /// Whether it can be the variable of a loop that no program reads: those that programs and shells know have other names.
    pub(super) fn is_scratch_variable(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        self.is_literal && self.text.chars().all(is_plain) && !self.text.ends_with("proxy")
    }

    /// The program that it names, where it stands first.
    pub(super) fn program(&self) -> Option<&str> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+@%:-[".contains(c);
        let is_name = self.text.len() <= 200
            && !self.text.is_empty()
            && self.text.chars().all(is_plain)
            && !self.text.starts_with(['-', '%'])
            && (self.text == "[" || !self.text.contains('['));
        let is_followed = !NOT_FOLLOWED.iter().any(|word| self.is_bare(word));
        (self.is_literal && is_name && is_followed).then_some(self.text.as_str())
    }
}

impl Script<'_, '_> {
    /// Reads one word; commands that are put into it are read as commands.
    pub(super) fn word(&mut self, depth: usize) -> Result<Word, Opaque> {
        let mut word = Word { is_literal: true, ..Word::default() };
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        None => return Err(Opaque),
                        Some('\n') => {}
                        Some(escaped) => {
                            word.is_quoted = true;
                            word.text.push(escaped);
                        }
                    }
                }
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word, depth)?,
                '$' => self.expansion(&mut word, depth, false)?,
                '`' => return Err(Opaque),
                _ => {
                    self.at += next.len_utf8();
                    if next == '=' && !word.is_quoted && word.is_literal {
                        word.is_assignment |= is_variable(&word.text);
                    }
                    // What the shell replaces by names of files, or by several words.
                    let is_pattern = matches!(next, '*' | '?' | '[' | '{' | '~');
                    let is_test = next == '[' && word.text.is_empty() && is_alone(self.rest());
                    let is_group = next == '{' && word.text.is_empty() && is_alone(self.rest());
                    if is_pattern && !is_test && !is_group {
                        word.is_literal = false;
                    }
                    word.text.push(next);
                }
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), Opaque> {
        self.at += 1;
        let rest = self.rest();
        let end = rest.find('\'').ok_or(Opaque)?;
        word.text.push_str(rest.get(..end).unwrap_or_default());
        word.is_quoted = true;
        self.at += end + 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word, depth: usize) -> Result<(), Opaque> {
        self.at += 1;
        word.is_quoted = true;
        loop {
            match self.peek() {
                None | Some('`') => return Err(Opaque),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('$') => self.expansion(word, depth, true)?,
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        None => return Err(Opaque),
                        Some('\n') => {}
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => word.text.push(escaped),
                        Some(other) => {
                            word.text.push('\\');
                            word.text.push(other);
                        }
                    }
                }
                Some(next) => {
                    self.at += next.len_utf8();
                    word.text.push(next);
                }
            }
        }
    }

    /// What is put in for `$…`: a variable is passed over, a command read.
    fn expansion(&mut self, word: &mut Word, depth: usize, in_quotes: bool) -> Result<(), Opaque> {
        self.at += 1;
        let begins = word.text.is_empty();
        match self.peek() {
            Some('(') if self.rest().starts_with("((") => Err(Opaque),
            Some('(') => {
                word.is_literal = false;
                word.has_expansion = true;
                word.is_open |= begins || !in_quotes;
                self.at += 1;
                self.commands(depth + 1, Some(')'))
            }
            Some('{') => {
                word.is_literal = false;
                word.has_expansion = true;
                let rest = self.rest();
                let end = rest.find('}').ok_or(Opaque)?;
                let inside = rest.get(1..end).unwrap_or_default();
                // `=` would set it.
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:#%/.-!?+,^@*".contains(c);
                if !inside.chars().all(is_plain) || inside.contains("@P") {
                    return Err(Opaque);
                }
                word.is_open |= begins || !in_quotes || inside.contains('@');
                self.at += end + 1;
                Ok(())
            }
            // Its escapes are another language.
            Some('\'') if !in_quotes => Err(Opaque),
            Some('"') if !in_quotes => {
                word.is_literal = false;
                Ok(())
            }
            Some('[') => Err(Opaque),
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                word.is_literal = false;
                word.has_expansion = true;
                word.is_open |= begins || !in_quotes || c == '@';
                Ok(())
            }
            _ => {
                word.text.push('$');
                Ok(())
            }
        }
    }
}

fn is_variable(text: &str) -> bool {
    let name = text.strip_suffix('+').unwrap_or(text);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_alone(rest: &str) -> bool {
    rest.starts_with([' ', '\t', '\n']) || rest.is_empty()
}

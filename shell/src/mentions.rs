//! The programs that an unreadable text seems to run: for rules that deny or review, and for people.
//! Nothing is allowed because of them.
//!
//! This reader guesses. It follows no shell in particular, forgives missing ends, and looks into texts within texts.

mod calls;
mod pieces;

use crate::action::{Access, Effect, FileUse, ShellAction};
use crate::reader::MAX_TEXT_BYTES;
use calls::MentionedCall;
use pieces::{CommandPiece, NESTED};

/// The actions that are told of one text.
const MAX_MENTIONS: usize = 256;
/// The files that are told of one action.
const MAX_MENTIONED_FILES: usize = 64;
/// Texts within one another that are looked into.
const MAX_MENTION_DEPTH: usize = 8;
/// The arguments of one call that are looked at.
const MAX_MENTIONED_ARGUMENTS: usize = 1024;
/// The programs that one command runs in turn, each by the one before it.
const MAX_RUNS: usize = 16;
/// The longest word that is taken for a file, in bytes.
const MAX_MENTIONED_PATH_BYTES: usize = 4096;
/// The words that one word with braces stands for.
const MAX_ALTERNATIVES: usize = 16;
/// The part that is told of a program that runs its own download.
const DOWNLOAD_AND_RUN: &str = "download | run";

/// Returns the programs and files that a text seems to name.
#[must_use]
pub fn mentions(text: &str) -> Vec<ShellAction> {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut found = Mentions::default();
    found.look_into(text.get(..end).unwrap_or_default(), 0);
    found.actions
}

/// The mentions that were found so far.
#[derive(Default)]
struct Mentions {
    actions: Vec<ShellAction>,
    /// Programs that download.
    downloads: usize,
}

impl Mentions {
    fn look_into(&mut self, text: &str, depth: usize) {
        if depth >= MAX_MENTION_DEPTH {
            return;
        }
        // The programs that download, before the pipe that is being read.
        let mut downloads_before = self.downloads;
        for piece in pieces::pieces(text) {
            if !piece.is_piped {
                downloads_before = self.downloads;
            }
            if self.actions.len() >= MAX_MENTIONS {
                return;
            }
            self.piece(&piece, downloads_before, depth);
        }
    }

    fn piece(&mut self, piece: &CommandPiece, downloads_before: usize, depth: usize) {
        let gets_download = piece.is_piped && self.downloads > downloads_before;
        let downloads = self.downloads;
        for nested in &piece.nested {
            self.look_into(nested, depth + 1);
        }
        let holds_download = self.downloads > downloads;
        let alternatives: Vec<String> = piece.words.iter().flat_map(|word| alternatives(word)).collect();
        let mut call = MentionedCall::new(&alternatives);
        let mut is_runner = false;
        let mut is_shell = false;
        for _ in 0..MAX_RUNS {
            let Some(program) = call.program() else { break };
            self.downloads += usize::from(call.downloads());
            if program != NESTED {
                self.add(program.to_owned(), call.part(), files(&call));
            }
            is_runner |= call.runs_what_is_piped() && gets_download || call.runs_text() && holds_download;
            is_shell |= call.reads_scripts();
            if let Some(text) = call.text() {
                self.look_into(&text, depth + 1);
            }
            call = call.next();
        }
        if !call.assigned.is_empty() {
            self.add(
                String::new(),
                "=".to_owned(),
                call.assigned.iter().filter_map(|value| file(value)).collect(),
            );
        }
        if is_runner {
            self.add(String::new(), DOWNLOAD_AND_RUN.to_owned(), Vec::new());
        }
        for (target, writes) in &piece.redirections {
            let (part, access) = if *writes { (">", Access::Writes) } else { ("<", Access::Reads) };
            if let Some(file) = file(target) {
                self.add(String::new(), part.to_owned(), vec![FileUse { access, ..file }]);
            }
        }
        for document in piece.documents.iter().filter(|_| is_shell) {
            self.look_into(document, depth + 1);
        }
    }

    fn add(&mut self, program: String, part: String, files: Vec<FileUse>) {
        let action = ShellAction { program, part, effect: Effect::Unknown, files };
        if self.actions.len() < MAX_MENTIONS && !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }
}

/// Returns the files that a call's arguments seem to name, each once.
fn files(call: &MentionedCall<'_>) -> Vec<FileUse> {
    let mut found: Vec<FileUse> = Vec::new();
    for argument in call.arguments().iter().take(MAX_MENTIONED_ARGUMENTS) {
        // Options with a value, revisions with a path, hosts with one.
        let values = argument.split(['=', ':', '@']).skip(1);
        let whole = (!argument.starts_with('-')).then_some(argument.as_str());
        for text in whole.into_iter().chain(values) {
            let access = if call.enters_folder() { Access::Enters } else { Access::Reads };
            let Some(file) = file(text).map(|file| FileUse { access, ..file }) else { continue };
            if found.len() < MAX_MENTIONED_FILES && !found.contains(&file) {
                found.push(file);
            }
        }
    }
    found
}

/// Returns the file that a word seems to name.
fn file(word: &str) -> Option<FileUse> {
    let is_name = word.chars().any(char::is_alphanumeric) && !word.contains(char::is_whitespace);
    let is_file = is_name && word.len() <= MAX_MENTIONED_PATH_BYTES;
    let is_pattern = word.contains(['*', '?', '[']);
    is_file.then(|| FileUse { path: word.to_owned(), access: Access::Reads, is_pattern })
}

/// Returns the words that a word with braces stands for in some shells: `a{b,c}` for `ab` and `ac`.
fn alternatives(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![word.to_owned()];
    while let Some(word) = waiting.pop() {
        let choices = braces(&word).filter(|_| done.len() + waiting.len() < MAX_ALTERNATIVES);
        match choices {
            Some(mut choices) => {
                choices.reverse();
                waiting.append(&mut choices);
            }
            None => done.push(word),
        }
    }
    done.truncate(MAX_ALTERNATIVES);
    done
}

/// Returns a word with each choice of its first innermost braces.
fn braces(word: &str) -> Option<Vec<String>> {
    let end = word.find('}')?;
    let begin = word.get(..end)?.rfind('{')?;
    let inner = word.get(begin + 1..end)?;
    if begin > 0 && word.get(..begin)?.ends_with('$') || !inner.contains(',') {
        return None;
    }
    let (before, behind) = (word.get(..begin)?, word.get(end + 1..)?);
    Some(inner.split(',').take(MAX_ALTERNATIVES).map(|choice| format!("{before}{choice}{behind}")).collect())
}

#[cfg(test)]
mod tests;

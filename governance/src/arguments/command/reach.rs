//! Whether a program is told of files that do not lie in the working folder.

use super::super::path::lies_inside;
use super::words::Word;

/// Say or compare what they are given, and open none of it.
const OPEN_NO_FILE: [&str; 14] = [
    "echo", "printf", ":", "true", "false", "test", "[", "pwd", "sleep", "seq", "basename", "dirname",
    "exit", "which",
];
/// Are no files of anybody's.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// What files begin with that are not for everybody, wherever they lie.
const PRIVATE: [&str; 7] = [".env", ".ssh", ".aws", ".netrc", ".gnupg", "id_rsa", "id_ed25519"];

/// Whether a program of this name may read or show what does not belong to the working folder. It is looked at as text: a word that is
/// no path at all, such as a pattern with slashes, may be taken for one. What is put in could be anything, a secret of the environment
/// too.
pub(super) fn reaches_outside(name: &str, args: &[Word], cwd: Option<&str>) -> bool {
    let opens = !OPEN_NO_FILE.contains(&name);
    args.iter().any(|word| word.has_expansion || opens && is_outside(word, cwd))
}

/// Whether a word may stand for a place outside of the working folder, or for one in it that is not for everybody.
pub(super) fn is_outside(word: &Word, cwd: Option<&str>) -> bool {
    let text = word.text.as_str();
    if word.has_expansion || text.starts_with('~') || !word.is_literal && may_become_dots(text) {
        return true;
    }
    let is_joint = |c: char| matches!(c, '/' | '=' | ':' | ',' | '{' | '}');
    let is_odd = |step: &str| {
        step == ".." || step.ends_with(".pem") || PRIVATE.iter().any(|private| step.starts_with(private))
    };
    if text.split(is_joint).any(is_odd) {
        return true;
    }
    !HARMLESS.contains(&text) && absolute_piece(text).is_some_and(|path| !lies_inside(path, cwd))
}

/// `.*` and `.?` stand for `..` too, and so does `.{.,}`.
fn may_become_dots(text: &str) -> bool {
    let is_pattern = |c: char| matches!(c, '*' | '?' | '[' | '{');
    let hidden = |step: &str| step.starts_with('.') && step.contains(is_pattern);
    text.split('/').any(hidden) || text.contains('{') && (text.contains("..") || text.contains(".{"))
}

/// From where on the word is an absolute path: from its beginning, behind a joint, or as an option's value.
fn absolute_piece(text: &str) -> Option<&str> {
    let at = text.char_indices().position(|(at, c)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let is_start = before.is_none_or(|c| matches!(c, '=' | ':' | ',' | '{'));
        matches!(c, '/' | '~') && (is_start || text.starts_with('-'))
    })?;
    let from = text.char_indices().nth(at).map(|(at, _)| at)?;
    text.get(from..)
}

//! Options that make a program do more than it is for.

use super::words::Word;

/// Whether none of these words is, or abbreviates, one of these options. `short` are letters that must not stand in a word of short
/// options, wherever: with their value they may hide in it.
pub(super) fn are_without(args: &[Word], long: &[&str], short: &str) -> bool {
    args.iter().all(|word| {
        if word.may_be_any_option() {
            return false;
        }
        match word.text.strip_prefix("--") {
            Some(option) => {
                let name = option.split('=').next().unwrap_or_default();
                name.is_empty() || !long.iter().any(|long| long.starts_with(name))
            }
            None => !word.text.starts_with('-') || !word.text.contains(|c: char| short.contains(c)),
        }
    })
}

/// The same where one dash is as good as two, and names are never shortened.
pub(super) fn are_without_flags(args: &[Word], flags: &[&str]) -> bool {
    args.iter().all(|word| {
        let flag = word.text.strip_prefix('-').map(|flag| flag.strip_prefix('-').unwrap_or(flag));
        let name = flag.and_then(|flag| flag.split('=').next());
        !word.may_be_any_option() && name.is_none_or(|name| !flags.contains(&name))
    })
}

/// Whether each of these words that is an option is one of these, or has one of these before its `=`.
pub(super) fn are_only(args: &[Word], known: &[&str]) -> bool {
    args.iter().all(|word| {
        let name = word.text.split('=').next().unwrap_or_default();
        !word.may_be_any_option() && (!word.text.starts_with('-') || word.is_literal && known.contains(&name))
    })
}

/// Whether each of these words means nothing to any shell: who runs tasks may put them into a text for one.
pub(super) fn are_plain(args: &[Word]) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%^".contains(c);
    args.iter().all(|word| word.is_literal && word.text.chars().all(is_plain))
}

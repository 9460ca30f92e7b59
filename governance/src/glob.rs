//! Globs for texts, matched in time that grows with the text and the pattern alone.
//!
//! The dialect is part of the meaning of a recorded policy, so it is fixed here: a later library that read a pattern in another way
//! would change decisions of the past.
//!
//! | pattern | stands for |
//! |---|---|
//! | `*` | any characters, none included; in a path not `/` |
//! | `**` | any characters, `/` too |
//! | `**/` at the beginning of a path's step | any folders, none included |
//! | `?` | one character; in a path not `/` |
//! | `[a-z_]`, `[!0-9]` | one character of these, or none of these; in a path never `/` |
//! | `\` and a character | that character |
//!
//! Everything else stands for itself; `{` and `}` must be escaped, because elsewhere they mean alternatives. Recorded registrations of
//! tools may have them all the same: see [`DestinationGlob`].

mod destination_glob;
mod overlap;

use std::iter::Peekable;
use std::str::Chars;

use bitacora_vocabulary::MAX_GLOB_BYTES;

pub(crate) use destination_glob::DestinationGlob;

/// Bits of a set of states: one for each token and one for the end.
const STATE_WORDS: usize = MAX_GLOB_BYTES / 64 + 1;

/// The error in a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// Longer than [`MAX_GLOB_BYTES`].
    #[error("longer than {MAX_GLOB_BYTES} bytes; make several of it")]
    TooLong,
    /// Three stars or more in a row.
    #[error("more than two `*` in a row; `**` is all there is")]
    TooManyStars,
    /// A `[` without its `]`.
    #[error("`[` without `]`; close it, or write `\\[` for the character")]
    OpenClass,
    /// `[]` or `[!]`.
    #[error("an empty `[]` matches nothing; name characters")]
    EmptyClass,
    /// `[z-a]`.
    #[error("a range that ends before it begins; turn it around")]
    BackwardRange,
    /// A `\` at the end.
    #[error("`\\` at the end; write `\\\\` for the character")]
    OpenEscape,
    /// An unescaped `{` or `}`.
    #[error("`{{` and `}}` are no alternatives here; list several globs, or escape them with `\\`")]
    Brace,
    /// Recorded before, it had another meaning.
    #[error(
        "read in another way by older registrations; write `**` as a whole step of a path, once in a row, and in classes neither `^` nor `\\`"
    )]
    TwoReadings,
    /// Braces of a recorded registration that come to very many globs.
    #[error("its braces come to too many globs; register the tool anew and list the globs")]
    TooManyAlternatives,
}

/// The characters that a `*` may run over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Everything.
    Text,
    /// Everything but `/`.
    Path,
}

/// A pattern, ready to be compared.
#[derive(Debug, Clone)]
pub(crate) struct GlobPattern {
    dialect: Dialect,
    /// The beginning of every match; not among the tokens.
    prefix: Box<str>,
    /// The rest. Empty where the glob is a plain text.
    tokens: Box<[Token]>,
    /// Characters that every match ends with; the tokens hold them too.
    suffix: Box<str>,
    /// The longest text that every match holds behind the prefix: most texts do not, and need no states.
    needle: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Character(char),
    AnyCharacter,
    Class {
        negated: bool,
        ranges: Box<[(char, char)]>,
    },
    /// Any number of characters of one step.
    Star,
    /// Any number of characters.
    DoubleStar,
    /// A mark before `**` and `/` that may both be left out.
    MaybeFolders,
}

impl GlobPattern {
    /// Reads a glob.
    ///
    /// # Errors
    /// Where it is not one: see [`GlobError`].
    pub(crate) fn compile(glob: &str, dialect: Dialect) -> Result<Self, GlobError> {
        if glob.len() > MAX_GLOB_BYTES {
            return Err(GlobError::TooLong);
        }
        Ok(Self::new(&tokens(glob, dialect)?, dialect))
    }

    fn new(tokens: &[Token], dialect: Dialect) -> Self {
        let plain = |token: &Token| if let Token::Character(c) = token { Some(*c) } else { None };
        let prefix: String = tokens.iter().map_while(plain).collect();
        let rest = tokens.get(prefix.chars().count()..).unwrap_or_default();
        let mut suffix: Vec<char> = rest.iter().rev().map_while(plain).collect();
        suffix.reverse();
        // A `/` that may be left out with the `**` before it is no end that every match has.
        let before = rest.get(..rest.len() - suffix.len()).unwrap_or_default();
        if before.ends_with(&[Token::MaybeFolders, Token::DoubleStar]) && !suffix.is_empty() {
            suffix.remove(0);
        }
        Self {
            dialect,
            prefix: prefix.into(),
            tokens: rest.into(),
            needle: needle(rest).into(),
            suffix: suffix.into_iter().collect::<String>().into(),
        }
    }

    /// Returns the one text that matches, if there is only one.
    pub(crate) fn exact(&self) -> Option<&str> {
        self.tokens.is_empty().then_some(&*self.prefix)
    }

    /// Returns the beginning of every match.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns `true` if every text matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.prefix.is_empty() && matches!(*self.tokens, [Token::DoubleStar])
    }

    /// Returns `true` if a text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        text.contains(&*self.needle) && self.matches_within(text, &mut u64::MAX.clone()) == Some(true)
    }

    /// Does the same within the steps that are left; `None` if it takes more. Takes the used steps off.
    pub(crate) fn matches_within(&self, text: &str, steps: &mut u64) -> Option<bool> {
        *steps = steps.checked_sub(1)?;
        let Some(rest) = text.strip_prefix(&*self.prefix) else { return Some(false) };
        match &*self.tokens {
            [] => return Some(rest.is_empty()),
            [Token::DoubleStar] => return Some(true),
            _ if !rest.ends_with(&*self.suffix) => return Some(false),
            _ => {}
        }
        // Nearly every glob is short: its states are the bits of one number, and the same steps are taken many times as fast.
        if self.tokens.len() < 64 {
            self.run(rest, steps, States::<1>::default())
        } else {
            self.run(rest, steps, States::<STATE_WORDS>::default())
        }
    }

    fn run<const WORDS: usize>(&self, rest: &str, steps: &mut u64, mut now: States<WORDS>) -> Option<bool> {
        self.enter(0, &mut now);
        for character in rest.chars() {
            let mut next = States::default();
            for at in now.iter() {
                *steps = steps.checked_sub(1)?;
                self.step(at, character, &mut next);
            }
            if next.is_empty() {
                return Some(false);
            }
            now = next;
        }
        Some(now.contains(self.tokens.len()))
    }

    /// Adds a state, and those that are reached from it without a character.
    fn enter<const WORDS: usize>(&self, at: usize, states: &mut States<WORDS>) {
        let mut at = at;
        loop {
            states.insert(at);
            match self.tokens.get(at) {
                Some(Token::Star | Token::DoubleStar) => at += 1,
                Some(Token::MaybeFolders) => {
                    // The `**` and what lies behind it; the `/` after it is left out or met by itself.
                    states.insert(at + 1);
                    states.insert(at + 2);
                    at += 3;
                }
                _ => return,
            }
        }
    }

    /// Adds where a state leads with a character.
    fn step<const WORDS: usize>(&self, at: usize, character: char, next: &mut States<WORDS>) {
        let in_step = self.dialect == Dialect::Text || character != '/';
        match self.tokens.get(at) {
            Some(Token::Character(expected)) if *expected == character => self.enter(at + 1, next),
            Some(Token::AnyCharacter) if in_step => self.enter(at + 1, next),
            Some(Token::Class { negated, ranges }) if in_step => {
                let listed = ranges.iter().any(|(first, last)| (*first..=*last).contains(&character));
                if listed != *negated {
                    self.enter(at + 1, next);
                }
            }
            Some(Token::Star) if in_step => self.enter(at, next),
            Some(Token::DoubleStar) => self.enter(at, next),
            _ => {}
        }
    }
}

/// The states that a match may be in.
struct States<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for States<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> States<WORDS> {
    fn insert(&mut self, state: usize) {
        if let Some(word) = self.0.get_mut(state / 64) {
            *word |= 1 << (state % 64);
        }
    }

    fn contains(&self, state: usize) -> bool {
        self.0.get(state / 64).is_some_and(|word| word & (1 << (state % 64)) != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.checked_ilog2()?;
                left &= !(1 << bit);
                Some(index * 64 + bit as usize)
            })
        })
    }
}

/// Returns the longest text of plain characters that no match of these tokens lacks.
fn needle(tokens: &[Token]) -> String {
    let (mut longest, mut run) = (String::new(), String::new());
    for (at, token) in tokens.iter().enumerate() {
        let before = tokens.get(..at).unwrap_or_default();
        // A `/` that may be left out with the `**` before it.
        let may_lack = before.ends_with(&[Token::MaybeFolders, Token::DoubleStar]);
        match token {
            Token::Character(character) if !may_lack => run.push(*character),
            _ => run.clear(),
        }
        if run.len() > longest.len() {
            longest.clone_from(&run);
        }
    }
    longest
}

fn tokens(glob: &str, dialect: Dialect) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::new();
    let mut rest = glob.chars().peekable();
    // Set while the next character is the first of a step of a path.
    let mut begins_step = true;
    while let Some(character) = rest.next() {
        let began_step = std::mem::replace(&mut begins_step, character == '/');
        let token = match character {
            '*' => {
                let stars = 1 + std::iter::from_fn(|| rest.next_if_eq(&'*')).count();
                match (stars, dialect) {
                    (1, Dialect::Path) => Token::Star,
                    (1 | 2, Dialect::Text) => Token::DoubleStar,
                    (2, Dialect::Path) => {
                        if began_step && rest.peek() == Some(&'/') {
                            tokens.push(Token::MaybeFolders);
                        }
                        Token::DoubleStar
                    }
                    _ => return Err(GlobError::TooManyStars),
                }
            }
            '?' => Token::AnyCharacter,
            '[' => class(&mut rest)?,
            '{' | '}' => return Err(GlobError::Brace),
            '\\' => Token::Character(rest.next().ok_or(GlobError::OpenEscape)?),
            plain => Token::Character(plain),
        };
        tokens.push(token);
    }
    Ok(tokens)
}

/// Reads a class behind its `[`.
fn class(rest: &mut Peekable<Chars<'_>>) -> Result<Token, GlobError> {
    let negated = rest.next_if_eq(&'!').is_some();
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or(GlobError::OpenClass)? {
            ']' if ranges.is_empty() => return Err(GlobError::EmptyClass),
            ']' => return Ok(Token::Class { negated, ranges: ranges.into() }),
            '\\' => rest.next().ok_or(GlobError::OpenEscape)?,
            plain => plain,
        };
        let mut ahead = rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), None | Some(']')) {
            ranges.push((first, first));
            continue;
        }
        rest.next();
        let last = match rest.next().ok_or(GlobError::OpenClass)? {
            '\\' => rest.next().ok_or(GlobError::OpenEscape)?,
            plain => plain,
        };
        if last < first {
            return Err(GlobError::BackwardRange);
        }
        ranges.push((first, last));
    }
}

#[cfg(test)]
mod tests;

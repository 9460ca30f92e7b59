//! Globs of tool registrations, which say where a tool may reach.
//!
//! New registrations are written in the dialect of policies. Older ones were read by the crate `globset`, and their globs may use what
//! that crate knows besides: alternatives in braces, `**` inside a step, `[^a]`. A recorded registration keeps its meaning, so its globs
//! are read by the older grammar, and what comes of that are patterns of the one matcher.
//!
//! A glob that both grammars read alike has one meaning, whenever it was recorded. Only such a glob is taken for a new registration.
//!
//! The older reading differed in two points that no pattern shows. `?` and classes stood for one byte: now they stand for one character.
//! A class could match `/`: now it never does. `docs/decisions/0041-one-dialect-of-globs.md` has the reasons.

use std::iter::Peekable;
use std::str::Chars;

use super::{Dialect, GlobError, GlobPattern, Token, tokens};

/// Alternatives that one glob may come to. A single pair of braces never comes to more.
const MAX_ALTERNATIVES: usize = 256;

/// A glob of a registration: one pattern, or several that alternatives came to.
#[derive(Debug)]
pub(crate) struct DestinationGlob(Box<[GlobPattern]>);

impl DestinationGlob {
    /// Reads a glob of a recorded registration.
    ///
    /// # Errors
    /// It was none by the older grammar either.
    pub(crate) fn recorded(glob: &str) -> Result<Self, GlobError> {
        let patterns = read(glob)?.into_iter().map(|tokens| GlobPattern::new(&tokens, Dialect::Path));
        Ok(Self(patterns.collect()))
    }

    /// Checks a glob of a new registration.
    ///
    /// # Errors
    /// It is none, or older registrations gave it another meaning.
    pub(crate) fn check_new(glob: &str) -> Result<(), GlobError> {
        let tokens = tokens(glob, Dialect::Path)?;
        if read(glob)? == [tokens] { Ok(()) } else { Err(GlobError::TwoReadings) }
    }

    /// Returns `true` if a place matches.
    pub(crate) fn matches(&self, place: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(place))
    }
}

/// A piece of a glob in the older grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    One(Token),
    /// `**/` at the beginning.
    FoldersBefore,
    /// `/**/`.
    FoldersBetween,
    /// `/**` at the end.
    EverythingBelow,
    Alternatives(Vec<Vec<Piece>>),
}

/// Returns the tokens of each alternative that a glob comes to.
fn read(glob: &str) -> Result<Vec<Vec<Token>>, GlobError> {
    let pieces = Reader::new(glob).read()?;
    if pieces == [Piece::FoldersBefore] {
        return Ok(vec![vec![Token::DoubleStar]]);
    }
    expand(&pieces)
}

/// Returns the tokens of pieces, once for each choice among their alternatives.
fn expand(pieces: &[Piece]) -> Result<Vec<Vec<Token>>, GlobError> {
    const SLASH: Token = Token::Character('/');
    let mut all = vec![Vec::new()];
    for piece in pieces {
        let choices = match piece {
            Piece::One(token) => vec![vec![token.clone()]],
            Piece::FoldersBefore => vec![vec![Token::MaybeFolders, Token::DoubleStar, SLASH]],
            Piece::FoldersBetween => vec![vec![SLASH, Token::MaybeFolders, Token::DoubleStar, SLASH]],
            Piece::EverythingBelow => vec![vec![SLASH, Token::DoubleStar]],
            Piece::Alternatives(branches) => {
                // An empty alternative was no choice: `{a,}` is `a`.
                let branches = branches.iter().filter(|branch| !is_empty(branch));
                let choices = branches.map(|branch| expand(branch)).collect::<Result<Vec<_>, _>>()?;
                choices.into_iter().flatten().collect()
            }
        };
        if choices.is_empty() {
            continue;
        }
        if all.len() * choices.len() > MAX_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
        all = (all.iter())
            .flat_map(|before| choices.iter().map(|choice| [before.as_slice(), choice].concat()))
            .collect();
    }
    Ok(all)
}

/// Returns `true` if pieces stand for no character at all.
fn is_empty(pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| match piece {
        Piece::Alternatives(branches) => branches.iter().all(|branch| is_empty(branch)),
        _ => false,
    })
}

/// Reads a glob by the older grammar, character by character as `globset` 0.4 did.
struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// The character that was taken last, and the one before it.
    current: Option<char>,
    previous: Option<char>,
    /// The branch that is read is the last one. The first is the glob itself.
    branches: Vec<Vec<Piece>>,
    /// The number of branches before each open brace.
    open: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(glob: &'a str) -> Self {
        let rest = glob.chars().peekable();
        Self { rest, current: None, previous: None, branches: vec![Vec::new()], open: Vec::new() }
    }

    fn read(mut self) -> Result<Vec<Piece>, GlobError> {
        while let Some(character) = self.next() {
            match character {
                '?' => self.push(Piece::One(Token::AnyCharacter)),
                '*' => self.read_stars(),
                '[' => {
                    let class = self.read_class()?;
                    self.push(Piece::One(class));
                }
                '{' => {
                    self.open.push(self.branches.len());
                    self.branches.push(Vec::new());
                }
                '}' => {
                    let first = self.open.pop().ok_or(GlobError::Brace)?;
                    let alternatives = self.branches.drain(first..).collect();
                    self.push(Piece::Alternatives(alternatives));
                }
                ',' if !self.open.is_empty() => self.branches.push(Vec::new()),
                '\\' => {
                    let escaped = self.next().ok_or(GlobError::OpenEscape)?;
                    self.push(Piece::One(Token::Character(escaped)));
                }
                plain => self.push(Piece::One(Token::Character(plain))),
            }
        }
        if self.branches.len() > 1 {
            return Err(GlobError::Brace);
        }
        Ok(self.branches.pop().unwrap_or_default())
    }

    fn next(&mut self) -> Option<char> {
        self.previous = self.current;
        self.current = self.rest.next();
        self.current
    }

    fn push(&mut self, piece: Piece) {
        if let Some(branch) = self.branches.last_mut() {
            branch.push(piece);
        }
    }

    /// Reads `*` or `**` behind its first star. Two stars that are no whole step of a path are two single ones.
    fn read_stars(&mut self) {
        let before = self.previous;
        if self.rest.peek() != Some(&'*') {
            return self.push(Piece::One(Token::Star));
        }
        self.next();
        let after = self.rest.peek().copied();
        let in_braces = self.branches.len() > 1;
        if self.branches.last().is_none_or(Vec::is_empty) {
            match after {
                None | Some('/') => {
                    self.push(Piece::FoldersBefore);
                    self.next();
                }
                Some(_) => self.push_two_stars(),
            }
            return;
        }
        let begins_step = before == Some('/') || in_braces && matches!(before, Some(',' | '{'));
        let is_last = after.is_none() || in_braces && matches!(after, Some(',' | '}'));
        if !begins_step || !is_last && after != Some('/') {
            return self.push_two_stars();
        }
        if after.is_none() || after == Some('/') {
            self.next();
        }
        // The `/` before it belongs to it; a `**` before it is the same one.
        let Some(branch) = self.branches.last_mut() else { return };
        let piece = match branch.pop() {
            Some(same @ (Piece::FoldersBefore | Piece::EverythingBelow)) => same,
            _ if is_last => Piece::EverythingBelow,
            _ => Piece::FoldersBetween,
        };
        branch.push(piece);
    }

    fn push_two_stars(&mut self) {
        self.push(Piece::One(Token::Star));
        self.push(Piece::One(Token::Star));
    }

    /// Reads a class behind its `[`. `^` negates too, `\` is a character, and a `]` or `-` at the beginning stands for itself.
    fn read_class(&mut self) -> Result<Token, GlobError> {
        let negated = matches!(self.rest.peek(), Some('!' | '^'));
        if negated {
            self.next();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_range_open = false;
        loop {
            let character = self.next().ok_or(GlobError::OpenClass)?;
            match (character, ranges.last_mut()) {
                (']', Some(_)) => break,
                ('-', Some(_)) if !is_range_open => is_range_open = true,
                (last, Some(range)) if is_range_open => {
                    range.1 = last;
                    if range.1 < range.0 {
                        return Err(GlobError::BackwardRange);
                    }
                    is_range_open = false;
                }
                (one, _) => ranges.push((one, one)),
            }
        }
        if is_range_open {
            ranges.push(('-', '-'));
        }
        Ok(Token::Class { negated, ranges: ranges.into() })
    }
}

#[cfg(test)]
mod tests;

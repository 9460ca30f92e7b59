//! The overlap of two globs: a check for texts that both can match.

use super::{Dialect, GlobPattern, Token};

impl GlobPattern {
    /// Returns `true` if there may be a text that both match. Never `false` where there is one.
    ///
    /// It follows both patterns side by side: at most one step for each pair of their tokens.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        let (one, two) = (self.all_tokens(), other.all_tokens());
        let width = two.len() + 1;
        let mut seen = vec![false; (one.len() + 1) * width];
        let mut open = vec![(0, 0)];
        while let Some((at, beside)) = open.pop() {
            let Some(is_seen) = seen.get_mut(at * width + beside) else { continue };
            if std::mem::replace(is_seen, true) {
                continue;
            }
            if at == one.len() && beside == two.len() {
                return true;
            }
            open.extend(skips(&one, at).map(|next| (next, beside)));
            open.extend(skips(&two, beside).map(|next| (at, next)));
            let (Some(token), Some(twin)) = (one.get(at), two.get(beside)) else { continue };
            if !token.may_equal(twin, self.dialect, other.dialect) {
                continue;
            }
            // Behind a character a star may go on or be over; what comes behind it is reached by a skip.
            let after = |at: usize, token: &Token| at + usize::from(!token.repeats());
            open.push((after(at, token), after(beside, twin)));
        }
        false
    }

    fn all_tokens(&self) -> Vec<Token> {
        self.prefix.chars().map(Token::Character).chain(self.tokens.iter().cloned()).collect()
    }
}

/// Returns the places at which a pattern may go on without a character.
fn skips(tokens: &[Token], at: usize) -> impl Iterator<Item = usize> {
    let (next, later) = match tokens.get(at) {
        Some(Token::Star | Token::DoubleStar) => (Some(at + 1), None),
        // Into the `**` behind it, or past that and its `/`.
        Some(Token::MaybeFolders) => (Some(at + 1), Some(at + 3)),
        _ => (None, None),
    };
    next.into_iter().chain(later)
}

impl Token {
    const fn repeats(&self) -> bool {
        matches!(self, Self::Star | Self::DoubleStar)
    }

    /// Returns `true` if some character fits both.
    fn may_equal(&self, other: &Self, dialect: Dialect, others: Dialect) -> bool {
        match (self, other) {
            (Self::MaybeFolders, _) | (_, Self::MaybeFolders) => false,
            (Self::Character(one), two) => two.takes(*one, others),
            (one, Self::Character(two)) => one.takes(*two, dialect),
            // Classes are taken to share a character.
            _ => true,
        }
    }

    fn takes(&self, character: char, dialect: Dialect) -> bool {
        let in_step = dialect == Dialect::Text || character != '/';
        match self {
            Self::Character(own) => *own == character,
            Self::AnyCharacter | Self::Star => in_step,
            Self::Class { negated, ranges } => {
                let listed = ranges.iter().any(|(first, last)| (*first..=*last).contains(&character));
                in_step && listed != *negated
            }
            Self::DoubleStar => true,
            Self::MaybeFolders => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(one: &str, two: &str) -> bool {
        let pattern = |glob| GlobPattern::compile(glob, Dialect::Path).unwrap();
        let found = pattern(one).may_meet(&pattern(two));
        assert_eq!(found, pattern(two).may_meet(&pattern(one)), "{one} and {two}");
        found
    }

    #[test]
    fn two_patterns_meet_where_one_text_fits_both() {
        for (one, two) in [
            ("**/*", "**/.env"),
            ("**/*.json", "**/credentials.json"),
            ("/home/a/*.pem", "**/*.pem"),
            ("**/id_*", "**/*id_rsa*"),
            ("src/**", "**/.ssh/**"),
            ("**/.e?v", "**/.env"),
            ("**/[a-f]oo", "**/boo"),
            ("a", "a"),
            ("**", ""),
        ] {
            assert!(meet(one, two), "{one} and {two}");
        }
        for (one, two) in [
            ("**/*.go", "**/.env"),
            ("**/*.go", "**/*.pem"),
            ("/home/*", "/home/a/.env"),
            ("**/[a-f]oo", "**/zoo"),
            ("a", "b"),
            ("*.rs", "**/x/*.rs"),
            ("", "a"),
        ] {
            assert!(!meet(one, two), "{one} and {two}");
        }
    }

    #[test]
    fn a_text_that_both_match_is_never_missed() {
        let globs = ["**/*", "a/*", "*/b", "**/b", "a/**", "?/b", "[ab]/*", "a/b", "*a*", "**/a?b*", "**"];
        let texts = ["a", "b", "a/b", "b/b", "a/a", "x/a/b", "axb", "q/azbc", "", "/b"];
        for one in globs {
            for two in globs {
                let pattern = |glob| GlobPattern::compile(glob, Dialect::Path).unwrap();
                let both = texts.iter().find(|text| pattern(one).matches(text) && pattern(two).matches(text));
                assert!(both.is_none() || meet(one, two), "{one} and {two} both match {both:?}");
            }
        }
    }
}

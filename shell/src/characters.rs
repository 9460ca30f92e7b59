//! The characters of texts of the grammar: lists of the allowed ones, and names for the others.

use crate::unreadable::Construct;

/// Returns `true` for a character that stands for itself outside of quotes. It does so in every shell and at every place of a word
/// but the first.
pub(crate) fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=')
}

/// Returns `true` for a character of a program's name.
pub(crate) fn is_of_program(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '+')
}

/// Returns `true` for a character that stands for itself in single quotes; in double quotes too, but for
/// [`is_special_in_double_quotes`].
///
/// Of the characters that are not ASCII these are ranges that no version of Unicode moves: letters that are written from left to
/// right, punctuation that is seen, and pictures.
pub(crate) fn is_quotable(character: char) -> bool {
    matches!(character,
        ' '..='~' | '\n' | '\t'
        | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{20a0}'..='\u{20bf}' | '\u{2190}'..='\u{2bff}'
        | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fc}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}')
}

/// Returns `true` for a character that is more than itself in double quotes, to a shell or to its history.
pub(crate) fn is_special_in_double_quotes(character: char) -> bool {
    matches!(character, '$' | '`' | '\\' | '!')
}

/// Returns `true` for a character before which a backslash in double quotes stands for itself.
pub(crate) fn keeps_backslash(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(
            character,
            ' ' | '.'
                | '|'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '*'
                | '+'
                | '?'
                | '^'
                | '/'
                | '-'
                | ':'
                | ','
        )
        || matches!(character, ';' | '<' | '>' | '&' | '#' | '%' | '=' | '@' | '~' | '_' | '\'')
}

/// Returns `true` for a character that a backslash in double quotes makes stand for itself.
pub(crate) fn is_escapable(character: char) -> bool {
    matches!(character, '"' | '\\' | '$' | '`')
}

/// Returns the construct of a character outside of quotes, if it is neither plain nor an operator.
pub(crate) fn construct(character: char) -> Construct {
    match character {
        '$' => Construct::Expansion,
        '`' => Construct::Backquote,
        '\\' => Construct::Backslash,
        '!' | '^' => Construct::History,
        '{' | '}' => Construct::Brace,
        '(' | ')' => Construct::Parenthesis,
        '[' | ']' => Construct::Bracket,
        '#' => Construct::Comment,
        '~' => Construct::Tilde,
        '<' | '>' => Construct::Redirection,
        '*' | '?' => Construct::Glob,
        '\'' | '"' => Construct::OpenQuote,
        ';' | '|' => Construct::MissingCommand,
        '&' => Construct::Background,
        other if other.is_ascii() => Construct::ControlCharacter,
        '\u{80}'..='\u{9f}' => Construct::ControlCharacter,
        _ => Construct::NonAscii,
    }
}

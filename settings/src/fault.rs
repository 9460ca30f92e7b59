//! The faults of a settings file.

use std::path::PathBuf;

/// The most characters of a key that a message shows.
const SHOWN_CHARACTERS: usize = 64;

/// A fault of a settings file, with its line. It never holds a value whose option hides values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, line {line}: {kind}", path.display())]
pub struct SettingsFault {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1 on.
    pub line: usize,
    /// The fault.
    pub kind: FaultKind,
}

/// A kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The bytes are no text.
    #[error("found bytes that are not UTF-8, expected TOML")]
    NotText,
    /// The text is no TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// No setting has this name.
    #[error("found the unknown key `{}`{}", shown(key), hint(nearest.as_deref()))]
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
    },
    /// A table stands in the place of a value, or dots in a key.
    #[error("found the table `{}`, expected keys without tables, such as `listen`", shown(.0))]
    Table(String),
    /// The option is no key: it names the file, or holds for one start.
    #[error("`{0}` is for the command line alone, as --{0}")]
    OnlyOption(String),
    /// The value has another type.
    #[error("`{key}`: found {found}, expected {expected}")]
    Type {
        /// The key.
        key: String,
        /// The type that was found.
        found: &'static str,
        /// The type that was expected.
        expected: &'static str,
    },
    /// The option does not take the value.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key.
        key: String,
        /// The reason, in the words of the option.
        reason: String,
    },
}

/// Returns the beginning of a key: it may be as long as the file.
fn shown(key: &str) -> String {
    let mut shown: String = key.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    shown
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; `bitacora config show` lists the keys".to_owned(),
    }
}

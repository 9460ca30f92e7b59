//! A call's access to the places that its arguments name.

use bitacora_vocabulary::FileAccess;
use serde::{Deserialize, Serialize};

use super::PlaceText;

/// A call's access to the places that its arguments name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// One for each destination of the call; `None` for a host or a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Option<FileAccess>>,
    /// Patterns for the names of files that it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<(FileAccess, PlaceText)>,
    /// `true` if a command names them: nobody can make a command leave a file out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_command: bool,
    /// `true` if programs run that reach more than the arguments name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_programs: bool,
    /// `true`: the command shows contents of tracked files without naming them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_tracked: bool,
    /// `true`: the command may show any object in git's store, files that were never tracked among them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_stored: bool,
    /// `true`: a program that does more than look may run outside the working folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acts_elsewhere: bool,
}

/// Returns where a pattern begins that names files outside of the working folder: at the root of a disk, or in a home folder. Of one
/// that begins with braces each alternative may.
pub(super) fn outside(pattern: &str, cwd: Option<&str>) -> Option<String> {
    let own = pattern.strip_prefix('!').unwrap_or(pattern);
    let inside =
        own.strip_prefix('{').map_or(own, |rest| rest.split_once('}').map_or(rest, |(inside, _)| inside));
    let alternatives = if inside.len() == own.len() { vec![own] } else { inside.split(',').collect() };
    let is_below = |pattern: &str| {
        cwd.and_then(|cwd| pattern.strip_prefix(cwd.trim_end_matches('/')))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let begins_elsewhere = |pattern: &str| {
        pattern.starts_with(['/', '~', '$', '%', '\\', '{']) || pattern.as_bytes().get(1) == Some(&b':')
    };
    let found = alternatives.into_iter().find(|pattern| begins_elsewhere(pattern) && !is_below(pattern))?;
    // Rules that mean the root of a disk take what is escaped or nested, too.
    Some(if found.starts_with(['\\', '{']) { format!("/{found}") } else { found.to_owned() })
}

/// Returns a pattern for names in the form that is compared with whole paths: it may lie below any folder. A pattern that only
/// leaves files out (`!x`) may leave anything in. The same holds for one that a tool reads as a comment (`#x`) or as several
/// (`a b`, `a,b`).
pub(super) fn whole_pattern(pattern: &str) -> String {
    let own = pattern.strip_prefix("./").unwrap_or(pattern);
    match own {
        _ if own.is_empty() || own.starts_with(['!', '#']) || is_several(own) => "**".to_owned(),
        _ if own.starts_with('/') || own.starts_with("**/") => own.to_owned(),
        _ => format!("**/{own}"),
    }
}

/// Returns `true` if a pattern has a blank, or a comma that is not in braces.
fn is_several(pattern: &str) -> bool {
    let mut depth = 0_usize;
    pattern.chars().any(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c.is_whitespace() || c == ',' && depth == 0
    })
}

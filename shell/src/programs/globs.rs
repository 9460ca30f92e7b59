//! Globs of programs, in the one spelling that policies read.
//! There, `*`, `?` and classes take no `/`, and `**` takes any text.

/// Wildcards of a glob.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Returns a glob with `[!a]` for `[^a]`. Classes with names, `[[:alpha:]]`, are not read.
pub(super) fn as_glob(glob: &str) -> Option<String> {
    let is_named = ["[:", "[.", "[="].iter().any(|mark| glob.contains(mark));
    (!is_named).then(|| glob.replace("[^", "[!"))
}

/// Reads a glob of ripgrep or fd, which ripgrep reads as a line of `.gitignore`: blanks at the ends and lines that begin with `#`
/// mean nothing there, and without a glob everything is searched. Backslashes are not read. A class may take a `/`, as `[!a]` does.
pub(super) fn of_ripgrep(glob: &str) -> Option<String> {
    if glob.is_empty() || glob.trim() != glob || glob.starts_with('#') || glob.contains('\\') {
        return None;
    }
    let (mut pattern, mut rest) = (String::new(), glob);
    while let Some((before, behind)) = rest.split_once(['[', ']']) {
        pattern.push_str(before);
        let class = rest.get(before.len()..)?.strip_prefix('[')?;
        let (is_negated, class) =
            class.strip_prefix(['!', '^']).map_or((false, class), |inside| (true, inside));
        let (inside, after) = class.split_once(']')?;
        if inside.is_empty() || inside.contains('[') || behind.is_empty() {
            return None;
        }
        if !is_negated && takes_no_slash(inside) {
            pattern.push_str(&format!("[{inside}]"));
        } else {
            pattern.push_str("**");
        }
        rest = after;
    }
    pattern.push_str(rest);
    Some(pattern)
}

/// Returns `true` if a class is made of letters, digits, dots and `_`, and of ranges between letters or digits. `[.-0]` has a `/`
/// in it.
fn takes_no_slash(inside: &str) -> bool {
    let letters: Vec<char> = inside.chars().collect();
    let is_in_range = |at: usize| {
        let ends = [at.checked_sub(1), at.checked_add(1)].map(|end| letters.get(end?));
        ends.into_iter().all(|end| end.is_some_and(char::is_ascii_alphanumeric))
    };
    let is_plain = |(at, letter): (usize, &char)| match letter {
        '-' => is_in_range(at),
        letter => letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_'),
    };
    letters.iter().enumerate().all(is_plain)
}

/// Reads a glob of `grep --include`. BSD compares it with the whole path, and its wildcards run over `/` there. One star before a
/// plain text takes the same names for every version.
pub(super) fn of_grep(glob: &str) -> Option<String> {
    if glob.is_empty() || glob.contains('\\') {
        return None;
    }
    let glob = as_glob(glob)?;
    let is_plain = !glob.strip_prefix('*').unwrap_or(&glob).contains(WILDCARDS);
    Some(if is_plain { glob } else { over_folders(&glob) })
}

/// Returns `true` if a text has wildcards in it.
pub(super) fn has_wildcards(text: &str) -> bool {
    text.contains(WILDCARDS)
}

/// Returns a glob whose wildcards run over `/`, as `**` does.
pub(super) fn over_folders(glob: &str) -> String {
    let mut pattern = String::new();
    let mut rest = glob;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '[' => class_bytes(rest),
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => letter.len_utf8(),
        };
        let (piece, behind) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        rest = behind;
        if !piece.starts_with(WILDCARDS) {
            pattern.push_str(piece);
        } else if !pattern.ends_with("**") {
            pattern.push_str("**");
        }
    }
    pattern
}

/// Returns the bytes of the class that a text begins with. Without an end, the class takes all.
fn class_bytes(text: &str) -> usize {
    let first = if text.starts_with("[!") || text.starts_with("[^") { 2 } else { 1 };
    let mut depth_end = None;
    for (at, letter) in text.char_indices().skip(first + 1) {
        // Of a class in the class, `[[:alpha:]]`, the last end counts.
        if letter == ']' && !text.get(..at).is_some_and(|before| before.ends_with(':')) {
            depth_end = Some(at + 1);
            break;
        }
    }
    depth_end.unwrap_or(text.len())
}

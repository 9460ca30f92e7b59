//! Revisions of git, told apart by their beginnings.
//!
//! Three kinds are told apart. Branches, tags and `HEAD` lead to files that git tracks. A hash leads to any object that git has stored.
//! `stash` leads to files that git does not track: the third parent of a stash holds them.

/// Letters that some file systems take for `s`, or `st`, in the name of the file that a stash is in.
const LIKE_S: [char; 3] = ['\u{17f}', '\u{fb05}', '\u{fb06}'];
/// The digits of a hash, shortened or not.
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 4..=64;

/// Returns `true` if an operand looks like a revision and hardly like a file.
pub(super) fn is_revision(text: &str) -> bool {
    let is_hash = (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.starts_with("HEAD") || text == "@" || text.contains("..") || is_hash
}

/// Returns `true` if an operand is `HEAD` or a revision that is counted from it. Other words may be files: outside of a repository,
/// git compares any two names.
pub(super) fn is_head(text: &str) -> bool {
    let behind = text.strip_prefix("HEAD").or_else(|| text.strip_prefix('@'));
    let is_step = |c: char| c.is_ascii_digit() || "~^@{}".contains(c);
    behind.is_some_and(|steps| !steps.starts_with(|c: char| c.is_ascii_digit()) && steps.chars().all(is_step))
}

/// Returns `true` if a revision, or an end of a range, begins at a stash: `stash@{1}`, `stash^3`, `main..refs/stash`,
/// `^stash:path`.
pub(super) fn has_stash(text: &str) -> bool {
    ends(text).any(|(name, _)| {
        let name = name.to_lowercase();
        let (before, last) =
            name.rsplit_once('/').map_or((None, name.as_str()), |(before, last)| (Some(before), last));
        let is_whole = before.is_none_or(|before| before == "refs" || before.ends_with("/refs"));
        is_whole && (last == "stash" || last.contains(LIKE_S))
    })
}

/// Returns `true` if a revision, or an end of a range, may begin at a hash, with or without a path behind it. `v1-2-g1a2b3c4` does
/// so too.
pub(super) fn has_hash(text: &str) -> bool {
    ends(text).any(|(name, _)| is_hash(name))
}

/// Returns `true` for a revision that may begin at a hash and tells no path: it may be any object that git has stored.
pub(super) fn is_any_object(text: &str) -> bool {
    ends(text).any(|(name, path)| is_hash(name) && path.is_none_or(str::is_empty))
}

fn is_hash(name: &str) -> bool {
    let is_hex =
        |text: &str| HASH_DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex(name) || name.rsplit_once("-g").is_some_and(|(_, hash)| is_hex(hash))
}

/// Returns the names that a revision, or each end of a range, begins at, with the path behind a colon.
fn ends(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    text.split("..").map(|end| {
        let end = end.trim_start_matches(['.', '^', '+']);
        let (revision, path) =
            end.split_once(':').map_or((end, None), |(revision, path)| (revision, Some(path)));
        let name = revision.split(['^', '~']).next().unwrap_or_default();
        (name.split("@{").next().unwrap_or_default(), path)
    })
}

/// Returns `true` if paths stand at ends of a range, `HEAD:a..HEAD:b`, or may: the end that each of the colons belongs to is not
/// certain.
pub(super) fn is_range_of_files(text: &str) -> bool {
    let is_odd = |step: &str| step.contains("..") && step != "..";
    text.split_once(':')
        .is_some_and(|(revision, path)| revision.contains("..") || path.split('/').any(is_odd))
}

/// Returns `true` for a text that may be a revision, and begins at no stash.
pub(super) fn is_no_stash(text: &str) -> bool {
    !text.starts_with('-') && !has_stash(text)
}

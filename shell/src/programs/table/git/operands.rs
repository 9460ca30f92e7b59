//! Operands of git: revisions, and the files that they and pathspecs name.

use super::options::{CONTENTS, CONTENTS_VALUES};
use crate::action::Access::{self, Lists, Reads, ReadsTracked, ReadsTree, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{Given, Operand, here, unlisted};
use crate::programs::entry::Check::{Any, Word};
use crate::programs::entry::Meaning;
use crate::unreadable::Unreadable;

/// The file that `git config` reads and writes.
const CONFIG: &str = ".git/config";
/// What may stand behind `%` in a format, besides a colour and what is in parentheses. `G` would run gpg.
const PLACEHOLDERS: &str = "HhTtPpacseBbdDfgnNSCwx%<>|+- ";
/// What may begin the text in the parentheses of a format. `describe` and `signature` would run programs.
const ATOMS: &str = "HEAD ahead align author authordate authoremail authorname body color committer committerdate \
    committeremail committername contents creatordate decorate deltabase else end if numparent objectname objectsize \
    objecttype parent push raw refname subject symref tag tagger taggerdate taggeremail taggername then trailers tree \
    upstream worktreepath";

/// Options of differences that show names and counts, and no contents.
const ONLY_NAMES: [&str; 9] = [
    "--name-only",
    "--name-status",
    "--stat",
    "--numstat",
    "--shortstat",
    "--summary",
    "--no-patch",
    "-s",
    "--quiet",
];

/// Whether a format shows only what git itself knows.
pub(super) fn is_format(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('%') {
        rest = behind;
        let marks = rest.trim_start_matches(['+', '-', ' ']);
        if let Some(atom) = marks.strip_prefix('(') {
            let name: &str = atom.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            let name = if name.is_empty() { atom.trim_start_matches('*') } else { name };
            let name = name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            if !ATOMS.split_whitespace().any(|listed| listed == name) {
                return false;
            }
            rest = atom;
        } else {
            let is_placeholder = marks.starts_with(|c: char| PLACEHOLDERS.contains(c) || c.is_ascii_digit());
            if !is_placeholder && !marks.is_empty() {
                return false;
            }
            // Behind a mark, `%` begins the next placeholder.
            let literal = if marks.len() == rest.len() { rest.strip_prefix('%') } else { None };
            rest = literal.unwrap_or(marks);
        }
    }
    true
}

/// Whether an operand looks like a revision and hardly like a file.
fn is_revision(text: &str) -> bool {
    let is_hash = (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.starts_with("HEAD") || text == "@" || text.contains("..") || is_hash
}

/// Whether an operand is `HEAD` or a revision that is counted from it. Other words may be files: outside of a repository, git compares
/// any two names.
fn is_head(text: &str) -> bool {
    let behind = text.strip_prefix("HEAD").or_else(|| text.strip_prefix('@'));
    let is_step = |c: char| c.is_ascii_digit() || "~^@{}".contains(c);
    behind.is_some_and(|steps| !steps.starts_with(|c: char| c.is_ascii_digit()) && steps.chars().all(is_step))
}

/// A word of git's: a revision, or something in the working folder. Long pathspecs begin with a colon and are refused.
fn checked<'w>(given: &Given<'w>, operand: Operand<'w>) -> Result<&'w str, Unreadable> {
    let text = given.text(operand, Any)?;
    if text.is_empty() || text.starts_with(':') && !is_of_index(text) {
        return Err(unlisted(operand.word.offset));
    }
    Ok(text)
}

/// `:path` and `:2:path`, a file as the index has it.
fn is_of_index(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|path| path.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.'))
}

/// The file of `revision:path`, `:path` and `:2:path`.
fn in_revision(text: &str) -> Option<&str> {
    let (revision, path) = text.split_once(':')?;
    // The number of a stage, which no revision stands before.
    let staged = path.split_once(':').filter(|(stage, _)| revision.is_empty() && stage.len() == 1);
    Some(staged.map_or(path, |(_, path)| path)).filter(|path| !path.is_empty())
}

/// The uses of `revision:path`. The path begins at the root of the repository, which nobody knows here, so that a file of that name in
/// any folder counts too. Where there is no such revision, the whole may be a path.
fn of_revision(text: &str, access: Access) -> Option<Vec<FileUse>> {
    let path = in_revision(text)?;
    if access == Lists {
        return Some(vec![pathspec(path, Lists)]);
    }
    let mut files = vec![FileUse { path: path.to_owned(), access: Reads, is_pattern: false }];
    let is_here = path.starts_with("./") || path.starts_with("../");
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if !is_here && !name.is_empty() {
        let escaped = name.chars().map(|letter| {
            if "*?[]{}\\".contains(letter) { format!("\\{letter}") } else { letter.to_string() }
        });
        files.push(FileUse { path: escaped.collect(), access: Reads, is_pattern: true });
    }
    if !text.split(':').next().is_some_and(is_head) && !text.starts_with(':') {
        files.push(pathspec(text, access));
    }
    Some(files)
}

/// A path, or a pattern. Wildcards of git's run over `/`, as `**` does, and a colon before the path means nothing.
fn pathspec(path: &str, access: Access) -> FileUse {
    const WILDCARDS: [char; 3] = ['*', '?', '['];
    let path = path.strip_prefix(':').unwrap_or(path);
    if !path.contains(WILDCARDS) {
        return FileUse { path: path.to_owned(), access, is_pattern: false };
    }
    let mut pattern = String::new();
    let mut rest = path;
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
    FileUse { path: pattern, access, is_pattern: true }
}

/// The bytes of the class that a text begins with. Without an end, the class takes all.
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

fn shows_contents(given: &Given<'_>) -> bool {
    let is_one = |name: &str| {
        CONTENTS.split_whitespace().any(|flag| flag == name)
            || CONTENTS_VALUES.iter().any(|(names, _)| names.split_whitespace().any(|listed| listed == name))
    };
    given.options.iter().any(|option| is_one(option.name))
}

/// Files that a difference shows: those that are named, or any one that git tracks.
fn shown<'w>(given: &Given<'w>, access: Access) -> Result<Vec<FileUse>, Unreadable> {
    let mut files = Vec::new();
    let mut has_paths = false;
    for operand in &given.operands {
        if operand.word.is_glob {
            files.append(&mut given.files(&[*operand], access)?);
        } else {
            let text = checked(given, *operand)?;
            if operand.is_behind_dashes {
                files.push(pathspec(text, access));
            } else {
                files.extend(of_revision(text, access).unwrap_or_else(|| vec![pathspec(text, access)]));
            }
        }
        has_paths |= operand.is_behind_dashes || operand.word.is_glob;
    }
    if access == ReadsTracked && !has_paths {
        files.push(here(ReadsTracked));
    }
    Ok(files)
}

/// `log` and its like: contents are shown only if an option says so.
pub(super) fn logged(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let ranges = given.options.iter().filter(|option| option.name == "-L");
    let paths = ranges
        .filter_map(|range| range.value.as_deref()?.rsplit_once(':').map(|(_, path)| pathspec(path, Reads)));
    let mut files: Vec<FileUse> = paths.collect();
    files.append(&mut shown(given, if shows_contents(given) { ReadsTracked } else { Lists })?);
    Ok(Meaning::of(files))
}

/// `reflog` without an operand, which could be another verb.
pub(super) fn reflog(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    match given.operands.first() {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => logged(given),
    }
}

/// Lines of a file and its name: `10,20:path`.
pub(super) fn is_range(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(_, path)| !path.is_empty()) && !text.starts_with('-')
}

/// `diff`: contents are shown unless an option says otherwise. Two operands may be files that git does not track.
pub(super) fn compared(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let shows = shows_contents(given) || !given.has(&ONLY_NAMES);
    let mut files = shown(given, if shows { ReadsTracked } else { Lists })?;
    if let [one, other] = given.operands.as_slice() {
        let texts = [one, other].map(|operand| operand.word.text.as_str());
        // With one path outside of the repository, both are taken for files, whatever they look like.
        let may_be_outside = |text: &str| text.starts_with('/') || text.split('/').any(|step| step == "..");
        if texts.iter().any(|text| may_be_outside(text)) || !texts.iter().any(|text| is_head(text)) {
            for file in files.iter_mut().filter(|file| file.access != Lists) {
                file.access = ReadsTree;
            }
        }
    }
    Ok(Meaning::of(files))
}

/// `show` and `cat-file`: files of revisions by their names, or any one that git tracks.
pub(super) fn objects(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let mut files = Vec::new();
    let mut is_any = given.operands.is_empty();
    let has_paths = given.operands.iter().any(|operand| operand.is_behind_dashes);
    for operand in &given.operands {
        let text = checked(given, *operand)?;
        if operand.is_behind_dashes {
            files.push(pathspec(text, ReadsTracked));
            continue;
        }
        match of_revision(text, ReadsTracked) {
            Some(uses) => files.extend(uses),
            None => is_any |= !has_paths || !is_revision(text),
        }
    }
    if is_any {
        files.push(here(ReadsTracked));
    }
    Ok(Meaning::of(files))
}

/// `grep`: a text, revisions, and paths behind `--`.
pub(super) fn searched(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let behind_text = match given.operands.split_first() {
        Some((text, rest)) if !given.has(&["-e"]) => {
            given.text(*text, Any)?;
            rest
        }
        _ => &given.operands,
    };
    let mut files = Vec::new();
    let mut is_bounded = false;
    for operand in behind_text {
        let text = checked(given, *operand)?;
        // Everything below a folder of a revision would be searched, from the root of the repository on.
        if in_revision(text).is_some() && !operand.is_behind_dashes {
            return Err(unlisted(operand.word.offset));
        }
        let file = pathspec(text, ReadsTree);
        is_bounded |= operand.is_behind_dashes;
        files.push(if file.is_pattern { FileUse { access: Reads, ..file } } else { file });
    }
    if !is_bounded {
        files.push(here(ReadsTree));
    }
    Ok(Meaning::of(files))
}

/// `blame`: a revision, if need be, and a file.
pub(super) fn blamed(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    Ok(Meaning::of(given.files(&given.operands, Reads)?))
}

/// `ls-files` and its like: only names.
pub(super) fn listed(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let mut files = Vec::new();
    for operand in &given.operands {
        if operand.word.is_glob {
            files.extend(given.file(*operand, Lists)?);
        } else {
            files.push(pathspec(checked(given, *operand)?, Lists));
        }
    }
    Ok(Meaning::of(files))
}

/// `status -v` shows differences.
pub(super) fn status(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let mut meaning = listed(given)?;
    if given.has(&["-v", "--verbose"]) {
        meaning.files.push(here(ReadsTracked));
    }
    Ok(meaning)
}

/// `stash list`: contents only if an option says so.
pub(super) fn stashed(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    stashes(given, shows_contents(given))
}

/// `stash show`: contents unless an option says otherwise. Any option that does not makes a difference of the counts.
pub(super) fn stash_shown(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    stashes(given, shows_contents(given) || !given.has(&ONLY_NAMES))
}

fn stashes(given: &Given<'_>, shows_contents: bool) -> Result<Meaning, Unreadable> {
    for operand in &given.operands {
        given.text(*operand, Any)?;
    }
    let files = if shows_contents { vec![here(ReadsTracked)] } else { Vec::new() };
    Ok(Meaning::of(files))
}

/// Names of branches and tags only where an option makes patterns of them; without one, a name would be made.
pub(super) fn names_if_listing(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let listing = ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    if let Some(first) = given.operands.first()
        && !given.has(&listing)
    {
        return Err(unlisted(first.word.offset));
    }
    for operand in &given.operands {
        given.text(*operand, Any)?;
    }
    Ok(Meaning::default())
}

/// Names of settings; their values are what the configuration holds.
pub(super) fn settings(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    if let Some(second) = given.operands.get(1) {
        return Err(unlisted(second.word.offset));
    }
    for operand in &given.operands {
        given.text(*operand, Word)?;
    }
    if given.options.is_empty() && given.operands.is_empty() {
        return Err(unlisted(given.offset));
    }
    Ok(Meaning::of(vec![FileUse { path: CONFIG.to_owned(), access: Reads, is_pattern: false }]))
}

/// All settings.
pub(super) fn all_settings(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    match given.operands.first() {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => Ok(Meaning::of(vec![FileUse { path: CONFIG.to_owned(), access: Reads, is_pattern: false }])),
    }
}

/// One name: with a second one it would be changed.
pub(super) fn one_name(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    match given.operands.as_slice() {
        [name] => given.text(*name, Word).map(|_| Meaning::default()),
        _ => Err(unlisted(given.offset)),
    }
}

/// A setting and its value.
pub(super) fn set(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    for operand in &given.operands {
        given.text(*operand, Any)?;
    }
    Ok(Meaning::of(vec![FileUse { path: CONFIG.to_owned(), access: Writes, is_pattern: false }]))
}

/// The name of a remote, then revisions. A path or an address would be another repository.
pub(super) fn remote_first(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    if let Some((remote, refs)) = given.operands.split_first() {
        let text = given.text(*remote, Word)?;
        if text.contains(['/', ':']) || text.starts_with('.') {
            return Err(unlisted(remote.word.offset));
        }
        for operand in refs {
            given.text(*operand, Word)?;
        }
    }
    Ok(Meaning::default())
}

/// The same of a push that neither forces nor deletes.
pub(super) fn pushed(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let refs = given.operands.get(1..).unwrap_or_default();
    match refs.iter().find(|operand| operand.word.text.starts_with(['+', ':'])) {
        Some(forced) => Err(unlisted(forced.word.offset)),
        None => remote_first(given),
    }
}

/// Pathspecs that are written.
pub(super) fn written(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    paths(given, Writes)
}

/// Pathspecs whose contents become part of history; without one, whatever git tracks.
pub(super) fn added(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let mut meaning = paths(given, Reads)?;
    if meaning.files.is_empty() {
        meaning.files.push(here(ReadsTracked));
    }
    Ok(meaning)
}

fn paths(given: &Given<'_>, access: Access) -> Result<Meaning, Unreadable> {
    let mut files = Vec::new();
    for operand in &given.operands {
        if operand.word.is_glob {
            files.extend(given.file(*operand, access)?);
        } else {
            files.push(pathspec(checked(given, *operand)?, access));
        }
    }
    Ok(Meaning::of(files))
}

/// Where a repository is copied from, and the folder to make.
pub(super) fn cloned(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let Some((from, to)) = given.operands.split_first() else { return Err(unlisted(given.offset)) };
    let text = given.text(*from, Word)?;
    if !["https://", "ssh://", "git@"].iter().any(|scheme| text.starts_with(scheme)) {
        return Err(unlisted(from.word.offset));
    }
    let last = text.rsplit(['/', ':']).next().unwrap_or_default();
    let made = last.strip_suffix(".git").unwrap_or(last);
    match to {
        [] => Ok(Meaning::of(vec![FileUse { path: made.to_owned(), access: Writes, is_pattern: false }])),
        [folder] => Ok(Meaning::of(given.files(&[*folder], Writes)?)),
        [_, odd, ..] => Err(unlisted(odd.word.offset)),
    }
}

//! Operands of git: revisions, and the files that they and pathspecs name.

use super::options::{CONTENTS, CONTENTS_VALUES, PATCH};
use super::revisions::{has_hash, has_stash, is_any_object, is_head, is_range_of_files, is_revision};
use crate::action::Access::{self, Lists, Reads, ReadsStored, ReadsTracked, ReadsTree, ShowsTracked, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, Operand, here, unlisted};
use crate::programs::entry::Check::{Any, Number, Word};
use crate::programs::entry::OperandMeaning;
use crate::programs::globs::{has_wildcards, over_folders};
use crate::unreadable::UnreadableCommand;

/// The characters that may stand behind `%` in a format, besides a colour and parentheses. `G` would run gpg.
const PLACEHOLDERS: &str = "HhTtPpacseBbdDfgnNSCwx%<>|+- ";
/// The words that may begin the text in the parentheses of a format. `describe` and `signature` would run programs, `raw` shows any
/// object.
const ATOMS: &str = "HEAD ahead align author authordate authoremail authorname body color committer committerdate \
    committeremail committername contents creatordate decorate deltabase else end if numparent objectname objectsize \
    objecttype parent push refname subject symref tag tagger taggerdate taggeremail taggername then trailers tree \
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

/// Options that add every reference to the revisions, `refs/stash` among them.
const EVERY_REFERENCE: [&str; 2] = ["--all", "--glob"];

/// Returns `true` if a format shows only data that git itself knows.
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

/// Checks a word of git's: a revision, or something in the working folder. Long pathspecs begin with a colon and are refused.
fn checked<'w>(args: &CommandArguments<'w>, operand: Operand<'w>) -> Result<&'w str, UnreadableCommand> {
    let text = args.text(operand, Any)?;
    if text.is_empty() || text.starts_with(':') && !is_of_index(text) {
        return Err(unlisted(operand.word.offset));
    }
    Ok(text)
}

/// Does the same where contents are shown. The files in a stash may be untracked.
fn checked_to_show<'w>(
    args: &CommandArguments<'w>,
    operand: Operand<'w>,
) -> Result<&'w str, UnreadableCommand> {
    let text = checked(args, operand)?;
    if !operand.is_behind_dashes && (has_stash(text) || is_range_of_files(text)) {
        return Err(unlisted(operand.word.offset));
    }
    Ok(text)
}

/// `:path` and `:2:path`, a file as the index has it.
fn is_of_index(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|path| path.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.'))
}

/// Returns the file of `revision:path`, `:path` and `:2:path`.
fn in_revision(text: &str) -> Option<&str> {
    let (revision, path) = text.split_once(':')?;
    // The number of a stage, which no revision stands before.
    let staged = path.split_once(':').filter(|(stage, _)| revision.is_empty() && stage.len() == 1);
    Some(staged.map_or(path, |(_, path)| path)).filter(|path| !path.is_empty())
}

/// Returns the uses of `revision:path`. The path begins at the root of the repository, which nobody knows here, so that a file of
/// that name in any folder counts too. If there is no such revision, the whole may be a path.
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

/// Returns the use of a path, or of a pattern. Wildcards of git's run over `/`, as `**` does, and a colon before the path means
/// nothing.
fn pathspec(path: &str, access: Access) -> FileUse {
    let path = path.strip_prefix(':').unwrap_or(path);
    if !has_wildcards(path) {
        // Any name may be that of a folder.
        let access = if access == ReadsTracked { ShowsTracked } else { access };
        return FileUse { path: path.to_owned(), access, is_pattern: false };
    }
    FileUse { path: over_folders(path), access, is_pattern: true }
}

fn shows_contents(args: &CommandArguments<'_>) -> bool {
    let is_one = |name: &str| {
        let mut flags = CONTENTS.split_whitespace().chain([PATCH]);
        flags.any(|flag| flag == name)
            || CONTENTS_VALUES.iter().any(|(names, _)| names.split_whitespace().any(|listed| listed == name))
    };
    // `-c` of `shortlog` groups by committers.
    args.used.words != "shortlog" && args.options.iter().any(|option| is_one(option.name))
}

/// Returns `true` if only files are shown that pathspecs or the names of a glob tell.
fn has_paths(args: &CommandArguments<'_>) -> bool {
    let is_path = |operand: &Operand<'_>| operand.is_behind_dashes || operand.word.is_glob;
    args.operands.iter().any(is_path) && !args.has(&["--full-diff"])
}

/// Returns `true` if `holds` is true of any operand that may be a revision.
fn any_revision(args: &CommandArguments<'_>, holds: fn(&str) -> bool) -> bool {
    args.operands.iter().any(|operand| !operand.is_behind_dashes && holds(&operand.word.text))
}

/// Files that a difference shows: those that are named, or any one that git tracks. A hash and `--all` may lead to a stash.
fn shown(args: &CommandArguments<'_>) -> Result<Vec<FileUse>, UnreadableCommand> {
    let (is_bounded, has_every_reference) = (has_paths(args), args.has(&EVERY_REFERENCE));
    if has_every_reference && !is_bounded {
        return Err(unlisted(args.offset));
    }
    let is_stored = has_every_reference || any_revision(args, has_hash);
    let access = if is_stored { ReadsStored } else { ReadsTracked };
    let mut files = named(args, access)?;
    if !is_bounded {
        files.push(here(if is_stored { ReadsStored } else { ShowsTracked }));
    }
    Ok(files)
}

/// Returns the files of revisions and pathspecs.
fn named(args: &CommandArguments<'_>, access: Access) -> Result<Vec<FileUse>, UnreadableCommand> {
    let mut files = Vec::new();
    for operand in &args.operands {
        if operand.word.is_glob {
            files.append(&mut args.files(&[*operand], access)?);
            continue;
        }
        let text = if access == Lists { checked(args, *operand)? } else { checked_to_show(args, *operand)? };
        if operand.is_behind_dashes {
            files.push(pathspec(text, access));
        } else {
            files.extend(of_revision(text, access).unwrap_or_else(|| vec![pathspec(text, access)]));
        }
    }
    Ok(files)
}

/// `log` and its like: contents are shown only if an option says so.
pub(super) fn logged(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let ranges = args.options.iter().filter(|option| option.name == "-L");
    let mut files: Vec<FileUse> =
        ranges.filter_map(|range| range.value.as_deref()).flat_map(files_of_range).collect();
    if !files.is_empty() && any_revision(args, has_stash) {
        return Err(unlisted(args.offset));
    }
    files.append(&mut if shows_contents(args) { shown(args)? } else { named(args, Lists)? });
    Ok(OperandMeaning::of(files))
}

/// Returns the file of a range of lines. Behind numbers, the whole rest is its name, colons too; behind the name of a function, it
/// is the rest after the last colon.
fn files_of_range(range: &str) -> Vec<FileUse> {
    let parts = [range.split_once(':'), range.rsplit_once(':')];
    let mut paths: Vec<&str> = parts.into_iter().flatten().map(|(_, path)| path).collect();
    paths.dedup();
    paths.into_iter().map(|path| pathspec(path, Reads)).collect()
}

/// `reflog` without an operand, which could be another verb.
pub(super) fn reflog(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.first() {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => logged(args),
    }
}

/// Lines of a file and its name: `10,20:path`.
pub(super) fn is_range(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(_, path)| !path.is_empty()) && !text.starts_with('-')
}

/// `diff`: contents are shown unless an option says otherwise. Two operands may be files that git does not track.
pub(super) fn compared(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let shows = shows_contents(args) || !args.has(&ONLY_NAMES);
    let mut files = if shows { shown(args)? } else { named(args, Lists)? };
    if let [one, other] = args.operands.as_slice() {
        let texts = [one, other].map(|operand| operand.word.text.as_str());
        // With one path outside of the repository, both are taken for files, whatever they look like.
        let may_be_outside = |text: &str| text.starts_with('/') || text.split('/').any(|step| step == "..");
        if texts.iter().any(|text| may_be_outside(text)) || !texts.iter().any(|text| is_head(text)) {
            for file in files.iter_mut().filter(|file| file.access != Lists) {
                file.access = ReadsTree;
            }
        }
    }
    // Pathspecs leave out no file whose hash is compared.
    if shows && any_revision(args, is_any_object) {
        files.push(here(ReadsStored));
    }
    Ok(OperandMeaning::of(files))
}

/// `show`: files of revisions by their names, or any one that git tracks. A hash may be that of any file.
pub(super) fn objects(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if args.has(&EVERY_REFERENCE) {
        return Err(unlisted(args.offset));
    }
    let access = if any_revision(args, has_hash) { ReadsStored } else { ReadsTracked };
    let mut files = Vec::new();
    let mut is_any = args.operands.is_empty();
    let is_bounded = has_paths(args);
    for operand in &args.operands {
        let text = checked_to_show(args, *operand)?;
        if operand.is_behind_dashes {
            files.push(pathspec(text, access));
            continue;
        }
        match of_revision(text, access) {
            Some(uses) => files.extend(uses),
            None => is_any |= !is_bounded || !is_revision(text),
        }
    }
    if any_revision(args, is_any_object) {
        files.push(here(ReadsStored));
    } else if is_any || args.has(&["--full-diff"]) {
        files.push(here(ShowsTracked));
    }
    Ok(OperandMeaning::of(files))
}

/// `cat-file -p`: a file of a revision by its name, or the commit that `HEAD` is.
pub(super) fn named_object(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let [operand] = args.operands.as_slice() else { return Err(unlisted(args.offset)) };
    let text = checked_to_show(args, *operand)?;
    match of_revision(text, ReadsTracked) {
        Some(files) if !operand.is_behind_dashes => Ok(OperandMeaning::of(files)),
        None if !operand.is_behind_dashes && is_head(text) => Ok(OperandMeaning::default()),
        _ => Err(unlisted(operand.word.offset)),
    }
}

/// `cat-file` with the one flag that asks for a property of one object.
pub(super) fn one_object(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match (args.operands.as_slice(), args.options.as_slice()) {
        ([object], [_]) => args.text(*object, Any).map(|_| OperandMeaning::default()),
        _ => Err(unlisted(args.offset)),
    }
}

/// `grep`: a text, revisions, and paths behind `--`.
pub(super) fn searched(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let behind_text = match args.operands.split_first() {
        Some((text, rest)) if !args.has(&["-e"]) => {
            args.text(*text, Any)?;
            rest
        }
        _ => &args.operands,
    };
    let mut files = Vec::new();
    let mut is_bounded = false;
    for operand in behind_text {
        let text = checked_to_show(args, *operand)?;
        // Everything below a folder of a revision would be searched, from the root of the repository on.
        if in_revision(text).is_some() && !operand.is_behind_dashes {
            return Err(unlisted(operand.word.offset));
        }
        let file = pathspec(text, ReadsTree);
        is_bounded |= operand.is_behind_dashes;
        files.push(if file.is_pattern { FileUse { access: Reads, ..file } } else { file });
    }
    // Pathspecs leave out no file whose hash is searched.
    let is_stored =
        behind_text.iter().any(|operand| !operand.is_behind_dashes && has_hash(&operand.word.text));
    if is_stored {
        files.push(here(ReadsStored));
    }
    if !is_bounded || is_stored {
        files.push(here(ReadsTree));
    }
    Ok(OperandMeaning::of(files))
}

/// `blame`: a revision, if need be, and a file.
pub(super) fn blamed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if any_revision(args, has_stash) {
        return Err(unlisted(args.offset));
    }
    Ok(OperandMeaning::of(args.files(&args.operands, Reads)?))
}

/// `ls-files` and its like: only names.
pub(super) fn listed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut files = Vec::new();
    for operand in &args.operands {
        if operand.word.is_glob {
            files.extend(args.file(*operand, Lists)?);
        } else {
            files.push(pathspec(checked(args, *operand)?, Lists));
        }
    }
    Ok(OperandMeaning::of(files))
}

/// `status -v` shows differences.
pub(super) fn status(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut meaning = listed(args)?;
    if args.has(&["-v", "--verbose"]) {
        meaning.files.push(here(ShowsTracked));
    }
    Ok(meaning)
}

/// `stash show`: contents unless an option says otherwise. Any option that does not makes a difference of the counts. Of the files
/// in the stash, only those are shown that git tracked.
pub(super) fn stash_shown(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    for operand in &args.operands {
        let text = args.text(*operand, Any)?;
        if !Number.takes(text) && !has_stash(text) {
            return Err(unlisted(operand.word.offset));
        }
    }
    let shows = shows_contents(args) || !args.has(&ONLY_NAMES);
    Ok(OperandMeaning::of(if shows { vec![here(ShowsTracked)] } else { Vec::new() }))
}

/// Names of branches and tags only where an option makes patterns of them; without one, a name would be made.
pub(super) fn names_if_listing(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let listing = ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    if let Some(first) = args.operands.first()
        && !args.has(&listing)
    {
        return Err(unlisted(first.word.offset));
    }
    for operand in &args.operands {
        args.text(*operand, Any)?;
    }
    Ok(OperandMeaning::default())
}

/// One name: with a second one it would be changed.
pub(super) fn one_name(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.as_slice() {
        [name] => args.text(*name, Word).map(|_| OperandMeaning::default()),
        _ => Err(unlisted(args.offset)),
    }
}

/// The name of a remote, then revisions. A path or an address would be another repository.
pub(super) fn remote_first(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if let Some((remote, refs)) = args.operands.split_first() {
        let text = args.text(*remote, Word)?;
        if text.contains(['/', ':']) || text.starts_with('.') {
            return Err(unlisted(remote.word.offset));
        }
        for operand in refs {
            if has_stash(args.text(*operand, Word)?) {
                return Err(unlisted(operand.word.offset));
            }
        }
    }
    Ok(OperandMeaning::default())
}

/// The same of a push that neither forces nor deletes.
pub(super) fn pushed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let refs = args.operands.get(1..).unwrap_or_default();
    let is_odd = |operand: &&Operand<'_>| operand.word.text.starts_with(['+', ':']);
    match refs.iter().find(is_odd) {
        Some(forced) => Err(unlisted(forced.word.offset)),
        None => remote_first(args),
    }
}

/// Pathspecs that are written.
pub(super) fn written(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    paths(args, Writes)
}

/// Revisions and pathspecs that are written.
pub(super) fn revised(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if any_revision(args, has_stash) { Err(unlisted(args.offset)) } else { written(args) }
}

/// Pathspecs that git tracks from here on, and shows later; without one, the whole repository. Names in `.gitignore` are left out.
pub(super) fn added(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    tracked(args, ShowsTracked)
}

/// The same with the names in `.gitignore`.
pub(super) fn added_by_force(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    tracked(args, ReadsTree)
}

fn tracked(args: &CommandArguments<'_>, access: Access) -> Result<OperandMeaning, UnreadableCommand> {
    let mut meaning = paths(args, access)?;
    if meaning.files.is_empty() {
        meaning.files.push(here(access));
    }
    Ok(meaning)
}

/// Pathspecs whose contents become part of history; without one, all files that git tracks.
pub(super) fn committed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut meaning = paths(args, Reads)?;
    if args.has(&["-v", "--verbose"]) {
        meaning.files.push(here(ShowsTracked));
    } else if meaning.files.is_empty() {
        meaning.files.push(here(ReadsTracked));
    }
    Ok(meaning)
}

fn paths(args: &CommandArguments<'_>, access: Access) -> Result<OperandMeaning, UnreadableCommand> {
    let mut files = Vec::new();
    for operand in &args.operands {
        if operand.word.is_glob {
            files.append(&mut args.files(&[*operand], access)?);
        } else {
            files.push(pathspec(checked(args, *operand)?, access));
        }
    }
    Ok(OperandMeaning::of(files))
}

/// The source that a repository is copied from, and the folder to make.
pub(super) fn cloned(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((from, to)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    let text = args.text(*from, Word)?;
    if !["https://", "ssh://", "git@"].iter().any(|scheme| text.starts_with(scheme)) {
        return Err(unlisted(from.word.offset));
    }
    let last = text.rsplit(['/', ':']).next().unwrap_or_default();
    let made = last.strip_suffix(".git").unwrap_or(last);
    match to {
        [] => {
            Ok(OperandMeaning::of(vec![FileUse { path: made.to_owned(), access: Writes, is_pattern: false }]))
        }
        [folder] => Ok(OperandMeaning::of(args.files(&[*folder], Writes)?)),
        [_, odd, ..] => Err(unlisted(odd.word.offset)),
    }
}

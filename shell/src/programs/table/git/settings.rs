//! Settings of git: the readable ones.
//!
//! Some settings hold tokens: headers and addresses of `http`, `url` and `remote`, everything that `credential` is told, commands
//! with passwords. Only settings that are listed here are read, one by its name at a time.

use crate::action::Access::Writes;
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::Check::{Any, Word};
use crate::programs::entry::OperandMeaning;
use crate::unreadable::UnreadableCommand;

/// The file that `git config` writes.
const CONFIG: &str = ".git/config";
/// Sections whose settings hold no secret, with any names.
const SECTIONS: &str = "branch color commit diff init merge pull rebase tag";
/// Settings of other sections. Without `core.sshCommand`, `core.gitProxy` and `core.askPass`, which may have passwords in them.
const NAMES: &str = "core.abbrev core.attributesfile core.autocrlf core.bare core.bigfilethreshold core.checkstat \
    core.commentchar core.compression core.editor core.eol core.excludesfile core.filemode core.fscache core.fsmonitor \
    core.hookspath core.ignorecase core.logallrefupdates core.longpaths core.pager core.precomposeunicode core.protecthfs \
    core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository core.sparsecheckout \
    core.symlinks core.trustctime core.untrackedcache core.whitespace core.worktree \
    fetch.all fetch.fsckobjects fetch.output fetch.parallel fetch.prune fetch.prunetags fetch.recursesubmodules \
    push.autosetupremote push.default push.followtags push.gpgsign push.recursesubmodules push.useforceifincludes \
    user.email user.name";
/// Settings of each remote. `git remote -v` shows its address too.
const OF_REMOTES: &str = "fetch url";

/// Returns `true` if a setting is one of those that hold no secret. Letters of sections and keys count in either case.
pub(super) fn is_open(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |list: &str, word: &str| list.split_whitespace().any(|listed| listed == word);
    let Some((section, rest)) = name.split_once('.') else { return false };
    let is_of_remote =
        section == "remote" && rest.rsplit_once('.').is_some_and(|(_, key)| has(OF_REMOTES, key));
    Word.takes(&name) && (has(SECTIONS, section) || has(NAMES, &name) || is_of_remote)
}

/// The name of one setting that holds no secret.
pub(super) fn setting(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if let Some(second) = args.operands.get(1) {
        return Err(unlisted(second.word.offset));
    }
    if let Some(name) = args.operands.first()
        && !is_open(args.text(*name, Word)?)
    {
        return Err(unlisted(name.word.offset));
    }
    if args.operands.is_empty() && !args.has(&["--get", "--get-all"]) {
        return Err(unlisted(args.offset));
    }
    // Of the file, nothing but this is shown.
    Ok(OperandMeaning::default())
}

/// A setting and its value, or a setting to remove. A name by itself would be shown.
pub(super) fn set_setting(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let removes = args.has(&["--unset", "--unset-all"]) || args.used.words == "config unset";
    match args.operands.as_slice() {
        [name, value, ..] if name.word.text.contains('.') || removes => {
            args.text(*value, Any)?;
        }
        [_] if removes => {}
        _ => return Err(unlisted(args.offset)),
    }
    set(args)
}

/// A verb with its words, which may change the configuration.
pub(super) fn set(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    for operand in &args.operands {
        args.text(*operand, Any)?;
    }
    Ok(OperandMeaning::of(vec![FileUse { path: CONFIG.to_owned(), access: Writes, is_pattern: false }]))
}

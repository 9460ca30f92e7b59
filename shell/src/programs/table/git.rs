//! `git`: subcommands and options that run nothing, and those that act.
//!
//! Git runs the programs that its configuration names all the same: pagers on a terminal, filters, programs for diffs, monitors of
//! files. The configuration lies in the user's home and in `.git`, and a program that writes there says so in
//! [`crate::ShellAction::files`]. A tree can only say, in `.gitattributes`, which of the configured programs is run. A repository in
//! another folder has a configuration of its own. So git is not read behind a `cd` or with a `-C` to another folder, nor with `-c`,
//! `--git-dir` or `--work-tree`.
//!
//! `status`, `diff`, `diff-index`, `diff-files` and `describe --dirty` run git in each submodule that is checked out. A submodule
//! has a `.git` of its own. Its configuration counts as the repository's: a program that writes there says so too.
//!
//! Three things happen besides the claims of the entries. `stash list` and `fsck` run other parts of git itself, in the same
//! repository. `status`, `diff`, `describe` and `ls-files` read tracked files to compare them with the index, and show nothing of
//! them without a claim. The first three also write into `.git/index` which files have not changed. The index lists the same files
//! afterwards.
//!
//! A repository can hold files that it does not track: a stash keeps them in its third parent, and every file that was once added
//! has a hash. So contents are shown of files that a path names, of branches, tags and `HEAD` ([`crate::Access::ShowsTracked`]),
//! and of hashes ([`crate::Access::ReadsStored`]). They are not shown of stashes, nor of every reference without a path. A branch
//! or tag that somebody made of a hash counts as a branch or tag: making one is an action. `stash.showIncludeUntracked` is the
//! owner's to set.
//!
//! Settings can hold tokens. Those in a list are read, one by its name at a time; `remote -v` shows the addresses of remotes.

pub(super) mod acting;
pub(super) mod looking;
mod operands;
mod options;
mod revisions;
mod settings;

/// The flags that may stand before the subcommand.
const BEFORE: &str = "-P --no-optional-locks --no-pager";

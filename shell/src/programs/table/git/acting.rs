//! Subcommands of git that change the repository, the working folder or another repository.

use super::BEFORE;
use super::operands::{added, added_by_force, cloned, committed, pushed, remote_first, revised, written};
use super::revisions::is_no_stash;
use super::settings::{set, set_setting};
use crate::action::Access::Reads;
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{self, File, Perhaps, Text};
use crate::programs::entry::{ACTS, Operands, Program, ProgramUse, Style};

const GIT: ProgramUse = ProgramUse { style: Style::Mixed, ..ACTS };
/// Without stashes: `stash pop` and `stash apply` take back the contents of one, and it gets no other name.
const REVISION: Operands = Operands::Texts(By(is_no_stash));
const PATHS: &str = "paths";
const REMOTE: &str = "the name of a remote, then revisions";
const ADD: &str = "-A -N -n -u -v --all --dry-run --ignore-errors --intent-to-add --no-all --refresh --renormalize --sparse --update \
    --verbose";
const COMMIT: &str = "-a -q -s -v --all --allow-empty --allow-empty-message --amend --dry-run --no-edit --no-gpg-sign \
    --no-signoff --no-status --porcelain --quiet --reset-author --short --signoff --status --verbose";
const COMMIT_VALUES: &[(&str, OptionValue)] = &[
    ("-m -am --message --author --date", Text(Prose)),
    ("-C --fixup --reuse-message --squash", Text(Word)),
    ("-F --file", File(Reads)),
    ("--trailer", Text(Any)),
    ("--cleanup", Text(Of("default scissors strip verbatim whitespace"))),
];
const CHECKOUT: &str = "-d -f -q -t --detach --force --guess --ignore-other-worktrees --merge --no-guess --no-progress --no-track --ours \
    --overlay --no-overlay --quiet --theirs --track";
const MERGE: &str = "-q -v --abort --allow-unrelated-histories --commit --continue --ff --ff-only --no-commit --no-edit --no-ff \
    --no-squash --no-stat --quiet --quit --skip --squash --stat --verbose";
const MERGE_VALUES: &[(&str, OptionValue)] = &[
    ("-m", Text(Prose)),
    ("-s --strategy", Text(Of(STRATEGIES))),
    ("-X --strategy-option --into-name", Text(Word)),
];
/// Any other name is that of a program.
const STRATEGIES: &str = "octopus ort ours recursive resolve subtree";
const REBASE: &str = "-f -q -v --abort --autosquash --autostash --committer-date-is-author-date --continue --force-rebase \
    --fork-point --keep-base --keep-empty --merge --no-autosquash --no-autostash --no-ff --no-fork-point --no-stat --quiet --quit \
    --rebase-merges --reapply-cherry-picks --root --skip --stat --update-refs --verbose";
const PICK: &str = "-n -x --abort --allow-empty --continue --ff --keep-redundant-commits --no-commit --no-edit --quit --skip";
const FETCH: &str = "-4 -6 -a -f -k -n -p -q -t -v --all --append --atomic --dry-run --force --keep --multiple --no-auto-gc \
    --no-progress --no-recurse-submodules --no-tags --porcelain --progress --prune --prune-tags --quiet --tags --unshallow \
    --update-shallow --verbose";
const FETCH_VALUES: &[(&str, OptionValue)] = &[
    ("--deepen --depth -j --jobs", Text(Number)),
    ("--shallow-exclude --shallow-since", Text(Any)),
    ("--filter", Text(Word)),
];
const PUSH: &str = "-4 -6 -n -q -u -v --all --atomic --branches --dry-run --follow-tags --no-progress --no-signed --porcelain \
    --progress --quiet --set-upstream --tags --verbose";
const FORCE: &str = "-d -f --delete --force --force-if-includes --force-with-lease --mirror --prune";

pub(in crate::programs) const PROGRAMS: &[Program] = &[Program {
    names: &["git"],
    before: BEFORE,
    uses: &[
        ProgramUse { words: "add", flags: &[ADD], operands: Operands::By(added, PATHS), ..GIT },
        // Files that `.gitignore` leaves out become part of those that git shows.
        ProgramUse {
            words: "add",
            part: Some("add --force"),
            flags: &[ADD, "-f --force"],
            needs: "-f --force",
            operands: Operands::By(added_by_force, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "commit",
            flags: &[COMMIT],
            values: &[COMMIT_VALUES],
            operands: Operands::By(committed, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "push",
            flags: &[PUSH],
            values: &[&[("-o --push-option", Text(Any))]],
            operands: Operands::By(pushed, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "push",
            part: Some("push --force"),
            flags: &[PUSH, FORCE],
            values: &[&[("-o --push-option", Text(Any)), ("--force-with-lease", Perhaps(Any))]],
            operands: Operands::By(remote_first, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "fetch",
            flags: &[FETCH],
            values: &[FETCH_VALUES],
            operands: Operands::By(remote_first, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "pull",
            flags: &[FETCH, MERGE, "--autostash --no-autostash --no-rebase -r"],
            values: &[FETCH_VALUES, MERGE_VALUES, &[("--rebase", Perhaps(Of("false merges true")))]],
            operands: Operands::By(remote_first, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "remote show",
            part: Some("remote"),
            flags: &["-n"],
            operands: Operands::By(remote_first, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "remote",
            operands: Operands::By(set, "a verb with its words"),
            flags: &["-f -m -t --push --add --delete --prune --tags --no-tags"],
            ..GIT
        },
        ProgramUse {
            words: "ls-remote",
            flags: &["-h -q -t --branches --exit-code --get-url --heads --quiet --refs --symref --tags"],
            operands: Operands::By(remote_first, REMOTE),
            ..GIT
        },
        ProgramUse {
            words: "checkout",
            flags: &[CHECKOUT],
            values: &[&[("-b -B --orphan", Text(Word)), ("--conflict", Text(Word))]],
            operands: Operands::By(revised, "revisions and paths"),
            ..GIT
        },
        ProgramUse {
            words: "switch",
            flags: &[CHECKOUT, "--discard-changes"],
            values: &[&[("-c -C --create --force-create --orphan", Text(Word))]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "restore",
            flags: &[
                "-S -W -q --ignore-unmerged --merge --no-overlay --ours --overlay --progress --quiet --staged --theirs --worktree",
            ],
            values: &[&[("-s --source", Text(By(is_no_stash)))]],
            operands: Operands::By(written, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "reset",
            flags: &["-N -q --intent-to-add --keep --merge --mixed --no-refresh --quiet --refresh --soft"],
            operands: Operands::By(revised, "revisions and paths"),
            ..GIT
        },
        ProgramUse {
            words: "reset",
            part: Some("reset --hard"),
            flags: &["-q --hard --quiet"],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "merge",
            flags: &[MERGE],
            values: &[MERGE_VALUES, &[("-F --file", File(Reads))]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "rebase",
            flags: &[REBASE],
            values: &[&[
                ("--onto -X --strategy-option --empty", Text(Word)),
                ("-s --strategy", Text(Of(STRATEGIES))),
            ]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "cherry-pick",
            flags: &[PICK],
            values: &[&[
                ("-m --mainline", Text(Number)),
                ("--strategy", Text(Of(STRATEGIES))),
                ("-X --strategy-option", Text(Word)),
            ]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "revert",
            flags: &[PICK],
            values: &[&[
                ("-m --mainline", Text(Number)),
                ("--strategy", Text(Of(STRATEGIES))),
                ("-X --strategy-option", Text(Word)),
            ]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "branch",
            flags: &[
                "-C -D -M -c -d -f -m -q -r -t --copy --delete --force --move --no-track --quiet --remotes --track --unset-upstream",
            ],
            values: &[&[("-u --set-upstream-to", Text(Word)), ("--track", Perhaps(Of("direct inherit")))]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "tag",
            flags: &["-a -d -f --annotate --delete --force --no-sign"],
            values: &[&[("-m -am --message", Text(Prose)), ("-F --file", File(Reads))]],
            operands: REVISION,
            ..GIT
        },
        ProgramUse {
            words: "stash",
            flags: &[
                "-S -a -k -q -u --all --include-untracked --keep-index --no-keep-index --quiet --staged",
            ],
            ..GIT
        },
        ProgramUse {
            words: "stash push",
            part: Some("stash"),
            flags: &[
                "-S -a -k -q -u --all --include-untracked --keep-index --no-keep-index --quiet --staged",
            ],
            values: &[&[("-m --message", Text(Prose))]],
            operands: Operands::By(written, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "stash save",
            part: Some("stash"),
            flags: &["-a -k -q -u --include-untracked --keep-index --quiet"],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "stash pop",
            part: Some("stash"),
            flags: &["-q --index --quiet"],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "stash apply",
            part: Some("stash"),
            flags: &["-q --index --quiet"],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "stash drop",
            part: Some("stash"),
            flags: &["-q --quiet"],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse { words: "stash clear", part: Some("stash"), ..GIT },
        ProgramUse { words: "stash branch", part: Some("stash"), operands: Operands::Texts(Any), ..GIT },
        ProgramUse {
            words: "worktree add",
            part: Some("worktree"),
            flags: &[
                "-d -f -q --checkout --detach --force --guess-remote --lock --no-checkout --no-guess-remote --no-track --orphan --quiet --track",
            ],
            values: &[&[("-b -B", Text(Word))]],
            operands: Operands::By(revised, "a folder, then a revision"),
            ..GIT
        },
        ProgramUse {
            words: "worktree remove",
            part: Some("worktree"),
            flags: &["-f --force"],
            operands: Operands::By(written, "a folder"),
            ..GIT
        },
        ProgramUse {
            words: "worktree move",
            part: Some("worktree"),
            flags: &["-f --force"],
            operands: Operands::By(written, "two folders"),
            ..GIT
        },
        ProgramUse {
            words: "worktree prune",
            part: Some("worktree"),
            flags: &["-n -v --dry-run --verbose"],
            ..GIT
        },
        ProgramUse {
            words: "clone",
            flags: &[
                "-l -n -q -v --bare --mirror --no-checkout --no-single-branch --no-tags --progress --quiet --single-branch --sparse --verbose",
            ],
            values: &[FETCH_VALUES, &[("-b --branch -o --origin", Text(Word))]],
            operands: Operands::By(cloned, "an address, then a folder"),
            ..GIT
        },
        ProgramUse {
            words: "init",
            flags: &["-q --bare --quiet"],
            values: &[&[("-b --initial-branch", Text(Word))]],
            operands: Operands::By(written, "a folder"),
            ..GIT
        },
        ProgramUse {
            words: "mv",
            flags: &["-f -k -n -v --dry-run --force --verbose"],
            operands: Operands::By(written, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "rm",
            flags: &["-f -n -q -r --cached --dry-run --force --ignore-unmatch --quiet"],
            operands: Operands::By(written, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "clean",
            flags: &["-X -d -f -n -q -x --dry-run --force --quiet"],
            values: &[&[("-e --exclude", Text(Any))]],
            operands: Operands::By(written, PATHS),
            ..GIT
        },
        ProgramUse {
            words: "config",
            flags: &["--add --bool --global --int --local --replace-all --system --unset --unset-all"],
            operands: Operands::By(set_setting, "a setting and its value"),
            ..GIT
        },
        ProgramUse {
            words: "config set",
            part: Some("config"),
            flags: &["--all --append --global --local"],
            operands: Operands::By(set_setting, "a setting and its value"),
            ..GIT
        },
        ProgramUse {
            words: "config unset",
            part: Some("config"),
            flags: &["--all --global --local"],
            operands: Operands::By(set_setting, "a setting"),
            ..GIT
        },
        ProgramUse { words: "gc", flags: &["-q --auto --prune --quiet"], ..GIT },
        ProgramUse { words: "prune", flags: &["-n -v --dry-run --verbose"], ..GIT },
        ProgramUse { words: "update-ref", flags: &["-d --no-deref"], operands: REVISION, ..GIT },
        ProgramUse { words: "read-tree", flags: &["-m -u --empty --reset"], operands: REVISION, ..GIT },
        ProgramUse { words: "symbolic-ref", flags: &["-d --delete"], operands: REVISION, ..GIT },
    ],
}];

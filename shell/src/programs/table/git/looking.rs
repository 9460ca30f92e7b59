//! Subcommands of git that only look.

use super::BEFORE;
use super::operands::{
    blamed, compared, is_format, is_range, listed, logged, named_object, names_if_listing, objects, one_name,
    one_object, reflog, searched, stash_shown, status,
};
use super::options::{CONTENTS, CONTENTS_VALUES, LOG, LOG_VALUES, NAMES, NAMES_VALUES, PATCH};
use super::settings::{is_open, setting};
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{self, Perhaps, Text, UnlessLast};
use crate::programs::entry::{LOOKS, Operands, Program, ProgramUse, Style};

const GIT: ProgramUse = ProgramUse { style: Style::Mixed, ..LOOKS };
const REVISIONS: &str = "revisions, then paths";
const SETTING: &str = "the name of a setting that holds no secret";
const ALL_OPTIONS: &[&str] = &[LOG, NAMES, CONTENTS, PATCH];
const ALL_VALUES: &[&[(&str, OptionValue)]] = &[LOG_VALUES, NAMES_VALUES, CONTENTS_VALUES];
/// Lists of branches and tags. Without `--column`, which runs another part of git.
const REFS_VALUES: &[(&str, OptionValue)] = &[
    ("--contains --no-contains --merged --no-merged --points-at", UnlessLast(Any)),
    ("--sort", Text(By(is_sort_key))),
    ("--format", Text(By(is_format))),
    ("--color --abbrev", Perhaps(Word)),
];
const GREP: &str = "-# -E -F -G -H -I -L -P -W -a -c -h -i -l -n -o -p -q -s -v -w -z --all-match --and --basic-regexp --break \
    --cached --column --count --extended-regexp --files-with-matches --files-without-match --fixed-strings --full-name \
    --function-context --heading --ignore-case --invert-match --line-number --name-only --no-color --not --null \
    --only-matching --or --perl-regexp --quiet --show-function --text --untracked --word-regexp";
/// Without `-f`, whose file some versions look for in the root of the repository.
const GREP_VALUES: &[(&str, OptionValue)] = &[
    (
        "-A -B -C -m --after-context --before-context --context --max-depth --max-count --threads",
        Text(Number),
    ),
    ("-e", Text(Prose)),
    ("--color", Perhaps(Of("always auto never"))),
];
/// Without `--show-superproject-working-tree`, which runs git in the folder above.
const REV_PARSE: &str = "-q --abbrev-ref --absolute-git-dir --all --branches --git-common-dir --git-dir \
    --is-bare-repository --is-inside-git-dir --is-inside-work-tree --is-shallow-repository --quiet --remotes --short \
    --show-cdup --show-object-format --show-prefix --show-toplevel --symbolic \
    --symbolic-full-name --tags --verify";
/// Without `--eol`, which reads files.
const LS_FILES: &str = "-c -d -f -i -k -m -o -s -t -u -v -z --cached --deduplicate --deleted --directory \
    --error-unmatch --exclude-standard --full-name --ignored --killed --modified --no-empty-directory --others --stage \
    --unmerged";

const fn logs(words: &'static str) -> ProgramUse {
    ProgramUse {
        words,
        flags: ALL_OPTIONS,
        values: ALL_VALUES,
        operands: Operands::By(logged, REVISIONS),
        ..GIT
    }
}

pub(in crate::programs) const PROGRAMS: &[Program] = &[Program {
    names: &["git"],
    before: BEFORE,
    uses: &[
        ProgramUse { words: "--version", ..GIT },
        ProgramUse { words: "version", ..GIT },
        ProgramUse {
            words: "status",
            flags: &[
                "-b -s -v -z --ahead-behind --branch --long --no-ahead-behind --no-renames --renames --short --show-stash --verbose",
            ],
            values: &[&[
                ("--porcelain --ignored --find-renames --column", Perhaps(Word)),
                ("-u --untracked-files", Perhaps(Of("all no normal"))),
                ("--ignore-submodules", Perhaps(Of("all dirty none untracked"))),
            ]],
            operands: Operands::By(status, "paths"),
            ..GIT
        },
        ProgramUse {
            values: &[LOG_VALUES, NAMES_VALUES, CONTENTS_VALUES, &[("-L", Text(By(is_range)))]],
            ..logs("log")
        },
        logs("rev-list"),
        logs("reflog show"),
        ProgramUse { part: Some("reflog show"), operands: Operands::By(reflog, "nothing"), ..logs("reflog") },
        logs("whatchanged"),
        ProgramUse {
            words: "shortlog",
            flags: &[LOG, "-c -e -n -s --committer --email --numbered --summary"],
            values: &[LOG_VALUES, &[("--group", Text(By(is_group)))]],
            operands: Operands::By(logged, REVISIONS),
            ..GIT
        },
        ProgramUse { operands: Operands::By(objects, REVISIONS), ..logs("show") },
        ProgramUse {
            words: "diff",
            flags: &[NAMES, CONTENTS, PATCH, "--cached --merge-base --no-color --staged"],
            values: &[NAMES_VALUES, CONTENTS_VALUES, &[("--color --abbrev --relative", Perhaps(Word))]],
            operands: Operands::By(compared, REVISIONS),
            ..GIT
        },
        ProgramUse {
            words: "diff-tree",
            flags: &[LOG, NAMES, CONTENTS, PATCH, "-r -t --no-commit-id --root"],
            ..logs("")
        },
        ProgramUse {
            words: "diff-index",
            flags: &[NAMES, CONTENTS, PATCH, "-r --cached --merge-base"],
            values: &[NAMES_VALUES, CONTENTS_VALUES],
            ..logs("")
        },
        ProgramUse {
            words: "diff-files",
            flags: &[NAMES, CONTENTS, PATCH, "-r"],
            values: &[NAMES_VALUES, CONTENTS_VALUES],
            ..logs("")
        },
        ProgramUse {
            words: "grep",
            flags: &[GREP],
            values: &[GREP_VALUES],
            operands: Operands::By(searched, "a text, then revisions, then paths behind `--`"),
            ..GIT
        },
        ProgramUse {
            words: "blame",
            flags: &[
                "-M -C -b -c -e -f -l -n -p -s -t -w --first-parent --line-porcelain --no-progress --porcelain \
                --root --show-email --show-name --show-number",
            ],
            values: &[&[("-L", Text(By(is_lines)))]],
            operands: Operands::By(blamed, "a revision, then a file"),
            ..GIT
        },
        ProgramUse {
            words: "rev-parse",
            flags: &[REV_PARSE],
            values: &[&[("--abbrev-ref --short", Perhaps(Word)), ("--git-path", Text(Word))]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "merge-base",
            flags: &["-a --all --fork-point --independent --is-ancestor --octopus"],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "ls-files",
            flags: &[LS_FILES],
            values: &[&[("-x --exclude", Text(Any)), ("--abbrev", Perhaps(Number))]],
            operands: Operands::By(listed, "paths"),
            ..GIT
        },
        ProgramUse {
            words: "ls-tree",
            flags: &["-d -l -r -t -z --full-name --full-tree --long --name-only --name-status --object-only"],
            values: &[&[("--abbrev", Perhaps(Number))]],
            operands: Operands::By(listed, "a revision, then paths"),
            ..GIT
        },
        // Without a flag, the first operand would be a type, and the second one an object to print.
        ProgramUse {
            words: "cat-file",
            flags: &["-e -s -t"],
            needs: "-e -s -t",
            operands: Operands::By(one_object, "an object"),
            ..GIT
        },
        ProgramUse {
            words: "cat-file",
            flags: &["-p"],
            needs: "-p",
            operands: Operands::By(named_object, "a file of a revision, or `HEAD`"),
            ..GIT
        },
        ProgramUse {
            words: "describe",
            flags: &["--all --always --contains --debug --exact-match --first-parent --long --tags"],
            values: &[&[
                ("--abbrev --candidates", Text(Number)),
                ("--exclude --match", Text(Any)),
                ("--dirty", Perhaps(Any)),
            ]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "name-rev",
            flags: &["--all --always --name-only --no-undefined --tags"],
            values: &[&[("--exclude --refs", Text(Any))]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "for-each-ref",
            flags: &["--ignore-case --omit-empty"],
            values: &[REFS_VALUES, &[("--count", Text(Number))]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "show-ref",
            flags: &["-d -q -s --dereference --head --heads --quiet --tags --verify --branches"],
            values: &[&[("--abbrev --hash", Perhaps(Number))]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "symbolic-ref",
            flags: &["-q --quiet --short"],
            operands: Operands::By(one_name, "a name"),
            ..GIT
        },
        ProgramUse {
            words: "check-ignore",
            flags: &["-n -q -v -z --no-index --non-matching --quiet --verbose"],
            operands: Operands::By(listed, "paths"),
            ..GIT
        },
        ProgramUse { words: "count-objects", flags: &["-H -v --human-readable --verbose"], ..GIT },
        ProgramUse {
            words: "cherry",
            flags: &["-v"],
            values: &[&[("--abbrev", Perhaps(Number))]],
            operands: Operands::Texts(Any),
            ..GIT
        },
        ProgramUse {
            words: "fsck",
            flags: &[
                "--connectivity-only --dangling --full --name-objects --no-dangling --no-progress --no-reflogs --strict \
                --unreachable --verbose",
            ],
            ..GIT
        },
        // Without what shows contents: with `--all` or `-m`, other stashes and what they keep of untracked files.
        ProgramUse { words: "stash list", flags: &[LOG, NAMES], values: &[LOG_VALUES, NAMES_VALUES], ..GIT },
        // Without `-u`, `--include-untracked` and `--only-untracked`.
        ProgramUse {
            words: "stash show",
            part: Some("stash list"),
            flags: &[NAMES, CONTENTS],
            values: &[NAMES_VALUES, CONTENTS_VALUES],
            operands: Operands::By(stash_shown, "a stash"),
            ..GIT
        },
        ProgramUse {
            words: "branch",
            part: Some("branch list"),
            flags: &[
                "-a -i -r -v -vv --all --ignore-case --list --no-abbrev --no-color --no-column --omit-empty --remotes --show-current --verbose",
            ],
            values: &[REFS_VALUES],
            operands: Operands::By(names_if_listing, "with `--list`, names"),
            ..GIT
        },
        ProgramUse {
            words: "tag",
            part: Some("tag list"),
            flags: &["-i -l --ignore-case --list --no-column --omit-empty"],
            values: &[REFS_VALUES, &[("-n", Perhaps(Number))]],
            operands: Operands::By(names_if_listing, "with `--list`, names"),
            ..GIT
        },
        ProgramUse { words: "remote", part: Some("remote list"), flags: &["-v --verbose"], ..GIT },
        ProgramUse {
            words: "remote get-url",
            part: Some("remote list"),
            flags: &["--all --push"],
            operands: Operands::Texts(Word),
            ..GIT
        },
        ProgramUse { words: "worktree list", flags: &["-v -z --porcelain --verbose"], ..GIT },
        // Without what lists settings or takes a pattern for their names.
        ProgramUse {
            words: "config",
            part: Some("config list"),
            flags: &[
                "-z --bool --global --int --local --null --path --show-origin --show-scope --system --worktree",
            ],
            values: &[&[("--get --get-all", Text(By(is_open))), ("--default --type", Text(Word))]],
            operands: Operands::By(setting, SETTING),
            ..GIT
        },
        ProgramUse {
            words: "config get",
            part: Some("config list"),
            flags: &["--all --global --local --show-origin --show-scope"],
            operands: Operands::By(setting, SETTING),
            ..GIT
        },
    ],
}];

/// Returns `true` for a key to sort by that git itself knows: `signature` runs gpg, `describe` runs git.
fn is_sort_key(text: &str) -> bool {
    Of("authordate committerdate creatordate objectname objectsize objecttype refname subject taggerdate v:refname version:refname")
        .takes(text.strip_prefix('-').unwrap_or(text))
}

/// Returns `true` of a key that `shortlog` may group commits by. A format could run gpg.
fn is_group(text: &str) -> bool {
    let is_plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    Of("author committer").takes(text) || text.strip_prefix("trailer:").is_some_and(is_plain)
}

/// Lines of a file: `10,20`, `10,+5`.
fn is_lines(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || ",+-".contains(c))
}

//! Options that several subcommands of git have.

use super::operands::is_format;
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{self, Perhaps, Text};

/// Options that select commits, and their form. Without those that run gpg.
pub(super) const LOG: &str = "-# -E -F -P -g -i --abbrev-commit --all --all-match --ancestry-path --author-date-order \
    --basic-regexp --boundary --branches --cherry --cherry-mark --cherry-pick --children --clear-decorations --count \
    --date-order --decorate --dense --exclude-promisor-objects --extended-regexp --first-parent --fixed-strings --follow \
    --full-history --graph --invert-grep --left-only --left-right --merges --no-abbrev --no-abbrev-commit --no-color \
    --no-decorate --no-mailmap --no-merges --no-notes --no-walk --notes --oneline --parents --perl-regexp --pretty --quiet \
    --regexp-ignore-case --relative-date --remotes --reverse --right-only --show-pulls --simplify-by-decoration \
    --simplify-merges --source --sparse --tags --topo-order --use-mailmap --walk-reflogs";
pub(super) const LOG_VALUES: &[(&str, OptionValue)] = &[
    ("-n --max-count --skip --min-parents --max-parents", Text(Number)),
    ("--after --author --before --committer --grep --since --until --exclude --glob", Text(Any)),
    ("--branches --remotes --tags --decorate-refs --decorate-refs-exclude", Perhaps(Any)),
    ("--abbrev", Perhaps(Number)),
    ("--color", Perhaps(Of("always auto never"))),
    ("--date", Text(By(is_date_format))),
    ("--decorate", Perhaps(Of("auto full no short"))),
    ("--format --pretty", Perhaps(By(is_pretty))),
];
/// The forms of a difference that names files, and at most counts lines.
pub(super) const NAMES: &str = "-s -z --compact-summary --cumulative --dirstat --exit-code --find-copies-harder \
    --ita-invisible-in-index --name-only --name-status --no-ext-diff --no-patch --no-renames --no-textconv --numstat --quiet --raw \
    --shortstat --stat --summary";
pub(super) const NAMES_VALUES: &[(&str, OptionValue)] = &[
    ("-M --find-renames --find-copies --stat --stat-width --dirstat", Perhaps(Word)),
    ("-l --diff-filter", Text(Word)),
    ("--ignore-submodules", Perhaps(Of("all dirty none untracked"))),
];
/// The forms of a difference that shows contents, or parts of them. Without `--output`, and without `--ext-diff` and `--textconv`,
/// which run programs that the configuration names.
pub(super) const CONTENTS: &str = "-R -W -a -b -c -m -p -w --binary --cc --check --color-words --full-diff --full-index \
    --function-context --histogram --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-space-at-eol \
    --ignore-space-change --minimal --no-indent-heuristic --no-prefix --patch --patch-with-raw --patch-with-stat --patience \
    --pickaxe-all --pickaxe-regex --text --word-diff";
/// The same as `-p`, except of `stash show`, which shows the files with it that git does not track.
pub(super) const PATCH: &str = "-u";
pub(super) const CONTENTS_VALUES: &[(&str, OptionValue)] = &[
    ("-S -G", Text(Prose)),
    ("-U --unified --inter-hunk-context", Text(Number)),
    ("--color-moved --color-words --word-diff --word-diff-regex", Perhaps(Any)),
    ("--diff-algorithm", Text(Of("default histogram minimal myers patience"))),
    ("--diff-merges", Text(Word)),
];

/// Returns `true` for a format of commits. The configuration gives other names their meaning, and could name a format that runs
/// gpg.
fn is_pretty(text: &str) -> bool {
    let is_format_itself =
        text.is_empty() || text.contains('%') || text.starts_with("format:") || text.starts_with("tformat:");
    is_format(text) && is_format_itself
        || Of("email full fuller medium mboxrd oneline raw reference short").takes(text)
}

/// Returns `true` for a format of dates. `format:` takes the formats of `strftime`.
fn is_date_format(text: &str) -> bool {
    let named = "default format-local human iso iso-local iso-strict iso8601 local raw relative rfc rfc2822 short short-local unix";
    Of(named).takes(text) || text.starts_with("format:") || text.starts_with("format-local:")
}

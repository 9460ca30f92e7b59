//! Ways in which secrets left by git without being named, by class.

use super::{Lists, ReadsTracked, ReadsTree, ShowsTracked, Writes, files, has, is_readable, parts};
use crate::action::Access::ReadsStored;

/// Names of a stash, each with a possible ending.
const STASHES: [&str; 12] = [
    "stash",
    "stash@{1}",
    "stash@{now}",
    "stash^3",
    "stash~1",
    "stash^{/WIP}^3",
    "refs/stash",
    "refs/stash@{0}^3",
    "main-worktree/refs/stash^3",
    "STASH^3",
    "Refs/Stash",
    "\u{17f}tash",
];

#[test]
fn what_a_stash_keeps_is_not_shown() {
    for stash in STASHES {
        let forms = [
            stash.to_owned(),
            format!("{stash}:.env"),
            format!("^{stash}"),
            format!("a..{stash}"),
            format!("{stash}..a"),
            format!("a...{stash}"),
        ];
        for form in forms {
            for text in [
                "show",
                "show --stat",
                "log -p",
                "log -S x",
                "log -L 1,2:a",
                "rev-list -p",
                "reflog show -p",
                "whatchanged -u",
                "diff",
                "diff HEAD",
                "diff-tree -p",
                "diff-index -p",
                "cat-file -p",
                "grep x",
                "blame",
                "checkout",
                "reset",
                "reset --hard",
                "cherry-pick",
                "branch a",
                "tag a",
                "push origin",
                "push --force origin",
                "worktree add a",
            ] {
                assert!(!is_readable(&format!("git {text} '{form}'")), "{text} {form}");
            }
            assert!(!is_readable(&format!("git restore --source='{form}' .")), "{form}");
        }
    }
    for text in
        ["log stash", "log --stat refs/stash", "rev-parse stash^3", "cat-file -t stash^3", "stash pop"]
    {
        assert!(is_readable(&format!("git {text}")), "{text}");
    }
    for text in ["show topic/stash", "show stashed", "diff a/stash", "log -p -- stash", "add stash"] {
        assert!(is_readable(&format!("git {text}")), "{text}");
    }
}

#[test]
fn uses_of_stash_show_no_untracked_files() {
    for text in ["show", "show -p", "show --stat 'stash@{1}'", "list", "list --stat", "show --patch 1"] {
        assert!(is_readable(&format!("git stash {text}")), "{text}");
    }
    assert!(
        has("git stash show -p", ".", ShowsTracked, false) && has("git stash show", ".", ShowsTracked, false)
    );
    for text in [
        "show -u",
        "show -pu",
        "show --include-untracked",
        "show --only-untracked",
        "show --all",
        "show 1a2b3c4",
        "show main",
        "list -p",
        "list -u",
        "list -m --cc",
        "list -S x",
        "list stash^3",
    ] {
        assert!(!is_readable(&format!("git stash {text}")), "{text}");
    }
}

#[test]
fn contents_of_every_reference_are_not_shown_without_a_path() {
    for text in
        ["log -p --all", "log --all -S x", "log -u --glob=refs/stash", "log -p --all --full-diff -- a"]
    {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
    for text in [
        "show --all",
        "show --all --stat",
        "show --glob='refs/s*' -- a",
        "whatchanged -p -g --all",
        "reflog -p --all",
    ] {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
    assert!(
        is_readable("git shortlog -c --all")
            && is_readable("git log --all --stat")
            && is_readable("git log --oneline --glob=refs/stash")
    );
    assert_eq!(files("git log -p --all -- a"), [("a".to_owned(), ReadsStored, false)]);
}

#[test]
fn an_object_is_shown_by_its_path_only() {
    for text in ["HEAD:a", "main:src/a", "1a2b3c4:a", ":a", ":2:a"] {
        assert!(is_readable(&format!("git cat-file -p {text}")), "{text}");
        assert!(is_readable(&format!("git show {text}")), "{text}");
    }
    assert!(is_readable("git cat-file -p HEAD") && is_readable("git cat-file -t 1a2b3c4"));
    for text in [
        "1a2b",
        "1a2b3c4",
        "main",
        "v1",
        "x-g1a2b3c4",
        "1a2b3c4:",
        "-- a",
        "HEAD:a HEAD:b",
        "HEAD:a..HEAD:.env",
        "",
    ] {
        assert!(!is_readable(&format!("git cat-file -p {text}")), "{text}");
    }
    for text in
        ["diff HEAD:a..HEAD:.env", "show a..b:.env", "diff HEAD:../a..HEAD:.env", "diff HEAD:a/...b:.env"]
    {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
    assert!(is_readable("git show HEAD:../a"));
    for text in ["for-each-ref --format='%(raw)'", "tag --format='%(*raw)'", "branch --format='%(raw:size)'"]
    {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
}

#[test]
fn a_hash_may_name_any_file_that_git_has_stored() {
    for hash in ["1a2b", "1A2B3C4", "1a2b3c4^3", "1a2b3c4~1", "a..1a2b3c4", "v1-2-g1a2b3c4", "1a2b3c4^{tree}"]
    {
        for text in ["show", "show --stat", "log -p", "log -G x", "diff", "diff-tree -p"] {
            assert!(has(&format!("git {text} '{hash}'"), ".", ReadsStored, false), "{text} {hash}");
        }
        // Pathspecs do not leave out what the hash itself names.
        for text in ["show", "diff", "grep x"] {
            assert!(has(&format!("git {text} '{hash}' -- a"), ".", ReadsStored, false), "{text} {hash}");
        }
        assert!(has(&format!("git log -p '{hash}' -- a"), "a", ReadsStored, false), "{hash}");
    }
    assert!(has("git grep x 1a2b3c4 -- a", ".", ReadsTree, false));
    assert!(has("git diff 1a2b3c4: HEAD:", ".", ReadsStored, false));
    for text in ["show HEAD", "show main", "show v1.2", "show 1a2", "show 1a2b3c4:a", "log 1a2b3c4"] {
        assert!(!has(&format!("git {text}"), ".", ReadsStored, false), "{text}");
    }
}

#[test]
fn what_is_shown_without_a_name_is_told_apart() {
    for text in [
        "diff",
        "diff --cached",
        "diff main",
        "diff main...topic",
        "diff -- .",
        "show",
        "show HEAD",
        "show --stat main",
        "log -p",
        "log -S x --oneline",
        "log -p --full-diff -- a",
        "show --full-diff -- a",
        "stash show -p",
        "status -v",
        "commit -v --dry-run",
        "diff-files -p",
    ] {
        assert!(
            has(&format!("git {text}"), ".", ShowsTracked, false),
            "{text}: {:?}",
            files(&format!("git {text}"))
        );
    }
    assert!(has("git diff -- src/", "src/", ShowsTracked, false));
    // Any name may be that of a folder.
    for name in ["src", "src/", "apps.d", "src/a.rs", "a/b", ":src"] {
        for text in
            ["diff --", "diff --cached --", "diff HEAD --", "log -p --", "show HEAD --", "diff-files -p --"]
        {
            let path = name.trim_start_matches(':');
            assert!(has(&format!("git {text} {name}"), path, ShowsTracked, false), "{text} {name}");
        }
    }
    assert_eq!(files("git diff --stat -- src"), [("src".to_owned(), Lists, false)]);
    assert!(
        !has("git commit -m a", ".", ShowsTracked, false) && has("git commit -m a", ".", ReadsTracked, false)
    );
}

#[test]
fn settings_that_may_hold_secrets_are_not_shown() {
    for name in [
        "user.name",
        "User.Email",
        "core.hooksPath",
        "branch.a/b.merge",
        "pull.rebase",
        "push.default",
        "diff.a.textconv",
        "remote.origin.url",
        "init.defaultBranch",
    ] {
        for text in ["", "--get ", "--global ", "--get-all ", "get "] {
            assert_eq!(files(&format!("git config {text}{name}")), [], "{text}{name}");
        }
    }
    for name in [
        "http.https://example.org/.extraheader",
        "http.proxy",
        "credential.helper",
        "url.a.insteadOf",
        "remote.a.pushurl",
        "remote.pushDefault",
        "core.sshCommand",
        "core.gitProxy",
        "push.pushOption",
        "fetch.bundleURI",
        "user",
        "alias.a",
        "include.path",
        "sendemail.smtpPass",
        "list",
    ] {
        for text in ["", "--get ", "--global ", "--get-all ", "get ", "--bool ", "get --all ", "--default x "]
        {
            assert!(!is_readable(&format!("git config {text}{name}")), "{text}{name}");
        }
    }
    for text in [
        "-l",
        "--list",
        "--list --name-only",
        "--global -l",
        "list",
        "list --global",
        "get --all --show-names --regexp user",
        "--get-regexp user",
        "--get-urlmatch http https://example.org",
        "--get user.name x",
        "set user.name",
        "-e",
        "edit --global",
    ] {
        assert!(!is_readable(&format!("git config {text}")), "{text}");
    }
    for text in ["a.b c", "--global a.b c", "--unset a.b", "set a.b c", "unset a.b", "--add a.b c"] {
        assert!(has(&format!("git config {text}"), ".git/config", Writes, false), "{text}");
    }
}

#[test]
fn what_git_adds_is_told_apart() {
    for (text, path) in [
        ("add -A", "."),
        ("add --all", "."),
        ("add .", "."),
        ("add -u", "."),
        ("add -N -A", "."),
        ("add src", "src"),
        ("add -N src", "src"),
        ("add -A -- src/a.rs", "src/a.rs"),
    ] {
        assert_eq!(files(&format!("git {text}")), [(path.to_owned(), ShowsTracked, false)], "{text}");
        assert_eq!(parts(&format!("git {text}")), ["git add"], "{text}");
    }
    for (text, path) in [
        ("add -f -A", "."),
        ("add -N -f -A", "."),
        ("add -fA", "."),
        ("add --force .", "."),
        ("add --force src", "src"),
        ("add -f -- dist/a.js", "dist/a.js"),
    ] {
        assert_eq!(files(&format!("git {text}")), [(path.to_owned(), ReadsTree, false)], "{text}");
        assert_eq!(parts(&format!("git {text}")), ["git add --force"], "{text}");
    }
    assert!(has("git add -f 'a*'", "a**", ReadsTree, true) && has("git add 'a*'", "a**", ShowsTracked, true));
}

//! Globs that a program reads otherwise than they look.

use super::{Lists, Reads, ReadsTree, has, is_readable};

#[test]
fn a_glob_that_ripgrep_does_not_take_as_it_stands_is_refused() {
    for option in ["-g", "--glob", "--iglob"] {
        for glob in [
            "",
            " ",
            "#",
            "#/x",
            "apps/.env ",
            "apps/.env\t",
            "apps/.env\u{a0}",
            " a",
            "!",
            "! ",
            "!#",
            "\\#x",
            "a\\ ",
            "\\!x",
            "a\\b",
            "!a\\b",
            "/",
        ] {
            for text in ["rg x", "rg --files"] {
                assert!(!is_readable(&format!("{text} {option} '{glob}'")), "{text} {option} {glob:?}");
            }
        }
        for glob in ["*.rs", "!*.rs", "/src/**", "a#b", "a b", "*.{ts,tsx}", "!src/"] {
            assert!(is_readable(&format!("rg x {option} '{glob}'")), "{option} {glob:?}");
        }
    }
    // A glob that only excludes bounds nothing.
    assert!(has("rg x -g '!*.rs'", ".", ReadsTree, false));
}

#[test]
fn a_class_of_a_glob_takes_a_slash() {
    for glob in ["apps[!x].env", "apps[^x].env", "apps[.-0].env", "apps[/].env", "apps[--0].env"] {
        assert!(has(&format!("rg x -g '{glob}'"), "apps**.env", Reads, true), "{glob}");
        assert!(has(&format!("fd -p -g '{glob}'"), "apps**.env", Lists, true), "{glob}");
    }
    assert!(has("rg x -g '[a-f0-9_]*.rs'", "[a-f0-9_]*.rs", Reads, true));
    for glob in ["a[b", "a[]", "a[!]", "a[[]b", "a[b]]", "a[b]c["] {
        assert!(!is_readable(&format!("rg x -g '{glob}'")), "{glob}");
    }
}

#[test]
fn wildcards_of_grep_may_run_over_folders() {
    for (glob, pattern) in [
        ("a*env", "a**env"),
        ("apps?.env", "apps**.env"),
        ("apps[!x].env", "apps**.env"),
        ("*a*", "**a**"),
        ("test_*.py", "test_**.py"),
    ] {
        assert!(has(&format!("grep -r --include='{glob}' x ."), pattern, Reads, true), "{glob}");
    }
    // With one star before a text, a name matches wherever it stands.
    for glob in ["*.go", "*_test.go", ".env", "*"] {
        assert!(has(&format!("grep -r --include='{glob}' x ."), glob, Reads, true), "{glob}");
    }
    assert!(!is_readable("grep -r --include= x .") && !is_readable("grep -r --include='a\\b' x ."));
}

#[test]
fn an_empty_glob_of_fd_lists_everything() {
    for text in ["fd -g ''", "fd -g ' '", "fd -g 'a\\b'"] {
        assert!(!is_readable(text), "{text}");
    }
}

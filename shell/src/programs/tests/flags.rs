//! Uses that are harmless, or have another part, because of a flag.

use super::{Reads, ReadsTree, Writes, has, is_readable, parts};
use crate::parse;
use crate::programs::{ProgramCall, table};

const OPERANDS: [&str; 5] = ["", "a", "a b", "HEAD", "blob HEAD"];

#[test]
fn a_use_that_needs_a_flag_is_not_taken_without_it() {
    let mut seen = 0;
    for program in table::programs() {
        for used in program.uses.iter().filter(|used| !used.needs.is_empty()) {
            let listed: Vec<&str> = used.flags.iter().flat_map(|flags| flags.split_whitespace()).collect();
            for needed in used.needs.split_whitespace() {
                assert!(listed.contains(&needed), "{:?} {} needs {needed}", program.names, used.words);
            }
            for (name, operands) in program.names.iter().flat_map(|name| OPERANDS.map(|words| (*name, words)))
            {
                let line = parse(format!("{name} {operands}").trim()).unwrap();
                let (program, args) = line.commands[0].words.split_first().unwrap();
                let call = ProgramCall { program, args, is_piped: false, is_elsewhere: false, cwd: None };
                assert!(call.used(name, used, args).is_err(), "{name} {} {operands}", used.words);
                seen += 1;
            }
        }
    }
    assert!(seen > OPERANDS.len() * 10, "{seen} lines");
}

#[test]
fn an_object_of_git_is_not_printed_by_its_type() {
    for kind in ["blob", "tree", "commit", "tag"] {
        for object in ["HEAD", "stash^3:.env", "1a2b3c4", ":a"] {
            for flags in ["", "-- ", "-t ", "-e ", "-s ", "-p ", "-t -p "] {
                let text = format!("git cat-file {flags}{kind} '{object}'");
                assert!(!is_readable(&text), "{text}");
            }
        }
    }
    for text in ["cat-file HEAD", "cat-file", "cat-file -t", "cat-file -e -t HEAD", "cat-file -et HEAD"] {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
    for text in ["-t HEAD", "-e stash^3:.env", "-s 1a2b3c4", "-p HEAD:a"] {
        assert!(is_readable(&format!("git cat-file {text}")), "{text}");
    }
}

#[test]
fn a_formatter_without_its_flag_writes_or_prints() {
    for (text, part, path) in [
        ("black src", "black", "src"),
        ("black -q a.py", "black", "a.py"),
        ("ruff format src", "ruff format", "src"),
        ("ruff format", "ruff format", "."),
        ("gofmt -w a", "gofmt -w", "a"),
        ("prettier --write a", "prettier --write", "a"),
        ("golangci-lint run --fix", "golangci-lint run --fix", "."),
        ("golangci-lint fmt", "golangci-lint fmt", "."),
    ] {
        assert_eq!(parts(text), [part], "{text}");
        assert!(has(text, path, Writes, false), "{text}");
    }
    for (text, part) in [
        ("black --check src", "black --check"),
        ("ruff format --diff src", "ruff format --check"),
        ("prettier -c src", "prettier"),
        ("gofmt -l src", "gofmt"),
    ] {
        assert_eq!(parts(text), [part], "{text}");
        assert!(has(text, "src", Reads, false) || text.starts_with("ruff"), "{text}");
    }
    for text in ["prettier config", "gofmt config", "gofmt -d config"] {
        assert!(has(text, "config", ReadsTree, false), "{text}");
    }
    assert!(has("gofmt -d a.go", "a.go", Reads, false) && !is_readable("prettier 'config/*'"));
    assert_eq!(parts("cargo clippy --fix"), ["cargo clippy --fix"]);
    assert_eq!(parts("cargo clippy -- -D warnings"), ["cargo clippy"]);
}

#[test]
fn a_word_that_changes_what_is_audited_is_told() {
    assert_eq!(parts("npm audit"), ["npm audit"]);
    assert_eq!(parts("npm audit fix --force"), ["npm audit fix"]);
    for text in ["npm audit --json fix", "pnpm audit x", "cargo audit fix"] {
        assert!(!is_readable(text), "{text}");
    }
}

#[test]
fn a_plus_of_a_shell_begins_an_option() {
    for shell in ["bash", "sh", "zsh", "dash"] {
        for text in ["+c 'touch a'", "-n +n a", "-n -- +n a", "+n a", "+x -c id", "-n ./*"] {
            assert!(!is_readable(&format!("{shell} {text}")), "{shell} {text}");
        }
        assert!(has(&format!("{shell} -n a"), "a", Reads, false));
        assert!(has(&format!("{shell} a +c"), "a", Reads, false));
    }
    assert!(!is_readable("php -c a b") && has("php -l a", "a", Reads, false));
}

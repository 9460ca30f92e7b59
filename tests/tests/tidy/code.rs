//! Tests of constructs that no source file may hold.

use super::{SourceFile, assert_none, files};

/// The longest source file, in lines.
const MAX_FILE_LINES: usize = 500;

/// Files that may be longer, each with its reason. None is wished.
const LONGER: [(&str, &str); 0] = [];

/// Text that a room's code may not hold outside its tests, and the paths that may.
const WALLS: [(&str, &str, &[&str]); 9] = [
    ("formats/src/", "std::fs", &[]),
    ("formats/src/", "std::net", &[]),
    ("formats/src/", "std::thread", &[]),
    ("formats/src/", "std::time", &[]),
    ("formats/src/", "std::env", &[]),
    ("ledger/src/", "std::fs", &["ledger/src/host/disk/"]),
    ("ledger/src/", "SystemTime", &["ledger/src/host/clock.rs", "ledger/src/lib.rs"]),
    // The committer only measures how long a sync took; witnesses, who are no part of what a seed replays, are waited for until
    // a deadline.
    (
        "ledger/src/",
        "Instant",
        &["ledger/src/host/clock.rs", "ledger/src/append/committer.rs", "ledger/src/heads/witness/poll.rs"],
    ),
    ("ledger/src/", "getrandom", &["ledger/src/host/entropy.rs"]),
];

/// The lines of a file before its tests, numbered from 1, without comments.
fn code_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The most lines of the rooms of the command line: flags, tables and exit codes.
const MAX_COMMAND_LINE_LINES: [(&str, usize); 3] =
    [("cli/src/", 14_000), ("command_kit/src/", 5_000), ("custody_commands/src/", 4_000)];

#[test]
fn the_command_line_is_small() {
    let all = files(".rs");
    for (room, most) in MAX_COMMAND_LINE_LINES {
        let own = all.iter().filter(|file| file.path.starts_with(room));
        let lines: usize = own.map(|file| file.text.lines().count()).sum();
        assert!(
            lines <= most,
            "{room}: found {lines} lines, expected at most {most}; move what is no flag, table or exit code into another room"
        );
    }
}

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for file in files(".rs") {
        let lines = file.text.lines().count();
        if lines > MAX_FILE_LINES && !LONGER.iter().any(|(path, _)| *path == file.path) {
            problems
                .push(format!("{}: {lines} lines, at most {MAX_FILE_LINES}: divide it by noun", file.path));
        }
    }
    assert_none(&problems);
}

#[test]
fn nothing_is_left_to_do() {
    // Put together here, so that this file does not hold them.
    let unfinished = [["to", "do!("].concat(), ["unimplem", "ented!("].concat(), ["FIX", "ME"].concat()];
    let mut problems = Vec::new();
    for file in files(".rs").into_iter().chain(files(".md")).chain(files(".toml")) {
        for (index, line) in file.text.lines().enumerate() {
            for mark in unfinished.iter().filter(|mark| line.contains(mark.as_str())) {
                problems.push(format!("{}:{}: {mark}", file.path, index + 1));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn only_the_command_line_prints() {
    const PRINTS: [&str; 4] = ["println!(", "print!(", "eprintln!(", "eprint!("];
    const MAY: [&str; 4] = ["cli/", "tests/", "examples/", "benches/"];
    let may_print =
        |path: &str| MAY.iter().any(|room| path.starts_with(room) || path.contains(&format!("/{room}")));
    let mut problems = Vec::new();
    for file in files(".rs").iter().filter(|file| !may_print(&file.path)) {
        for (number, line) in code_lines(file) {
            if PRINTS.iter().any(|print| line.contains(print)) {
                problems.push(format!("{}:{number}: prints", file.path));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn rooms_use_only_what_is_theirs() {
    let mut problems = Vec::new();
    for file in files(".rs").iter().filter(|file| !file.path.ends_with("tests.rs")) {
        for (room, text, allowed) in WALLS {
            if !file.path.starts_with(room) || allowed.iter().any(|path| file.path.starts_with(path)) {
                continue;
            }
            for (number, _) in code_lines(file).filter(|(_, line)| line.contains(text)) {
                problems.push(format!("{}:{number}: uses {text}", file.path));
            }
        }
    }
    assert_none(&problems);
}

//! Bugs seeded on purpose, which are worth something only while they can be seeded.

use std::process::Command;

use super::{assert_none, files, root};

const FOLDER: &str = "tests/seeded-bugs/";

#[test]
fn every_seeded_bug_applies_to_the_code_as_it_is() {
    if !root().join(".git").exists() {
        eprintln!("not run: this is no checkout of git, which applies them");
        return;
    }
    let mut problems = Vec::new();
    for patch in files(".patch").iter().filter(|file| file.path.starts_with(FOLDER)) {
        let check = ["apply", "--check", &patch.path];
        let output = Command::new("git").current_dir(root()).args(check).output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().next().unwrap_or("git says nothing");
            problems.push(format!("{}: make it again ({why})", patch.path));
        }
    }
    assert_none(&problems);
}

#[test]
fn every_seeded_bug_names_a_test_that_there_is() {
    let sources = files(".rs");
    let mut problems = Vec::new();
    for patch in files(".patch").iter().filter(|file| file.path.starts_with(FOLDER)) {
        let first = patch.text.lines().next().unwrap_or_default();
        let ["caught-by:", _, _, test] = first.split(' ').collect::<Vec<_>>()[..] else {
            problems.push(format!("{}: its first line is not `caught-by: PACKAGE TARGET TEST`", patch.path));
            continue;
        };
        let function = format!("fn {}(", test.rsplit("::").next().unwrap());
        if !sources.iter().any(|file| file.text.contains(&function)) {
            problems.push(format!("{}: no file has `{function}`", patch.path));
        }
    }
    assert_none(&problems);
}

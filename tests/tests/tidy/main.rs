//! The repository's own rules: permitted dependencies of rooms, true documents, finished code.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a check fails by panicking")]

mod code;
mod cycles;
mod documents;
mod generated;
mod language;
mod markdown;
mod names;
mod rooms;
mod seeded_bugs;

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout's top folder.
fn root() -> PathBuf {
    let tests = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    tests.parent().unwrap().to_owned()
}

/// One file of the repository: where it lies below the top folder, and its text.
struct SourceFile {
    path: String,
    text: String,
}

/// Every file with this ending, in the order of their paths; what builds leave behind is not ours.
fn files(ending: &str) -> Vec<SourceFile> {
    let mut found = Vec::new();
    collect(&root(), "", ending, &mut found);
    assert!(!found.is_empty(), "no file ends in {ending}: the walk looks in the wrong place");
    found
}

fn collect(folder: &Path, below: &str, ending: &str, found: &mut Vec<SourceFile>) {
    const NOT_OURS: [&str; 5] = [".git", "target", "corpus", "artifacts", "node_modules"];
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !NOT_OURS.contains(&name.as_str()))
        .collect();
    names.sort_unstable();
    for name in names {
        let full = folder.join(&name);
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if full.is_dir() {
            collect(&full, &path, ending, found);
        } else if path.ends_with(ending) {
            found.push(SourceFile { text: fs::read_to_string(full).unwrap(), path });
        }
    }
}

/// Fails with every problem at once, one a line.
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} found:\n{}", problems.len(), problems.join("\n"));
}

//! Import cycles: modules that need one another are one module, however many files they have.

use std::collections::{BTreeMap, BTreeSet};

use super::{SourceFile, assert_none, files};

/// The modules that a crate's largest import cycle may have.
const MAX_CYCLE: usize = 9;

/// Module paths of a crate, as `a/b` for `crate::a::b`, with what each of them imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the path of a source file's module below its crate's root; `None` for roots, binaries and tests.
fn module(file: &SourceFile) -> Option<(&str, String)> {
    let (room, below) = file.path.split_once("/src/")?;
    let path = below.strip_suffix(".rs")?.trim_end_matches("/mod");
    let is_test = path.split('/').any(|part| part == "tests");
    let is_root = matches!(path, "lib" | "main") || path.starts_with("bin/");
    (!is_test && !is_root && !room.contains('/')).then(|| (room, path.to_owned()))
}

/// Returns a file's code: what stands before its tests, without comments.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Adds the paths of a use tree to those found.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let (mut depth, mut begin) = (0_usize, 0);
    let mut parts = Vec::new();
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[begin..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((head, rest)) => {
                let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
                expand(&format!("{prefix}{head}"), inner, found);
            }
            None => found.push(format!("{prefix}{part}")),
        }
    }
}

/// Returns the paths that some code names: those of its `use` declarations, and those that begin with `crate` or `super` elsewhere.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let words = line.trim_start();
        let words = words
            .strip_prefix("pub")
            .map_or(words, |words| words.trim_start_matches(|c| c != ' ').trim_start());
        let Some(tree) = words.strip_prefix("use ") else {
            rest.push_str(line);
            rest.push(' ');
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.ends_with(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next);
        }
        expand("", tree.trim_end_matches(';'), &mut found);
    }
    let is_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
    let words = rest.split(|letter: char| !is_path(letter));
    found.extend(
        words.filter(|word| word.starts_with("crate::") || word.starts_with("super::")).map(str::to_owned),
    );
    found
}

/// Returns the path in the crate, as `a/b/Name`, that a path of this module means; `None` for another crate's.
fn resolve(module: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
    match *parts.first()? {
        "crate" => Some(parts.split_off(1).join("/")),
        "super" => {
            let ups = parts.iter().take_while(|part| **part == "super").count();
            let mut base: Vec<&str> = module.split('/').collect();
            base.truncate(base.len().checked_sub(ups)?);
            base.extend(parts.split_off(ups));
            Some(base.join("/"))
        }
        _ => None,
    }
}

/// Returns the imports of each module of a crate: of every file by itself, or of all files of a top-level module as one.
fn imports(files: &[(String, String)], by_room: bool) -> Imports {
    let known: BTreeSet<&str> = files.iter().map(|(module, _)| module.as_str()).collect();
    let top =
        |module: &str| if by_room { module.split('/').next().unwrap_or(module) } else { module }.to_owned();
    let mut all = Imports::new();
    for (module, code) in files {
        let targets = all.entry(top(module)).or_default();
        for path in paths(code).iter().filter_map(|path| resolve(module, path)) {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let found = ends.rev().find_map(|end| known.get(&path[..end]));
            targets.extend(found.map(|found| top(found)).filter(|found| *found != top(module)));
        }
    }
    all
}

/// Returns the modules that can be reached from one of them.
fn reached<'a>(from: &'a str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for target in imports.get(module).into_iter().flatten() {
            if found.insert(target.as_str()) {
                next.push(target);
            }
        }
    }
    found
}

/// Returns the modules of the largest cycle.
fn largest_cycle(imports: &Imports) -> Vec<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (module.as_str(), reached(module, imports))).collect();
    let cycle = |module: &&str| -> Vec<&str> {
        let others = reached[module].iter().filter(|other| reached[**other].contains(module));
        others.copied().collect()
    };
    let modules: Vec<&str> = imports.keys().map(String::as_str).collect();
    modules.iter().map(cycle).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn no_import_cycle_is_large() {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in &files(".rs") {
        if let Some((room, module)) = module(file) {
            crates.entry(room.to_owned()).or_default().push((module, code(&file.text)));
        }
    }
    let mut problems = Vec::new();
    for (room, files) in &crates {
        for by_room in [true, false] {
            let imports = imports(files, by_room);
            let cycle = largest_cycle(&imports);
            if cycle.len() > MAX_CYCLE {
                problems.push(format!(
                    "{room}: a cycle of {} modules, at most {MAX_CYCLE}: {}",
                    cycle.len(),
                    cycle.join(" ")
                ));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn a_cycle_is_found_through_use_trees_and_paths() {
    let of = |module: &str, text: &str| (module.to_owned(), code(text));
    let files = [
        of("a", "use crate::{b::{self, B}, c::C};\n"),
        of("b", "fn f() { crate::c::g(); }\n"),
        of("c", "// use crate::b;\n#[cfg(test)]\nmod tests { use crate::a; }\n"),
        of("c/d", "use super::super::a::A;\n"),
        of("e", "use std::fs;\n"),
    ];
    let found = imports(&files, false);
    assert_eq!(found["a"], ["b", "c"].map(str::to_owned).into());
    assert_eq!(found["c/d"], ["a"].map(str::to_owned).into());
    assert!(largest_cycle(&found).is_empty());
    let found = imports(&files, true);
    assert_eq!(largest_cycle(&found), ["a", "b", "c"]);
}

//! Documents that matter are checked: what they name exists, and what exists has one.

use std::fs;
use std::path::Path;

use super::markdown::{Fence, MarkdownPage};
use super::{SourceFile, assert_none, files, root};

/// The rooms and folders that a path in a document may begin with.
const TOP: [&str; 21] = [
    "api",
    "archive_format",
    "archiver",
    "bench",
    "cli",
    "client",
    "data_folder",
    "docs",
    "formats",
    "governance",
    "http_guard",
    "import",
    "ledger",
    "projector",
    "server",
    "shell",
    "testkit",
    "tests",
    "verify",
    "vocabulary",
    ".ci",
];

/// Pages whose every path must exist.
const CHECKED_FOR_PATHS: [&str; 6] = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/ARCHITECTURE.md",
    "docs/adding.md",
    "docs/limits.md",
    "docs/map.md",
];

/// Format pages whose example is text, each with its reason; the others show bytes.
const EXAMPLE_IN_TEXT: [(&str, &str); 11] = [
    ("bundle.md", "shows names of members"),
    ("folder.md", "shows names of files"),
    ("tree_head.md", "shows a note"),
    ("evidence.md", "shows JSON"),
    ("control_file.md", "declared_loss.md shows one"),
    ("declared_loss.md", "shows JSON"),
    ("erased_keys.md", "shows a text of lines"),
    ("receipt.md", "shows a text of lines"),
    ("cosignature.md", "shows a note"),
    ("witness_policy.md", "shows a text of lines"),
    ("add_checkpoint.md", "shows a text of lines"),
];

#[test]
fn the_pages_a_newcomer_needs_exist() {
    let missing = CHECKED_FOR_PATHS.iter().filter(|path| !root().join(path).is_file());
    assert_none(&missing.map(|path| format!("{path}: missing")).collect::<Vec<_>>());
}

#[test]
fn paths_named_in_the_documents_exist() {
    let mut problems = Vec::new();
    for file in files(".md").iter().filter(|file| CHECKED_FOR_PATHS.contains(&file.path.as_str())) {
        let page = MarkdownPage::read(&file.text);
        let missing = page.spans.iter().filter(|(_, span)| is_path(span) && !root().join(span).exists());
        problems.extend(missing.map(|(line, span)| format!("{}:{line}: {span} does not exist", file.path)));
    }
    assert_none(&problems);
}

/// Returns `true` if a code span means a file or folder of this repository.
fn is_path(span: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'-' | b'_');
    let below_top = span.split_once('/').is_some_and(|(first, _)| TOP.contains(&first));
    let named =
        [".rs", ".md", ".toml"].iter().any(|ending| span.len() > ending.len() && span.ends_with(ending));
    span.bytes().all(letters) && (below_top || named)
}

#[test]
fn links_resolve() {
    let mut problems = Vec::new();
    for file in files(".md") {
        for (line, target) in MarkdownPage::read(&file.text).links {
            if !target.starts_with("https://") && !target.starts_with("mailto:") && !resolves(&file, target) {
                problems.push(format!("{}:{line}: nothing at {target}", file.path));
            }
        }
    }
    assert_none(&problems);
}

fn resolves(from: &SourceFile, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let page = root().join(&from.path);
    let aim = if path.is_empty() { page } else { page.parent().unwrap_or(Path::new("/")).join(path) };
    let Some(anchor) = anchor else { return aim.exists() };
    fs::read_to_string(aim)
        .is_ok_and(|text| MarkdownPage::read(&text).anchors().iter().any(|name| name == anchor))
}

/// A constant that begins something persisted.
struct Magic {
    path: String,
    line: usize,
    literal: String,
}

/// Every `const …MAGIC… = *b"…"` of the rooms.
fn magics() -> Vec<Magic> {
    let mut found = Vec::new();
    for file in
        files(".rs").iter().filter(|file| file.path.contains("/src/") && !file.path.starts_with("tests/"))
    {
        for (index, line) in file.text.lines().enumerate() {
            let name = line.split_once("const ").and_then(|(_, rest)| rest.split_once(':'));
            if !name.is_some_and(|(name, _)| name.contains("MAGIC")) || line.trim_start().starts_with("//") {
                continue;
            }
            let statement: String = file.text.lines().skip(index).take(3).collect();
            let literal = statement.split_once("b\"").and_then(|(_, rest)| rest.split_once('"'));
            let literal = literal.map_or_else(String::new, |(literal, _)| literal.to_owned());
            found.push(Magic { path: file.path.clone(), line: index + 1, literal });
        }
    }
    found
}

#[test]
fn every_format_has_a_page() {
    let pages: Vec<SourceFile> =
        files(".md").into_iter().filter(|file| file.path.starts_with("docs/formats/")).collect();
    let mut problems = Vec::new();
    for Magic { path, line, literal } in magics() {
        if literal.is_empty() {
            problems.push(format!("{path}:{line}: a magic that is not a byte string; write it as one"));
        } else if !pages.iter().any(|page| page.text.contains(&literal)) {
            problems.push(format!("{path}:{line}: no page in docs/formats names {literal}"));
        }
        let module = path.strip_prefix("formats/src/").and_then(|rest| rest.split(['/', '.']).next());
        if let Some(module) = module.filter(|name| !root().join(format!("docs/formats/{name}.md")).is_file())
        {
            problems.push(format!("{path}:{line}: docs/formats/{module}.md is missing"));
        }
    }
    assert_none(&problems);
}

#[test]
fn every_first_line_has_a_page() {
    let pages: Vec<SourceFile> =
        files(".md").into_iter().filter(|file| file.path.starts_with("docs/formats/")).collect();
    let mut problems = Vec::new();
    for file in files(".rs").iter().filter(|file| file.path.contains("/src/")) {
        for (index, line) in file.text.lines().enumerate() {
            let quoted =
                line.split_once("const ").and_then(|(_, rest)| rest.split('"').nth(1)).unwrap_or_default();
            let first_line = quoted.trim_end_matches("\\n");
            let is_ours = first_line.starts_with("bitacora-") && first_line.contains(" v");
            if is_ours && !pages.iter().any(|page| page.text.contains(first_line)) {
                problems.push(format!(
                    "{}:{}: no page in docs/formats names {first_line}",
                    file.path,
                    index + 1
                ));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_format_page_has_an_example() {
    let mut problems = Vec::new();
    for file in files(".md") {
        let Some(name) = file.path.strip_prefix("docs/formats/").filter(|name| *name != "README.md") else {
            continue;
        };
        let page = MarkdownPage::read(&file.text);
        let bytes = |lines: &[&str]| {
            lines.iter().any(|line| line.trim_start().bytes().take(2).all(|b| b.is_ascii_hexdigit()))
        };
        let in_text = EXAMPLE_IN_TEXT.iter().any(|(page, _)| *page == name);
        let is_example = |fence: &Fence<'_>| match fence.language {
            "hex" => bytes(&fence.lines),
            "text" => in_text && !fence.lines.is_empty(),
            _ => false,
        };
        if !page.fences.iter().any(|(_, fence)| is_example(fence)) {
            problems.push(format!("{}: no worked example in a ```hex block", file.path));
        }
        let index = fs::read_to_string(root().join("docs/formats/README.md")).unwrap_or_default();
        if !MarkdownPage::read(&index).links.iter().any(|(_, target)| *target == name) {
            problems.push(format!("docs/formats/README.md: does not link {name}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn decisions_are_numbered_and_whole() {
    const PARTS: [&str; 4] = ["Context", "Decision", "Alternatives", "Consequences"];
    let mut problems = Vec::new();
    let decisions = files(".md").into_iter().filter(|file| file.path.starts_with("docs/decisions/"));
    for (index, file) in decisions.enumerate() {
        if !file.path.starts_with(&format!("docs/decisions/{:04}-", index + 1)) {
            problems.push(format!("{}: number {:04} expected", file.path, index + 1));
        }
        let page = MarkdownPage::read(&file.text);
        let missing = PARTS.iter().filter(|part| !page.headings.contains(part));
        problems.extend(missing.map(|part| format!("{}: no heading {part}", file.path)));
    }
    assert_none(&problems);
}

#[test]
fn the_readme_and_ci_run_the_same_tests() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    let page = MarkdownPage::read(&readme);
    let (_, fence) = page.fences.iter().find(|(under, _)| *under == Some("Test")).unwrap();
    let [command] = fence.lines.as_slice() else {
        panic!("README.md, Test: found {:?}, expected one command", fence.lines);
    };
    let phase = format!("phase test {command}");
    assert!(
        ci.lines().any(|line| line == phase),
        "README.md says `{command}`, .ci/run has no line `{phase}`"
    );
}

#[test]
fn every_promise_that_holds_has_its_tests() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let tests = files(".rs");
    let mut rows = 0;
    let mut problems = Vec::new();
    for row in readme.lines().filter(|line| line.starts_with("| P")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, today] = cells.as_slice() else { panic!("README.md: not a promise's row: {row}") };
        let number = name.split(' ').next().unwrap_or_default().to_lowercase();
        let module = format!("tests/tests/promises/{number}_");
        if !today.starts_with("to come") && !tests.iter().any(|file| file.path.starts_with(&module)) {
            problems.push(format!("README.md: {name} is said to hold, {module}….rs is missing"));
        }
        rows += 1;
    }
    assert_eq!(rows, 12, "README.md: one row for each promise");
    assert_none(&problems);
}

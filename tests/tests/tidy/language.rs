//! Plain English: comments begin with a noun or a verb, and pages keep their length.

use super::{SourceFile, assert_none, files, root};

/// Words with which no doc comment begins.
const QUESTION_WORDS: [&str; 14] = [
    "What", "How", "Whether", "Who", "Whom", "Whose", "Which", "Why", "When", "Where", "Whatever", "Whoever",
    "Wherever", "Whenever",
];

/// The share of a crate's doc comments that may begin with one all the same, in thousandths.
const MAX_QUESTIONS_PER_MILLE: usize = 10;

/// Pages that are read at one sitting, and the lines that they have at most.
const LENGTHS: [(&str, usize); 2] = [("README.md", 90), ("docs/ARCHITECTURE.md", 180)];

/// Returns the first lines of a file's doc comments, with their line numbers from 1.
fn comments(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let words = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(words) = words.filter(|_| !inside) {
            found.push((index + 1, words.trim_start()));
        }
        inside = words.is_some();
    }
    found
}

fn is_question(comment: &str) -> bool {
    let word = comment.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    QUESTION_WORDS.contains(&word)
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let mut problems = Vec::new();
    let all = files(".rs");
    let crates = all.chunk_by(|one, next| one.path.split('/').next() == next.path.split('/').next());
    for files in crates {
        let comments: Vec<_> =
            files.iter().flat_map(|file| comments(file).into_iter().map(move |one| (file, one))).collect();
        let questions: Vec<_> = comments.iter().filter(|(_, (_, comment))| is_question(comment)).collect();
        if questions.len() * 1_000 > comments.len() * MAX_QUESTIONS_PER_MILLE {
            let shown =
                questions.iter().map(|(file, (line, words))| format!("{}:{line}: {words}", file.path));
            problems.extend(shown);
        }
    }
    assert_none(&problems);
}

#[test]
fn pages_keep_their_length() {
    let mut problems = Vec::new();
    for (path, most) in LENGTHS {
        let lines = std::fs::read_to_string(root().join(path)).unwrap().lines().count();
        if lines > most {
            problems.push(format!("{path}: {lines} lines, at most {most}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn the_first_line_of_each_comment_is_read() {
    let text = "//! A page.\n//! Where it lies.\n\n/// Whether it is\n/// so.\nfn f() {\n    /// Whatsoever.\n    let a = 1;\n}\n";
    let file = SourceFile { path: "a.rs".to_owned(), text: text.to_owned() };
    let found = comments(&file);
    assert_eq!(found, [(1, "A page."), (4, "Whether it is"), (7, "Whatsoever.")]);
    assert_eq!(found.iter().map(|(_, words)| is_question(words)).collect::<Vec<_>>(), [false, true, false]);
}

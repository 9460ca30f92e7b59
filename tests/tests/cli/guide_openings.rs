//! Each guide opens with a command and its output; a test runs the command and compares the output.
//!
//! Numbers, hexadecimal digits, times and drawn names differ from run to run, so only their places are compared.

use std::fs;
use std::path::Path;

use super::PROGRAM;
use super::documented::{DocumentedCommand, Shell, document, shown_in};

/// A guide, and the commands that its reader has run before: the page is about what follows.
struct Guide {
    page: &'static str,
    before: &'static str,
}

const GUIDES: [Guide; 19] = [
    Guide { page: "EVENTS.md", before: "" },
    Guide { page: "HTTP.md", before: "" },
    Guide { page: "client.md", before: "bitacora token create --role agent --agent coder > coder.token" },
    Guide { page: "configuration.md", before: "" },
    Guide { page: "connect.md", before: "" },
    Guide { page: "console.md", before: "" },
    Guide {
        page: "evidence.md",
        before: "bitacora append sample.json && sleep 1.2 \
            && curl -s -H \"$auth\" http://127.0.0.1:7717/v1/ledgers/main | jq -r .verifierKey > ledger.vkey \
            && curl -fsS -H \"$auth\" --retry 5 http://127.0.0.1:7717/v1/ledgers/main/treehead > head.txt",
    },
    Guide { page: "erasure.md", before: "" },
    Guide { page: "exit_codes.md", before: "" },
    Guide {
        page: "history_reports.md",
        before: r#"bitacora tools register --starter && bitacora policy publish --starter --activate \
            && bitacora token create --role agent --agent coder > coder.token \
            && as_coder='--token-file coder.token --cwd /home/ana/project --agent coder --session s1' \
            && bitacora decide $as_coder --call c1 --tool Read --args '{"file_path":"src/a.rs"}' \
            && bitacora outcome --token-file coder.token --call c1 --status ok \
            && { bitacora decide $as_coder --call c2 --tool Write --args '{"file_path":"src/a.rs","content":"x"}' || true; } \
            && bitacora approvals reject "$(bitacora approvals --json | jq -r '.approvals[0].id')" --note 'not today' && sleep 1"#,
    },
    Guide { page: "export.md", before: "" },
    Guide { page: "import.md", before: "" },
    Guide { page: "learned.md", before: "" },
    Guide {
        page: "metrics.md",
        before: "bitacora token create --role metrics --name prometheus > metrics.token",
    },
    Guide { page: "performance.md", before: "" },
    Guide { page: "projections.md", before: "" },
    Guide { page: "retention.md", before: "" },
    Guide { page: "tiers.md", before: "" },
    Guide { page: "tls.md", before: "" },
];

/// Pages that no command opens: references that are generated, lists, and pages whose whole story a test runs.
const OTHERS: [&str; 13] = [
    "ARCHITECTURE.md",
    "adding.md",
    "archives.md",
    "checkpoints.md",
    "command_line.md",
    "governance.md",
    "keyring.md",
    "limits.md",
    "map.md",
    "promises.md",
    "runbooks.md",
    "security.md",
    "testing.md",
];

const SAMPLE: &str = r#"{"specversion":"1.0","id":"s1","source":"test","type":"x.noted","subject":"notes"}"#;

/// Returns a line without what differs between runs: `#` for digits, hexadecimal digits and drawn names.
fn masked(line: &str) -> String {
    let is_drawn = |word: &str| word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut out = String::new();
    for word in line.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let end = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric()).len();
        let (text, rest) = word.split_at(end);
        let is_number = text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().all(is_number_byte);
        out.push_str(if is_number || is_drawn(text) { "#" } else { text });
        out.push_str(rest);
    }
    // Thousands and decimals, ranges and lists of positions have more or fewer digits elsewhere.
    let words = out.split_whitespace().map(|word| {
        let is_numbers = word.contains('#') && word.chars().all(|character| "#,.…".contains(character));
        if is_numbers { "#" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Digits, and the letters of times such as `2026-11-26T14:15:09Z`.
fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || b"TZ".contains(&byte)
}

fn compare(page: &str, shown: &DocumentedCommand, printed: &str) {
    let end = shown.prints.iter().position(|line| line == "…");
    let shown_lines = &shown.prints[..end.unwrap_or(shown.prints.len())];
    let printed: Vec<&str> = printed.lines().collect();
    assert!(
        if end.is_some() { printed.len() >= shown_lines.len() } else { printed.len() == shown_lines.len() },
        "{page}: {}\nprints {printed:#?}",
        shown.command
    );
    for (shown_line, printed) in shown_lines.iter().zip(printed) {
        assert_eq!(masked(shown_line), masked(printed), "{page}: {}", shown.command);
    }
}

/// Returns the commands of a page's first block, which must be a console's.
fn opening(page: &str) -> Vec<DocumentedCommand> {
    let text = document(page);
    let block = text.split("```").nth(1).unwrap_or_else(|| panic!("{page} shows nothing"));
    let block = block.strip_prefix("console\n").unwrap_or_else(|| panic!("{page} opens without a console"));
    let before = text.split("```").next().unwrap().lines().count();
    assert!(before <= 8, "{page}: {before} lines before the first command");
    shown_in(&[block])
}

/// Runs the commands as a reader would whose service listens on the default address.
fn run(shell: &Shell, guide: &Guide) {
    let path = shell.path();
    fs::write(path.join("sample.json"), SAMPLE).unwrap();
    let auth = r#"auth="authorization: Bearer $(cat bitacora.keyring.admin-token)""#;
    let here = |command: &str| {
        let example = Path::new(PROGRAM).parent().unwrap().join("examples/predict");
        command
            .replace("http://127.0.0.1:7717", shell.url())
            .replace("cargo run -qp bitacora-client --example predict --", &example.display().to_string())
    };
    if !guide.before.is_empty() {
        let output = shell.run(&here(&format!("{auth}; {}", guide.before)));
        assert!(output.status.success(), "{}: {}", guide.page, String::from_utf8_lossy(&output.stderr));
    }
    let mut import = String::new();
    for shown in opening(guide.page) {
        if let Some(file) = shown.command.strip_prefix("cat ") {
            fs::write(path.join(file), shown.prints.join("\n") + "\n").unwrap();
            continue;
        }
        // An import's name follows from the files.
        let words = shown.command.split(' ').map(|word| match word.len() {
            8 if word.bytes().all(|byte| byte.is_ascii_hexdigit()) => import.as_str(),
            _ => word,
        });
        let output = shell.run(&here(&words.collect::<Vec<_>>().join(" ")));
        let printed = String::from_utf8(output.stdout).unwrap();
        compare(guide.page, &shown, &printed);
        if let Some((_, rest)) = printed.split_once("imports show ") {
            import = rest[..8].to_owned();
        }
    }
}

#[test]
fn every_guide_opens_with_a_command_and_its_output() {
    for guide in &GUIDES {
        run(&Shell::new(), guide);
    }
}

#[test]
fn every_page_is_listed_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_listed = GUIDES.iter().any(|guide| guide.page == name) || OTHERS.contains(&name.as_str());
        assert!(!name.ends_with(".md") || name == "vocabulary.md" || is_listed, "{name}: list it here");
    }
}

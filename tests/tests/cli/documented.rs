//! Tests that documented commands, run one after another, print what the documents show.
//! Places in the log, times, and names that are drawn may differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use bitacora_tests::variables::remove_variables;

use crate::PROGRAM;

/// A service in a folder of its own, and a shell beside it.
pub(super) struct Shell {
    folder: tempfile::TempDir,
    _service: ServiceProcess,
    url: String,
}

impl Shell {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(PROGRAM, folder.path());
        let service = place.start_closed().unwrap();
        let url = format!("http://{}", service.address);
        // The documents call the keyring by another name; commands look for its admin token beside that.
        fs::copy(place.admin_token(), folder.path().join("bitacora.keyring.admin-token")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(PROGRAM, folder.path().join("bin/bitacora")).unwrap();
        Self { folder, _service: service, url }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn run(&self, command: &str) -> Output {
        let programs = format!("{}:{}", self.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(self.path());
        remove_variables(&mut shell);
        shell
            .env("XDG_CONFIG_HOME", "/nonexistent")
            .env("PATH", programs)
            .env("BITACORA_URL", &self.url)
            .output()
            .unwrap()
    }
}

/// Returns the output on stderr without the note of the ledger that was asked: the documents name that in a variable.
fn complaints(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().filter(|line| !line.starts_with("bitacora: asked ledger main ")).collect()
}

/// A command of a document, and what it is said to print.
pub(super) struct DocumentedCommand {
    pub(super) command: String,
    pub(super) prints: Vec<String>,
}

pub(super) fn document(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(path).unwrap()
}

/// The fenced blocks of a language.
fn blocks<'d>(document: &'d str, language: &str) -> Vec<&'d str> {
    let fence = format!("```{language}\n");
    let begun = document.split(fence.as_str()).skip(1);
    begun.map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// The commands of blocks that show a console: each behind `$`, a loop to its `done`.
fn shown(document: &str) -> Vec<DocumentedCommand> {
    shown_in(&blocks(document, "console"))
}

/// The commands of these blocks.
pub(super) fn shown_in(blocks: &[&str]) -> Vec<DocumentedCommand> {
    let mut all: Vec<DocumentedCommand> = Vec::new();
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let open =
            all.last_mut().filter(|last| last.command.contains("; do\n") && !last.command.ends_with("done"));
        if let Some(command) = line.strip_prefix("$ ") {
            let end = if command.ends_with("; do") { "\n" } else { "" };
            all.push(DocumentedCommand { command: format!("{command}{end}"), prints: vec![] });
        } else if let Some(open) = open {
            let end = if line.trim() == "done" { "" } else { "\n" };
            open.command += &format!("{}{end}", line.trim());
        } else {
            all.last_mut().unwrap().prints.push(line.to_owned());
        }
    }
    all
}

/// The names that documents give otherwise than a run does: approvals, by what the document calls them.
type Names = BTreeMap<String, String>;

/// Returns `true` if a printed word is the shown one, or another one of its kind.
fn agrees(shown: &str, printed: &str, before: &str, names: &mut Names) -> bool {
    let (shown, printed) = (shown.trim_end_matches([',', '.']), printed.trim_end_matches([',', '.']));
    if is_approval(shown) && is_approval(printed) || is_same_role(shown, printed) {
        return names.entry(shown.to_owned()).or_insert_with(|| printed.to_owned()) == printed;
    }
    let both = |is: fn(&str) -> bool| is(shown) && is(printed);
    // Tables have positions behind times. Heads that are signed in between move what comes behind them.
    let is_place = before == "position" || is_time(before);
    shown == printed || both(is_time) || is_place && both(is_number) || is_same_key(shown, printed, names)
}

/// Returns `true` if both are keys, or ids of keys, each time the same one.
fn is_same_key(shown: &str, printed: &str, names: &mut Names) -> bool {
    let is_key =
        |word: &str| matches!(word.len(), 16 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key(shown)
        && is_key(printed)
        && shown.len() == printed.len()
        && names.entry(shown.to_owned()).or_insert_with(|| printed.to_owned()) == printed
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns `true` if a word is the id of an approval: `a`, and twenty characters that were drawn.
fn is_approval(word: &str) -> bool {
    let is_drawn = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() && !b"ilou".contains(&byte);
    word.strip_prefix('a').is_some_and(|drawn| drawn.len() == 20 && drawn.bytes().all(is_drawn))
}

/// Returns `true` if both name the holder of a token, in the same role.
fn is_same_role(shown: &str, printed: &str) -> bool {
    let role = |word: &str| {
        let (role, hash) = word.split_once(':')?;
        let is_hash = hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| role.to_owned())
    };
    role(shown).is_some() && role(shown) == role(printed)
}

fn is_time(word: &str) -> bool {
    let shape = word.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00T00:00:00Z")
}

/// The lines that a command prints are those that are shown, up to a line that leaves the others out.
fn compare(shown: &DocumentedCommand, printed: &str, names: &mut Names) {
    let told = shown.prints.iter().position(|line| line == "…");
    let printed: Vec<_> = printed.lines().collect();
    let printed = told.map_or(&printed[..], |told| &printed[..told.min(printed.len())]);
    let prints = told.map_or(&shown.prints[..], |told| &shown.prints[..told]);
    assert_eq!(prints.len(), printed.len(), "{}\nprints {printed:#?}", shown.command);
    for (line, printed) in prints.iter().zip(printed) {
        let (words, found): (Vec<_>, Vec<_>) =
            (line.split_whitespace().collect(), printed.split_whitespace().collect());
        let mut before = "";
        let same = words.len() == found.len()
            && words
                .iter()
                .zip(&found)
                .all(|(word, found)| agrees(word, found, std::mem::replace(&mut before, word), names));
        assert!(same, "{}\nis shown to print\n  {line}\nand prints\n  {printed}", shown.command);
    }
}

/// Returns the exit code that a document expects of a command; `None` for a command in a pipe.
fn exit_code(command: &str, printed: &str) -> Option<i32> {
    let alone = command.starts_with("bitacora ") && !command.contains('|');
    let is_decided = command.starts_with("bitacora decide ");
    alone.then(|| if is_decided && !printed.starts_with("allow ") { 3 } else { 0 })
}

/// Runs a document's commands one after another and compares what they print; what `bitacora decide` said first.
fn told(shell: &Shell, document: &str) -> Vec<String> {
    let (mut names, mut verdicts) = (Names::new(), Vec::new());
    for shown in shown(document) {
        if let Some(file) = shown.command.strip_prefix("cat ") {
            fs::write(shell.path().join(file), shown.prints.join("\n")).unwrap();
            continue;
        }
        let words = shown.command.split(' ').map(|word| names.get(word).map_or(word, String::as_str));
        let command = words.collect::<Vec<_>>().join(" ");
        let output = shell.run(&command);
        let error = complaints(&output);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(error.is_empty(), "{command}: {error}");
        if let Some(expected) = exit_code(&command, &printed) {
            assert_eq!(output.status.code(), Some(expected), "{command}: {printed}");
        }
        compare(&shown, &printed, &mut names);
        if command.starts_with("bitacora decide ") {
            verdicts.push(printed.lines().next().unwrap().to_owned());
        }
    }
    verdicts
}

#[test]
fn the_story_of_checkpoints_is_what_happens() {
    let document = document("checkpoints.md");
    told(&Shell::new(), &document);
    // A page that lost its story would pass.
    for step in ["save", "write", "show", "list", "fork", "copy", "delete"] {
        assert!(document.contains(&format!("$ bitacora checkpoints {step}")), "{step}");
    }
}

#[test]
fn the_story_of_the_keyring_is_what_happens() {
    let document = document("keyring.md");
    told(&Shell::new(), &document);
    // A page that lost its story would pass.
    for step in ["new", "lock", "rotate", "rotate --signing"] {
        assert!(document.contains(&format!("bitacora keys {step} --keyring")), "{step}");
    }
}

#[test]
fn the_story_of_the_command_line_is_what_happens() {
    let document = document("command_line.md");
    told(&Shell::new(), &document);
    assert!(document.contains("$ bitacora approvals"));
}

#[test]
fn the_story_of_governance_is_what_happens() {
    let verdicts = told(&Shell::new(), &document("governance.md"));
    // A page that lost its story would pass.
    let told = [
        "deny  tool-unknown",
        "review  trust-require-review",
        "allow  approved",
        "deny  policy-deny",
        "review  breaker-open",
        "deny  panic",
    ];
    assert!(told.iter().all(|verdict| verdicts.iter().any(|found| found == verdict)), "{verdicts:?}");
}

/// Returns `true` if a word is the shown one, or of its kind: numbers, times, and names with an identity in them.
fn is_of_its_kind(shown: &str, printed: &str) -> bool {
    let plain = |word: &str| word.trim_end_matches([',', ':']).to_owned();
    let (one, other) = (plain(shown), plain(printed));
    let is_moment = |word: &str| word.len() == 27 && word.ends_with('Z') && word.contains('T');
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let both = |is: &dyn Fn(&str) -> bool| is(&one) && is(&other);
    let is_range = |word: &str| word.starts_with("1-") && word.split('-').all(is_number);
    shown == printed
        || both(&is_number)
        || both(&is_range)
        || both(&is_time)
        || both(&is_moment)
        || both(&is_hash)
}

/// The same of a line, up to what is left out of it.
fn is_line_of_its_kind(shown: &str, printed: &str) -> bool {
    let (shown, found): (Vec<_>, Vec<_>) =
        (shown.split_whitespace().collect(), printed.split_whitespace().collect());
    let end = shown.iter().position(|word| *word == "…");
    let is_long_enough = if end.is_some() { found.len() >= shown.len() } else { found.len() == shown.len() };
    let pairs = shown.iter().zip(found).take(end.unwrap_or(shown.len()));
    is_long_enough && pairs.into_iter().all(|(shown, found)| is_of_its_kind(shown, found))
}

#[test]
fn the_story_of_archives_is_what_happens() {
    let (folder, document) = (tempfile::tempdir().unwrap(), document("archives.md"));
    ServiceFolder::new(PROGRAM, folder.path()).start().unwrap().terminate().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, folder.path().join("bin/bitacora")).unwrap();
    let programs = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let story = shown(&document);
    for DocumentedCommand { command, prints } in &story {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(folder.path());
        remove_variables(&mut shell);
        shell.env("BITACORA_DATA", "./data").env("BITACORA_KEYRING", "./keyring").env("PATH", &programs);
        let output = shell.output().unwrap();
        let error = complaints(&output);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(error.is_empty(), "{command}: {error}");
        let told = prints.iter().position(|line| line == "…");
        let lines: Vec<_> = printed.lines().take(told.unwrap_or(usize::MAX)).collect();
        let prints = &prints[..told.unwrap_or(prints.len())];
        assert_eq!(prints.len(), lines.len(), "{command}\nprints {printed}");
        for (line, printed) in prints.iter().zip(lines) {
            let same = is_line_of_its_kind(line, printed);
            assert!(same, "{command}\nis shown to print\n  {line}\nand prints\n  {printed}");
        }
    }
    // A page that lost its story would pass.
    for step in ["plan", "run", "list", "show", "verify", "fetch", "restore"] {
        assert!(story.iter().any(|one| one.command.contains(&format!("archive {step}"))), "{step}");
    }
}

#[test]
fn two_commands_of_the_document_govern_a_new_ledger() {
    let (shell, document) = (Shell::new(), document("governance.md"));
    let block = blocks(&document, "sh").into_iter().find(|block| block.contains("--starter")).unwrap();
    assert_eq!(block.lines().count(), 2, "{block}");
    for command in block.lines() {
        assert_eq!(shell.run(command).status.code(), Some(0), "{command}");
    }
    assert_eq!(
        shell.run("bitacora token create --role agent --agent coder > coder.token").status.code(),
        Some(0)
    );
    let asked = r#"bitacora decide --call c1 --tool Read --args '{"file_path":"src/a.rs"}' --token-file coder.token --cwd "#;
    for (cwd, expected) in [("/home/ana/project", 0), ("/etc", 3)] {
        let asked = shell.run(&format!("{}{cwd}", asked.replace("c1", &format!("c{expected}"))));
        assert_eq!(asked.status.code(), Some(expected), "{}", String::from_utf8_lossy(&asked.stdout));
    }
}

#[test]
fn the_first_tokens_are_made_as_the_document_says() {
    let (shell, document) = (Shell::new(), document("security.md"));
    let commands: Vec<_> = shown(&document).into_iter().map(|shown| shown.command).collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    let mut of_agent = String::new();
    for command in &commands {
        let command = command.replace("http://127.0.0.1:7717", &shell.url);
        let command = match command.split(' ').find(|word| word.starts_with("p-")) {
            Some(principal) => command.replace(principal, &of_agent),
            None => command,
        };
        let output = shell.run(&command);
        let printed = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {error}");
        if let Some(line) = printed.lines().find(|line| line.contains("coder")) {
            let principal = line.split_whitespace().find(|word| word.starts_with("p-"));
            of_agent = principal.unwrap_or_else(|| panic!("{line}")).to_owned();
        }
    }
    assert!(!of_agent.is_empty(), "the list shows no agent");
    // The ledger takes tokens alone, and the agent's is one no more.
    for (token, expected) in [("ana.token", 0), ("coder.token", 1)] {
        let listed = shell.run(&format!("bitacora approvals --token-file {token}"));
        let error = String::from_utf8_lossy(&listed.stderr).into_owned();
        assert_eq!(listed.status.code() == Some(0), expected == 0, "{token}: {error}");
    }
    assert_eq!(shell.run("bitacora approvals").status.code(), Some(0), "the admin token is found");
    assert_eq!(shell.run("BITACORA_TOKEN= bitacora approvals").status.code(), Some(3), "without a token");
}

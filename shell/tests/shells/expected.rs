//! The reader's commands of a text, beside the events of a shell that ran it.

use bitacora_shell::{CommandConnector, CommandLine, RedirectionKind, ShellWord, SimpleCommand};

use super::sandbox::Record;

/// The builtins of the grammar. A shell runs them without starting a program.
pub(crate) const BUILTINS: [&str; 15] = [
    "cat", "cd", "command", "echo", "false", "kill", "printf", "pwd", "realpath", "rename", "sleep", "test",
    "true", "type", "which",
];
/// Folders of which every name is a program in the sandbox.
const PROGRAM_FOLDERS: [&str; 5] = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/local/bin/"];

/// The way in which texts are run, and the shell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShellRun<'r> {
    pub(crate) way: &'r str,
    pub(crate) shell: &'r str,
}

impl ShellRun<'_> {
    /// Returns `true` if the sandbox records this command whenever the shell runs it.
    fn records(self, command: &SimpleCommand) -> bool {
        let program = command.words[0].text.as_str();
        let is_below = |folder: &str| {
            program.strip_prefix(folder).is_some_and(|name| !name.is_empty() && !name.contains('/'))
        };
        if program.contains('/') {
            return PROGRAM_FOLDERS.into_iter().any(is_below);
        }
        if !BUILTINS.contains(&program) {
            return program != "..";
        }
        let has_no_function = matches!(
            (self.shell, program),
            (_, "realpath" | "rename" | "sleep")
                | ("dash" | "busybox", "command" | "printf")
                | ("mksh", "type")
        );
        self.way == "functions" && !has_no_function
    }
}

/// Returns the differences from the reader's commands: runs and files that it did not name, and commands that did not run although
/// it named them.
pub(crate) fn differences(run: ShellRun<'_>, line: &CommandLine, records: &[&Record]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut waiting: Vec<&SimpleCommand> = line.commands.iter().collect();
    for record in records.iter().filter(|record| !record.is_file) {
        match waiting.iter().position(|command| is_called(&command.words, &record.fields)) {
            Some(index) => drop(waiting.remove(index)),
            None => problems.push(format!("{} ran {:?}", run.shell, record.fields)),
        }
    }
    for (command, must_run) in line.commands.iter().zip(certain(run, line)) {
        // Equal commands cannot be told apart, so nothing is said of them.
        let is_same = |other: &SimpleCommand| texts(&other.words) == texts(&command.words);
        let is_only = line.commands.iter().filter(|other| is_same(other)).count() == 1;
        let has_not_run = waiting.iter().any(|other| is_same(other));
        // The record of functions in the place of builtins is not complete yet.
        if must_run && is_only && has_not_run && run.way != "functions" {
            problems.push(format!("{} did not run {:?}", run.shell, texts(&command.words)));
        }
    }
    problems
}

fn texts(words: &[ShellWord]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

/// Returns `true` if these arguments are those of a command: each the text of a word, or, of a glob, one or more names that it
/// matches.
fn is_called(words: &[ShellWord], arguments: &[String]) -> bool {
    let Some((word, words)) = words.split_first() else { return arguments.is_empty() };
    let Some((argument, rest)) = arguments.split_first() else { return false };
    if !word.is_glob {
        return word.text == *argument && is_called(words, rest);
    }
    (1..=arguments.len()).any(|count| {
        let (names, rest) = arguments.split_at(count);
        names.iter().all(|name| matches(&word.text, name)) && is_called(words, rest)
    })
}

/// Returns `true` if a glob matches a name. `*` and `?` stand for anything but `/`.
fn matches(pattern: &str, name: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => name.is_empty(),
        Some('*') => {
            let ends = name.char_indices().map(|(end, _)| end).chain([name.len()]);
            let mut ends = ends.take_while(|end| !name[..*end].contains('/'));
            ends.any(|end| matches(letters.as_str(), &name[end..]))
        }
        Some(letter) => name.chars().next().is_some_and(|first| {
            let is_met = first == letter || letter == '?' && first != '/';
            is_met && matches(letters.as_str(), &name[first.len_utf8()..])
        }),
    }
}

/// Returns `true` for each command of a line that has to run and to be recorded. After an unknown status, dependent commands need
/// not.
fn certain(run: ShellRun<'_>, line: &CommandLine) -> Vec<bool> {
    let mut certain = Vec::new();
    // Of the list so far: `None` if it is not known how it ended.
    let mut status = Some(true);
    let mut runs = Some(true);
    // Some shells end a list at a builtin that they cannot run.
    let mut may_have_ended = false;
    for command in &line.commands {
        runs = match command.joint {
            CommandConnector::First | CommandConnector::Then => Some(true),
            CommandConnector::Pipe => runs,
            CommandConnector::And => status,
            CommandConnector::Or => status.map(|ended_well| !ended_well),
        };
        let is_recorded = run.records(command) && is_undisturbed(command);
        certain.push(runs == Some(true) && is_recorded && !may_have_ended);
        may_have_ended |= !is_recorded;
        let name = command.words[0].text.rsplit('/').next().unwrap_or_default();
        status = match runs {
            Some(true) if is_recorded => Some(!matches!(name, "fail" | "false")),
            Some(false) => status,
            _ => None,
        };
    }
    certain
}

/// Returns `true` if a command runs for certain: no glob that may match nothing, no file that may not be there.
fn is_undisturbed(command: &SimpleCommand) -> bool {
    let is_new = |word: &ShellWord| {
        !word.text.contains('/') && !matches!(word.text.as_str(), "run" | "sub" | "." | "..")
    };
    let is_certain = |kind: RedirectionKind, file: Option<&ShellWord>| match kind {
        RedirectionKind::Harmless => true,
        RedirectionKind::Writes => file.is_some_and(|file| is_new(file) && file.text.len() < 100),
        RedirectionKind::Reads => file.is_some_and(|file| file.text == "/dev/null"),
    };
    let mut redirections = command.redirections.iter();
    !command.words.iter().any(|word| word.is_glob)
        && redirections.all(|redirection| is_certain(redirection.kind, redirection.file.as_ref()))
}

/// Says which files were made although none of these texts names them.
pub(crate) fn unnamed_files(lines: &[&CommandLine], records: &[&Record]) -> Vec<String> {
    let commands = || lines.iter().flat_map(|line| &line.commands);
    let changes_folder = commands().any(|command| command.words[0].text == "cd");
    let written = commands().flat_map(|command| &command.redirections);
    let written: Vec<String> = written
        .filter(|redirection| redirection.kind == RedirectionKind::Writes)
        .filter_map(|redirection| redirection.file.as_ref().map(|file| absolute(&file.text)))
        .collect();
    let is_named = |path: &str| {
        let below =
            |named: &String| named.strip_prefix("/scratch").is_some_and(|named| path.ends_with(named));
        written.iter().any(|named| named == path || changes_folder && below(named))
    };
    let made = records.iter().filter(|record| record.is_file).flat_map(|record| &record.fields);
    made.filter(|path| !is_named(path)).map(|path| format!("{path} was made")).collect()
}

/// A path from the root on, seen from the scratch folder.
fn absolute(path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("/scratch/{path}") };
    let mut steps: Vec<&str> = Vec::new();
    for step in whole.split('/').filter(|step| !matches!(*step, "" | ".")) {
        if step == ".." {
            steps.pop();
        } else {
            steps.push(step);
        }
    }
    steps.iter().map(|step| format!("/{step}")).collect()
}

#[test]
fn globs_match_as_in_shells() {
    assert!(matches("./*.rs", "./b.rs") && matches("./*", "./-x") && matches("./?.rs", "./b.rs"));
    assert!(!matches("./*.rs", "./sub/b.rs") && !matches("./?", "./") && !matches("./a", "./b"));
}

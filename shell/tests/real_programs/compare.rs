//! The events of programs, beside the claims about the line.

use std::collections::BTreeMap;

use bitacora_shell::ShellWord;

use super::claims::{ClaimedLine, is_below, is_match};
use super::exceptions;
use super::project::{FILES, HOME, HOSTILE, LINKS, PROJECT, SECRET_SETTING, marker, whole};
use super::sandbox::Outcome;
use super::trace::{OfProcess, ProcessEvent, absolute, events};

/// The name of the shell's own program.
const SHELL: &str = "/bin/sh";

/// The role of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    /// The shell, or a copy of it that has not become a program yet.
    Shell,
    /// The program of a command, or a process that it started.
    Command(usize),
    /// A program without a claim.
    Unknown,
}

/// Returns the events of a line that are not claimed of it.
pub(crate) fn problems(line: &ClaimedLine, cwd: &str, outcome: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let mut owners: BTreeMap<u32, Owner> = BTreeMap::new();
    for OfProcess { process, parent, event } in events(&outcome.trace, cwd) {
        let inherited = owners.get(&parent).cloned().unwrap_or(Owner::Shell);
        let owner = owners.entry(process).or_insert(inherited).clone();
        match event {
            ProcessEvent::Became { path, argv } => {
                let (next, problem) = became(line, &owner, &path, &argv);
                owners.insert(process, next);
                found.extend(problem);
            }
            // An unknown program has its problem already, with any events.
            _ if owner == Owner::Unknown => {}
            event => found.extend(problem(line, &owner, &event)),
        }
    }
    found.extend(shown(line, &outcome.output));
    let is_unclaimed = |path: &&String| {
        let all = line.all();
        !by_any_name(path, |name| all.writes(name))
            && !all.writes_below(path)
            && !exceptions::may_change(&all, path)
    };
    found.extend(
        outcome.changed.iter().filter(is_unclaimed).map(|path| format!("{path} is another file now")),
    );
    found.sort();
    found.dedup();
    found
}

/// Returns the role of a process that became a program, and the problem with it.
fn became(line: &ClaimedLine, owner: &Owner, path: &str, argv: &[String]) -> (Owner, Option<String>) {
    let name = path.rsplit('/').next().unwrap_or_default();
    match owner {
        // This program ends a line that takes too long.
        Owner::Shell
            if argv.first().is_some_and(|word| word == "timeout")
                && argv.get(1).is_some_and(|word| word == "-s")
                && argv.iter().any(|word| word == SHELL) =>
        {
            (Owner::Shell, None)
        }
        Owner::Shell if path == SHELL && argv.get(1).is_some_and(|word| word == "-c") => (Owner::Shell, None),
        Owner::Shell => {
            let is_called =
                |words: &[ShellWord]| words[0].text.rsplit('/').next() == Some(name) && is_call(words, argv);
            match line.commands.iter().position(|command| is_called(&command.words)) {
                Some(command) => (Owner::Command(command), None),
                None => (Owner::Unknown, Some(format!("{argv:?} was started by the shell"))),
            }
        }
        Owner::Command(command) => {
            let claimed = &line.commands[*command];
            let runs =
                claimed.actions.iter().skip(1).any(|action| action.program.rsplit('/').next() == Some(name));
            let is_tail = (1..claimed.words.len()).any(|from| is_call(&claimed.words[from..], argv));
            let first = &claimed.actions[0];
            let mut actions = claimed.actions.iter();
            if runs && is_tail
                || actions.any(|action| exceptions::may_start(&action.program, &action.part, name, argv))
            {
                (owner.clone(), None)
            } else {
                (Owner::Unknown, Some(format!("{argv:?} was started by `{}`", first.part)))
            }
        }
        Owner::Unknown => (Owner::Unknown, None),
    }
}

/// Returns `true` if these arguments are those of a command: each the text of a word, or, of a glob, one or more names that it
/// matches.
fn is_call(words: &[ShellWord], arguments: &[String]) -> bool {
    let Some((word, words)) = words.split_first() else { return arguments.is_empty() };
    let Some((argument, rest)) = arguments.split_first() else { return false };
    if !word.is_glob {
        return word.text == *argument && is_call(words, rest);
    }
    let names = arguments.iter().take_while(|name| is_match(&word.text, name)).count();
    // A glob that matches nothing stays as it is.
    (1..=names).any(|count| is_call(words, &arguments[count..]))
        || word.text == *argument && is_call(words, rest)
}

/// The problem with an event.
fn problem(line: &ClaimedLine, owner: &Owner, event: &ProcessEvent) -> Option<String> {
    let (claims, name) = match owner {
        Owner::Command(command) => {
            let claims = line.of(*command);
            let name = claims.actions[0].part.clone();
            (claims, name)
        }
        Owner::Shell | Owner::Unknown => (line.all(), "the shell".to_owned()),
    };
    match event {
        ProcessEvent::Forked if *owner == Owner::Shell => None,
        ProcessEvent::Forked => {
            let first = claims.actions[0];
            let may_run = claims.actions.iter().skip(1).any(|action| !action.program.is_empty())
                || exceptions::may_fork(&first.program, &first.part);
            (!may_run).then(|| format!("a process was made by `{name}`"))
        }
        ProcessEvent::Changed { call, path } => {
            let is_claimed = is_harmless(path)
                || claims.writes(path)
                || call == "mkdir" && claims.writes_below(path)
                || exceptions::may_change(&claims, path);
            (!is_claimed).then(|| format!("{path} was written by `{name}` ({call})"))
        }
        ProcessEvent::ChangedOpen { call, real } => {
            let is_claimed = is_harmless(real)
                || by_any_name(real, |name| claims.writes(name))
                || exceptions::may_change(&claims, real);
            (!is_claimed).then(|| format!("{real} was changed by `{name}` ({call})"))
        }
        ProcessEvent::Listed { folder } => {
            let is_claimed = is_system(folder)
                || *owner == Owner::Shell
                || claims.lists(folder)
                || exceptions::may_list(&claims, folder);
            (!is_claimed).then(|| format!("{folder} was listed by `{name}`"))
        }
        ProcessEvent::Read { given, real } => {
            let is_claimed = is_system(real)
                || is_folder(real)
                || claims.reads(given, real)
                || exceptions::may_read(&claims, given, real);
            (!is_claimed).then(|| format!("{real} was read by `{name}` as {given}"))
        }
        ProcessEvent::Odd(call) => {
            (!exceptions::is_of_libraries(call)).then(|| format!("`{name}` called {call}"))
        }
        ProcessEvent::Became { .. } => None,
    }
}

/// Returns the files of which a line printed something, without a claim to read them.
fn shown(line: &ClaimedLine, output: &str) -> Vec<String> {
    let claims = line.all();
    let mut found = Vec::new();
    for (number, (path, _)) in FILES.iter().enumerate() {
        let path = whole(path);
        if output.contains(&marker(number)) && !by_any_name(&path, |name| claims.reads(name, &path)) {
            found.push(format!("{path} was printed"));
        }
    }
    // That git reads its configuration is claimed; most of what stands there is not for showing.
    let settings = [whole(".git/config"), format!("{HOME}/.gitconfig")];
    let others = line.besides_git();
    if output.contains(SECRET_SETTING) && !settings.iter().any(|path| others.reads(path, path)) {
        found.push("a secret setting was printed".to_owned());
    }
    found
}

/// Returns `true` if `holds` is true of a file by any of its names.
fn by_any_name(path: &str, holds: impl Fn(&str) -> bool) -> bool {
    let by_link = |(link, target): &(&str, &str)| {
        let link = whole(link);
        let target = absolute(link.rsplit_once('/').map_or("/", |(folder, _)| folder), target);
        is_below(path, &target) && holds(&format!("{link}{}", &path[target.len()..]))
    };
    holds(path) || LINKS.iter().any(by_link)
}

/// Returns `true` if a file is the system's own: libraries, words for people, properties of processes.
fn is_system(path: &str) -> bool {
    ["/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys"].iter().any(|folder| is_below(path, folder))
        || is_harmless(path)
}

fn is_harmless(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty" | "/dev/urandom")
        || path.starts_with("pipe:")
        || path.starts_with("/oracle/work/output")
}

/// Returns `true` if a path is known to be a folder, of which nothing can be read but names.
fn is_folder(path: &str) -> bool {
    let is_above = |file: &str| file != path && is_below(file, path);
    let files = FILES.iter().map(|(file, _)| *file).chain(HOSTILE.iter().map(|(file, _)| *file));
    let is_of_git = path.strip_prefix(PROJECT).is_some_and(|path| path == "/.git" || path == "/.git/hooks");
    is_of_git || path == "/tmp" || files.map(whole).any(|file| is_above(&file))
}

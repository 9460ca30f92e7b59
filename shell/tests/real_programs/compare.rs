//! What programs did, beside what is claimed of the line.

use std::collections::BTreeMap;

use super::claims::{Claims, Line, is_below};
use super::exceptions;
use super::project::{FILES, PROJECT, ROOTS, marker, whole};
use super::sandbox::Outcome;
use super::trace::{Event, OfProcess, events};

/// The name of the shell's own program.
const SHELL: &str = "/bin/sh";

/// What a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    /// The shell, or a copy of it that has not become a program yet.
    Shell,
    /// The program of a command, or what it started.
    Command(usize),
    /// A program that nothing was said of.
    Unknown,
}

/// Says what a line did that is not claimed of it.
pub(crate) fn problems(line: &Line, cwd: &str, outcome: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let mut owners: BTreeMap<u32, Owner> = BTreeMap::new();
    for OfProcess { process, parent, event } in events(&outcome.trace, cwd) {
        let inherited = owners.get(&parent).cloned().unwrap_or(Owner::Shell);
        let owner = owners.entry(process).or_insert(inherited).clone();
        match event {
            Event::Became { path, argv } => {
                let (next, problem) = became(line, &owner, &path, &argv);
                owners.insert(process, next);
                found.extend(problem);
            }
            // Whatever an unknown program does has its problem already.
            _ if owner == Owner::Unknown => {}
            event => found.extend(problem(line, &owner, &event)),
        }
    }
    found.extend(shown(line, &outcome.output));
    let is_claimed = |path: &&String| {
        let all = line.all();
        !all.writes(path) && !all.writes_below(path) && !exceptions::may_change(&all, path)
    };
    found.extend(outcome.changed.iter().filter(is_claimed).map(|path| format!("{path} is another file now")));
    found.sort();
    found.dedup();
    found
}

/// What a process is that became a program, and the problem with it.
fn became(line: &Line, owner: &Owner, path: &str, argv: &[String]) -> (Owner, Option<String>) {
    let name = path.rsplit('/').next().unwrap_or_default();
    match owner {
        Owner::Shell if path == SHELL && argv.get(1).is_some_and(|word| word == "-c") => (Owner::Shell, None),
        Owner::Shell => {
            let is_called = |words: &[bitacora_shell::Word]| {
                let is_same = words[0].text.rsplit('/').next() == Some(name);
                // What a glob became nobody knows here.
                let is_plain = words.iter().all(|word| !word.is_glob);
                is_same && (!is_plain || words.iter().map(|word| &word.text).eq(argv))
            };
            match line.commands.iter().position(|command| is_called(&command.words)) {
                Some(command) => (Owner::Command(command), None),
                None => (Owner::Unknown, Some(format!("{argv:?} was started by the shell"))),
            }
        }
        Owner::Command(command) => {
            let claimed = &line.commands[*command];
            let runs =
                claimed.actions.iter().skip(1).any(|action| action.program.rsplit('/').next() == Some(name));
            let is_tail = (1..claimed.words.len())
                .any(|from| claimed.words[from..].iter().map(|word| &word.text).eq(argv));
            let first = &claimed.actions[0];
            if runs && is_tail || exceptions::may_start(&first.program, &first.part, name, argv) {
                (owner.clone(), None)
            } else {
                (Owner::Unknown, Some(format!("{argv:?} was started by `{}`", first.part)))
            }
        }
        Owner::Unknown => (Owner::Unknown, None),
    }
}

/// The problem with an event.
fn problem(line: &Line, owner: &Owner, event: &Event) -> Option<String> {
    let (claims, name) = match owner {
        Owner::Command(command) => {
            let claims = line.of(*command);
            let name = claims.actions[0].part.clone();
            (claims, name)
        }
        Owner::Shell | Owner::Unknown => (line.all(), "the shell".to_owned()),
    };
    match event {
        Event::Forked if *owner == Owner::Shell => None,
        Event::Forked => {
            let first = claims.actions[0];
            let may_run = claims.actions.iter().skip(1).any(|action| !action.program.is_empty())
                || exceptions::may_fork(&first.program, &first.part);
            (!may_run).then(|| format!("a process was made by `{name}`"))
        }
        Event::Changed { call, path } => {
            let is_claimed = is_harmless(path)
                || claims.writes(path)
                || call == "mkdir" && claims.writes_below(path)
                || exceptions::may_change(&claims, path);
            (!is_claimed).then(|| format!("{path} was written by `{name}` ({call})"))
        }
        Event::Read { real, .. } if is_system(real) => None,
        Event::Read { given, real, is_folder: true } => {
            let is_claimed =
                claims.lists(given, real) || exceptions::may_list(&claims, real) || *owner == Owner::Shell;
            (!is_claimed).then(|| format!("{real} was listed by `{name}`"))
        }
        Event::Read { given, real, is_folder: false } => {
            let is_folder = is_folder_of_project(real);
            let is_claimed = claims.reads(given, real)
                || is_folder && (claims.lists(given, real) || exceptions::may_list(&claims, real))
                || exceptions::may_read(&claims, real);
            (!is_claimed).then(|| format!("{real} was read by `{name}` as {given}"))
        }
        Event::Odd(call) => Some(format!("`{name}` called {call}")),
        Event::Became { .. } => None,
    }
}

/// Says which files a line printed something of that it does not claim to read.
fn shown(line: &Line, output: &str) -> Vec<String> {
    let claims = line.all();
    let mut found = Vec::new();
    for (number, (path, _)) in FILES.iter().enumerate() {
        let path = whole(path);
        if output.contains(&marker(number)) && !is_read(&claims, &path) {
            found.push(format!("{path} was printed"));
        }
    }
    found
}

/// Whether a file may be read by any of its names.
fn is_read(claims: &Claims<'_>, path: &str) -> bool {
    let by_link = || {
        super::project::LINKS.iter().any(|(link, target)| {
            let link = whole(link);
            let folder = link.rsplit_once('/').map_or("/", |(folder, _)| folder);
            let target = super::trace::absolute(folder, target);
            is_below(path, &target) && claims.reads(&format!("{link}{}", &path[target.len()..]), path)
        })
    };
    claims.reads(path, path) || by_link()
}

/// Whether a file is the system's own: libraries, words for people, properties of processes.
fn is_system(path: &str) -> bool {
    ["/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys"].iter().any(|folder| is_below(path, folder))
        || is_harmless(path)
}

fn is_harmless(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty")
        || path.starts_with("pipe:")
        || path.starts_with("/oracle/work/output")
}

fn is_folder_of_project(path: &str) -> bool {
    let is_above = |file: &str| file != path && is_below(file, path);
    path == "/"
        || is_below(path, PROJECT) && path.contains("/.git/")
        || ROOTS.contains(&path)
        || FILES.iter().any(|(file, _)| is_above(&whole(file)))
        || super::project::HOSTILE.iter().any(|(file, _)| is_above(&whole(file)))
}

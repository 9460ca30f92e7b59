//! The programs of the table that run on this machine.

use std::collections::BTreeSet;

use bitacora_shell::{Effect, ListedUse, listed_uses};

use super::claims::ClaimedLine;
use super::sandbox::find;

/// Programs that act, and of which their entries say which files they change. The others that act may run a project's own code.
const CHANGES: [&str; 11] =
    ["chmod", "cp", "find", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "tee", "touch"];
/// Programs that Debian's base system has, and git. Without one of them the run fails.
const MUST_RUN: [&str; 43] = [
    "awk",
    "basename",
    "cat",
    "chmod",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "find",
    "fold",
    "git",
    "grep",
    "head",
    "id",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "nl",
    "od",
    "paste",
    "readlink",
    "realpath",
    "rm",
    "sed",
    "seq",
    "sha256sum",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "tr",
    "uniq",
    "wc",
];
/// The builtins of the shell.
const BUILTINS: [&str; 4] = ["cd", "command", "test", "type"];
/// Programs that only look at data on other machines.
const REMOTE: [&str; 1] = ["gh"];

/// Returns `true` if a line does nothing but look, or change files that it names.
pub(crate) fn is_covered(line: &ClaimedLine) -> bool {
    let mut actions = line.commands.iter().flat_map(|command| &command.actions);
    actions.all(|action| {
        let name = action.program.rsplit('/').next().unwrap_or_default();
        action.effect == Effect::Looks || name.is_empty() || CHANGES.contains(&name)
    })
}

/// Returns the uses that are run, each with a program, and says which programs are not.
pub(crate) fn uses() -> Vec<(&'static str, ListedUse)> {
    let mut uses = Vec::new();
    let (mut run, mut missing): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    let (mut acting, mut remote): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    for used in listed_uses() {
        for program in used.programs {
            if REMOTE.contains(program) {
                remote.insert(program);
            } else if used.effect != Effect::Looks && !CHANGES.contains(program) {
                acting.insert(program);
            } else if BUILTINS.contains(program) || find(program).is_some() {
                run.insert(program);
                // A program has few uses, and git many.
                let weight = if *program == "git" { 1 } else { 2 };
                uses.extend((0..weight).map(|_| (*program, used.clone())));
            } else {
                missing.insert(program);
            }
        }
    }
    let absent: Vec<&str> = MUST_RUN.into_iter().filter(|program| !run.contains(program)).collect();
    assert!(absent.is_empty(), "Debian has these, and here they are missing: {}", absent.join(" "));
    let words = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(" ");
    println!("{} programs: {}", run.len(), words(&run));
    for program in &missing {
        println!("NOT RUN: {program} is not installed");
    }
    println!("NOT RUN, for they ask other machines: {}", words(&remote));
    println!("NOT RUN where they act, for they may run a project's own code: {}", words(&acting));
    uses
}

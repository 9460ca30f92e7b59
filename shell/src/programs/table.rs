//! The table: every program that is known, a file for each family.

mod awk;
mod building;
mod builtins;
mod changing;
mod checking;
mod find;
mod git;
mod github;
mod jq;
mod looking;
mod packages;
mod running;
mod searching;
mod sed;
mod system;
mod text;

use super::entry::{Program, ProgramUse};

/// All families.
const FAMILIES: [&[Program]; 17] = [
    looking::PROGRAMS,
    searching::PROGRAMS,
    find::PROGRAMS,
    text::PROGRAMS,
    sed::PROGRAMS,
    awk::PROGRAMS,
    jq::PROGRAMS,
    builtins::PROGRAMS,
    changing::PROGRAMS,
    git::looking::PROGRAMS,
    git::acting::PROGRAMS,
    github::PROGRAMS,
    building::PROGRAMS,
    packages::PROGRAMS,
    checking::PROGRAMS,
    running::PROGRAMS,
    system::PROGRAMS,
];

/// Returns the uses of a program, those of entries that stand first before the others. A program may have several entries.
pub(super) fn uses(name: &str) -> impl Iterator<Item = &'static ProgramUse> {
    entries(name).flat_map(|program| program.uses)
}

/// Returns `true` if a flag may stand before the words of a use.
pub(super) fn is_before(name: &str, flag: &str) -> bool {
    entries(name).any(|program| program.before.split_whitespace().any(|listed| listed == flag))
}

/// Returns every entry.
pub(super) fn programs() -> impl Iterator<Item = &'static Program> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

fn entries(name: &str) -> impl Iterator<Item = &'static Program> {
    programs().filter(move |program| program.names.contains(&name))
}

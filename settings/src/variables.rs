//! Variables that look like settings and are none.

use std::collections::BTreeSet;

use clap::Command;

use crate::nearest::nearest;

/// The prefix of the program's variables.
const PREFIX: &str = "BITACORA_";

/// Returns the names among `given` that begin as the program's variables do and are known to no option of it and not to `others`, each with
/// the nearest known one.
#[must_use]
pub fn unknown_variables(
    program: &Command,
    others: &[&str],
    given: impl IntoIterator<Item = String>,
) -> Vec<(String, Option<String>)> {
    let mut known: BTreeSet<String> = others.iter().map(|name| (*name).to_owned()).collect();
    add_variables(program, &mut known);
    let unknown = given.into_iter().filter(|name| name.starts_with(PREFIX) && !known.contains(name));
    let with_nearest = unknown.map(|name| {
        let near = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
        (name, near)
    });
    with_nearest.collect()
}

fn add_variables(command: &Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|option| option.get_env()?.to_str());
    known.extend(variables.map(str::to_owned));
    command.get_subcommands().for_each(|command| add_variables(command, known));
}

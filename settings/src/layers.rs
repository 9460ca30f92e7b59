//! The layers of a command's values: what the file says lies below variables and options.

use clap::{Arg, ArgAction, Command};

use crate::document::SettingsDocument;
use crate::keys::{SettingKind, variable};

/// The separator of a list in a variable.
const LIST_SEPARATOR: char = ',';

/// Gives each option of these commands of a program a variable, and lets its flags be denied, as `--open=false`. The commands are
/// paths, such as `["config", "show"]`.
#[must_use]
pub fn with_variables(program: Command, commands: &[&[&str]]) -> Command {
    let layered = |option: Arg| match option.get_long() {
        Some(name) => {
            let name = name.to_owned();
            layered(option, &name)
        }
        None => option,
    };
    commands.iter().fold(program, |program, path| at(program, path, &|command| command.mut_args(layered)))
}

fn layered(option: Arg, name: &str) -> Arg {
    let kind = SettingKind::of(&option);
    let option = match option.get_env() {
        Some(_) => option,
        None => option.env(variable(name)).hide_env_values(true),
    };
    match kind {
        SettingKind::Boolean => option
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .value_name("BOOL")
            .default_value("false")
            .default_missing_value("true")
            .hide_default_value(true)
            .hide_possible_values(true),
        SettingKind::List => option.value_delimiter(LIST_SEPARATOR),
        SettingKind::Text | SettingKind::Integer => option,
    }
}

/// Makes the values of a file the defaults of these commands. An empty list leaves its option without a value.
#[must_use]
pub fn with_document(program: Command, commands: &[&[&str]], document: &SettingsDocument) -> Command {
    let entries = document.entries.iter().filter(|entry| !entry.values.is_empty());
    entries.fold(program, |program, entry| {
        let id = entry.key.option.get_id();
        let with_default =
            |command: Command| command.mut_arg(id, |option| option.default_values(entry.values.clone()));
        match entry.key.is_global {
            true => with_default(program),
            false => commands.iter().fold(program, |program, path| at(program, path, &with_default)),
        }
    })
}

/// Changes the command at a path below a program.
fn at(program: Command, path: &[&str], change: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => change(program),
        [name, rest @ ..] => program.mut_subcommand(*name, |command| at(command, rest, change)),
    }
}

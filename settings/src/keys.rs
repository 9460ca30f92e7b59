//! The keys of a settings file, read from the options of a command.

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

/// The prefix of every variable.
const VARIABLE_PREFIX: &str = "BITACORA_";

/// The type of a setting in TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// A string.
    Text,
    /// An integer from 0 on.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// An array of strings.
    List,
}

impl SettingKind {
    /// Returns the kind of an option's values.
    pub(crate) fn of(option: &Arg) -> Self {
        let parsed = option.get_value_parser().type_id();
        match option.get_action() {
            ArgAction::Append => Self::List,
            _ if parsed == TypeId::of::<bool>() => Self::Boolean,
            _ if parsed == TypeId::of::<u64>() => Self::Integer,
            _ => Self::Text,
        }
    }

    /// Returns its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer from 0 on",
            Self::Boolean => "true or false",
            Self::List => "an array of strings",
        }
    }
}

/// A setting: an option of the command, a variable, and a key of the file, all under one name.
#[derive(Debug, Clone)]
pub struct SettingKey {
    /// The name: that of the long option and of the key.
    pub name: String,
    /// The type in TOML.
    pub kind: SettingKind,
    pub(crate) option: Arg,
    pub(crate) is_global: bool,
}

impl SettingKey {
    fn of(option: &Arg, is_global: bool) -> Option<Self> {
        let name = option.get_long()?.to_owned();
        Some(Self { name, kind: SettingKind::of(option), option: option.clone(), is_global })
    }

    /// Returns the option's id within its command.
    #[must_use]
    pub fn id(&self) -> &str {
        self.option.get_id().as_str()
    }

    /// Returns the name of the variable.
    #[must_use]
    pub fn variable(&self) -> String {
        variable(&self.name)
    }

    /// Returns `true` if the value is a path whatever it is.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.option.get_value_parser().type_id() == TypeId::of::<PathBuf>()
    }
}

/// Returns the name of the variable for an option.
pub(crate) fn variable(name: &str) -> String {
    format!("{VARIABLE_PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Every setting of one command of a program.
#[derive(Debug, Clone)]
pub struct SettingKeys {
    keys: Vec<SettingKey>,
    /// Options that hold for one start, by their long name.
    only_options: Vec<&'static str>,
}

impl SettingKeys {
    /// Returns the settings of the command `name`: its own options, and the program's global ones with these ids. `only_options`
    /// are the long names of options that are no settings.
    #[must_use]
    pub fn of(program: &Command, name: &str, globals: &[&str], only_options: &[&'static str]) -> Self {
        let of_all = program.get_arguments().filter(|option| globals.contains(&option.get_id().as_str()));
        let of_all = of_all.filter_map(|option| SettingKey::of(option, true));
        let own = program.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
        let own = own.filter_map(|option| SettingKey::of(option, false));
        let is_setting = |key: &SettingKey| !only_options.contains(&key.name.as_str());
        Self { keys: of_all.chain(own).filter(is_setting).collect(), only_options: only_options.to_vec() }
    }

    /// Returns the settings, in the order of the options.
    pub fn iter(&self) -> impl Iterator<Item = &SettingKey> {
        self.keys.iter()
    }

    /// Returns the setting with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&SettingKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns `true` for the name of an option that is no setting.
    pub(crate) fn is_only_option(&self, name: &str) -> bool {
        self.only_options.contains(&name)
    }
}

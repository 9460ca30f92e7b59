//! The effective settings, and the source of each.

use std::fmt;

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::document::SettingsDocument;
use crate::keys::{SettingKey, SettingKeys, SettingKind};

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// An option of the command line.
    Flag,
    /// A variable.
    Variable(String),
    /// A line of the file.
    Line(usize),
    /// The program.
    Default,
}

/// A setting with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name: that of the long option and of the key.
    pub name: String,
    /// The type in TOML.
    pub kind: SettingKind,
    /// The values, as text; more than one in a list alone, none where there is no value.
    pub values: Vec<String>,
    /// The source of the values.
    pub source: SettingSource,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::Line(line) => write!(f, "file line {line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Returns every setting, as these matches of a command have it. `document` is the file that made their defaults.
#[must_use]
pub fn settings(
    matches: &ArgMatches,
    keys: &SettingKeys,
    document: Option<&SettingsDocument>,
) -> Vec<Setting> {
    keys.iter().map(|key| setting(matches, key, document)).collect()
}

fn setting(matches: &ArgMatches, key: &SettingKey, document: Option<&SettingsDocument>) -> Setting {
    let raw = matches.get_raw(key.id()).into_iter().flatten();
    let values = raw.map(|value| value.to_string_lossy().into_owned()).collect();
    let line = document.and_then(|document| document.names().find(|(name, _)| *name == key.name));
    let source = match (matches.value_source(key.id()), line) {
        (Some(ValueSource::CommandLine), _) => SettingSource::Flag,
        (Some(ValueSource::EnvVariable), _) => SettingSource::Variable(key.variable()),
        (_, Some((_, line))) => SettingSource::Line(line),
        _ => SettingSource::Default,
    };
    Setting { name: key.name.clone(), kind: key.kind, values, source }
}

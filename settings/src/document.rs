//! A settings file: TOML whose every key is a setting.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{FaultKind, SettingsFault};
use crate::keys::{SettingKey, SettingKeys, SettingKind};
use crate::nearest::nearest;

/// The values of a settings file, each of which its option takes.
#[derive(Debug, Clone)]
pub struct SettingsDocument {
    path: PathBuf,
    pub(crate) entries: Vec<DocumentEntry>,
}

/// A key of a settings file.
#[derive(Debug, Clone)]
pub(crate) struct DocumentEntry {
    pub(crate) key: SettingKey,
    /// The line of the key, from 1 on.
    pub(crate) line: usize,
    pub(crate) values: Vec<OsString>,
}

impl SettingsDocument {
    /// Reads the bytes of the file `path`. Relative paths in it begin at its folder; `is_path` tells which other values are paths.
    ///
    /// # Errors
    /// The first fault.
    pub fn parse(
        path: &Path,
        bytes: &[u8],
        keys: &SettingKeys,
        is_path: impl Fn(&SettingKey, &str) -> bool,
    ) -> Result<Self, SettingsFault> {
        let fault = |line, kind| SettingsFault { path: path.to_owned(), line, kind };
        let text = str::from_utf8(bytes)
            .map_err(|error| fault(line_of(bytes, error.valid_up_to()), FaultKind::NotText))?;
        let table = DeTable::parse(text).map_err(|error| {
            // The message alone: what the parser writes itself shows the line, and a line may hold a secret.
            let at = error.span().map_or(0, |span| span.start);
            fault(line_of(bytes, at), FaultKind::Syntax(error.message().replace('\n', "; ")))
        })?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let mut items: Vec<_> = table.get_ref().iter().collect();
        items.sort_unstable_by_key(|(name, _)| name.span().start);
        let entries = items.into_iter().map(|(name, value)| {
            let line = line_of(bytes, name.span().start);
            let values = values(name.get_ref(), value, keys).and_then(|(key, texts)| {
                let place = |text: &str| match key.is_path() || is_path(key, text) {
                    true => folder.join(text).into_os_string(),
                    false => OsString::from(text),
                };
                Ok(DocumentEntry { key: key.clone(), line, values: taken(key, &texts)?.map(place).collect() })
            });
            values.map_err(|kind| fault(line, kind))
        });
        Ok(Self { path: path.to_owned(), entries: entries.collect::<Result<_, _>>()? })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the settings in the file, with their lines.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.entries.iter().map(|entry| (entry.key.name.as_str(), entry.line))
    }
}

/// Returns the line of a byte, from 1 on.
fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the setting of a key, and its values as an option takes them.
fn values<'a>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    keys: &'a SettingKeys,
) -> Result<(&'a SettingKey, Vec<String>), FaultKind> {
    let value = value.get_ref();
    let Some(key) = keys.find(name) else {
        return Err(match value {
            _ if keys.is_only_option(name) => FaultKind::OnlyOption(name.to_owned()),
            DeValue::Table(_) => FaultKind::Table(name.to_owned()),
            _ => {
                let nearest = nearest(name, keys.iter().map(|key| key.name.as_str())).map(str::to_owned);
                FaultKind::UnknownKey { key: name.to_owned(), nearest }
            }
        });
    };
    let fault = |found| FaultKind::Type { key: key.name.clone(), found, expected: key.kind.name() };
    let texts = match (key.kind, value) {
        (SettingKind::Text, DeValue::String(text)) => vec![text.clone().into_owned()],
        (SettingKind::Boolean, DeValue::Boolean(flag)) => vec![flag.to_string()],
        (SettingKind::Integer, DeValue::Integer(number)) => {
            let number = u64::from_str_radix(number.as_str(), number.radix());
            vec![number.map_err(|_| fault("an integer out of range"))?.to_string()]
        }
        (SettingKind::List, DeValue::Array(items)) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.clone().into_owned()),
                other => Err(fault(array_with(other))),
            });
            texts.collect::<Result<_, _>>()?
        }
        (_, other) => return Err(fault(name_of(other))),
    };
    Ok((key, texts))
}

/// Returns the values if the option takes each of them.
fn taken<'a>(key: &SettingKey, texts: &'a [String]) -> Result<impl Iterator<Item = &'a str>, FaultKind> {
    let fault = |reason: &str| FaultKind::Value { key: key.name.clone(), reason: reason.to_owned() };
    // They have no text that could be wrong, and an option that is given without one takes none.
    let tried = if key.kind == SettingKind::Boolean { &[] } else { texts };
    let option = key.option.clone();
    let program = Command::new("settings").no_binary_name(true).disable_help_flag(true).arg(option);
    for text in tried {
        if text.contains('\0') {
            return Err(fault("found a NUL character"));
        }
        let given = program.clone().try_get_matches_from([format!("--{}={text}", key.name)]);
        if let Err(error) = given {
            let reason = reason(&error.to_string());
            let is_shown = !key.option.is_hide_env_values_set() || !reason.contains(text);
            return Err(fault(if is_shown { &reason } else { "the option does not take the value" }));
        }
    }
    Ok(texts.iter().map(String::as_str))
}

/// Returns a parser's message without its frame, on one line.
fn reason(message: &str) -> String {
    let body = message.split("\nUsage:").next().unwrap_or_default();
    let body = body.split("\nFor more information").next().unwrap_or_default();
    let lines = body.trim_start_matches("error: ").lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the name of a value's type in messages.
fn name_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

fn array_with(item: &DeValue<'_>) -> &'static str {
    match item {
        DeValue::Array(_) => "an array of arrays",
        DeValue::Table(_) => "an array of tables",
        _ => "an array with something else",
    }
}

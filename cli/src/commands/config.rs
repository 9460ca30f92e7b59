//! `config`: checks and shows the settings of `serve`.

use std::path::PathBuf;

use bitacora_data_folder::AnchorPlace;
use bitacora_settings::{Setting, SettingKind, SettingSource};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::commands::serve::{ServeArguments, ServeSettings, SettingsReader, examine};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::terminal::note;
use crate::terminal::output::Output;
use crate::terminal::table::{Cell, TextTable, cells};

/// The text in the place of a value that may be a secret.
const MASK: &str = "(set, not shown)";
/// The variable with the filter of the log where no setting has one, and the filter where there is none.
const FILTER_VARIABLE: &str = "RUST_LOG";
const DEFAULT_FILTER: &str = "info";

#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check settings as `serve` does, and that what they name is there. Nothing is opened, made or started.
    Check(Box<SettingsLine>),
    /// Show each setting of `serve`: its value, and where it comes from.
    Show(Box<SettingsLine>),
}

#[derive(Debug, Args)]
struct SettingsLine {
    /// The settings file. [default: that of --config]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    serve: ServeArguments,
}

impl ConfigArguments {
    /// Returns the options of `serve`, and the file that stands alone.
    pub(crate) fn into_parts(self) -> (ServeArguments, Option<PathBuf>) {
        let (ConfigCommand::Check(line) | ConfigCommand::Show(line)) = self.command;
        (line.serve, line.file)
    }
}

pub(crate) fn run(
    arguments: &ConfigArguments,
    read: &SettingsReader,
    shown: &[&str],
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let settings = read()?;
    match arguments.command {
        ConfigCommand::Check(_) => check(&settings, output),
        ConfigCommand::Show(_) => show(&settings, shown, output),
    }
}

fn check(settings: &ServeSettings, output: &mut Output) -> Result<Exit, CommandError> {
    examine(settings)?;
    for (name, nearest) in &settings.unknown_variables {
        let hint = nearest.as_ref().map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
        note(&format!("the variable {name} is no setting{hint}"));
    }
    let from_file =
        settings.settings.iter().filter(|one| matches!(one.source, SettingSource::Line(_))).count();
    if settings.global.json {
        let unknown: Vec<_> = settings.unknown_variables.iter().map(|(name, _)| name).collect();
        let file = settings.file.as_ref().map(|file| file.display().to_string());
        output.json(
            &json!({"valid": true, "file": file, "fromFile": from_file, "unknownVariables": unknown}),
        )?;
    } else {
        let all = settings.settings.len();
        output.line(match &settings.file {
            Some(file) => format!("{}: valid; {from_file} of {all} settings are from it", file.display()),
            None => "valid; no settings file is named".to_owned(),
        })?;
    }
    Ok(Exit::Done)
}

/// Returns the settings with the values that `serve` takes where none is set.
fn with_derived(settings: &ServeSettings) -> Vec<Setting> {
    let (global, mut all) = (&settings.global, settings.settings.clone());
    let filter = std::env::var(FILTER_VARIABLE).ok().filter(|filter| !filter.is_empty());
    for setting in all.iter_mut().filter(|setting| setting.values.is_empty()) {
        let derived = match setting.name.as_str() {
            "keyring" => global.keyring().ok().map(|path| path.display().to_string()),
            "anchor" => global.anchor().ok().map(|anchor| anchor_text(&anchor)),
            "archive-store" => global.data().ok().map(|data| global.archive_place(data).to_string()),
            "log-filter" => {
                if filter.is_some() {
                    setting.source = SettingSource::Variable(FILTER_VARIABLE.to_owned());
                }
                filter.clone().or_else(|| Some(DEFAULT_FILTER.to_owned()))
            }
            _ => None,
        };
        setting.values.extend(derived);
    }
    // An anchor that was used with this keyring is required from then on, whatever the setting says.
    let is_required = global.anchor_trust().is_ok_and(|trust| trust.required);
    for setting in all.iter_mut().filter(|setting| is_required && setting.name == "anchor-required") {
        (setting.values, setting.source) = (vec!["true".to_owned()], SettingSource::Default);
    }
    all
}

fn anchor_text(anchor: &AnchorPlace) -> String {
    match anchor {
        AnchorPlace::Folder(folder) => folder.display().to_string(),
        AnchorPlace::Store(url) => url.to_string(),
        AnchorPlace::None => "none".to_owned(),
    }
}

fn show(settings: &ServeSettings, shown: &[&str], output: &mut Output) -> Result<Exit, CommandError> {
    let is_masked = |setting: &Setting| !shown.contains(&setting.name.as_str()) && !setting.values.is_empty();
    let all = with_derived(settings);
    if settings.global.json {
        let rows: Vec<_> = all.iter().map(|setting| row_json(setting, is_masked(setting))).collect();
        let file = settings.file.as_ref().map(|file| file.display().to_string());
        output.json(&json!({"file": file, "settings": rows}))?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new(&["setting", "value", "from"]);
    for setting in &all {
        let value = match setting.values.as_slice() {
            [] => "-".to_owned(),
            _ if is_masked(setting) => MASK.to_owned(),
            values => values.join(", "),
        };
        table.add(cells![&setting.name, Cell::whole(value), Cell::whole(setting.source.to_string())]);
    }
    table.write("", output)?;
    Ok(Exit::Done)
}

fn row_json(setting: &Setting, is_masked: bool) -> Value {
    let one = |text: &String| match setting.kind {
        SettingKind::Boolean => Value::Bool(text == "true"),
        SettingKind::Integer => text.parse::<u64>().map_or_else(|_| json!(text), Value::from),
        SettingKind::Text | SettingKind::List => json!(text),
    };
    let value = match (setting.kind, setting.values.first()) {
        _ if is_masked => Value::Null,
        (SettingKind::List, _) => json!(setting.values),
        (_, Some(text)) => one(text),
        (_, None) => Value::Null,
    };
    let (source, at) = match &setting.source {
        SettingSource::Flag => ("flag", Value::Null),
        SettingSource::Variable(name) => ("env", json!(name)),
        SettingSource::Line(line) => ("file", json!(line)),
        SettingSource::Default => ("default", Value::Null),
    };
    json!({"name": setting.name, "value": value, "masked": is_masked, "source": source, "at": at})
}

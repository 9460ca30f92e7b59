//! The settings of `serve`: its file, variables and options, read together.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bitacora_settings::{
    SettingKeys, SettingsDocument, SettingsFault, settings, unknown_variables, with_document, with_variables,
};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory as _};

use crate::arguments::{CommandLine, ProgramCommand};
use crate::commands::serve::{ServeArguments, ServeSettings};
use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::files::input_file;
use crate::options::global::is_folder;

/// The size limit of a settings file, in bytes.
const MAX_SETTINGS_BYTES: usize = 64 * 1024;
/// The bits of a mode that let every user write a file, or read it.
const OTHERS_WRITE: u32 = 0o002;
const OTHERS_READ: u32 = 0o004;
/// The commands with these settings, as paths below the program.
const COMMANDS: [&[&str]; 3] = [&["serve"], &["config", "check"], &["config", "show"]];
/// The global options that are settings of `serve`.
const GLOBALS: [&str; 4] = ["data", "keyring", "anchor", "archive_store"];
/// Options that are no settings: they name the file, or hold for one start.
const ONLY_OPTIONS: [&str; 3] = ["config", "new-anchor", "anchor-optional"];
/// Variables of the program that stand for no option.
const OTHER_VARIABLES: [&str; 5] =
    ["BITACORA_CONNECT_HOME", "BITACORA_PASSPHRASE", "BITACORA_RUN", "BITACORA_SESSION", "BITACORA_TOKEN"];
/// The settings whose values are shown. Any other may hold a secret.
pub(crate) const SHOWN_SETTINGS: [&str; 26] = [
    "data",
    "keyring",
    "anchor",
    "archive-store",
    "listen",
    "unix",
    "open",
    "allow-origin",
    "create",
    "without-ledger",
    "anchor-required",
    "idle-heads",
    "scrub-rate",
    "warm-for",
    "require-models",
    "witnesses",
    "notify-secret-file",
    "archive-after",
    "archive-over",
    "keep-archived-segments",
    "tls-certificate",
    "tls-key",
    "tls-client-ca",
    "allow-remote",
    "log",
    "log-filter",
];

/// The reason why the settings cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("{}: {source}; nothing was begun", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: longer than {MAX_SETTINGS_BYTES} bytes; a settings file has a line for each setting", .0.display())]
    Long(PathBuf),
    #[error(transparent)]
    Fault(#[from] SettingsFault),
    #[error("{}: found mode {mode:o}, which lets every user write it; run `chmod o-w` on it", path.display())]
    OthersWrite { path: PathBuf, mode: u32 },
    #[error(
        "{}, line {line}: found mode {mode:o}, which lets every user read `{name}`, and that may hold a secret; run `chmod o-r` on the file",
        path.display()
    )]
    OthersRead { path: PathBuf, line: usize, name: String, mode: u32 },
    #[error("found a file and --config, expected one of them")]
    TwoFiles,
    #[error("found --anchor-required and --anchor-optional, expected one of them")]
    TwoAnchorRules,
    #[error("{0}")]
    CommandLine(String),
}

impl CommandFailure for SettingsError {
    fn exit(&self) -> Exit {
        match self {
            Self::File { .. } => Exit::Failed,
            Self::Long(_)
            | Self::Fault(_)
            | Self::OthersWrite { .. }
            | Self::OthersRead { .. }
            | Self::TwoFiles
            | Self::TwoAnchorRules
            | Self::CommandLine(_) => Exit::Usage,
        }
    }
}

/// Returns the program's parser with a variable for each setting.
pub(crate) fn with_setting_variables(program: Command) -> Command {
    with_variables(program, &COMMANDS)
}

/// Returns the settings that there are.
pub(crate) fn keys() -> SettingKeys {
    SettingKeys::of(&CommandLine::command(), "serve", &GLOBALS, &ONLY_OPTIONS)
}

/// Returns the settings of `serve`, or of `config`, on this command line.
///
/// # Errors
/// A settings file that cannot be read or has a fault, and options that contradict each other.
pub(crate) fn read(line: &[OsString]) -> Result<ServeSettings, SettingsError> {
    let parsed = |program: Command| {
        let parsed = CommandLine::parse(program, line.iter().cloned());
        parsed.map_err(|error| SettingsError::CommandLine(error.to_string().trim_end().to_owned()))
    };
    let (program, keys) = (CommandLine::parser(), keys());
    let (mut arguments, mut matches) = parsed(program.clone())?;
    refuse_contradictions(&matches)?;
    let (mut serve, file) = parts(arguments.command)?;
    let document = file.as_deref().map(|path| read_document(path, &keys)).transpose()?;
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown_variables = unknown_variables(&program, &OTHER_VARIABLES, names);
    if let Some(document) = &document {
        (arguments, matches) = parsed(with_document(program, &COMMANDS, document))?;
        (serve, _) = parts(arguments.command)?;
    }
    let settings = settings(leaf(&matches), &keys, document.as_ref());
    let file_settings = document.as_ref().map_or(0, |document| document.names().count());
    Ok(ServeSettings { global: arguments.global, serve, settings, file, file_settings, unknown_variables })
}

/// Returns the options of `serve`, and the settings file.
fn parts(command: ProgramCommand) -> Result<(ServeArguments, Option<PathBuf>), SettingsError> {
    let (serve, file) = match command {
        ProgramCommand::Serve(serve) => (*serve, None),
        ProgramCommand::Config(config) => config.into_parts(),
        _ => return Err(SettingsError::CommandLine("found a command without settings".to_owned())),
    };
    let file = file.or_else(|| serve.config.clone());
    Ok((serve, file))
}

/// Returns the matches of the innermost command.
fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

fn refuse_contradictions(matches: &ArgMatches) -> Result<(), SettingsError> {
    let matches = leaf(matches);
    let is_given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
    if matches.try_contains_id("file").unwrap_or_default() && is_given("config") {
        return Err(SettingsError::TwoFiles);
    }
    match is_given("anchor_required") && is_given("anchor_optional") {
        true => Err(SettingsError::TwoAnchorRules),
        false => Ok(()),
    }
}

/// Reads a settings file: a bounded number of bytes of a regular file, or of a pipe that a shell opened.
fn read_document(path: &Path, keys: &SettingKeys) -> Result<SettingsDocument, SettingsError> {
    let failed = |source| SettingsError::File { path: path.to_owned(), source };
    let path = std::path::absolute(path).map_err(failed)?;
    let file = input_file::open(&path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_SETTINGS_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > MAX_SETTINGS_BYTES {
        return Err(SettingsError::Long(path));
    }
    let document = SettingsDocument::parse(&path, &bytes, keys, |key, text| is_folder(&key.name, text))?;
    if metadata.is_file() {
        refuse_others(&document, metadata.mode() & 0o7777)?;
    }
    Ok(document)
}

/// Refuses a file that every user may write, or that every user may read although it may hold a secret.
fn refuse_others(document: &SettingsDocument, mode: u32) -> Result<(), SettingsError> {
    let path = document.path().to_owned();
    if mode & OTHERS_WRITE != 0 {
        return Err(SettingsError::OthersWrite { path, mode });
    }
    let mut masked = document.names().filter(|(name, _)| !SHOWN_SETTINGS.contains(name));
    match masked.next().filter(|_| mode & OTHERS_READ != 0) {
        Some((name, line)) => Err(SettingsError::OthersRead { path, line, name: name.to_owned(), mode }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that may hold a secret. A new option stands here or among those that are shown.
    const MASKED: [&str; 1] = ["notify"];

    #[test]
    fn every_setting_is_shown_or_masked_on_purpose() {
        let keys = keys();
        let mut names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
        let mut known: Vec<_> = SHOWN_SETTINGS.into_iter().chain(MASKED).collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn every_setting_has_a_variable_of_its_name() {
        let program = CommandLine::parser();
        for path in COMMANDS {
            let command = path.iter().fold(&program, |command, name| command.find_subcommand(name).unwrap());
            for key in keys().iter() {
                let options = command.get_arguments().chain(program.get_arguments());
                let option = options.into_iter().find(|option| option.get_long() == Some(&key.name)).unwrap();
                assert_eq!(option.get_env().unwrap().to_str().unwrap(), key.variable(), "{path:?}");
            }
        }
    }
}

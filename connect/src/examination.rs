//! The examination of a connection's settings: whether the harness runs the hooks that `connect` would write today.

use std::path::{Path, PathBuf};

use bitacora_harness::{Dialect, SettingsDifference};

use crate::connection::Connection;
use crate::install::{HookProgram, hook_entry};
use crate::settings_file::{SettingsFileError, SettingsScope, read_settings, settings_path};

/// Settings of whoever governs the machine, which are stronger than the user's.
const MANAGED_CLAUDE: &str = "/etc/claude-code/managed-settings.json";
/// The same of Gemini CLI.
const MANAGED_GEMINI: &str = "/etc/gemini-cli/settings.json";

/// Settings beside the connection's that a harness reads too.
#[derive(Debug)]
pub struct OtherSettings {
    /// The file.
    pub path: PathBuf,
    /// The members that switch hooks off, or the reason why nobody can tell.
    pub found: Result<Vec<SettingsDifference>, SettingsFileError>,
}

/// Compares a connection's settings with the entries that `connect` would write with this program.
///
/// # Errors
/// The settings cannot be read, or the harness may read them otherwise.
pub fn examine_settings(
    connection: &Connection,
    file: &Path,
    dialect: Dialect,
    program: &HookProgram,
) -> Result<Vec<SettingsDifference>, SettingsFileError> {
    let path = &connection.settings;
    let text = read_settings(path)?.unwrap_or_default();
    let entry = hook_entry(connection, dialect, program, file);
    dialect
        .differences(&text, &entry)
        .map_err(|source| SettingsFileError::Settings { path: path.clone(), source })
}

/// Examines the other settings that a harness reads in a folder. Files that are not there and files that switch nothing off are
/// left out.
#[must_use]
pub fn examine_other_settings(
    connection: &Connection,
    dialect: Dialect,
    home: &Path,
    folder: &Path,
) -> Vec<OtherSettings> {
    let user = settings_path(dialect, SettingsScope::User { home });
    let project = settings_path(dialect, SettingsScope::Project { folder });
    let files = match dialect {
        Dialect::Claude => {
            let shared = project.with_file_name("settings.json");
            vec![PathBuf::from(MANAGED_CLAUDE), user, shared, project]
        }
        Dialect::Gemini => vec![PathBuf::from(MANAGED_GEMINI), user, project],
        Dialect::Codex | Dialect::Cursor => Vec::new(),
    };
    let mut others: Vec<OtherSettings> = Vec::new();
    for path in files {
        if path == connection.settings || others.iter().any(|other| other.path == path) {
            continue;
        }
        let found = match read_settings(&path) {
            Ok(None) => continue,
            Ok(Some(text)) => dialect
                .switched_off(&text)
                .map_err(|source| SettingsFileError::Settings { path: path.clone(), source }),
            Err(error) => Err(error),
        };
        if !found.as_ref().is_ok_and(Vec::is_empty) {
            others.push(OtherSettings { path, found });
        }
    }
    others
}

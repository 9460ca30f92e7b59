//! The examination of a connection's settings: whether the harness runs the hooks that `connect` would write today.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use bitacora_harness::{Dialect, SettingsDifference};

use crate::connection::Connection;
use crate::install::{HookProgram, hook_entry, marker};
use crate::settings_file::{SettingsFileError, SettingsScope, read_settings, settings_path};

/// Settings of whoever governs the machine, which are stronger than the user's.
const MANAGED_CLAUDE: &str = "/etc/claude-code/managed-settings.json";
/// Parts of them.
const MANAGED_CLAUDE_PARTS: &str = "/etc/claude-code/managed-settings.d";
/// The same of Gemini CLI.
const MANAGED_GEMINI: [&str; 2] = ["/etc/gemini-cli/settings.json", "/etc/gemini-cli/system-defaults.json"];

/// Settings beside the connection's that a harness reads too.
#[derive(Debug)]
pub struct OtherSettings {
    /// The file.
    pub path: PathBuf,
    /// The members that switch hooks off, or the reason why nobody can tell.
    pub found: Result<Vec<SettingsDifference>, SettingsFileError>,
}

impl fmt::Display for OtherSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Ok(differences) => {
                let words: Vec<_> = differences.iter().map(ToString::to_string).collect();
                write!(f, "{}: {}", self.path.display(), words.join(", "))
            }
            Err(error) => error.fmt(f),
        }
    }
}

/// Settings beside the connection's with which its hooks may not run.
#[derive(Debug, thiserror::Error)]
#[error("{0}; the harness reads this file too, so mend it, or connect with --observe; nothing was changed")]
pub struct SettingsObstacle(OtherSettings);

/// Returns what may keep the hooks of a connection from running in a folder. Nothing is changed, and an enforced connection has none.
///
/// # Errors
/// The connection enforces, and other settings may keep its hooks from running.
pub fn settings_obstacles(
    connection: &Connection,
    file: &Path,
    dialect: Dialect,
    (home, folder): (&Path, &Path),
) -> Result<Vec<String>, SettingsObstacle> {
    let strict = Connection { enforce: true, ..connection.clone() };
    let mut others = examine_other_settings(&strict, file, dialect, (home, folder)).into_iter();
    if connection.enforce {
        return others.next().map_or(Ok(Vec::new()), |other| Err(SettingsObstacle(other)));
    }
    let place = connection.settings.display();
    // Settings that cannot be read are told by those who write or compare them.
    let text = read_settings(&connection.settings).ok().flatten().unwrap_or_default();
    let members = dialect.unlisted(&text).unwrap_or_default();
    let own = members.into_iter().map(|member| format!("{place}: {member}"));
    Ok(own.chain(others.map(|other| other.to_string())).collect())
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
    file: &Path,
    dialect: Dialect,
    (home, folder): (&Path, &Path),
) -> Vec<OtherSettings> {
    let marker = marker(file);
    let user = settings_path(dialect, SettingsScope::User { home });
    let project = settings_path(dialect, SettingsScope::Project { folder });
    let files = match dialect {
        Dialect::Claude => {
            let shared = project.with_file_name("settings.json");
            let mut files = vec![PathBuf::from(MANAGED_CLAUDE)];
            files.extend(parts(Path::new(MANAGED_CLAUDE_PARTS)));
            files.extend([user, shared, project]);
            files
        }
        Dialect::Gemini => MANAGED_GEMINI.into_iter().map(PathBuf::from).chain([user, project]).collect(),
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
                .switched_off(&text, &marker, connection.enforce)
                .map_err(|source| SettingsFileError::Settings { path: path.clone(), source }),
            Err(error) => Err(error),
        };
        if !found.as_ref().is_ok_and(Vec::is_empty) {
            others.push(OtherSettings { path, found });
        }
    }
    others
}

/// Returns the files of a folder whose names end in `.json`. Where there is no folder, there are none.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "json")).collect()
}

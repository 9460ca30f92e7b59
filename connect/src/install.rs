//! Connecting a harness and disconnecting it: the settings and the connection's file together.
//!
//! The connection's file is written first and removed last. So whatever stops in between, `disconnect` finds what to take out.

use std::fs;
use std::path::{Path, PathBuf};

use bitacora_harness::{Dialect, HookEntry, has_hooks, without_hooks};

use crate::connection::Connection;
use crate::error::ConnectionError;
use crate::hook::HookArguments;
use crate::limits::{DECISION_PATIENCE, HARNESS_MARGIN, REPORT_PATIENCE};
use crate::settings_file::{SettingsFileError, read_settings, write_settings};

/// A harness that cannot be connected or disconnected.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The settings cannot be changed.
    #[error(transparent)]
    Settings(#[from] SettingsFileError),
    /// The connection's file cannot be read or written.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

/// The program that runs as the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookProgram {
    /// The small program, which starts in the shortest time.
    Small(PathBuf),
    /// The whole program, by its command `hook`.
    Whole(PathBuf),
}

impl HookProgram {
    /// The name of the small program.
    pub const SMALL: &'static str = "bitacora-hook";

    /// Returns the small program beside the whole one, or the whole one where it is missing.
    #[must_use]
    pub fn beside(whole: &Path) -> Self {
        let small = whole.with_file_name(Self::SMALL);
        if small.is_file() { Self::Small(small) } else { Self::Whole(whole.to_owned()) }
    }

    /// Returns the program's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Small(path) | Self::Whole(path) => path,
        }
    }

    fn command(&self) -> String {
        match self {
            Self::Small(path) => quoted(path),
            Self::Whole(path) => format!("{} hook", quoted(path)),
        }
    }
}

/// The effect of disconnecting on the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnected {
    /// They were as connecting had left them, and have their earlier bytes again.
    Restored,
    /// They had been changed since. Our entries were taken out, and the rest stays.
    EntriesRemoved,
    /// They held no entry of ours.
    NothingThere,
}

/// Writes the hooks of a connection into its settings. A connection that is there already is replaced; the earlier bytes that
/// it remembers are kept, if nobody changed the settings since.
///
/// # Errors
/// Nothing was changed.
pub fn install(
    mut connection: Connection,
    file: &Path,
    dialect: Dialect,
    program: &HookProgram,
) -> Result<Connection, InstallError> {
    let settings = connection.settings.clone();
    let found = read_settings(&settings)?;
    let earlier = Connection::load(file).ok().filter(|earlier| earlier.settings == settings);
    connection.original = match &earlier {
        Some(earlier) if found.as_deref() == Some(earlier.written.as_str()) => earlier.original.clone(),
        _ => found.as_deref().map(|text| without_ours(text, file, &settings)).transpose()?,
    };
    // Connecting again changes the hooks, and not the time since which calls are asked about.
    connection.connected = earlier.as_ref().and_then(|earlier| earlier.connected).or(connection.connected);
    let entry = hook_entry(&connection, dialect, program, file);
    let text = connection.original.as_deref().unwrap_or_default();
    connection.written = dialect
        .with_hooks(text, &entry)
        .map_err(|source| SettingsFileError::Settings { path: settings.clone(), source })?;
    connection.save(file)?;
    if let Err(error) = write_settings(&settings, Some(&connection.written)) {
        // The settings are as they were, and so is the connection that they name, if there was one.
        match earlier {
            Some(earlier) => earlier.save(file)?,
            None => {
                let _removed = fs::remove_file(file);
            }
        }
        return Err(error.into());
    }
    Ok(connection)
}

/// Takes the hooks of a connection out of its settings, and removes the connection.
///
/// # Errors
/// The settings cannot be changed; the connection stays.
pub fn uninstall(connection: &Connection, file: &Path) -> Result<Disconnected, InstallError> {
    let settings = &connection.settings;
    let done = match read_settings(settings)? {
        Some(text) if text == connection.written => {
            write_settings(settings, connection.original.as_deref())?;
            Disconnected::Restored
        }
        Some(text) if has_hooks(&text, &marker(file)) => {
            write_settings(settings, Some(&without_ours(&text, file, settings)?))?;
            Disconnected::EntriesRemoved
        }
        _ => Disconnected::NothingThere,
    };
    let removed = fs::remove_file(file);
    removed.map_err(|source| ConnectionError::File { path: file.to_owned(), source })?;
    Ok(done)
}

fn without_ours(text: &str, file: &Path, settings: &Path) -> Result<String, SettingsFileError> {
    let marker = marker(file);
    if !has_hooks(text, &marker) {
        return Ok(text.to_owned());
    }
    without_hooks(text, &marker)
        .map_err(|source| SettingsFileError::Settings { path: settings.to_owned(), source })
}

/// Returns the part of a command by which a connection's entries are known.
#[must_use]
pub fn marker(file: &Path) -> String {
    format!("{} {}", HookArguments::CONNECTION, quoted(file))
}

/// The commands that a harness hands to a shell. Where calls are enforced, whatever keeps the gate's program from running, such as
/// its absence or a signal, ends in the exit code that blocks. Hooks that only record block nothing.
fn hook_entry(connection: &Connection, dialect: Dialect, program: &HookProgram, file: &Path) -> HookEntry {
    let marker = marker(file);
    let report_command = format!("{} {} {marker}", program.command(), dialect.name());
    let mut gate_command = format!("{report_command} {}", HookArguments::GATE);
    if connection.enforce {
        gate_command.push_str(&format!(" {} || exit 2", HookArguments::ENFORCE));
    }
    let gate = DECISION_PATIENCE.as_secs().saturating_add(connection.wait_s);
    HookEntry {
        gate_command,
        report_command,
        marker,
        gate_timeout_s: gate.saturating_add(HARNESS_MARGIN.as_secs()),
        report_timeout_s: REPORT_PATIENCE.saturating_add(HARNESS_MARGIN).as_secs(),
        enforce: connection.enforce,
    }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

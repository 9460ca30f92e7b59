//! Connecting a harness and disconnecting it: the settings and the connection's file together.
//!
//! The connection's file is written first and removed last. So whatever stops in between, `disconnect` finds what to take out.

use std::fs;
use std::path::{Path, PathBuf};

use bitacora_harness::{Dialect, HookEntry, has_hooks, without_hooks};

use crate::connection::{Connection, write_private};
use crate::error::ConnectionError;
use crate::hook::HookArguments;
use crate::limits::{DECISION_PATIENCE, HARNESS_MARGIN, REPORT_PATIENCE};
use crate::settings_file::{SettingsFileError, StagedSettings, read_settings, write_settings};

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

    /// Returns the program that a connection's settings name, if it is one of this installation, whether it is there or not.
    #[must_use]
    pub fn of_connection(whole: &Path, connection: &Connection) -> Self {
        let small = whole.with_file_name(Self::SMALL);
        let is_small = connection.written.contains(&*small.to_string_lossy());
        if is_small { Self::Small(small) } else { Self::beside(whole) }
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

/// The credentials of a connection, which are made after everything that can refuse it here.
#[derive(Clone)]
pub struct Credentials {
    /// The agent's token.
    pub token: String,
    /// The id of its holder.
    pub principal: String,
    /// The key that the ledger signs answers with, hexadecimal.
    pub answer_key: String,
}

/// A connection of which everything is ready on this machine, and nothing changed.
pub struct Preparation {
    connection: Connection,
    file: PathBuf,
    found: Option<String>,
    earlier: Option<Connection>,
    staged: StagedSettings,
}

impl Preparation {
    /// Makes ready what is written: the settings with the hooks lie complete beside their place. Earlier bytes that the connection
    /// before remembers are kept, if nobody changed the settings since.
    ///
    /// # Errors
    /// The harness may not read these settings as we do, or they cannot be written. Nothing was changed.
    pub fn of(
        mut connection: Connection,
        file: &Path,
        dialect: Dialect,
        program: &HookProgram,
    ) -> Result<Self, InstallError> {
        let settings = connection.settings.clone();
        let found = read_settings(&settings)?;
        let earlier = Connection::load_to_replace(file).ok();
        let of_file = earlier.as_ref().filter(|earlier| earlier.settings == settings);
        connection.original = match of_file {
            Some(earlier) if found.as_deref() == Some(earlier.written.as_str()) => earlier.original.clone(),
            _ => found.as_deref().map(|text| without_ours(text, file, &settings)).transpose()?,
        };
        // Connecting again changes the hooks, and not the time since which calls are asked about.
        connection.connected = of_file.and_then(|earlier| earlier.connected).or(connection.connected);
        let entry = hook_entry(&connection, dialect, program, file);
        let refused = |source| SettingsFileError::Settings { path: settings.clone(), source };
        // What was found has to be read as we do, too: hooks of before are taken out of it.
        dialect.check(found.as_deref().unwrap_or_default()).map_err(refused)?;
        let text = connection.original.as_deref().unwrap_or_default();
        connection.written = dialect.with_hooks(text, &entry).map_err(refused)?;
        let staged = StagedSettings::beside(&settings, &connection.written)?;
        Ok(Self { connection, file: file.to_owned(), found, earlier, staged })
    }

    /// Returns the connection that is replaced, if there is one.
    #[must_use]
    pub fn earlier(&self) -> Option<&Connection> {
        self.earlier.as_ref()
    }

    /// Writes the connection, then the settings.
    ///
    /// # Errors
    /// Both are as they were.
    pub fn commit(self, credentials: Credentials) -> Result<Installed, InstallError> {
        let Self { mut connection, file, found, earlier: _, staged } = self;
        let Credentials { token, principal, answer_key } = credentials;
        (connection.token, connection.principal, connection.answer_key) = (token, principal, answer_key);
        if read_settings(&connection.settings)? != found {
            return Err(SettingsFileError::Meanwhile { path: connection.settings }.into());
        }
        let before = fs::read(&file).ok();
        connection.save(&file)?;
        let installed = Installed { connection, file, found, before };
        if let Err(error) = staged.place() {
            installed.restore_connection()?;
            return Err(error.into());
        }
        Ok(installed)
    }
}

/// A connection that was just written, with what is needed to take it back.
pub struct Installed {
    connection: Connection,
    file: PathBuf,
    found: Option<String>,
    before: Option<Vec<u8>>,
}

impl Installed {
    /// Returns the connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Writes settings and connection as they were before.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn undo(&self) -> Result<(), InstallError> {
        write_settings(&self.connection.settings, self.found.as_deref())?;
        self.restore_connection()
    }

    fn restore_connection(&self) -> Result<(), InstallError> {
        let restored = match &self.before {
            Some(before) => write_private(&self.file, before),
            None => fs::remove_file(&self.file),
        };
        restored.map_err(|source| ConnectionError::File { path: self.file.clone(), source }.into())
    }
}

/// Writes the hooks of a connection that has its credentials.
///
/// # Errors
/// Nothing was changed.
pub fn install(
    connection: Connection,
    file: &Path,
    dialect: Dialect,
    program: &HookProgram,
) -> Result<Connection, InstallError> {
    let credentials = Credentials {
        token: connection.token.clone(),
        principal: connection.principal.clone(),
        answer_key: connection.answer_key.clone(),
    };
    let installed = Preparation::of(connection, file, dialect, program)?.commit(credentials)?;
    Ok(installed.connection)
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
pub(crate) fn hook_entry(
    connection: &Connection,
    dialect: Dialect,
    program: &HookProgram,
    file: &Path,
) -> HookEntry {
    let marker = marker(file);
    let report_command = format!("{} {} {marker}", program.command(), dialect.name());
    let mut gate_command = format!("{report_command} {}", HookArguments::GATE);
    if connection.enforce {
        gate_command.push_str(&format!(" {} || exit 2", HookArguments::ENFORCE));
        // Gemini CLI was seen to run a call whose gate was ended by the signal that ended Gemini CLI itself.
        if dialect == Dialect::Gemini {
            gate_command.insert_str(0, "trap '' HUP INT TERM; ");
        }
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
    quoted_word(&path.to_string_lossy())
}

/// Quotes a word for a shell.
pub(crate) fn quoted_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

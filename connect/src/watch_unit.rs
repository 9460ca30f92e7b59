//! The systemd unit of a user that keeps `bitacora watch` running.
//!
//! Its first line has the digest of the rest, so that a unit which somebody changed is known, and stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::connection::write_private;
use crate::error::ConnectionError;
use crate::limits::MAX_UNIT_BYTES;

/// The beginning of a unit that this program wrote.
const FIRST_LINE: &str =
    "# Written by `bitacora connect --watch`; `bitacora disconnect` removes it while it is unchanged: ";
/// The variables that the watch needs as they were at connecting.
const VARIABLES: [&str; 5] =
    ["BITACORA_CONNECT_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// Characters besides letters and digits in the name of a program that systemd starts itself.
const PLAIN: [char; 10] = ['/', '.', '_', '-', '+', '@', ',', ':', '%', ' '];

/// A unit that cannot be written or removed.
#[derive(Debug, thiserror::Error)]
pub enum WatchUnitError {
    /// The file cannot be read, written or removed.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Somebody else wrote a unit of that name, or changed ours.
    #[error("{}: found a unit that `connect` did not write, or that was changed; it is left as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The home folder is not known.
    #[error(transparent)]
    Home(#[from] ConnectionError),
}

/// The unit of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchUnit {
    path: PathBuf,
}

impl WatchUnit {
    /// The name of the unit.
    pub const NAME: &'static str = "bitacora-watch.service";

    /// Returns the unit in the user's folder of systemd.
    ///
    /// # Errors
    /// No home folder is known.
    pub fn of_user(variable: impl Fn(&str) -> Option<String>) -> Result<Self, WatchUnitError> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        let folder = config.ok_or(ConnectionError::NoHome)?.join("systemd/user");
        Ok(Self { path: folder.join(Self::NAME) })
    }

    /// Returns the unit's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the unit that runs this program. One that `connect` wrote before is replaced.
    ///
    /// # Errors
    /// The file cannot be written, or another's unit lies there; nothing was changed.
    pub fn write(
        &self,
        program: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(), WatchUnitError> {
        if self.found()?.is_some_and(|text| !is_ours(&text)) {
            return Err(WatchUnitError::Foreign { path: self.path.clone() });
        }
        let failed = |source| WatchUnitError::File { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        write_private(&self.path, unit_text(program, variable).as_bytes()).map_err(failed)
    }

    /// Removes the unit, and the link with which it was enabled. Returns `false` where there is none.
    ///
    /// # Errors
    /// The file cannot be removed, or is not as `connect` wrote it.
    pub fn remove(&self) -> Result<bool, WatchUnitError> {
        let Some(text) = self.found()? else { return Ok(false) };
        if !is_ours(&text) {
            return Err(WatchUnitError::Foreign { path: self.path.clone() });
        }
        let enabled = self.path.with_file_name("default.target.wants").join(Self::NAME);
        if fs::read_link(&enabled).is_ok_and(|target| target == self.path || target.ends_with(Self::NAME)) {
            fs::remove_file(&enabled).map_err(|source| WatchUnitError::File { path: enabled, source })?;
        }
        fs::remove_file(&self.path)
            .map_err(|source| WatchUnitError::File { path: self.path.clone(), source })?;
        Ok(true)
    }

    fn found(&self) -> Result<Option<String>, WatchUnitError> {
        let failed = |source| WatchUnitError::File { path: self.path.clone(), source };
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
            Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_UNIT_BYTES => {
                return Err(WatchUnitError::Foreign { path: self.path.clone() });
            }
            Ok(_) => {}
        }
        fs::read_to_string(&self.path).map(Some).map_err(failed)
    }
}

fn is_ours(text: &str) -> bool {
    let rest = text.strip_prefix(FIRST_LINE);
    let parts = rest.and_then(|rest| rest.split_once('\n'));
    parts.is_some_and(|(digest, unit)| digest == blake3::hash(unit.as_bytes()).to_hex().as_str())
}

fn unit_text(program: &Path, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut unit = format!(
        "[Unit]\nDescription=Bitacora: finds calls of coding agents that dodge the gate\n\n[Service]\nExecStart={}\n",
        command(&program.to_string_lossy())
    );
    for name in VARIABLES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            unit.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"))));
        }
    }
    unit.push_str("Restart=on-failure\nRestartSec=5\n\n[Install]\nWantedBy=default.target\n");
    format!("{FIRST_LINE}{}\n{unit}", blake3::hash(unit.as_bytes()).to_hex())
}

/// Returns the command of the watch. systemd takes no quotes, `\\` and `$` in the name of a program, so a shell starts such a one.
fn command(program: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(&c);
    if program.chars().all(is_plain) {
        return format!("{} watch", quoted(program));
    }
    format!("/bin/sh -c {} {}", quoted(r#"exec "$$0" watch"#), quoted(program).replace('$', "$$"))
}

/// Quotes a word for systemd.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

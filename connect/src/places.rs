//! The folders in which connections and their state lie.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ConnectionError;
use crate::limits::MAX_CONNECTIONS;

/// The variable that names one folder for everything, instead of the user's own.
const OWN_HOME: &str = "BITACORA_CONNECT_HOME";

/// The folders of one user's connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    connections: PathBuf,
    state: PathBuf,
}

impl Places {
    /// Returns the folders by the XDG base directories, or below `BITACORA_CONNECT_HOME`.
    ///
    /// # Errors
    /// No home folder is known.
    pub fn of_user(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConnectionError> {
        if let Some(own) = variable(OWN_HOME).filter(|own| !own.is_empty()) {
            return Ok(Self::below(Path::new(&own)));
        }
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(home.as_ref()?.join(".local/state")));
        let (Some(config), Some(state)) = (config, state) else { return Err(ConnectionError::NoHome) };
        Ok(Self { connections: config.join("bitacora/connections"), state: state.join("bitacora") })
    }

    /// Returns the folders below one folder.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self { connections: folder.join("connections"), state: folder.join("state") }
    }

    /// Returns the folder of all connections.
    #[must_use]
    pub fn connections(&self) -> &Path {
        &self.connections
    }

    /// Returns the file of a connection.
    #[must_use]
    pub fn connection(&self, name: &str) -> PathBuf {
        self.connections.join(format!("{name}.json"))
    }

    /// Returns the files of all connections, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all_connections(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.connections) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if files.len() < MAX_CONNECTIONS && path.extension().is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Returns the folder of a connection's state: its spool, and the calls that wait for their end.
    #[must_use]
    pub fn state_of(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }
}

//! Connections that contradict each other.

use std::io;
use std::path::PathBuf;

use crate::connection::Connection;
use crate::error::ConnectionError;
use crate::places::Places;

/// The reason why a connection may not stand beside those that are there.
#[derive(Debug, thiserror::Error)]
pub enum ConflictError {
    /// Hooks of the user and of a project would run for the same calls.
    #[error(
        "found the connection {name}, whose hooks would run for the same calls; `bitacora disconnect {harness}` removes it"
    )]
    Overlaps {
        /// The other connection.
        name: String,
        /// The harness, and the flag of the other's scope.
        harness: String,
    },
    /// An agent has one mode.
    #[error(
        "found the connection {name}, which {} as the agent {agent} too; name another agent with --agent",
        if *enforces { "enforces" } else { "observes" }
    )]
    OtherMode {
        /// The other connection.
        name: String,
        /// The agent.
        agent: String,
        /// `true` if the other enforces.
        enforces: bool,
    },
    /// A connection of the same harness cannot be read, so it may contradict.
    #[error("a connection that may contradict this one cannot be read: {0}")]
    Unknown(#[from] ConnectionError),
    /// The folder of connections cannot be read.
    #[error("{}: {source}; nothing was changed", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Refuses a connection that another one contradicts. A project's connections of one harness stand beside each other; that of the
/// user stands alone, because its hooks run in each project too.
///
/// # Errors
/// One contradicts, or cannot be read.
pub fn refuse_conflict(places: &Places, new: &Connection) -> Result<(), ConflictError> {
    let folder = places.connections();
    let files = places.all_connections();
    let files = files.map_err(|source| ConflictError::Folder { path: folder.to_owned(), source })?;
    for file in files.into_iter().filter(|file| *file != places.connection(&new.name)) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_of_harness = name.split('-').next() == Some(new.harness.as_str());
        let other = Connection::load_to_replace(&file);
        if is_of_harness && (name == new.harness || new.name == new.harness) {
            let project = other.as_ref().ok().and_then(|other| other.project());
            let flag =
                project.map_or_else(String::new, |project| format!(" --project {}", project.display()));
            return Err(ConflictError::Overlaps { name, harness: format!("{}{flag}", new.harness) });
        }
        let other = match other {
            Ok(other) => other,
            Err(error) if is_of_harness => return Err(error.into()),
            Err(_) => continue,
        };
        let is_of_ledger = other.url == new.url && other.ledger == new.ledger;
        if other.agent == new.agent && other.enforce != new.enforce && (is_of_harness || is_of_ledger) {
            return Err(ConflictError::OtherMode { name, agent: other.agent, enforces: other.enforce });
        }
    }
    Ok(())
}
